//! What fio's reports state beside rates and latencies, read back.

use iodyno_model as model;

use super::measurement::estimate;
use crate::document::reported::{Disk, LatencyClass, RateSamples, SampledRates};

pub(super) fn sampled(of: &SampledRates) -> model::SampledRates {
    model::SampledRates { bandwidth: samples(&of.bandwidth), iops: samples(&of.iops) }
}

fn samples(of: &RateSamples) -> model::RateSamples {
    model::RateSamples {
        min: of.min.as_ref().map(estimate),
        max: of.max.as_ref().map(estimate),
        mean: of.mean.as_ref().map(estimate),
        stdev: of.stdev.as_ref().map(estimate),
        count: of.count,
    }
}

pub(super) fn class(of: &LatencyClass) -> Option<model::LatencyRange> {
    let share = estimate(of.share.as_ref()?);
    Some(model::LatencyRange { low_ns: of.low_ns, high_ns: of.high_ns, share })
}

/// A document has the ratio of busy time alone.
pub(super) fn disk(of: &Disk) -> model::DiskUse {
    const SECOND_NS: u64 = 1_000_000_000;
    model::DiskUse {
        name: of.name.clone(),
        read_ios: of.reads,
        write_ios: of.writes,
        read_sectors: of.read_sectors,
        write_sectors: of.written_sectors,
        read_merges: of.read_merges,
        write_merges: of.write_merges,
        read_ticks_ms: of.read_ms,
        write_ticks_ms: of.write_ms,
        in_queue_ms: of.in_queue_ms,
        busy_ns: (of.busy.unwrap_or(0.0) * SECOND_NS as f64) as u64,
        elapsed_ns: SECOND_NS,
        members: Vec::new(),
    }
}
