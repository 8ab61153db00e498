//! Rate limits, pauses and latency targets.

use iodyno_model::PerDirection;

/// fio's `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// `linear`: evenly spaced.
    #[default]
    Linear,
    /// `poisson`: random arrivals, as of independent users.
    Poisson,
}

/// fio's `thinktime_blocks_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkBlocks {
    /// `complete`.
    #[default]
    Complete,
    /// `issue`.
    Issue,
}

/// fio's `latency_target`: searches for the depth that keeps a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// `latency_target`, ns.
    pub target_ns: u64,
    /// `latency_window`, ns.
    pub window_ns: u64,
    /// `latency_percentile`: percent of the I/Os that must be within the target.
    pub percentile: f64,
    /// `latency_run`: continues with the depth that was found.
    pub run: bool,
}

/// Rate limits, pauses and latency targets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pace {
    /// `rate`, bytes per second; `None`: unlimited.
    pub rate: PerDirection<Option<u64>>,
    /// `rate_min`, bytes per second: the job fails below it.
    pub rate_min: PerDirection<Option<u64>>,
    /// `rate_iops`, per second.
    pub rate_iops: PerDirection<Option<u64>>,
    /// `rate_iops_min`, per second.
    pub rate_iops_min: PerDirection<Option<u64>>,
    /// `rate_process`.
    pub rate_process: RateProcess,
    /// `rate_cycle`, `ratecycle`, ns: time over which `rate_min` is averaged; 0: fio's 1 s.
    pub rate_cycle_ns: u64,
    /// `thinktime`, ns: pause between blocks.
    pub thinktime_ns: u64,
    /// `thinktime_spin`, ns: part of the pause spent busy on the CPU.
    pub thinktime_spin_ns: u64,
    /// `thinktime_blocks`: I/Os between pauses; 0 is 1.
    pub thinktime_blocks: u32,
    /// `thinktime_blocks_type`.
    pub thinktime_blocks_type: ThinkBlocks,
    /// `thinktime_iotime`, ns: time between pauses, instead of I/Os.
    pub thinktime_iotime_ns: u64,
    /// `flow`: weight among the jobs with the same `flow_id`; 0: waits for no other job.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`, ns: pause of a job that is ahead of its share.
    pub flow_sleep_ns: u64,
    /// `latency_target`, `latency_window`, `latency_percentile`, `latency_run`.
    pub latency_target: Option<LatencyTarget>,
}
