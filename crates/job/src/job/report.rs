//! Report and logs.

use crate::defaults::with_defaults;

/// fio's `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unified {
    /// `none`, 0: each direction separately.
    #[default]
    None,
    /// `mixed`, 1: all directions together.
    Mixed,
    /// `both`, 2.
    Both,
}

with_defaults! {
    /// Reported latency percentiles.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Percentiles {
        /// `clat_percentiles`.
        pub clat: bool = true,
        /// `lat_percentiles`.
        pub lat: bool,
        /// `slat_percentiles`.
        pub slat: bool,
        /// `percentile_list`, percent, ascending; empty: fio's default list.
        pub list: Vec<f64>,
        /// Decimals with which the list was written, at most.
        pub decimals: usize = 2,
    }

    /// Logs and the contents of their rows.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Logs {
        /// `write_bw_log`.
        pub bandwidth: Option<Log>,
        /// `write_iops_log`.
        pub iops: Option<Log>,
        /// `write_lat_log`: slat, clat and lat.
        pub latency: Option<Log>,
        /// `write_hist_log`.
        pub histogram: Option<Log>,
        /// `per_job_logs`: a file for each clone.
        pub per_job: bool = true,
        /// `log_avg_msec`, ms; 0: a row for each I/O.
        pub average_ms: u64,
        /// `log_hist_msec`, ms.
        pub histogram_ms: u64,
        /// `log_hist_coarseness`, 0 to 6.
        pub histogram_coarseness: u32,
        /// `log_max_value`, `log_window_value`: rows hold the maximum of the window.
        pub max: bool,
        /// `log_window_value=avg` or `both`: rows hold the mean of the window.
        pub mean: bool = true,
        /// `log_offset`.
        pub offset: bool,
        /// `log_prio`.
        pub priority: bool,
        /// `log_issue_time`.
        pub issue_time: bool,
        /// `log_unix_epoch`.
        pub unix_epoch: bool,
        /// `log_alternate_epoch`, with its clock id.
        pub alternate_epoch: Option<i32>,
        /// `log_entries`.
        pub entries: u64 = 1024,
        /// `log_store_compressed`: fio's compressed log format.
        pub compressed: bool,
    }

    /// Report and logs.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Report {
        /// `disable_lat`.
        pub disable_lat: bool,
        /// `disable_clat`.
        pub disable_clat: bool,
        /// `disable_slat`.
        pub disable_slat: bool,
        /// `disable_bw_measurement`.
        pub disable_bw: bool,
        /// `gtod_reduce`: no latencies at all.
        pub gtod_reduce: bool,
        /// `unified_rw_reporting`.
        pub unified: Unified,
        /// Latency percentiles.
        pub percentiles: Percentiles,
        /// Logs.
        pub logs: Logs,
        /// iodyno's `strict_stamps`: time stamps before and after each submitting system call, to
        /// tell slat from clat.
        pub strict_stamps: bool,
        /// `kb_base`, 1000 or 1024: meaning of `k` in values and in fio's normal output.
        pub kb_base: u32 = 1024,
        /// `unit_base`, of fio's normal output: 8 for bytes, 1 for bits; 0: bytes.
        pub unit_base: u32,
        /// `significant_figures` of fio's normal output, 1 to 10.
        pub significant_figures: u32 = 4,
        /// `block_error_percentiles`: trims of each block before its first error.
        pub block_error_percentiles: bool,
        /// `disk_util`: disk utilization in fio's output.
        pub disk_util: bool = true,
    }
}

/// A log to write: fio's `write_*_log`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Prefix of its file names; `None`: the job's name.
    pub prefix: Option<String>,
}

impl Report {
    /// True if a log has rows of submission latencies averaged over time.
    pub fn averages_submissions(&self) -> bool {
        let logs = &self.logs;
        logs.latency.is_some() && logs.average_ms > 0 && !self.disable_slat && !self.gtod_reduce
    }
}
