//! Number of I/Os that a measurement kept outstanding, as measured rather than as asked for.

use iodyno_model::{EngineKind, JobStats, Measurement};

use crate::measured::{only_trims, writes};

/// The depth search ends when the rate grows by less than this factor.
pub(crate) const STILL_GROWING: f64 = 1.02;

/// Returns true if its engine moves no data to or from a device.
pub(crate) fn moves_no_data(of: &Measurement) -> bool {
    let kind = of.workload.ioengine.as_deref().and_then(EngineKind::of);
    matches!(kind, Some(EngineKind::Allocating | EngineKind::WithoutDevice))
}

/// The highest of fio's depth levels with this share of the I/Os counts.
const LEVEL_SHARE: f64 = 0.001;

/// Returns true if its I/Os are done within the submitting call by the kernel or a file system, so
/// that no queue of a device holds them: other engines, the page cache, holes punched into files.
pub(crate) fn waits_in_no_queue(of: &Measurement) -> bool {
    moves_no_data(of)
        || (writes(of) && of.workload.is_buffered() == Some(true))
        || (only_trims(of) && of.conditions.device.is_some())
}

/// Mean number of syncs outstanding: a job that waits for one submits no I/O.
pub(crate) fn syncing(of: &Measurement) -> f64 {
    let account = of.account.as_ref().filter(|account| account.counted_ns > 0);
    account.map_or(0.0, |account| account.sync.sum_ns() / account.counted_ns as f64)
}

/// Returns the I/Os that one job may have outstanding: 1 for a synchronous engine, else its
/// iodepth, limited to what fio's depth levels show was used.
pub(crate) fn job_depth(of: &Measurement) -> Option<u32> {
    if of.workload.waits_for_each() == Some(true) {
        return Some(1);
    }
    let used = of.account.as_ref().and_then(highest_level);
    match (of.workload.iodepth, used) {
        (Some(asked), Some(used)) => Some(asked.min(used)),
        (asked, _) => asked,
    }
}

/// Maximum depth possible by fio's depth distribution (`iodepth_level`: 1, 2 to 3, 4 to 7, ... 64
/// and more).
fn highest_level(account: &JobStats) -> Option<u32> {
    let all: f64 = account.depth_levels.iter().map(|count| *count as f64).sum();
    let used = |count: &u64| *count as f64 > LEVEL_SHARE * all;
    let highest = account.depth_levels.iter().rposition(used)?;
    let most = (1_u32 << (highest + 1)) - 1;
    Some(if highest + 1 == account.depth_levels.len() { u32::MAX } else { most })
}

/// Returns the I/Os that all jobs on all targets together may have outstanding.
pub(crate) fn allowed(of: &Measurement) -> Option<u32> {
    let depth = job_depth(of)?;
    let is_as_asked = of.workload.iodepth == Some(depth);
    if let Some(asked) = of.conditions.depth_asked.filter(|_| is_as_asked) {
        return Some(asked);
    }
    let targets = u32::try_from(of.targets.len().max(1)).ok()?;
    let jobs = of.workload.numjobs.unwrap_or(1).saturating_mul(targets);
    Some(depth.saturating_mul(of.conditions.threads.unwrap_or(jobs)))
}

/// Mean number of outstanding I/Os: rate x measured mean latency (Little's law) over all
/// directions, but no more than was allowed, since the latency of a paced I/O counts from when it
/// was due. Without a known latency, the number allowed.
pub(crate) fn outstanding(of: &Measurement) -> Option<f64> {
    let of_direction = |result: &iodyno_model::DirectionResult| {
        let bytes = of.workload.bs.filter(|bs| *bs > 0);
        let iops = result.iops.map(|iops| iops.value);
        let iops = iops.or_else(|| Some(result.bandwidth?.value / bytes? as f64))?;
        Some(iops * result.mean_latency()?.1.value / 1e9)
    };
    let measured: Option<f64> = of.total.iter().map(of_direction).sum();
    let allowed = allowed(of).map(f64::from);
    // Without the number of jobs, the number allowed is not known.
    let most = allowed.filter(|_| of.workload.numjobs.is_some());
    measured
        .filter(|count| count.is_finite() && *count > 0.0)
        .map(|count| most.map_or(count, |most| count.min(most)))
        .or(allowed)
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Estimate, JobStats};

    use super::*;
    use crate::testing::Bench;

    fn of(engine: &str, iodepth: u32, jobs: u32) -> Measurement {
        let mut of = Bench::new(1).measured().record().measurements.remove(1);
        of.workload.ioengine = Some(engine.into());
        (of.workload.iodepth, of.workload.numjobs) = (Some(iodepth), Some(jobs));
        (of.conditions.depth_asked, of.conditions.threads) = (None, None);
        of
    }

    #[test]
    fn synchronous_engines_have_one_for_each_job() {
        assert_eq!(allowed(&of("psync", 32, 4)), Some(4));
        assert_eq!(allowed(&of("ftruncate", 32, 4)), Some(4));
        assert_eq!(allowed(&of("io_uring", 32, 4)), Some(128));
        let mut buffered = of("libaio", 32, 4);
        buffered.workload.direct = Some(false);
        assert_eq!(allowed(&buffered), Some(4));
    }

    #[test]
    fn the_measured_latency_counts_before_what_was_asked_for() {
        let mut of = of("io_uring", 32, 1);
        of.total[0].iops = Some(Estimate::bare(10_000.0));
        of.total[0].latency_mean = Some(Estimate::bare(100_000.0));
        assert!((outstanding(&of).unwrap() - 1.0).abs() < 1e-9);
        of.total[0].latency_mean = None;
        assert_eq!(outstanding(&of), Some(32.0));
    }

    #[test]
    fn late_ios_are_not_outstanding() {
        let mut of = of("io_uring", 4, 1);
        of.total[0].iops = Some(Estimate::bare(50_000.0));
        // 500,000 per second were asked for.
        of.total[0].latency_mean = Some(Estimate::bare(15e9));
        assert_eq!(outstanding(&of), Some(4.0));
    }

    #[test]
    fn fios_depth_levels_bound_what_was_used() {
        let mut of = of("io_uring", 32, 1);
        let levels = |levels| Some(JobStats { depth_levels: levels, ..JobStats::default() });
        of.account = levels([1000, 0, 0, 0, 0, 0, 0]);
        assert_eq!(job_depth(&of), Some(1));
        of.account = levels([1, 2, 4, 8, 900, 0, 0]);
        assert_eq!(job_depth(&of), Some(31));
        of.account = levels([0; 7]);
        assert_eq!(job_depth(&of), Some(32));
    }
}
