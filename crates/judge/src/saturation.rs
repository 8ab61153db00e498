//! Decides if a measurement kept enough I/Os outstanding to be compared with a claim.
//!
//! A data sheet that names no depth means a depth beyond which the rate no longer rises. A
//! measurement is compared with it only if it is shown to be that deep: by the depths that were
//! tried, or by Little's law with the latency at depth 1.

use std::collections::{BTreeMap, HashMap};

use iodyno_model::{BelowSaturation, Claim, Direction, Measurement, Metric};

use crate::conditions::{is_random_at_depth_1, parse_conditions};
use crate::measured::{figure, is_paced};
use crate::outstanding::{STILL_GROWING, allowed, outstanding};
use crate::shape::Shape;

/// Latency of the host's path to a drive and back, which a data sheet leaves out, ns.
pub(crate) const HOST_LATENCY_NS: f64 = 10_000.0;
/// Upper limit of a flash drive's latency at depth 1, ns: the slowest of all data sheets states 115
/// us.
pub(crate) const FLASH_LATENCY_NS: f64 = 200_000.0;
/// If twice the I/Os outstanding raise the rate by less than this factor, they wait for each other.
const SATURATED_GAIN: f64 = 1.10;
/// A queue filled to this share is full, except for I/Os being submitted.
pub(crate) const FULL_QUEUE: f64 = 0.9;

/// Explains why `of`, which is below `claim` (in the metric's unit), is not compared with it;
/// `conditions` are those printed with the claim. `None`: enough I/Os were outstanding, and it is
/// the best of its series.
pub(crate) fn below_saturation(
    depths: &Depths<'_>,
    of: &Measurement,
    metric: Metric,
    sheet: &Claim,
    (claim, conditions): (f64, &str),
) -> Option<BelowSaturation> {
    let own = figure(of)?.1.value;
    let series = depths.series(of, metric);
    let best = series.iter().map(|point| point.rate).fold(own, f64::max);
    let surpassed_by = (best > own).then_some(best);
    let count = outstanding(of);
    let claimed_ios = match (metric, of.workload.bs) {
        (Metric::Bandwidth, Some(bs)) if bs > 0 => Some(claim / bs as f64),
        (Metric::Iops, _) => Some(claim),
        _ => None,
    };
    let transfer_ns = match (metric, claimed_ios) {
        (Metric::Bandwidth, Some(ios)) => 1e9 / ios,
        _ => 0.0,
    };
    // Measured in the same run, else as stated by the sheet.
    let measured_ns = depths.alone_ns.get(&WorkloadKey::of(of)).copied();
    let latency_ns = measured_ns
        .or_else(|| Some(sheet_latency_ns(sheet, of.total.first()?.direction)? + transfer_ns));
    let needed = claimed_ios.zip(latency_ns).map(|(ios, ns)| ios * ns / 1e9);
    // Upper limit for a flash drive of unknown latency.
    let at_most = claimed_ios.map(|ios| ios * (FLASH_LATENCY_NS + transfer_ns) / 1e9);
    let by_law = count.zip(needed.or(at_most)).is_some_and(|(count, needed)| count >= needed);
    let enough = by_law || has_claimed_depth(of, conditions) || is_saturated(of, own, &series);
    (!enough || surpassed_by.is_some()).then_some(BelowSaturation {
        outstanding: count,
        needed,
        enough,
        surpassed_by,
    })
}

/// Point of a series: outstanding I/Os that its engine allows, and its rate.
struct Point {
    allowed: u32,
    rate: f64,
}

/// Key of measurements of the same workload on the same targets.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WorkloadKey<'a> {
    shape: Shape<'a>,
    targets: &'a [String],
}

impl<'a> WorkloadKey<'a> {
    fn of(of: &'a Measurement) -> Self {
        Self { shape: Shape::of(&of.workload), targets: &of.targets }
    }
}

/// Measurements of the same work with the same shares of written blocks.
#[derive(Debug)]
struct Series<'a> {
    /// Any measurement of the series.
    like: &'a Measurement,
    /// Best bandwidth and IOPS by load and the outstanding I/Os that it allows.
    best: BTreeMap<(Load, u32), [Option<f64>; 2]>,
}

/// Depth of each job, and number of jobs.
type Load = (Option<u32>, Option<u32>);

/// Key of a series, as returned by [`Depths::key`].
type SeriesKey<'a> = (WorkloadKey<'a>, Option<u64>);

/// Rates of a run's measurements at each depth.
#[derive(Debug, Default)]
pub(crate) struct Depths<'a> {
    series: HashMap<SeriesKey<'a>, Vec<Series<'a>>>,
    /// Latency at depth 1, ns.
    alone_ns: HashMap<WorkloadKey<'a>, f64>,
}

impl<'a> Depths<'a> {
    /// Adds a finished measurement. Rate-limited ones are left out: they do not show what a depth
    /// gives.
    pub(crate) fn add(&mut self, of: &'a Measurement) {
        let Some(allowed) = allowed(of).filter(|_| !is_paced(of)) else { return };
        let bandwidth = of.total.iter().map(|one| one.bandwidth).collect::<Option<Vec<_>>>();
        let iops = of.total.iter().map(|one| one.iops).collect::<Option<Vec<_>>>();
        let own = [bandwidth, iops].map(|rates| {
            let sum: f64 = rates?.iter().map(|rate| rate.value).sum();
            Some(sum).filter(|sum| sum.is_finite())
        });
        let alike = self.series.entry(Self::key(of)).or_default();
        let is_its = |one: &Series<'_>| one.like.conditions.written == of.conditions.written;
        let at = alike.iter().position(is_its).unwrap_or_else(|| {
            alike.push(Series { like: of, best: BTreeMap::new() });
            alike.len() - 1
        });
        let best = alike[at].best.entry((load(of), allowed)).or_default();
        for (best, own) in best.iter_mut().zip(own) {
            *best = (*best).into_iter().chain(own).reduce(f64::max);
        }
        let latency = of.total.first().and_then(|one| one.mean_latency());
        if let Some(ns) = latency.map(|(_, mean)| mean.value).filter(|ns| allowed == 1 && *ns > 0.0)
        {
            let least = self.alone_ns.entry(WorkloadKey::of(of)).or_insert(ns);
            *least = least.min(ns);
        }
    }

    /// Key of a series: workload, targets, and the written share of the first target.
    fn key(of: &'a Measurement) -> SeriesKey<'a> {
        let written = of.conditions.written.first().map(|one| one.share.value.to_bits());
        (WorkloadKey::of(of), written)
    }

    /// Returns the same workload on the same targets at other depths or with other numbers of jobs.
    fn series(&self, of: &Measurement, metric: Metric) -> Vec<Point> {
        let mut alike = self.series.get(&Depths::key(of)).into_iter().flatten();
        let series = alike.find(|one| one.like.conditions.written == of.conditions.written);
        let all = series.into_iter().flat_map(|one| &one.best);
        all.filter(|((other, _), _)| *other != load(of))
            .filter_map(|((_, allowed), [bandwidth, iops])| {
                let rate = if metric == Metric::Bandwidth { bandwidth } else { iops };
                Some(Point { allowed: *allowed, rate: (*rate)? })
            })
            .collect()
    }
}

fn load(of: &Measurement) -> Load {
    (of.workload.iodepth, of.workload.numjobs)
}

/// Returns true if more depth no longer raised the rate, in the depth search or in the series.
fn is_saturated(of: &Measurement, own: f64, series: &[Point]) -> bool {
    if let [.., (_, before), (_, last)] = of.conditions.depths_tried.as_slice() {
        return *before <= 0.0 || *last < before * STILL_GROWING;
    }
    let Some(allowed) = allowed(of) else { return false };
    let all = || series.iter().map(|point| (point.allowed, point.rate)).chain([(allowed, own)]);
    let deepest = all().map(|(allowed, _)| allowed).max().unwrap_or(0);
    let best = all().map(|(_, rate)| rate).fold(0.0, f64::max);
    all().any(|(allowed, rate)| rate * SATURATED_GAIN >= best && deepest / 2 >= allowed)
}

/// Returns true if the claim names its depth and that many I/Os were outstanding.
fn has_claimed_depth(of: &Measurement, conditions: &str) -> bool {
    let stated = parse_conditions(conditions);
    let Some((claimed, ours)) = stated.outstanding.zip(outstanding(of)) else { return false };
    let bytes = stated.block_bytes.zip(of.workload.bs);
    let (theirs, ours) = match bytes {
        Some((theirs, bs)) => (claimed as f64 * theirs as f64, ours * bs as f64),
        None => (claimed as f64, ours),
    };
    ours >= FULL_QUEUE * theirs
}

/// Latency at depth 1, ns, if the sheet states that of random I/O.
fn sheet_latency_ns(sheet: &Claim, direction: Direction) -> Option<f64> {
    let us = match direction {
        Direction::Write => sheet.lat_write_us,
        _ => sheet.lat_read_us,
    };
    let comparable = is_random_at_depth_1(&sheet.lat_cond);
    us.filter(|_| comparable).map(|us| us * 1e3 + HOST_LATENCY_NS)
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Estimate, Measurement, RunRecord, Verdict};

    use crate::testing::{Bench, known};
    use crate::{ClaimBook, ExitStatus, Question, assess, exit_status};

    /// A 990 PRO 2TB whose first measurement is repeated at each of these depths and jobs, with
    /// these IOPS.
    fn table(points: &[(u32, u32, f64)]) -> RunRecord {
        let bench = Bench::new(1).measured().drive(0, |drive| {
            drive.model = known("Samsung SSD 990 PRO 2TB".into());
            drive.capacity = known(iodyno_model::Bytes(2_000_398_934_016));
            drive.namespaces[0].size = known(iodyno_model::Bytes(2_000_398_934_016));
        });
        let mut record = bench.record();
        let first = record.measurements[1].clone();
        let point = |(n, (depth, jobs, iops)): (usize, &(u32, u32, f64))| Measurement {
            name: format!("point-{n}"),
            ..at(&first, "io_uring", *depth, *jobs, *iops)
        };
        record.measurements = points.iter().enumerate().map(point).collect();
        record
    }

    fn at(of: &Measurement, engine: &str, depth: u32, jobs: u32, iops: f64) -> Measurement {
        let mut of = of.clone();
        let outstanding = if engine == "psync" { jobs } else { depth * jobs };
        of.workload.ioengine = Some(engine.into());
        (of.workload.iodepth, of.workload.numjobs) = (Some(depth), Some(jobs));
        of.conditions.depth_asked = Some(depth * jobs);
        (of.conditions.threads, of.conditions.depth_reached) = (Some(jobs), None);
        let bytes = of.workload.bs.unwrap() as f64;
        of.total[0].iops = Some(Estimate::bare(iops));
        of.total[0].bandwidth = Some(Estimate::bare(iops * bytes));
        of.total[0].latency_mean = Some(Estimate::bare(f64::from(outstanding) * 1e9 / iops));
        of
    }

    /// Returns the verdicts with their reasons, and the exit status.
    fn judged(record: &RunRecord) -> (Vec<(Verdict, String)>, ExitStatus) {
        let claims = ClaimBook::builtin();
        let question = Question { record, claims: &claims, baseline: None, expect: None };
        let all = assess(&question);
        let status = exit_status(record, &all, true);
        let metrics = all.measurements.into_iter().map(|mut judged| judged.metrics.remove(0));
        (metrics.map(|metric| (metric.verdict, metric.reason.to_string())).collect(), status)
    }

    #[test]
    fn a_depth_table_of_a_healthy_drive_fails_nowhere() {
        let points = [(4, 1, 86e3), (16, 1, 330e3), (32, 1, 600e3), (32, 16, 1.39e6)];
        let (verdicts, status) = judged(&table(&points));
        assert_eq!(verdicts[3].0, Verdict::Pass, "{verdicts:?}");
        for (verdict, reason) in &verdicts[..3] {
            assert_eq!(*verdict, Verdict::Unjudged, "{reason}");
            assert!(reason.contains("not enough outstanding to reach the claim"), "{reason}");
        }
        assert_eq!(status, ExitStatus::Fine);
        // A single point shows nothing either, and is no failure.
        let (verdicts, status) = judged(&table(&points[..1]));
        assert_eq!((verdicts[0].0, status), (Verdict::Unjudged, ExitStatus::Unjudged));
    }

    #[test]
    fn a_slow_drive_still_fails_where_depth_no_longer_raises_its_rate() {
        let points = [(4, 1, 86e3), (32, 4, 500e3), (32, 16, 510e3)];
        let (verdicts, status) = judged(&table(&points));
        assert_eq!(verdicts[2].0, Verdict::Fail, "{verdicts:?}");
        assert_eq!((verdicts[1].0, status), (Verdict::Unjudged, ExitStatus::Failed));
        // A single point: 1.4M IOPS at 200 us or less need 280 I/Os.
        assert_eq!(judged(&table(&[(32, 16, 510e3)])).0[0].0, Verdict::Fail);
    }

    #[test]
    fn a_rate_limited_job_is_not_a_slow_drive() {
        let paced = |points: &[(u32, u32, f64)], option: &str, value: &str| {
            let mut record = table(points);
            let pace =
                |of: &mut Measurement| of.workload.options.insert(option.into(), value.into());
            record.measurements.iter_mut().for_each(|of| drop(pace(of)));
            judged(&record)
        };
        let points = [(4, 1, 5e3), (16, 1, 5e3), (64, 1, 5e3)];
        for (option, value) in
            [("rate_iops", "5000"), ("rate", "20m"), ("flow", "8"), ("latency_target", "1ms")]
        {
            let (verdicts, status) = paced(&points, option, value);
            for (verdict, reason) in &verdicts {
                assert_eq!(*verdict, Verdict::Unjudged, "{option}: {reason}");
                assert!(reason.ends_with("the claim, limited by its own options"), "{reason}");
            }
            assert_eq!(status, ExitStatus::Unjudged);
        }
        // A job with other options is no proof that a depth gives no more either.
        let others: [fn(&mut Measurement); 3] = [
            |of| drop(of.workload.options.insert("rate_iops".into(), "5000".into())),
            |of| drop(of.workload.options.insert("fsync".into(), "1".into())),
            |of| of.workload.direct = Some(false),
        ];
        for other in others {
            let mut record = table(&[(4, 1, 86e3), (8, 1, 5e3)]);
            other(&mut record.measurements[1]);
            let (verdicts, _) = judged(&record);
            let (verdict, reason) = &verdicts[0];
            assert_eq!(*verdict, Verdict::Unjudged, "{reason}");
            assert!(reason.contains("not enough outstanding to reach the claim"), "{reason}");
        }
        assert_eq!(paced(&[(32, 16, 1.39e6)], "rate_iops", "2m").0[0].0, Verdict::Pass);
        assert_eq!(paced(&[(32, 16, 510e3)], "rate_iops", "0").0[0].0, Verdict::Fail, "none");
    }

    #[test]
    fn one_synchronous_sequential_read_at_a_time_is_no_failure() {
        let mut record = table(&[(1, 1, 1e5)]);
        for depth in [1, 32] {
            let mut of = record.measurements[0].clone();
            (of.workload.rw, of.workload.bs) = (Some("read".into()), Some(128 << 10));
            of.conditions.fill = Some(iodyno_model::FillOrder::Sequential);
            record.measurements = vec![at(&of, "psync", depth, 1, 2.6e9 / 131_072.0)];
            let (verdicts, status) = judged(&record);
            let metric = &verdicts[0];
            assert_ne!(status, ExitStatus::Failed, "{metric:?}");
            assert!(metric.1.contains("1.0 I/Os, at least"), "{metric:?}");
            assert_eq!(metric.0, Verdict::Unjudged, "{metric:?}");
        }
    }
}
