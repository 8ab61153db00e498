//! Compares an application's requirements with its measured figures.

mod settings;

use iodyno_model::{
    Assessment, Bound, EndReason, Estimate, FigureKind, FigureOf, Histogram, IoOf, Kept,
    Measurement, Metric, Profile, ProfileQuantity, RunRecord, Validity,
};
use iodyno_stats::quantile_interval::{design_effect_of_groups, ranks_of_clustered, sectioned};
use iodyno_stats::two_sample::student_interval;

use crate::figures;
use crate::pace::missed;
pub use settings::{Doubt, SETTINGS_HEAD, SettingText, fill_in_jobs, setting_text, setting_texts};

/// Confidence level of the intervals that decide if bounds are kept.
pub const LEVEL: f64 = 0.95;

/// Minimum number of rounds for an interval.
const LEAST_ROUNDS: usize = 3;

/// A quantity of a profile as measured, and its bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted<'p> {
    /// The requirement.
    pub quantity: &'p ProfileQuantity,
    /// Figure of all rounds together; `None`: not measured, or not well enough for an interval.
    pub estimate: Option<Estimate>,
    /// Each of the bounds, and if the estimate keeps it.
    pub bounds: Vec<(&'p Bound, Kept)>,
}

/// Returns a predicate on a measurement's index that is false for invalid ones.
pub fn is_valid(assessment: &Assessment) -> impl Fn(usize) -> bool + Copy {
    |n| assessment.of(n).is_none_or(|judged| judged.validity != Validity::Invalid)
}

/// Returns every quantity of a profile; measurements for which `is_valid` (of an index into the
/// run's) is false are not used.
pub fn fitted<'p>(
    profile: &'p Profile,
    record: &RunRecord,
    is_valid: impl Fn(usize) -> bool,
) -> Vec<Fitted<'p>> {
    let one = |quantity: &'p ProfileQuantity| {
        let estimate = figure(record, &quantity.of, &is_valid);
        let bounds = quantity.bounds.iter();
        let bounds = bounds.map(|bound| (bound, kept(bound, estimate))).collect();
        Fitted { quantity, estimate, bounds }
    };
    profile.quantities.iter().map(one).collect()
}

fn kept(bound: &Bound, estimate: Option<Estimate>) -> Kept {
    let Some((low, high)) = estimate.and_then(|one| one.bounds()) else { return Kept::Unknown };
    let limit = bound.limit.value();
    let (keeps, misses) = match bound.limit.is_upper() {
        true => (high <= limit, low > limit),
        false => (low >= limit, high < limit),
    };
    match (keeps, misses) {
        (true, _) => Kept::Yes,
        (_, true) => Kept::No,
        _ => Kept::Borderline,
    }
}

/// Returns a figure over all valid rounds of its job, with an interval from the rounds; `None`: too
/// few were measured, or one of them failed.
pub fn figure(
    record: &RunRecord,
    of: &FigureOf,
    is_valid: impl Fn(usize) -> bool,
) -> Option<Estimate> {
    let all = record.measurements.iter().enumerate().filter(|(_, one)| one.name == of.job);
    // An interrupted round does not count: it may have ended before its first I/O.
    let whole = all.filter(|(n, one)| is_valid(*n) && one.end != EndReason::Interrupted);
    let rounds: Vec<&Measurement> = whole.map(|(_, one)| one).collect();
    if rounds.len() < LEAST_ROUNDS || rounds.iter().any(|one| one.failure().is_some()) {
        return None;
    }
    let is_latency = matches!(of.figure, FigureKind::Percentile(_) | FigureKind::Mean);
    if is_latency && rounds.iter().any(|one| is_behind(one, of.io)) {
        return None;
    }
    match of.figure {
        FigureKind::Percentile(percent) => percentile(&rounds, of.io, percent),
        figure => mean(&rounds, of.io, figure),
    }
}

/// True for a job that did not keep its rate: latencies count from when I/Os were due, so they
/// are those of its backlog.
fn is_behind(of: &Measurement, io: IoOf) -> bool {
    let IoOf::Data(direction) = io else { return false };
    of.result(direction).is_some_and(|result| missed(of, result).is_some())
}

/// Mean over rounds of equal length, which are nearly independent.
fn mean(rounds: &[&Measurement], io: IoOf, figure: FigureKind) -> Option<Estimate> {
    let values: Vec<f64> = rounds.iter().map(|of| value(of, io, figure)).collect::<Option<_>>()?;
    let (low, high) = student_interval(&values, LEVEL)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Estimate::confident(mean, low.max(0.0), high, LEVEL))
}

fn value(of: &Measurement, io: IoOf, figure: FigureKind) -> Option<f64> {
    match (io, figure) {
        (IoOf::Data(direction), FigureKind::Iops) => Some(of.result(direction)?.iops?.value),
        (IoOf::Data(direction), FigureKind::Bandwidth) => {
            Some(of.result(direction)?.bandwidth?.value)
        }
        (_, FigureKind::Percentile(percent)) => {
            Some(latencies(of, io)?.quantile_ns(percent / 100.0)? as f64)
        }
        (IoOf::Data(direction), _) => Some(of.result(direction)?.latency_mean?.value),
        (IoOf::Sync, FigureKind::Iops) => {
            let seconds = of.account.as_ref()?.counted_ns as f64 / 1e9;
            (seconds > 0.0).then(|| of.account.as_ref().map(|a| a.sync.count() as f64 / seconds))?
        }
        (IoOf::Sync, _) => latencies(of, io)?.mean_ns(),
    }
}

fn latencies(of: &Measurement, io: IoOf) -> Option<&Histogram> {
    let histogram = match io {
        // fio's JSON+ has the bins of completion latencies, unless more is asked for.
        IoOf::Data(direction) => of.result(direction)?.total_or_completion_bins()?.1,
        IoOf::Sync => &of.account.as_ref()?.sync,
    };
    (!histogram.is_empty()).then_some(histogram)
}

/// Percentile of all rounds together. Slow I/Os come in clusters: the spread between rounds of the
/// share beyond it widens its interval.
pub(crate) fn percentile(rounds: &[&Measurement], io: IoOf, percent: f64) -> Option<Estimate> {
    let each: Vec<&Histogram> = rounds.iter().map(|of| latencies(of, io)).collect::<Option<_>>()?;
    let mut all = Histogram::default();
    each.iter().for_each(|one| all.merge(one));
    let q = percent / 100.0;
    let value = all.quantile_ns(q)?;
    let bin = Histogram::index(value);
    let beyond: Vec<f64> = each.iter().map(|one| one.count_from(bin) as f64).collect();
    let counts: Vec<f64> = each.iter().map(|one| one.count() as f64).collect();
    // All in one bin: the rounds do not differ.
    let effect = design_effect_of_groups(&beyond, &counts, LEVEL).unwrap_or(1.0);
    let (low, high) = match ranks_of_clustered(all.count(), effect, q, LEVEL) {
        Some((low, high)) => {
            let at = |rank| all.value_at_rank(rank).map(|ns| ns as f64);
            (at(low)?, at(high)?)
        }
        // Too clustered for an upper rank: use the spread of the rounds' own percentiles.
        None => {
            let own: Option<Vec<f64>> =
                each.iter().map(|one| Some(one.quantile_ns(q)? as f64)).collect();
            sectioned(value as f64, &own?, LEVEL)?
        }
    };
    Some(Estimate::confident(value as f64, low, high, LEVEL))
}

/// Returns the names of the jobs with an undecided bound, which more rounds may decide.
pub fn undecided(profile: &Profile, record: &RunRecord) -> Vec<String> {
    let is_open = |kept: &Kept| matches!(kept, Kept::Borderline | Kept::Unknown);
    let open = |one: &Fitted<'_>| one.bounds.iter().any(|(_, kept)| is_open(kept));
    let all = fitted(profile, record, |_| true);
    all.iter().filter(|one| open(one)).map(|one| one.quantity.of.job.clone()).collect()
}

/// Formats the figure of a quantity with its interval. `None`: the figure is not known.
pub fn words(of: &Fitted<'_>) -> Option<String> {
    Some(estimate_words(of.quantity.of.figure, &of.estimate?))
}

fn estimate_words(figure: FigureKind, estimate: &Estimate) -> String {
    let metric = match figure {
        FigureKind::Iops => Metric::Iops,
        FigureKind::Bandwidth => Metric::Bandwidth,
        FigureKind::Mean | FigureKind::Percentile(_) => Metric::LatencyMean,
    };
    figures::estimate(metric, estimate)
}
