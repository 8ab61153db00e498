//! Public form of an NVMe drive.

use iodyno_model as model;
use iodyno_model::{Fact, LbaFormat, Temperature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason given for a page of which documents of earlier versions hold only a few values.
const NOT_HELD: &str = "not in the document of the run";

/// Drive: one NVMe controller and its namespaces, with derived values. A fact that is unknown is
/// null, and `unknown` gives the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Drive without its namespaces, which are in `namespaces`.
    #[serde(flatten)]
    pub drive: model::Drive,
    /// Composite temperature, °C.
    pub temperature_c: Fact<f64>,
    /// Warning threshold, °C.
    pub temperature_warning_c: Option<f64>,
    /// Critical threshold, °C.
    pub temperature_critical_c: Option<f64>,
    /// NVMe version reported by the drive.
    pub nvme_version: Fact<String>,
    /// Namespaces that are block devices.
    pub namespaces: Vec<Namespace>,
    /// Uses in words: mounts, arrays, volumes; empty if none is known.
    pub used_by: Vec<String>,
}

/// Namespace, with derived values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Namespace {
    /// Namespace.
    #[serde(flatten)]
    pub namespace: model::Namespace,
    /// LBA format in use.
    pub lba_format: Fact<LbaFormat>,
    /// The offered LBA format with the best relative performance.
    pub best_lba_format: Option<LbaFormat>,
    /// Utilisation as the namespace reports it (NUSE), bytes; equal to the size where
    /// the drive does not track it.
    pub used_bytes: Option<u64>,
    /// Value of bytes read from a deallocated block (DLFEAT): 0, 255, or null if not reported.
    pub deallocated_reads_as: Option<u8>,
}

impl Drive {
    /// Builds the public form of a drive of `host`.
    pub(super) fn new(drive: &model::Drive, host: &model::Host) -> Self {
        let temperature = drive.temperature.get();
        Self {
            temperature_c: drive.temperature.as_ref().map(|of| of.composite_c),
            temperature_warning_c: temperature.and_then(|of| of.warning_c),
            temperature_critical_c: temperature.and_then(|of| of.critical_c),
            nvme_version: drive.identify.as_ref().map(|id| id.version.clone()),
            namespaces: drive.namespaces.iter().map(Namespace::from).collect(),
            used_by: crate::layers::uses(host, drive).unwrap_or_default(),
            drive: model::Drive { namespaces: Vec::new(), ..drive.clone() },
        }
    }

    /// Converts back to the model; also reads documents of earlier versions.
    pub(super) fn read(self) -> model::Drive {
        let mut drive = self.drive;
        drive.namespaces = self.namespaces.into_iter().map(Namespace::read).collect();
        if drive.temperature == Fact::Absent {
            drive.temperature = self.temperature_c.map(|composite_c| Temperature {
                composite_c,
                warning_c: self.temperature_warning_c,
                critical_c: self.temperature_critical_c,
            });
        }
        if drive.identify == Fact::Absent {
            drive.identify = not_held(self.nvme_version);
        }
        drive
    }
}

impl From<&model::Namespace> for Namespace {
    fn from(namespace: &model::Namespace) -> Self {
        let identify = namespace.identify.get();
        let format = identify.and_then(|id| id.format());
        let used = identify
            .zip(format)
            .and_then(|(id, format)| id.used_blocks.checked_mul(u64::from(format.data_bytes)));
        let in_use = |id: &model::IdentifyNamespace| match id.format() {
            Some(format) => Fact::Read(*format),
            None => Fact::Absent,
        };
        Self {
            lba_format: namespace.identify.as_ref().and_then(in_use),
            best_lba_format: identify.and_then(|id| id.best_format()).copied(),
            used_bytes: used,
            deallocated_reads_as: identify.and_then(|id| id.deallocated_reads_as),
            namespace: namespace.clone(),
        }
    }
}

impl Namespace {
    fn read(self) -> model::Namespace {
        let mut namespace = self.namespace;
        if namespace.identify == Fact::Absent {
            namespace.identify = not_held(self.lba_format);
        }
        namespace
    }
}

/// Returns a page as unknown, for the same reason as its value `figure`, or because the document
/// does not hold the whole page.
fn not_held<T, U>(figure: Fact<T>) -> Fact<U> {
    figure.and_then(|_| Fact::Unreadable(NOT_HELD.into()))
}
