//! Compares a measurement with its claim, its peers, the baseline and, for several drives at once,
//! the sum of each alone.

use std::collections::{BTreeSet, HashMap, HashSet};

use iodyno_model::{
    Basis, BelowSaturation, Bytes, ClaimFigure, Direction, Drive, Estimate, Host, Measurement,
    Metric, RunKind, RunRecord, Spread, Verdict, Workload, WrittenState, Yardstick,
    format_duration_ns,
};
use iodyno_stats::two_sample::median;

use crate::against_claim::{against_claim, claimed, depth_limiter, found_limiters, link_limiter};

use crate::ceiling::ceiling;
use crate::claims::claim_of;
use crate::cliff::Cliff;
use crate::control_group::cgroup_effect;
use crate::figures::percent;
use crate::index::Index;
use crate::limiter;
use crate::measured::{figure, is_70_30, is_paced, searched, unwritten, written};
use crate::place::{capacities, narrowest_link, place, shared_drives};
use crate::question::Question;
use crate::shape::comparable;

/// A rate below this share of the claim is too low.
pub(crate) const LEAST_OF_CLAIM: f64 = 0.9;
/// A rate above this share of the claim is doubtful.
pub(crate) const DOUBTFUL_CLAIM: f64 = 1.25;
/// More than this below peers or baseline is a warning.
pub(crate) const UNLIKE_WARN: f64 = 0.10;
/// More than this below peers or baseline is a failure.
pub(crate) const UNLIKE_FAIL: f64 = 0.25;
/// Minimum number of peers, the judged drive included.
pub const LEAST_PEERS: usize = 3;

/// A measurement's figure compared with one yardstick.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// Figure divided by the yardstick's.
    pub(crate) ratio: f64,
    /// Share of the yardstick, and why the verdict is no worse.
    pub(crate) reason: Basis,
    /// Why a claim does not apply.
    pub(crate) below_saturation: Option<BelowSaturation>,
}

impl Judgement {
    pub(crate) const fn new(verdict: Verdict, of: Yardstick, ratio: f64) -> Self {
        Self { verdict, ratio, reason: Basis::share(of, ratio), below_saturation: None }
    }

    /// The same, with text appended to its reason.
    pub(crate) fn with(self, more: impl AsRef<str>) -> Self {
        Self { reason: self.reason.with(more), ..self }
    }
}

/// A measurement's figure compared with all of its yardsticks.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Index into the run's measurements.
    pub(crate) measurement: usize,
    pub(crate) metric: Metric,
    pub(crate) estimate: Estimate,
    pub(crate) ceiling: Option<(f64, String)>,
    pub(crate) claim: Option<(ClaimFigure, Judgement)>,
    /// Limits besides the drive.
    pub(crate) limiters: Vec<String>,
    /// Median of the peers and itself, and their number.
    pub(crate) peers: Option<(f64, u32, Judgement)>,
    pub(crate) baseline: Option<(Estimate, Judgement)>,
    /// Sum of each target alone.
    pub(crate) alone: Option<(f64, Judgement)>,
    /// Why there is no yardstick.
    pub(crate) unjudged: String,
}

impl Compared {
    /// Judgements, in the order of the yardsticks' precedence.
    pub(crate) fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        let claim = self.claim.as_ref().map(|(_, judgement)| judgement);
        let peers = self.peers.as_ref().map(|(_, _, judgement)| judgement);
        let baseline = self.baseline.as_ref().map(|(_, judgement)| judgement);
        let alone = self.alone.as_ref().map(|(_, judgement)| judgement);
        [claim, peers, baseline, alone].into_iter().flatten()
    }
}

/// Compares every measurement that has a figure with its yardsticks.
pub(crate) fn compare(question: &Question<'_>, index: &Index<'_>) -> Vec<Compared> {
    let record = question.record;
    // An application's requirement is not a drive's claim.
    if record.run.kind == RunKind::Fit {
        return Vec::new();
    }
    let searched = searched(record);
    let peers = Peers::of(record, &searched);
    let baseline = question.baseline.map(Baseline::of);
    let all = record.measurements.iter().enumerate();
    all.filter_map(|(at, of)| {
        let (metric, estimate) = figure(of)?;
        let host = record.host();
        let shared = shared_drives(index, of);
        let adds_up = of.targets.len() > 1 && shared.is_empty();
        let alone = adds_up.then(|| against_alone(index, of, metric)).flatten();
        let mut limiters = Vec::new();
        let mut claim = None;
        let mut against_peers = None;
        let mut unjudged = "nothing to compare with".to_owned();
        // Reads and writes use opposite directions of a link, so their sum has no such bound.
        let ceiling = if is_70_30(of) { None } else { ceiling(index, of, metric) };
        if let [target] = of.targets.as_slice() {
            let place = place(host, of, target);
            let lasting = lasting_level(of, metric, estimate);
            let judged = lasting.as_ref().map_or(estimate, |lasting| lasting.rate);
            let level = |judgement: Judgement| match &lasting {
                Some(lasting) => lasting.level(judgement),
                None => judgement,
            };
            limiters = found_limiters(index, of, &place);
            let sheet = place.drive.and_then(|drive| claim_of(question.claims, drive));
            claim = sheet.and_then(|sheet| {
                let figure = claimed(sheet, of, metric)?;
                if let Some(why) = link_limiter(metric, &figure, ceiling.as_ref()) {
                    limiters.push(why);
                }
                limiters.extend(depth_limiter(of, metric, &figure));
                let judgement =
                    against_claim(&index.depths, sheet, &figure, of, metric, judged, &limiters);
                Some((figure, level(judgement)))
            });
            against_peers = peers.against(at, metric, judged).map(|(median, count, judgement)| {
                (median, count, excused(index, of, level(judgement)))
            });
            if let Some(whose) = &place.virtual_disk {
                unjudged = format!("virtual disk ({whose}): speed is set by your provider");
            }
        } else if metric == Metric::LatencyMean {
            "latencies are judged per drive, not at once".clone_into(&mut unjudged);
        } else if !shared.is_empty() {
            let shared = shared.join(", ");
            unjudged = format!("targets share {shared}: no sum to compare with");
        } else {
            "not every target measured alone".clone_into(&mut unjudged);
        }
        if let Some((bound, _)) = &ceiling
            && *bound > 0.0
        {
            unjudged = format!("{unjudged}; {} of the ceiling", percent(estimate.value / bound));
        }
        Some(Compared {
            measurement: at,
            metric,
            estimate,
            ceiling,
            claim,
            limiters,
            peers: against_peers,
            baseline: baseline
                .as_ref()
                .and_then(|baseline| {
                    let made = (Step::of(of, &searched), identity(record, of));
                    baseline.against(&made, metric, estimate)
                })
                .map(|(earlier, judgement)| (earlier, excused(index, of, judgement))),
            alone,
            unjudged,
        })
    })
    .collect()
}

/// Level that a read rate fell to. It is judged instead of the mean of the two levels, which is the
/// rate of neither and has an interval that contains both.
struct LastingLevel {
    rate: Estimate,
    /// Mean rate of the measurement divided by the level.
    mean: f64,
    at_ns: u64,
}

/// Returns the lasting level of a measurement whose rate fell. Writes are excluded: they fall by
/// design when a cache is full.
fn lasting_level(of: &Measurement, metric: Metric, mean: Estimate) -> Option<LastingLevel> {
    let [result] = of.total.as_slice() else { return None };
    if metric == Metric::LatencyMean || result.direction != Direction::Read || is_paced(of) {
        return None;
    }
    let cliff = Cliff::of(of, result)?;
    let bandwidth = result.bandwidth?.value;
    let share = cliff.after.value / bandwidth;
    (share < 1.0).then(|| LastingLevel {
        rate: cliff.after.scaled(mean.value / bandwidth),
        mean: 1.0 / share,
        at_ns: cliff.at_ns,
    })
}

impl LastingLevel {
    /// Lowers FAIL to WARN: a drive is not replaced for a single event.
    fn level(&self, judgement: Judgement) -> Judgement {
        let from = format_duration_ns(self.at_ns as f64);
        let whole = percent(judgement.ratio * self.mean);
        Judgement { verdict: judgement.verdict.min(Verdict::Warn), ..judgement }
            .with(format!(", from {from} on ({whole} overall)"))
    }
}

/// Name and workload: under one name, these may differ between drives or days.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Step<'a> {
    name: &'a str,
    load: Workload,
}

impl<'a> Step<'a> {
    /// The step of a measurement, given the names of steps with a depth search.
    fn of(of: &'a Measurement, searched: &BTreeSet<&str>) -> Self {
        let is_searched = searched.contains(of.name.as_str());
        Self { name: &of.name, load: comparable(&of.workload, is_searched) }
    }
}

/// Properties that peers have in common, besides the step.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    model: String,
    firmware: Option<String>,
    capacity: Vec<Bytes>,
    link: Option<(u8, u8)>,
    written: WrittenState,
}

fn kind<'h>(host: &'h Host, of: &Measurement) -> Option<(Kind, &'h str)> {
    let [target] = of.targets.as_slice() else { return None };
    let place = place(Some(host), of, target);
    let drive = place.drive.filter(|drive| place.whole && drive.virtual_disk.is_none())?;
    let link = narrowest_link(host, &drive.links).map(|state| (state.generation, state.width));
    let kind = Kind {
        model: drive.model.value()?,
        firmware: drive.firmware.value(),
        capacity: capacities(drive),
        link,
        written: written(of, target),
    };
    Some((kind, &drive.name))
}

/// Measurements of equal drives in the same step, by the metric that they are judged by.
struct Peers<'a> {
    /// Each drive's first figure, by group.
    groups: Vec<Vec<(&'a str, Estimate)>>,
    /// Group and drive of each measurement.
    of: Vec<Option<(usize, &'a str)>>,
}

impl<'a> Peers<'a> {
    fn of(record: &'a RunRecord, searched: &BTreeSet<&str>) -> Self {
        let mut peers = Self { groups: Vec::new(), of: Vec::new() };
        let mut known: HashMap<(Step<'_>, Kind, Metric), (usize, HashSet<&str>)> = HashMap::new();
        for of in &record.measurements {
            let own = record.host().and_then(|host| kind(host, of));
            let own = own.filter(|(kind, _)| kind.written != WrittenState::Unwritten);
            let own = own.zip(figure(of));
            peers.of.push(own.map(|((kind, drive), (metric, estimate))| {
                let next = known.len();
                let key = (Step::of(of, searched), kind, metric);
                let (group, drives) = known.entry(key).or_insert_with(|| {
                    peers.groups.push(Vec::new());
                    (next, HashSet::new())
                });
                if drives.insert(drive) {
                    peers.groups[*group].push((drive, estimate));
                }
                (*group, drive)
            }));
        }
        peers
    }

    /// Compares a measurement with its peers, taking `estimate` as its figure: median, number of
    /// drives, judgement.
    fn against(
        &self,
        measurement: usize,
        metric: Metric,
        estimate: Estimate,
    ) -> Option<(f64, u32, Judgement)> {
        let (group, drive) = self.of[measurement]?;
        let group = &self.groups[group];
        if group.len() < LEAST_PEERS {
            return None;
        }
        let others = group.iter().filter(|(other, _)| *other != drive).map(|(_, theirs)| *theirs);
        let all: Vec<Estimate> = others.chain([estimate]).collect();
        let (reference, judgement) = against_median(metric, estimate, &all)?;
        Some((reference, all.len() as u32, judgement))
    }
}

/// Compares a figure with the median of `all`, its own included: if one of three is far too fast,
/// it must not make the other two look slow.
fn against_median(
    metric: Metric,
    estimate: Estimate,
    all: &[Estimate],
) -> Option<(f64, Judgement)> {
    let (reference, bounds) = median_of(all)?;
    Some((reference, against(metric, estimate, reference, bounds)?))
}

/// Median of the figures, and of the ends of their intervals.
pub(crate) fn median_of(all: &[Estimate]) -> Option<(f64, (f64, f64))> {
    let of_all = |what: fn(&Estimate) -> f64| median(&all.iter().map(what).collect::<Vec<_>>());
    let bounds = (of_all(|one| interval(one).0)?, of_all(|one| interval(one).1)?);
    Some((of_all(|one| one.value)?, bounds))
}

/// Interval in which the next measurement may lie. Without a confidence interval that is anywhere:
/// rounding bounds say nothing about the next measurement.
fn interval(of: &Estimate) -> (f64, f64) {
    match of.spread {
        Spread::Confidence { low, high, .. } => (low.max(0.0), high),
        Spread::Rounding { .. } | Spread::Unknown => (0.0, f64::INFINITY),
    }
}

/// Compares a figure with such a median.
pub(crate) fn against(
    metric: Metric,
    estimate: Estimate,
    median: f64,
    bounds: (f64, f64),
) -> Option<Judgement> {
    unlike(metric, estimate, median, bounds, Yardstick::Peers)
}

/// Compares a figure with a reference: more than 10 % below (latencies: above) it is a warning, more
/// than 25 % a failure, if the interval of their ratio excludes equality; latencies warn at most. An
/// interval that holds both equality and more than 10 % below decides nothing.
fn unlike(
    metric: Metric,
    estimate: Estimate,
    reference: f64,
    bounds: (f64, f64),
    whose: Yardstick,
) -> Option<Judgement> {
    if !(reference.is_finite() && reference > 0.0) {
        return None;
    }
    let ratio = estimate.value / reference;
    let (low, high) = interval(&estimate);
    let ratios = (low / bounds.1, high / bounds.0);
    let (speed, (least, most)) = match metric {
        // Twice the latency is half the rate.
        Metric::LatencyMean => (1.0 / ratio, (1.0 / ratios.1, 1.0 / ratios.0)),
        _ => (ratio, ratios),
    };
    let verdict = if most < 1.0 {
        match metric {
            Metric::LatencyMean if speed < 1.0 - UNLIKE_WARN => Verdict::Warn,
            _ if speed < 1.0 - UNLIKE_FAIL => Verdict::Fail,
            _ if speed < 1.0 - UNLIKE_WARN => Verdict::Warn,
            _ => Verdict::Pass,
        }
    } else if least >= 1.0 - UNLIKE_WARN {
        Verdict::Pass
    } else {
        let undecided = Judgement::new(Verdict::Unjudged, whose, ratio);
        return Some(undecided.with(", but the intervals cannot tell"));
    };
    Some(Judgement::new(verdict, whose, ratio))
}

/// Lowers FAIL to WARN for a drive with other I/O, or limited by a control group.
fn excused(index: &Index<'_>, of: &Measurement, judgement: Judgement) -> Judgement {
    let cgroup_effect = || cgroup_effect(index, of).ok().flatten().map(|effect| effect.to_string());
    match limiter::other_load(of).or_else(cgroup_effect) {
        Some(why) if judgement.verdict == Verdict::Fail => {
            Judgement { verdict: Verdict::Warn, ..judgement }.with(format!("; {why}"))
        }
        _ => judgement,
    }
}

/// Identity of a measurement's targets, to find them in another run: serial numbers of drives,
/// names of everything else.
pub(crate) fn identity(record: &RunRecord, of: &Measurement) -> Vec<String> {
    let mut all: Vec<String> = of
        .targets
        .iter()
        .map(|target| {
            let place = place(record.host(), of, target);
            let serial = place.drive.filter(|_| place.whole).and_then(|d: &Drive| d.serial.value());
            serial.unwrap_or_else(|| target.clone())
        })
        .collect();
    all.sort();
    all
}

/// An earlier run: figures by step and identity.
struct Baseline<'a>(HashMap<BaselineKey<'a>, Vec<(Metric, Estimate)>>);

type BaselineKey<'a> = (Step<'a>, Vec<String>);

impl<'a> Baseline<'a> {
    fn of(record: &'a RunRecord) -> Self {
        let searched = searched(record);
        let mut all = HashMap::<_, Vec<_>>::new();
        for of in record.measurements.iter().filter(|of| !unwritten(of)) {
            let made = (Step::of(of, &searched), identity(record, of));
            all.entry(made).or_default().extend(figure(of));
        }
        Self(all)
    }

    fn against(
        &self,
        made: &BaselineKey<'_>,
        metric: Metric,
        estimate: Estimate,
    ) -> Option<(Estimate, Judgement)> {
        let same = self.0.get(made)?;
        let (_, theirs) = *same.iter().find(|(their_metric, _)| *their_metric == metric)?;
        let bounds = interval(&theirs);
        let judgement = unlike(metric, estimate, theirs.value, bounds, Yardstick::Baseline)?;
        Some((theirs, judgement))
    }
}

/// Compares rates of several targets at once with the sum of each alone.
fn against_alone(index: &Index<'_>, of: &Measurement, metric: Metric) -> Option<(f64, Judgement)> {
    if metric == Metric::LatencyMean {
        return None;
    }
    let (_, estimate) = figure(of)?;
    let alone = |target: &String| {
        let single = index.named_on(&of.name, std::slice::from_ref(target)).first()?;
        let (_, estimate) = figure(single)?;
        Some(estimate)
    };
    let alone: Vec<Estimate> = of.targets.iter().map(alone).collect::<Option<_>>()?;
    let sum: f64 = alone.iter().map(|estimate| estimate.value).sum();
    let ends = alone.iter().map(interval);
    let bounds = ends.fold((0.0, 0.0), |sum, (low, high)| (sum.0 + low, sum.1 + high));
    let judgement = unlike(metric, estimate, sum, bounds, Yardstick::Alone)?;
    Some((sum, Judgement { verdict: judgement.verdict.min(Verdict::Warn), ..judgement }))
}
