//! Many hosts: drives with their verdicts, held against all of their kind.

use std::collections::BTreeSet;

use iodyno_judge::{Unlike, drive_under, unlike_median};
use iodyno_model::{
    Bytes, Estimate, Metric, MetricJudgement, RunRecord, Severity, Validity, Verdict,
};

use crate::judged::{Judged, Subject};

/// Drives of all hosts, by class.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// The classes: those with the worst drives first.
    pub classes: Vec<FleetClass>,
    /// Runs that were left out, since a later one of the same host is there.
    pub older_runs: usize,
}

/// Drives that should be alike.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetClass {
    /// What they have in common; `None`: targets that are no drives.
    pub kind: Option<DriveKind>,
    /// Its drives: outliers first, then the worst verdicts, then by host.
    pub drives: Vec<FleetDrive>,
}

/// What makes drives alike. What is not known of one makes it a kind of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriveKind {
    /// Model string.
    pub model: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Capacity.
    pub capacity: Option<Bytes>,
}

/// A drive, or a target that is none, of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetDrive {
    /// Host, or the run's name where it is not known.
    pub host: String,
    /// Id of the run.
    pub run_id: String,
    /// Drive or target.
    pub name: String,
    /// Serial number.
    pub serial: Option<String>,
    /// The run's verdict on it.
    pub verdict: Verdict,
    /// The worst that was found of it, in a sentence; `None`: nothing.
    pub finding: Option<String>,
    /// Measured figures that are worse than the median of its class, worst first.
    pub outliers: Vec<Outlier>,
}

/// A measured figure that is unlike its class.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// The step: `rand-read`.
    pub measurement: String,
    /// What is held against the median.
    pub metric: Metric,
    /// The drive's own figure, in the metric's unit.
    pub estimate: Estimate,
    /// Beside the class, by the rule `unlike-peers` over all hosts.
    pub unlike: Unlike,
    /// Drives of the class that were measured so.
    pub of: usize,
}

/// One figure of one drive.
struct Figure {
    measurement: String,
    /// `rw` and `bs`: jobs of one name may do different things on two hosts.
    workload: (Option<String>, Option<u64>),
    metric: Metric,
    estimate: Estimate,
}

/// A drive with its figures.
type Measured = (FleetDrive, Vec<Figure>);

/// Drives of many runs. Of several runs of one host the newest counts. A
/// figure is an outlier where three or more drives of the class (model,
/// firmware, capacity) were measured by the same step (name, rw and bs), and it is more than
/// 10 % worse than their median with intervals that do not meet; an INVALID
/// measurement is neither held against the others nor part of the median.
pub fn fleet(runs: &[Judged<'_>]) -> Fleet {
    let newest: Vec<Judged<'_>> = runs.iter().copied().filter(|of| is_newest(*of, runs)).collect();
    let mut classes: Vec<(Option<DriveKind>, Vec<Measured>)> = Vec::new();
    for of in &newest {
        for subject in of.subjects() {
            let kind = subject.drive.map(kind);
            let entry = (drive(*of, &subject), figures(*of, &subject));
            match classes.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, drives)) => drives.push(entry),
                None => classes.push((kind, vec![entry])),
            }
        }
    }
    let mut classes: Vec<FleetClass> =
        classes.into_iter().map(|(kind, drives)| class(kind, drives)).collect();
    // Stable: classes of one rank stay in the order in which they were met.
    classes.sort_by_key(|class| {
        let worst = class.drives.iter().map(rank).max();
        (class.kind.is_none(), std::cmp::Reverse(worst))
    });
    Fleet { classes, older_runs: runs.len() - newest.len() }
}

/// Whether runs of several hosts are among them, as far as hosts are known.
pub fn are_of_several_hosts(records: &[&RunRecord]) -> bool {
    let hosts = records.iter().filter_map(|record| record.host()?.hostname.get());
    hosts.collect::<BTreeSet<_>>().len() > 1
}

/// Whether no other run of the same host is newer. A host without a name is
/// nobody else's.
fn is_newest(of: Judged<'_>, runs: &[Judged<'_>]) -> bool {
    let at = |of: Judged<'_>| (of.record.run.started_ns, of.record.run.id.clone());
    of.hostname().is_none()
        || !runs.iter().any(|other| other.hostname() == of.hostname() && at(*other) > at(of))
}

fn kind(drive: &iodyno_model::Drive) -> DriveKind {
    DriveKind {
        model: drive.model.value(),
        firmware: drive.firmware.value(),
        capacity: drive.capacity.value(),
    }
}

fn drive(of: Judged<'_>, subject: &Subject<'_>) -> FleetDrive {
    let run = &of.record.run;
    let name = if run.name.is_empty() { &run.id } else { &run.name };
    // Findings stand worst first.
    let found = of
        .assessment
        .findings
        .iter()
        .find(|one| one.severity > Severity::Info && subject.is_among(&one.subjects));
    FleetDrive {
        host: of.hostname().unwrap_or(name).to_owned(),
        run_id: run.id.clone(),
        name: subject.name.to_owned(),
        serial: subject.drive.and_then(|drive| drive.serial.value()),
        verdict: subject.verdict,
        finding: found.map(|finding| finding.what.clone()),
        outliers: Vec::new(),
    }
}

/// The figures that a whole drive was judged by, alone.
fn figures(of: Judged<'_>, subject: &Subject<'_>) -> Vec<Figure> {
    let own = of.measurements().filter(|(measurement, _)| {
        measurement.targets.len() == 1
            && subject.is_among(&measurement.targets)
            && drive_under(of.record, measurement).is_some()
    });
    own.filter_map(|(measurement, judged)| {
        let judged = judged.filter(|judged| judged.validity != Validity::Invalid)?;
        Some(judged.metrics.iter().map(|metric: &MetricJudgement| Figure {
            measurement: measurement.name.clone(),
            workload: (measurement.workload.rw.clone(), measurement.workload.bs),
            metric: metric.metric,
            estimate: metric.estimate,
        }))
    })
    .flatten()
    .collect()
}

fn class(kind: Option<DriveKind>, drives: Vec<Measured>) -> FleetClass {
    let alike = |figure: &Figure| -> Vec<Estimate> {
        let same = |other: &&Figure| {
            (&other.measurement, &other.workload, other.metric)
                == (&figure.measurement, &figure.workload, figure.metric)
        };
        // One of each drive: repetitions are no further drives.
        drives.iter().filter_map(|(_, all)| Some(all.iter().find(same)?.estimate)).collect()
    };
    let is_known = kind.as_ref().is_some_and(|kind| kind.model.is_some());
    let outliers = |all: &[Figure]| -> Vec<Outlier> {
        let mut outliers: Vec<Outlier> = all
            .iter()
            .filter(|_| is_known)
            .filter_map(|figure| {
                let peers = alike(figure);
                let unlike = unlike_median(figure.metric, figure.estimate, &peers)?;
                (unlike.verdict != Verdict::Pass).then(|| Outlier {
                    measurement: figure.measurement.clone(),
                    metric: figure.metric,
                    estimate: figure.estimate,
                    unlike,
                    of: peers.len(),
                })
            })
            .collect();
        outliers.sort_by(|a, b| far(b).total_cmp(&far(a)));
        outliers
    };
    let found: Vec<Vec<Outlier>> = drives.iter().map(|(_, all)| outliers(all)).collect();
    let with = drives.into_iter().zip(found);
    let mut drives: Vec<FleetDrive> =
        with.map(|((drive, _), outliers)| FleetDrive { outliers, ..drive }).collect();
    drives.sort_by(|a, b| {
        let far = |drive: &FleetDrive| drive.outliers.first().map_or(0.0, far);
        far(b)
            .total_cmp(&far(a))
            .then_with(|| b.verdict.cmp(&a.verdict))
            .then_with(|| (&a.host, &a.name).cmp(&(&b.host, &b.name)))
    });
    FleetClass { kind, drives }
}

/// How far from the median, as a factor of at least 1.
fn far(outlier: &Outlier) -> f64 {
    outlier.unlike.ratio.max(1.0 / outlier.unlike.ratio)
}

/// The worse of the run's verdict and that beside the class.
fn rank(drive: &FleetDrive) -> Verdict {
    let outliers = drive.outliers.iter().map(|outlier| outlier.unlike.verdict);
    outliers.fold(drive.verdict, Verdict::max)
}

impl Fleet {
    /// How many drives and targets there are.
    pub fn len(&self) -> usize {
        self.classes.iter().map(|class| class.drives.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// How many hosts they are of.
    pub fn hosts(&self) -> usize {
        let hosts = self.drives().map(|drive| drive.host.as_str());
        hosts.collect::<BTreeSet<_>>().len()
    }

    /// How many have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.drives().filter(|drive| drive.verdict == verdict).count()
    }

    /// How many are unlike their class.
    pub fn outliers(&self) -> usize {
        self.drives().filter(|drive| !drive.outliers.is_empty()).count()
    }

    fn drives(&self) -> impl Iterator<Item = &FleetDrive> {
        self.classes.iter().flat_map(|class| &class.drives)
    }
}
