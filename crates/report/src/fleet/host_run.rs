//! The part of a host's run that a fleet needs: a thousand whole runs at once are too much.

use std::collections::BTreeSet;

use iodyno_judge::{RULESET, comparable};
use iodyno_model::{
    Accepted, Bytes, Drive, Estimate, Finding, Host, JudgedMeasurement, Measurement, Metric,
    Namespace, Scope, Severity, Slot, Validity, Workload, parse_rfc3339,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::drive::{DriveKind, FleetDrive, Traits};
use crate::document::read::{DocumentError, RUN_SCHEMA, documents};
use crate::document::verdict::{MetricVerdict, Subject};
use crate::judged::Judged;

/// Run of one host, reduced to what is compared with others.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRun {
    pub(super) id: String,
    pub(super) started_ns: i64,
    /// Host name, if known.
    pub(super) host: Option<String>,
    /// Digest of the machine id, for a run of an acceptance.
    pub(super) host_id: Option<String>,
    /// Start agreed on by many hosts, ns since 1970 UTC, and the step that started then.
    pub(super) start: Option<(i64, u32)>,
    /// Profile and step, if the run is part of an acceptance.
    pub(super) acceptance: Option<(String, u32)>,
    /// All drives of the machine, or the named targets alone.
    pub(super) scope: Scope,
    /// Each drive, with its class and figures.
    pub(super) drives: Vec<(Option<DriveKind>, FleetDrive, Vec<Figure>)>,
}

/// One figure of one drive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) step: Step,
    pub(super) estimate: Estimate,
}

/// Measurement and metric of a figure, with the workload: jobs of the same name may differ between
/// hosts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Step {
    pub(super) measurement: String,
    load: Workload,
    pub(super) metric: Metric,
}

impl Step {
    /// Creates a step of a run in which the depths of the jobs `searched` were searched for.
    fn new(name: &str, workload: &Workload, searched: &BTreeSet<&str>, metric: Metric) -> Self {
        let load = comparable(workload, searched.contains(name));
        Self { measurement: name.to_owned(), load, metric }
    }
}

impl HostRun {
    /// Reduces a run with its assessment.
    pub fn of(judged: Judged<'_>) -> Self {
        let (run, assessment) = (&judged.record.run, judged.assessment);
        let host = judged.record.host();
        Document {
            id: run.id.clone(),
            name: run.name.clone(),
            scope: run.scope,
            accepted: run.accepted.clone(),
            host: host.map(DocumentHost::from),
            drives: host.iter().flat_map(|host| &host.drives).map(DocumentDrive::from).collect(),
            measurements: judged.measurements().map(DocumentMeasurement::from).collect(),
            findings: assessment.findings.clone(),
            subjects: assessment.subjects.iter().map(Subject::from).collect(),
            ..Document::default()
        }
        .host_run(run.started_ns)
    }

    /// Reads the documents in a text, with the verdicts stored in them. `None`: judged by another
    /// ruleset, so that they must be read in full and judged again.
    ///
    /// # Errors
    /// The text is not JSON, or a document of another kind.
    pub fn of_documents(text: &str) -> Result<Option<Vec<Self>>, DocumentError> {
        let documents: Vec<Document> = documents(text)?;
        if documents.iter().any(|one| one.schema != RUN_SCHEMA || one.ruleset != RULESET) {
            return Ok(None);
        }
        let read = |of: Document| {
            let started_ns =
                parse_rfc3339(&of.started).ok_or(DocumentError::Time(of.started.clone()))?;
            Ok(of.host_run(started_ns))
        };
        documents.into_iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// Appends the machine id to the host name, as in the names of its documents.
    pub(super) fn append_host_id(&mut self) {
        let Some(id) = &self.host_id else { return };
        for (_, drive, _) in &mut self.drives {
            drive.host = format!("{}.{id}", drive.host);
        }
    }
}

/// Document members that are needed; all others are skipped.
#[derive(Default, Deserialize)]
struct Document {
    schema: String,
    #[serde(default)]
    ruleset: String,
    id: String,
    #[serde(default)]
    name: String,
    started: String,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    accepted: Option<Accepted>,
    host: Option<DocumentHost>,
    #[serde(default)]
    drives: Vec<DocumentDrive>,
    #[serde(default)]
    measurements: Vec<DocumentMeasurement>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
struct DocumentHost {
    hostname: Option<String>,
    system_product: Option<String>,
    kernel: Option<String>,
    #[serde(default)]
    slots: Vec<DocumentSlot>,
}

#[derive(Deserialize)]
struct DocumentSlot {
    name: String,
    address: String,
}

#[derive(Deserialize)]
struct DocumentDrive {
    name: String,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
    capacity_bytes: Option<Bytes>,
    address: Option<String>,
    #[serde(default)]
    namespaces: Vec<DocumentNamespace>,
}

#[derive(Deserialize)]
struct DocumentNamespace {
    name: String,
}

#[derive(Deserialize)]
struct DocumentMeasurement {
    name: String,
    targets: Vec<String>,
    workload: Workload,
    validity: Option<Validity>,
    #[serde(default)]
    conditions: DocumentConditions,
    #[serde(default)]
    verdicts: Vec<MetricVerdict>,
}

#[derive(Deserialize, Default)]
struct DocumentConditions {
    #[serde(default)]
    depths_tried: Vec<IgnoredAny>,
}

impl From<&Host> for DocumentHost {
    fn from(host: &Host) -> Self {
        let slot = |of: &Slot| DocumentSlot { name: of.name.clone(), address: of.address.clone() };
        Self {
            hostname: host.hostname.value(),
            system_product: host.system.product.value(),
            kernel: host.kernel.release.value(),
            slots: host.slots.iter().map(slot).collect(),
        }
    }
}

impl From<&Drive> for DocumentDrive {
    fn from(drive: &Drive) -> Self {
        let namespace = |of: &Namespace| DocumentNamespace { name: of.name.clone() };
        Self {
            name: drive.name.clone(),
            model: drive.model.value(),
            serial: drive.serial.value(),
            firmware: drive.firmware.value(),
            capacity_bytes: drive.capacity.value(),
            address: drive.address.value(),
            namespaces: drive.namespaces.iter().map(namespace).collect(),
        }
    }
}

impl From<(&Measurement, Option<&JudgedMeasurement>)> for DocumentMeasurement {
    fn from((of, judged): (&Measurement, Option<&JudgedMeasurement>)) -> Self {
        let depths_tried = of.conditions.depths_tried.iter().map(|_| IgnoredAny).collect();
        let metrics = judged.iter().flat_map(|judged| &judged.metrics);
        Self {
            name: of.name.clone(),
            targets: of.targets.clone(),
            workload: of.workload.clone(),
            validity: judged.map(|judged| judged.validity),
            conditions: DocumentConditions { depths_tried },
            verdicts: metrics.map(MetricVerdict::from).collect(),
        }
    }
}

impl DocumentDrive {
    fn is(&self, name: &str) -> bool {
        self.name == name
            || self.address.as_deref() == Some(name)
            || self.namespaces.iter().any(|of| of.name == name)
    }
}

impl DocumentMeasurement {
    fn figures(&self, searched: &BTreeSet<&str>) -> impl Iterator<Item = Figure> {
        let is_valid = self.validity.is_some_and(|validity| validity != Validity::Invalid);
        self.verdicts.iter().filter(move |_| is_valid).filter_map(move |of| {
            Some(Figure {
                step: Step::new(&self.name, &self.workload, searched, of.metric),
                estimate: of.measured?,
            })
        })
    }
}

impl Document {
    fn host_run(self, started_ns: i64) -> HostRun {
        let name = if self.name.is_empty() { &self.id } else { &self.name };
        let host = self.host.as_ref();
        let hostname = || host.and_then(|host| host.hostname.clone());
        let hostname = self.accepted.as_ref().map(|of| of.node.clone()).or_else(hostname);
        let searches = self.measurements.iter().filter(|of| !of.conditions.depths_tried.is_empty());
        let searched: BTreeSet<&str> = searches.map(|of| of.name.as_str()).collect();
        let drives = self.subjects.iter().map(|subject| {
            let drive = self.drives.iter().find(|drive| drive.is(&subject.name));
            let is_its = |names: &[String]| {
                names.iter().any(|name| match drive {
                    Some(drive) => drive.is(name),
                    None => *name == subject.name,
                })
            };
            let found = (self.findings.iter())
                .find(|one| one.severity > Severity::Info && is_its(&one.subjects));
            let fleet_drive = FleetDrive {
                host: hostname.as_ref().unwrap_or(name).clone(),
                run_id: self.id.clone(),
                name: subject.name.clone(),
                serial: drive.and_then(|drive| drive.serial.clone()),
                verdict: subject.verdict,
                finding: found.map(|finding| finding.what.clone()),
                rule: found.map(|finding| finding.rule.clone()),
                next: found.map(|finding| finding.next.clone()),
                traits: Traits {
                    chassis: host.and_then(|host| host.system_product.clone()),
                    kernel: host.and_then(|host| host.kernel.clone()),
                    slot: host.zip(drive.and_then(|drive| drive.address.as_deref())).and_then(
                        |(host, address)| {
                            let device = address.split('.').next();
                            let mut slots = host.slots.iter();
                            let of = slots.find(|of| of.address.split('.').next() == device);
                            of.map(|slot| slot.name.clone())
                        },
                    ),
                },
                outliers: Vec::new(),
            };
            let kind = drive.map(|drive| DriveKind {
                model: drive.model.clone(),
                firmware: drive.firmware.clone(),
                capacity: drive.capacity_bytes,
            });
            let own = self.measurements.iter().filter(|of| {
                of.targets.len() == 1 && drive.is_some_and(|drive| drive.is(&of.targets[0]))
            });
            (kind, fleet_drive, own.flat_map(|of| of.figures(&searched)).collect())
        });
        let start = |of: &Accepted| Some((parse_rfc3339(of.start_at.as_deref()?)?, of.step));
        HostRun {
            started_ns,
            start: self.accepted.as_ref().and_then(start),
            acceptance: self.accepted.as_ref().map(|of| (of.profile.clone(), of.step)),
            scope: self.scope,
            drives: drives.collect(),
            host: hostname.clone(),
            host_id: self.accepted.as_ref().and_then(|of| of.host_id.clone()),
            id: self.id.clone(),
        }
    }
}
