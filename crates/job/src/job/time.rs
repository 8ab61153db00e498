//! For how long a job runs.

/// What fio's `steadystate` watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyKind {
    /// `iops`: greatest deviation from the mean.
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

/// fio's `steadystate`: the job ends when it is attained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// What is watched.
    pub kind: SteadyKind,
    /// Limit, in the kind's unit, or percent of the mean.
    pub limit: f64,
    /// The limit is in percent.
    pub percent: bool,
    /// `steadystate_duration`, ns.
    pub duration_ns: u64,
    /// `steadystate_ramp_time`, ns.
    pub ramp_ns: u64,
    /// `steadystate_check_interval`, ns.
    pub check_interval_ns: u64,
}

/// For how long a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Time {
    /// `runtime`: ends after this many ns; `None`: when its work is done.
    pub runtime_ns: Option<u64>,
    /// `time_based`: begins again when its work is done.
    pub time_based: bool,
    /// `ramp_time`, ns: runs this long before anything is counted.
    pub ramp_ns: u64,
    /// `steadystate`.
    pub steadystate: Option<SteadyState>,
}
