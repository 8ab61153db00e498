//! Run time of a job.

/// The criterion of fio's `steadystate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyKind {
    /// `iops`: largest deviation from the mean.
    Iops,
    /// `iops_slope`.
    IopsSlope,
    /// `bw`.
    Bandwidth,
    /// `bw_slope`.
    BandwidthSlope,
    /// `lat`.
    Latency,
    /// `lat_slope`.
    LatencySlope,
}

/// fio's `steadystate`: the job ends when it reaches steady state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Criterion.
    pub kind: SteadyKind,
    /// Limit, in the unit of the criterion or in percent of the mean.
    pub limit: f64,
    /// True if the limit is in percent.
    pub percent: bool,
    /// `steadystate_duration`, ns.
    pub duration_ns: u64,
    /// `steadystate_ramp_time`, ns.
    pub ramp_ns: u64,
    /// `steadystate_check_interval`, ns.
    pub check_interval_ns: u64,
}

/// Run time of a job.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Time {
    /// `runtime`: time limit, ns; `None`: until its work is done.
    pub runtime_ns: Option<u64>,
    /// `time_based`: starts over when its work is done.
    pub time_based: bool,
    /// `ramp_time`: warm-up before anything is counted, ns.
    pub ramp_ns: u64,
    /// `steadystate`.
    pub steadystate: Option<SteadyState>,
}
