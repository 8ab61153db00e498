//! Compares drives of many hosts with all others of their class.

mod common_traits;
mod drive;
mod earlier_runs;
mod host_run;
mod node_run;
mod together;

pub use common_traits::CommonTrait;
pub use drive::{Against, DriveKind, FleetClass, FleetDrive, Outlier, Traits};
pub use host_run::HostRun;
pub use node_run::{LoadKey, Moment, NodeRun};
pub use together::{GroupLoad, Rates, Together, together};

use std::collections::{BTreeSet, HashMap, HashSet};

use iodyno_judge::{FALSE_DISCOVERY_RATE, compare_with_peers};
use iodyno_model::{Estimate, RunRecord, Scope, Verdict};
use iodyno_stats::benjamini_hochberg;

use crate::judged::Judged;
use common_traits::common_traits;
use earlier_runs::EarlierRuns;
use host_run::{Figure, Step};

/// Drives of all hosts, by class.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// Classes, those with the worst drives first.
    pub classes: Vec<FleetClass>,
    /// Superseded runs, used only to compare drives with their earlier figures.
    pub older_runs: usize,
    /// Traits that affected drives have in common, the most certain first.
    pub common: Vec<CommonTrait>,
    /// Largest difference between the starts of runs with an agreed start, ns; `None`: there were
    /// none.
    pub start_spread_ns: Option<u64>,
}

/// A drive with its figures.
type Measured = (FleetDrive, Vec<Figure>);

/// Drives of many runs; see [`fleet_of`].
pub fn fleet(runs: &[Judged<'_>]) -> Fleet {
    fleet_of(runs.iter().map(|run| HostRun::of(*run)).collect())
}

/// Groups the drives of many runs. Of several runs of a host the newest of the whole machine counts,
/// plus newer ones of named targets, and earlier steps of the same acceptance, for other drives.
/// Hosts of the same name are distinguished by machine id.
/// A figure is an outlier if at least three drives of the class (model, firmware, capacity) were
/// measured by the same step (name and workload), and it is more than 10 % worse than their median
/// with disjoint intervals. From eight drives on the test is robust and shared by the whole fleet:
/// at most 1 % of the drives named are wrong ([`FALSE_DISCOVERY_RATE`]), and 5 % worse suffices. A
/// figure that fell more than those of the class, relative to the drive's own earlier runs, is one
/// too. INVALID measurements are ignored.
pub fn fleet_of(mut runs: Vec<HostRun>) -> Fleet {
    // The newest comes first and counts.
    runs.sort_by(|a, b| (b.started_ns, &b.id).cmp(&(a.started_ns, &a.id)));
    // A document may be there several times.
    runs.dedup_by(|a, b| (a.started_ns, &a.id) == (b.started_ns, &b.id));
    let mut hosts: HashMap<String, Vec<KnownHost>> = HashMap::new();
    let (mut older_runs, mut spread) = (0, StartSpread::default());
    let (mut newest, mut past): (Vec<HostRun>, EarlierRuns) = Default::default();
    for mut run in runs {
        spread.add(&run);
        // Runs without a host name are not merged.
        let Some(host) = run.host.clone() else {
            newest.push(run);
            continue;
        };
        let namesakes = hosts.entry(host).or_default();
        let known = namesakes.iter().position(|shown| shown.is_host_of(&run));
        let place = known.unwrap_or(namesakes.len());
        if known.is_none() {
            if place > 0 {
                run.append_host_id();
            }
            namesakes.push(KnownHost { host_id: run.host_id.clone(), ..KnownHost::default() });
        }
        let shown = &mut namesakes[place];
        let is_earlier_step = shown.has_earlier_step(&run);
        if shown.is_whole && !is_earlier_step {
            older_runs += 1;
            past.add(run);
            continue;
        }
        shown.is_whole |= run.scope == Scope::Machine;
        past.add(shown.take_new(&mut run));
        if run.drives.is_empty() && known.is_some() && !is_earlier_step {
            older_runs += 1;
        } else {
            newest.push(run);
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
    mark_outliers(&mut classes, &past);
    let mut classes: Vec<FleetClass> =
        classes.into_iter().map(|(kind, drives)| class(kind, drives)).collect();
    // Stable: classes of equal rank keep their order of appearance.
    classes.sort_by_key(|class| {
        let worst = class.drives.iter().map(rank).max();
        (class.kind.is_none(), std::cmp::Reverse(worst))
    });
    let common = common_traits(&classes);
    Fleet { classes, older_runs, common, start_spread_ns: spread.widest_ns }
}

/// What is already shown of a host.
#[derive(Default)]
struct KnownHost {
    /// Machine id, which distinguishes hosts of the same name.
    host_id: Option<String>,
    /// Its drives and targets, by serial number or name.
    names: HashSet<String>,
    /// Acceptance of its newest run: the profile, and the step seen last.
    acceptance: Option<(String, u32)>,
    /// A run of the whole machine is among them: older ones do not count.
    is_whole: bool,
}

impl KnownHost {
    /// True if `run` is of this host, as far as known. Freshly installed machines share a name, and
    /// live images get a new machine id at each boot; then serial numbers decide.
    fn is_host_of(&self, run: &HostRun) -> bool {
        let ids = self.host_id.as_ref().zip(run.host_id.as_ref());
        let mut serials = run.drives.iter().filter_map(|(_, drive, _)| drive.serial.as_ref());
        ids.is_none_or(|(a, b)| a == b) || serials.any(|serial| self.names.contains(serial))
    }

    /// True if `run` is an earlier step of the same acceptance.
    fn has_earlier_step(&mut self, run: &HostRun) -> bool {
        let of = self.acceptance.take().zip(run.acceptance.as_ref());
        of.is_some_and(|(later, earlier)| later.0 == earlier.0 && later.1 > earlier.1)
    }

    /// Leaves in `run` the drives not shown yet, and returns the rest.
    fn take_new(&mut self, run: &mut HostRun) -> HostRun {
        self.acceptance.clone_from(&run.acceptance);
        let all = std::mem::take(&mut run.drives);
        let mut known = run.clone();
        for one in all {
            let (_, drive, _) = &one;
            let is_new = self.names.insert(drive.serial.as_ref().unwrap_or(&drive.name).clone());
            if is_new { run.drives.push(one) } else { known.drives.push(one) }
        }
        known
    }
}

/// Spread of the starts of runs with an agreed start.
#[derive(Default)]
struct StartSpread {
    by_moment: HashMap<i64, (i64, i64)>,
    widest_ns: Option<u64>,
}

impl StartSpread {
    fn add(&mut self, run: &HostRun) {
        // Later steps start when the previous ones end.
        let Some((at, 1)) = run.start else { return };
        let began = run.started_ns;
        let (first, last) = self.by_moment.entry(at).or_insert((began, began));
        (*first, *last) = ((*first).min(began), (*last).max(began));
        let spread = last.abs_diff(*first);
        self.widest_ns = Some(self.widest_ns.map_or(spread, |widest| widest.max(spread)));
    }
}

/// True if the runs are known to be of several hosts.
pub fn are_of_several_hosts(records: &[&RunRecord]) -> bool {
    let hosts = records.iter().filter_map(|record| record.host()?.hostname.get());
    hosts.collect::<BTreeSet<_>>().len() > 1
}

/// Adds to each drive the figures that are unlike its class or its earlier runs.
fn mark_outliers(classes: &mut [(Option<DriveKind>, Vec<Measured>)], past: &EarlierRuns) {
    // One multiple test over all figures of the fleet.
    let mut compared: Vec<(usize, usize, Outlier)> = Vec::new();
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
                // One figure per drive: repetitions are not more drives.
                if all.last().is_none_or(|(last, _)| *last != at) {
                    all.push((at, figure.estimate));
                }
            }
        }
        for (step, all) in steps {
            let estimates: Vec<Estimate> = all.iter().map(|(_, estimate)| *estimate).collect();
            let unlike = compare_with_peers(step.metric, &estimates);
            for ((at, estimate), unlike) in all.iter().zip(unlike) {
                let Some(unlike) = unlike else { continue };
                let (measurement, metric) = (step.measurement.clone(), step.metric);
                let against = Against::Class { drives: estimates.len() };
                let outlier = Outlier { measurement, metric, estimate: *estimate, unlike, against };
                compared.push((place, *at, outlier));
            }
        }
        let changed = past.unlike(kind.as_ref(), drives);
        compared.extend(changed.into_iter().map(|(at, outlier)| (place, at, outlier)));
    }
    let sure = significant(&compared);
    for ((place, at, mut outlier), is_sure) in compared.into_iter().zip(sure) {
        outlier.unlike.verdict = outlier.unlike.fleet_verdict(outlier.metric, is_sure);
        if outlier.unlike.verdict > Verdict::Unjudged {
            classes[place].1[at].0.outliers.push(outlier);
        }
    }
}

/// Decides which figures are certainly slow, such that at most 1 % of the drives named are named by
/// mistake. A drive's p-value is that of its worst figure times the number of its figures
/// (Bonferroni). `None`: too few drives to decide.
fn significant(compared: &[(usize, usize, Outlier)]) -> Vec<Option<bool>> {
    let mut of_drive: HashMap<(usize, usize), (f64, f64)> = HashMap::new();
    for (place, at, of) in compared {
        if let Some(chance) = of.unlike.chance {
            let (least, count) = of_drive.entry((*place, *at)).or_insert((1.0, 0.0));
            (*least, *count) = (least.min(chance), *count + 1.0);
        }
    }
    let chances: Vec<f64> = of_drive.values().map(|(least, count)| least * count).collect();
    let shares = benjamini_hochberg(&chances);
    let found = chances.iter().zip(shares).filter(|(_, share)| *share <= FALSE_DISCOVERY_RATE);
    let most = found.map(|(chance, _)| *chance).fold(f64::NEG_INFINITY, f64::max);
    let is_sure = |(place, at, of): &(usize, usize, Outlier)| {
        let (_, count) = of_drive.get(&(*place, *at))?;
        Some(of.unlike.chance? * count <= most)
    };
    compared.iter().map(is_sure).collect()
}

fn class(kind: Option<DriveKind>, drives: Vec<Measured>) -> FleetClass {
    let mut drives: Vec<FleetDrive> = drives.into_iter().map(|(drive, _)| drive).collect();
    for drive in &mut drives {
        drive.outliers.sort_by(|a, b| deviation(b).total_cmp(&deviation(a)));
    }
    drives.sort_by(|a, b| {
        let deviation = |drive: &FleetDrive| drive.outliers.first().map_or(0.0, deviation);
        deviation(b)
            .total_cmp(&deviation(a))
            .then_with(|| b.verdict.cmp(&a.verdict))
            .then_with(|| (&a.host, &a.name).cmp(&(&b.host, &b.name)))
    });
    FleetClass { kind, drives }
}

/// Distance from the median, as a factor of at least 1.
fn deviation(outlier: &Outlier) -> f64 {
    outlier.unlike.ratio.max(1.0 / outlier.unlike.ratio)
}

/// The worse of the run's verdict and that of its outliers.
fn rank(drive: &FleetDrive) -> Verdict {
    let outliers = drive.outliers.iter().map(|outlier| outlier.unlike.verdict);
    outliers.fold(drive.verdict, Verdict::max)
}

impl Fleet {
    /// Number of drives and targets.
    pub fn len(&self) -> usize {
        self.classes.iter().map(|class| class.drives.len()).sum()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        let hosts = self.drives().map(|drive| drive.host.as_str());
        hosts.collect::<BTreeSet<_>>().len()
    }

    /// Number of drives with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.drives().filter(|drive| drive.verdict == verdict).count()
    }

    /// Number of drives unlike their class, and unlike their earlier runs.
    pub fn outliers(&self) -> (usize, usize) {
        let is_of_class = |one: &Outlier| matches!(one.against, Against::Class { .. });
        let has = |of_class| {
            move |drive: &&FleetDrive| drive.outliers.iter().any(|one| is_of_class(one) == of_class)
        };
        (self.drives().filter(has(true)).count(), self.drives().filter(has(false)).count())
    }

    /// All drives.
    pub fn drives(&self) -> impl Iterator<Item = &FleetDrive> {
        self.classes.iter().flat_map(|class| &class.drives)
    }
}
