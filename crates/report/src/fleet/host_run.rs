//! The part of a host's run that a fleet needs: a thousand whole runs at once are too much.

use std::collections::BTreeSet;

use iodyno_judge::{RULESET, comparable, drive_under, searched};
use iodyno_model::{
    Bytes, Drive, Estimate, Finding, Host, Metric, MetricJudgement, Scope, Severity, Slot,
    Validity, Workload, parse_rfc3339,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::drive::{DriveKind, FleetDrive, Traits};
use crate::document::read::{DocumentError, RUN_SCHEMA, documents};
use crate::document::verdict::{MetricVerdict, Subject as DocumentSubject};
use crate::judged::{Judged, Subject};

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
        let run = &judged.record.run;
        let name = if run.name.is_empty() { &run.id } else { &run.name };
        let host = judged.record.host();
        let accepted = run.accepted.as_ref();
        let hostname = accepted.map(|of| of.node.as_str()).or(judged.hostname());
        let drives = judged.subjects().into_iter().map(|subject| {
            let found = (judged.assessment.findings.iter())
                .find(|one| one.severity > Severity::Info && subject.is_among(&one.subjects));
            let drive = FleetDrive {
                host: hostname.unwrap_or(name).to_owned(),
                run_id: run.id.clone(),
                name: subject.name.to_owned(),
                serial: subject.drive.and_then(|drive| drive.serial.value()),
                verdict: subject.verdict,
                finding: found.map(|finding| finding.what.clone()),
                rule: found.map(|finding| finding.rule.clone()),
                next: found.map(|finding| finding.next.clone()),
                traits: host.map(|host| traits(host, subject.drive)).unwrap_or_default(),
                outliers: Vec::new(),
            };
            (subject.drive.map(kind), drive, figures(judged, &subject))
        });
        Self {
            id: run.id.clone(),
            started_ns: run.started_ns,
            host: hostname.map(str::to_owned),
            host_id: accepted.and_then(|of| of.host_id.clone()),
            start: accepted.and_then(|of| Some((parse_rfc3339(of.start_at.as_deref()?)?, of.step))),
            acceptance: accepted.map(|of| (of.profile.clone(), of.step)),
            scope: run.scope,
            drives: drives.collect(),
        }
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
        documents.into_iter().map(Document::host_run).collect::<Result<_, _>>().map(Some)
    }

    /// Appends the machine id to the host name, as in the names of its documents.
    pub(super) fn append_host_id(&mut self) {
        let Some(id) = &self.host_id else { return };
        for (_, drive, _) in &mut self.drives {
            drive.host = format!("{}.{id}", drive.host);
        }
    }
}

fn kind(drive: &Drive) -> DriveKind {
    DriveKind {
        model: drive.model.value(),
        firmware: drive.firmware.value(),
        capacity: drive.capacity.value(),
    }
}

fn traits(host: &Host, drive: Option<&Drive>) -> Traits {
    Traits {
        chassis: host.system.product.value(),
        kernel: host.kernel.release.value(),
        slot: drive.and_then(|drive| slot(&host.slots, drive.address.get()?)),
    }
}

/// Slot of a PCI address; the platform names slots without the function.
fn slot(slots: &[Slot], address: &str) -> Option<String> {
    let device = address.split('.').next().unwrap_or(address);
    let of = slots.iter().find(|slot| slot.address.split('.').next() == Some(device))?;
    Some(of.name.clone())
}

/// Figures judged on this drive alone.
fn figures(judged: Judged<'_>, subject: &Subject<'_>) -> Vec<Figure> {
    let own = judged.measurements().filter(|(measurement, _)| {
        measurement.targets.len() == 1
            && subject.is_among(&measurement.targets)
            && drive_under(judged.record, measurement).is_some()
    });
    let searched = &searched(judged.record);
    own.filter_map(|(measurement, found)| {
        let found = found.filter(|found| found.validity != Validity::Invalid)?;
        Some(found.metrics.iter().map(move |of: &MetricJudgement| Figure {
            step: Step::new(&measurement.name, &measurement.workload, searched, of.metric),
            estimate: of.estimate,
        }))
    })
    .flatten()
    .collect()
}

/// Document members that are needed; all others are skipped.
#[derive(Deserialize)]
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
    accepted: Option<Start>,
    host: Option<DocumentHost>,
    #[serde(default)]
    drives: Vec<DocumentDrive>,
    #[serde(default)]
    measurements: Vec<DocumentMeasurement>,
    #[serde(default)]
    findings: Vec<Finding>,
    #[serde(default)]
    subjects: Vec<DocumentSubject>,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    profile: String,
    node: String,
    host_id: Option<String>,
    #[serde(default)]
    step: u32,
    start_at: Option<String>,
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
    fn host_run(self) -> Result<HostRun, DocumentError> {
        let time = |text: &str| parse_rfc3339(text).ok_or_else(|| DocumentError::Time(text.into()));
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
        let start = self.accepted.as_ref().and_then(|of| Some((of.start_at.as_deref()?, of.step)));
        Ok(HostRun {
            started_ns: time(&self.started)?,
            start: start.map(|(at, step)| time(at).map(|at| (at, step))).transpose()?,
            acceptance: self.accepted.as_ref().map(|of| (of.profile.clone(), of.step)),
            scope: self.scope,
            drives: drives.collect(),
            host: hostname.clone(),
            host_id: self.accepted.as_ref().and_then(|of| of.host_id.clone()),
            id: self.id.clone(),
        })
    }
}
