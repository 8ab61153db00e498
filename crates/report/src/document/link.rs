//! PCIe links.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::Unknown;

/// A PCIe link between a port (towards the CPU) and a device (towards the drive).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// PCI address of its device end, by which drives and cards name it.
    pub name: String,
    /// What it was trained to.
    pub in_use: Option<LinkState>,
    /// What both ends are able to.
    pub able: Option<LinkState>,
    /// Bytes of data per second that it carries towards memory as it is trained now.
    pub payload_bytes_per_s: Option<f64>,
    /// Physical slot of the port.
    pub slot: Option<String>,
    /// Whether it may rest in L0s (Active State Power Management).
    #[serde(default)]
    pub aspm_l0s: Option<bool>,
    /// Whether it may rest in L1.
    #[serde(default)]
    pub aspm_l1: Option<bool>,
    /// The end towards the CPU.
    pub port: LinkEnd,
    /// The end towards the drive.
    pub device: LinkEnd,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// Generation and width of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkState {
    /// PCIe generation (1 = 2.5 GT/s … 6 = 64 GT/s).
    pub generation: u8,
    /// Lanes.
    pub width: u8,
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkEnd {
    /// PCI address.
    pub address: String,
    /// Generation that it is able to.
    pub max_generation: Option<u8>,
    /// Lanes that it is able to.
    pub max_width: Option<u8>,
    /// Generation that is set as target.
    pub target_generation: Option<u8>,
    /// Maximum payload size in force, bytes.
    pub max_payload_bytes: Option<u32>,
    /// Correctable errors (AER).
    pub correctable_errors: Option<u64>,
    /// Uncorrectable errors (AER).
    pub uncorrectable_errors: Option<u64>,
    /// Maximum payload size that it is able to, bytes.
    #[serde(default)]
    pub able_payload_bytes: Option<u32>,
    /// Maximum read request size in force, bytes.
    #[serde(default)]
    pub max_read_request_bytes: Option<u32>,
    /// The errors by the kernel's names, `BadTLP`, those that occurred.
    #[serde(default)]
    pub errors: Vec<LinkError>,
    /// Why facts are null, by field.
    #[serde(skip_serializing_if = "Unknown::is_empty", default)]
    pub unknown: Unknown,
}

/// Errors of one kind that one end of a link counted since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkError {
    /// How bad.
    pub severity: LinkErrorSeverity,
    /// The kernel's short name.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// How bad an error of a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkErrorSeverity {
    /// Mended by the link itself.
    Correctable,
    /// A transaction was lost.
    Nonfatal,
    /// The link cannot be trusted any more.
    Fatal,
}

impl From<model::LinkState> for LinkState {
    fn from(state: model::LinkState) -> Self {
        Self { generation: state.generation, width: state.width }
    }
}

impl From<&model::Link> for Link {
    fn from(link: &model::Link) -> Self {
        let mut unknown = Unknown::default();
        Self {
            name: link.name().into(),
            in_use: unknown.take("in_use", &link.current).map(LinkState::from),
            able: link.able().map(LinkState::from),
            payload_bytes_per_s: link.payload_bytes_per_s(),
            slot: link.slot.clone(),
            aspm_l0s: link.aspm.get().map(|aspm| aspm.l0s),
            aspm_l1: unknown.take("aspm_l1", &link.aspm).map(|aspm| aspm.l1),
            port: LinkEnd::from(&link.port),
            device: LinkEnd::from(&link.device),
            unknown,
        }
    }
}

impl From<&model::LinkEnd> for LinkEnd {
    fn from(end: &model::LinkEnd) -> Self {
        let mut unknown = Unknown::default();
        Self {
            address: end.address.clone(),
            max_generation: unknown.take("max_generation", &end.max_generation),
            max_width: unknown.take("max_width", &end.max_width),
            target_generation: unknown.take("target_generation", &end.target_generation),
            max_payload_bytes: unknown.take("max_payload_bytes", &end.max_payload_bytes),
            correctable_errors: unknown.take("correctable_errors", &end.correctable_errors),
            uncorrectable_errors: unknown.take("uncorrectable_errors", &end.uncorrectable_errors),
            able_payload_bytes: unknown.take("able_payload_bytes", &end.able_payload_bytes),
            max_read_request_bytes: unknown
                .take("max_read_request_bytes", &end.max_read_request_bytes),
            errors: end.errors.iter().map(LinkError::from).collect(),
            unknown,
        }
    }
}

impl From<&model::PcieError> for LinkError {
    fn from(error: &model::PcieError) -> Self {
        let severity = match error.severity {
            model::PcieSeverity::Correctable => LinkErrorSeverity::Correctable,
            model::PcieSeverity::Nonfatal => LinkErrorSeverity::Nonfatal,
            model::PcieSeverity::Fatal => LinkErrorSeverity::Fatal,
        };
        Self { severity, kind: error.kind.clone(), count: error.count }
    }
}
