//! Combined results of concurrent I/O: clones of a job, jobs of a group.

use std::collections::BTreeMap;

use crate::{
    Direction, DirectionResult, Estimate, Histogram, LatencyKind, LatencySummary, Measurement,
    SplitLatency, StatedLatencies,
};

/// Combined result of several measurements of the same phase and group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupTotal {
    /// Indices of the run's measurements, in order.
    pub members: Vec<usize>,
    /// Time from the first start to the last end, ns; `None`: not known.
    pub duration_ns: Option<u64>,
    /// Results per direction that occurred.
    pub total: Vec<DirectionResult>,
}

/// Returns the totals of the groups with several jobs. Measurements without a duration (figures
/// without a report) are left out: how long each ran is not known.
pub fn group_totals(measurements: &[Measurement]) -> Vec<GroupTotal> {
    let key = |of: &Measurement| (of.phase, of.group, of.round);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut number_of = BTreeMap::new();
    for (n, of) in measurements.iter().enumerate().filter(|(_, of)| has_duration(of)) {
        let number = *number_of.entry(key(of)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(n),
            None => groups.push(vec![n]),
        }
    }
    let total = |members: Vec<usize>| {
        let of: Vec<&Measurement> = members.iter().map(|n| &measurements[*n]).collect();
        GroupTotal { duration_ns: span_ns(&of), total: totals(&of), members }
    };
    groups.into_iter().filter(|members| members.len() > 1).map(total).collect()
}

fn has_duration(of: &Measurement) -> bool {
    !of.total.is_empty() && of.duration_ns.is_some()
}

/// Returns the time from the first start to the last end, ns, if known, and at least the longest
/// measurement. Uncounted time (ramp, delayed start) is excluded; all jobs of a phase have the
/// phase's start.
pub fn span_ns(all: &[&Measurement]) -> Option<u64> {
    let longest = all.iter().filter_map(|of| of.duration_ns).max()?;
    let start = |of: &&Measurement| Some(of.started_ns?.saturating_add_unsigned(of.warmup_ns));
    let starts: Option<Vec<i64>> = all.iter().map(start).collect();
    let Some(starts) = starts else { return Some(longest) };
    let ends = starts.iter().zip(all);
    let ends = ends.map(|(start, of)| start.saturating_add_unsigned(of.duration_ns.unwrap_or(0)));
    let span = starts.iter().min().zip(ends.max()).map(|(first, last)| last.abs_diff(*first));
    Some(longest.max(span.unwrap_or(0)))
}

/// Returns the totals per direction that occurred. Each rate is over its own time; the total rate
/// is over the time of all.
pub fn totals(all: &[&Measurement]) -> Vec<DirectionResult> {
    let span_ns = span_ns(all);
    let share = |of: &Measurement| match (of.duration_ns, span_ns) {
        (Some(own), Some(span)) => own as f64 / span.max(1) as f64,
        _ => 1.0,
    };
    let mut directions: Vec<Direction> =
        all.iter().flat_map(|of| &of.total).map(|side| side.direction).collect();
    directions.sort_unstable();
    directions.dedup();
    let of = |direction| {
        let sides = all.iter().filter_map(|of| Some((of.result(direction)?, share(of))));
        sum_direction(direction, &sides.collect::<Vec<_>>())
    };
    directions.into_iter().map(of).collect()
}

/// Adds results of one direction, each weighted by its share of the total time.
fn sum_direction(direction: Direction, shares: &[(&DirectionResult, f64)]) -> DirectionResult {
    let sides = || shares.iter().map(|(side, _)| *side);
    let count = |of: fn(&DirectionResult) -> Option<u64>| {
        sides().try_fold(0_u64, |sum, side| sum.checked_add(of(side)?))
    };
    let rate = |of: fn(&DirectionResult) -> Option<Estimate>| {
        let scaled = |(side, share): &(&DirectionResult, f64)| Some(of(side)?.scaled(*share));
        sum_estimates(shares.iter().map(scaled).collect::<Option<Vec<_>>>()?)
    };
    // Percentiles cannot be merged; bins can.
    let bins = |kind| -> Histogram {
        let mut joined = Histogram::default();
        let all: Option<Vec<&Histogram>> = sides().map(|side| side.bins(kind)).collect();
        all.into_iter().flatten().for_each(|one| joined.merge(one));
        joined
    };
    let (submission, completion) = (bins(LatencyKind::Submission), bins(LatencyKind::Completion));
    let is_split = submission.count() + completion.count() > 0;
    let mut stated = StatedLatencies::default();
    for kind in LatencyKind::ALL {
        *stated.of_mut(kind) = summary(shares, kind);
    }
    DirectionResult {
        ios: count(|side| side.ios),
        bytes: count(|side| side.bytes),
        whole_ios: count(|side| side.whole_ios),
        whole_bytes: count(|side| side.whole_bytes),
        errors: count(|side| side.errors),
        short_ios: count(|side| side.short_ios),
        iops: rate(|side| side.iops),
        bandwidth: rate(|side| side.bandwidth),
        latency: bins(LatencyKind::Total),
        split: is_split.then_some(SplitLatency { submission, completion }),
        latency_mean: stated.total.mean_ns,
        stated: (stated != StatedLatencies::default()).then(|| Box::new(stated)),
        ..DirectionResult::unknown(direction)
    }
}

fn sum_estimates(all: Vec<Estimate>) -> Option<Estimate> {
    all.into_iter().reduce(Estimate::plus)
}

/// Minimum and maximum over all, and the mean weighted by I/Os.
fn summary(shares: &[(&DirectionResult, f64)], kind: LatencyKind) -> LatencySummary {
    let sides = || shares.iter().map(|(side, _)| *side);
    let extreme = |of: fn(&DirectionResult, LatencyKind) -> Option<Estimate>, sign: f64| {
        let all: Option<Vec<Estimate>> = sides().map(|side| of(side, kind)).collect();
        all?.into_iter().max_by(|a, b| (a.value * sign).total_cmp(&(b.value * sign)))
    };
    let ios: Option<Vec<f64>> = sides().map(|side| side.ios.map(|ios| ios as f64)).collect();
    let means: Option<Vec<Estimate>> = sides().map(|side| side.mean_of(kind)).collect();
    let mean = ios.zip(means).and_then(|(ios, means)| {
        let all = ios.iter().sum::<f64>().max(1.0);
        sum_estimates(means.iter().zip(ios).map(|(mean, ios)| mean.scaled(ios / all)).collect())
    });
    LatencySummary {
        min_ns: extreme(DirectionResult::min_of, -1.0),
        mean_ns: mean,
        max_ns: extreme(DirectionResult::max_of, 1.0),
        ..LatencySummary::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(phase: u32, started_s: i64, seconds: u64, iops: f64, latency_ns: u64) -> Measurement {
        let ios = (iops * seconds as f64) as u64;
        let mut side = DirectionResult {
            ios: Some(ios),
            iops: Some(Estimate::confident(iops, iops * 0.9, iops * 1.1, 0.95)),
            latency_mean: Some(Estimate::bare(latency_ns as f64)),
            ..DirectionResult::unknown(Direction::Read)
        };
        side.latency.record(latency_ns);
        Measurement {
            phase,
            started_ns: Some(started_s * 1_000_000_000),
            duration_ns: Some(seconds * 1_000_000_000),
            total: vec![side],
            ..Measurement::unknown("job")
        }
    }

    #[test]
    fn total_rates_cover_the_time_of_all_jobs() {
        let jobs = [job(0, 0, 10, 100.0, 1000), job(0, 0, 5, 300.0, 2000), job(1, 10, 5, 7.0, 1)];
        let [only] = &group_totals(&jobs)[..] else { panic!() };
        assert_eq!((&only.members[..], only.duration_ns), (&[0, 1][..], Some(10_000_000_000)));
        let side = &only.total[0];
        assert_eq!((side.ios, side.latency.count()), (Some(2500), 2));
        let iops = side.iops.unwrap();
        assert_eq!((iops.value, iops.low(), iops.high()), (250.0, 225.0, 275.0));
        assert_eq!(side.latency_mean.unwrap().value, 1600.0);
        // In sequence they took longer than each alone.
        let jobs = [job(0, 0, 10, 100.0, 1), job(0, 10, 10, 300.0, 1)];
        assert_eq!(group_totals(&jobs)[0].total[0].iops.unwrap().value, 200.0);
    }

    #[test]
    fn waiting_time_of_a_job_is_not_counted() {
        const S: u64 = 1_000_000_000;
        let of = |warmups_s: [u64; 2]| {
            let mut jobs = [job(0, 0, 30, 100.0, 1), job(0, 0, 30, 300.0, 1)];
            jobs.iter_mut().zip(warmups_s).for_each(|(job, s)| job.warmup_ns = s * S);
            let total = group_totals(&jobs).remove(0);
            (total.duration_ns.unwrap() / S, total.total[0].iops.unwrap().value)
        };
        assert_eq!(of([0, 30]), (60, 200.0));
        // The common ramp, and a job that waited longer.
        assert_eq!(of([10, 10]), (30, 400.0));
        assert_eq!(of([10, 40]), (60, 200.0));
    }

    #[test]
    fn value_unknown_for_one_job_is_unknown_for_the_group() {
        let mut jobs = [job(0, 0, 10, 100.0, 1000), job(0, 0, 10, 300.0, 2000)];
        jobs[1].total[0].ios = None;
        jobs[1].total[0].latency = Histogram::default();
        let side = &group_totals(&jobs)[0].total[0];
        assert_eq!((side.ios, side.latency.count(), side.latency_mean), (None, 0, None));
        assert_eq!(side.iops.unwrap().value, 400.0);
    }
}
