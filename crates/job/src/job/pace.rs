//! How fast a job goes at most.

use iodyno_model::PerDirection;

/// fio's `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// `linear`: evenly.
    #[default]
    Linear,
    /// `poisson`: as independent users would.
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

/// fio's `latency_target`: the depth is searched for that keeps the latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// `latency_target`, ns.
    pub target_ns: u64,
    /// `latency_window`, ns.
    pub window_ns: u64,
    /// `latency_percentile`: of the I/Os that must be within.
    pub percentile: f64,
    /// `latency_run`: goes on after the depth was found.
    pub run: bool,
}

/// How fast a job goes at most.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pace {
    /// `rate`, bytes per second; `None`: unlimited.
    pub rate: PerDirection<Option<u64>>,
    /// `rate_min`, bytes per second: ends with an error below it.
    pub rate_min: PerDirection<Option<u64>>,
    /// `rate_iops`, per second.
    pub rate_iops: PerDirection<Option<u64>>,
    /// `rate_iops_min`, per second.
    pub rate_iops_min: PerDirection<Option<u64>>,
    /// `rate_process`.
    pub rate_process: RateProcess,
    /// `rate_cycle`, `ratecycle`, ns, over which `rate_min` is looked at; 0: fio's 1 s.
    pub rate_cycle_ns: u64,
    /// `thinktime`, ns: pause between blocks.
    pub thinktime_ns: u64,
    /// `thinktime_spin`, ns of it that are spent computing.
    pub thinktime_spin_ns: u64,
    /// `thinktime_blocks`: a pause every so many I/Os; 0 is 1.
    pub thinktime_blocks: u32,
    /// `thinktime_blocks_type`.
    pub thinktime_blocks_type: ThinkBlocks,
    /// `thinktime_iotime`, ns: a pause every so long, instead.
    pub thinktime_iotime_ns: u64,
    /// `flow`: its weight among the jobs with the same `flow_id`; 0: it waits for nobody.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`, ns, where it is ahead of the others.
    pub flow_sleep_ns: u64,
    /// `latency_target` and friends.
    pub latency_target: Option<LatencyTarget>,
}
