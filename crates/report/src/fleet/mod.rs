//! Many hosts: drives with their verdicts, held against all of their kind.

mod common;
mod host_run;
mod work_list;

pub use common::Common;
pub use host_run::HostRun;
pub use work_list::{Places, work_list};

use std::collections::{BTreeSet, HashMap, HashSet};

use iodyno_judge::{Unlike, unlike_equals};
use iodyno_model::{Bytes, Estimate, Metric, RunRecord, Verdict};
use iodyno_stats::benjamini_hochberg;

use crate::judged::Judged;
use common::in_common;
use host_run::{Figure, Step};

/// Drives of all hosts, by class.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// The classes: those with the worst drives first.
    pub classes: Vec<FleetClass>,
    /// Runs that were left out, since a later one of the same host is there.
    pub older_runs: usize,
    /// What the drives with something wrong have in common, the surest first.
    pub common: Vec<Common>,
    /// How far apart runs began that were to begin together, ns; `None`: none were.
    pub start_spread_ns: Option<u64>,
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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Id of the rule that found it.
    pub rule: Option<String>,
    /// What to do about it, in a sentence.
    pub next: Option<String>,
    /// What it may have in common with others.
    pub traits: Traits,
    /// Measured figures that are worse than the median of its class, worst first.
    pub outliers: Vec<Outlier>,
}

/// What a drive may have in common with others of its class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traits {
    /// Product of its machine.
    pub chassis: Option<String>,
    /// Kernel's release.
    pub kernel: Option<String>,
    /// The platform's name of its slot.
    pub slot: Option<String>,
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

/// A drive with its figures.
type Measured = (FleetDrive, Vec<Figure>);

/// Drives of many runs: see [`fleet_of`].
pub fn fleet(runs: &[Judged<'_>]) -> Fleet {
    fleet_of(runs.iter().map(|run| HostRun::of(*run)).collect())
}

/// Drives of many runs. Of several runs of one host the newest counts that has the drive. A
/// figure is an outlier where three or more drives of the class (model,
/// firmware, capacity) were measured by the same step (name, rw and bs), and it is more than
/// 10 % worse than their median with intervals that do not meet. Of eight or more drives the test is
/// robust and shared by the whole fleet: at most 1 % of those named are wrong ([`FALSE_DISCOVERIES`]),
/// and 5 % worse suffices. An INVALID measurement is neither held against the others nor part of the median.
///
/// [`FALSE_DISCOVERIES`]: iodyno_judge::FALSE_DISCOVERIES
pub fn fleet_of(mut runs: Vec<HostRun>) -> Fleet {
    // The newest first: it counts.
    runs.sort_by(|a, b| (b.started_ns, &b.id).cmp(&(a.started_ns, &a.id)));
    let mut known: HashSet<String> = HashSet::new();
    let (mut older_runs, mut spread) = (0, StartSpread::default());
    let mut newest: Vec<HostRun> = Vec::new();
    for run in runs {
        spread.add(&run);
        match &run.host {
            // A host without a name is nobody else's.
            Some(host) if !known.insert(host.clone()) => older_runs += 1,
            _ => newest.push(run),
        }
    }
    newest.reverse();
    let mut classes: Vec<(Option<DriveKind>, Vec<Measured>)> = Vec::new();
    let mut places: HashMap<Option<DriveKind>, usize> = HashMap::new();
    for (kind, drive, figures) in newest.into_iter().flat_map(|run| run.drives) {
        let place = *places.entry(kind.clone()).or_insert_with(|| {
            classes.push((kind, Vec::new()));
            classes.len() - 1
        });
        classes[place].1.push((drive, figures));
    }
    mark_outliers(&mut classes);
    let mut classes: Vec<FleetClass> =
        classes.into_iter().map(|(kind, drives)| class(kind, drives)).collect();
    // Stable: classes of one rank stay in the order in which they were met.
    classes.sort_by_key(|class| {
        let worst = class.drives.iter().map(rank).max();
        (class.kind.is_none(), std::cmp::Reverse(worst))
    });
    let common = in_common(&classes);
    Fleet { classes, older_runs, common, start_spread_ns: spread.widest_ns }
}

/// How far apart runs began that were to begin together.
#[derive(Default)]
struct StartSpread {
    by_moment: HashMap<i64, (i64, i64)>,
    widest_ns: Option<u64>,
}

impl StartSpread {
    fn add(&mut self, run: &HostRun) {
        let Some(at) = run.start_at_ns else { return };
        let began = run.started_ns;
        let (first, last) = self.by_moment.entry(at).or_insert((began, began));
        (*first, *last) = ((*first).min(began), (*last).max(began));
        let spread = last.abs_diff(*first);
        self.widest_ns = Some(self.widest_ns.map_or(spread, |widest| widest.max(spread)));
    }
}

/// Whether runs of several hosts are among them, as far as hosts are known.
pub fn are_of_several_hosts(records: &[&RunRecord]) -> bool {
    let hosts = records.iter().filter_map(|record| record.host()?.hostname.get());
    hosts.collect::<BTreeSet<_>>().len() > 1
}

/// Notes in each drive which of its figures are unlike those of its class.
fn mark_outliers(classes: &mut [(Option<DriveKind>, Vec<Measured>)]) {
    // All figures of the fleet are one question.
    let mut looked: Vec<(usize, usize, Outlier)> = Vec::new();
    for (place, (kind, drives)) in classes.iter().enumerate() {
        if kind.as_ref().is_none_or(|kind| kind.model.is_none()) {
            continue;
        }
        let mut steps: Vec<(&Step, Vec<(usize, Estimate)>)> = Vec::new();
        let mut places: HashMap<&Step, usize> = HashMap::new();
        for (at, (_, figures)) in drives.iter().enumerate() {
            for figure in figures {
                let step = *places.entry(&figure.step).or_insert_with(|| {
                    steps.push((&figure.step, Vec::new()));
                    steps.len() - 1
                });
                let all = &mut steps[step].1;
                // One of each drive: repetitions are no further drives.
                if all.last().is_none_or(|(last, _)| *last != at) {
                    all.push((at, figure.estimate));
                }
            }
        }
        for (step, all) in steps {
            let estimates: Vec<Estimate> = all.iter().map(|(_, estimate)| *estimate).collect();
            let unlike = unlike_equals(step.metric, &estimates);
            for ((at, estimate), unlike) in all.iter().zip(unlike) {
                let Some(unlike) = unlike else { continue };
                let (measurement, metric) = (step.measurement.clone(), step.metric);
                let of = estimates.len();
                let outlier = Outlier { measurement, metric, estimate: *estimate, unlike, of };
                looked.push((place, *at, outlier));
            }
        }
    }
    let chances: Vec<f64> = looked.iter().filter_map(|(.., of)| of.unlike.chance).collect();
    let mut shares = benjamini_hochberg(&chances).into_iter();
    for (place, at, mut outlier) in looked {
        let q = outlier.unlike.chance.and_then(|_| shares.next());
        outlier.unlike.verdict = outlier.unlike.verdict_at(outlier.metric, q);
        if outlier.unlike.verdict != Verdict::Pass {
            classes[place].1[at].0.outliers.push(outlier);
        }
    }
}

fn class(kind: Option<DriveKind>, drives: Vec<Measured>) -> FleetClass {
    let mut drives: Vec<FleetDrive> = drives.into_iter().map(|(drive, _)| drive).collect();
    for drive in &mut drives {
        drive.outliers.sort_by(|a, b| far(b).total_cmp(&far(a)));
    }
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

impl FleetDrive {
    /// What is wrong with it: `slow`, and the rule that it fails.
    pub(crate) fn wrong_by(&self) -> impl Iterator<Item = &str> {
        let slow = (!self.outliers.is_empty()).then_some("slow");
        let fails = self.rule.as_deref().filter(|_| self.verdict == Verdict::Fail);
        slow.into_iter().chain(fails)
    }

    /// Whether it FAILs, or is slower than its class.
    pub fn is_wrong(&self) -> bool {
        self.verdict == Verdict::Fail || !self.outliers.is_empty()
    }
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

    /// All of them.
    pub fn drives(&self) -> impl Iterator<Item = &FleetDrive> {
        self.classes.iter().flat_map(|class| &class.drives)
    }
}
