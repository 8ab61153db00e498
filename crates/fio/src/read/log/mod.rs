//! Reads fio's logs: `write_bw_log`, `write_iops_log`, `write_lat_log`, `write_hist_log`.
//!
//! A log is read once, row by row, and reduced to time windows on the way: a log of a gigabyte
//! takes no more memory than a short one.

mod bins;
mod grid;
mod jobs;
mod log_format;
mod reduce;
mod row;

use iodyno_model::LatencyKind;

pub(super) use jobs::{Jobs, Remarks, Series};
pub(super) use reduce::ReportInfo;
pub(super) use row::looks_like_log;

/// Quantity in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// KiB/s.
    Bandwidth,
    /// I/Os per second; 1 in a row of a single I/O.
    Iops,
    /// ns, in fio 2 us.
    Latency(LatencyKind),
    /// Counts of latencies in fio's bins.
    Bins(LatencyKind),
}

impl Kind {
    /// Order in which the logs of a job are read: the most informative of rates first, then of
    /// latencies.
    pub(super) const fn rank(self) -> u8 {
        use LatencyKind::{Completion, Submission, Total};
        match self {
            Self::Bandwidth => 0,
            Self::Iops => 1,
            Self::Latency(Total) => 2,
            Self::Bins(Total) => 3,
            Self::Latency(Completion) => 4,
            Self::Bins(Completion) => 5,
            Self::Latency(Submission) => 6,
            Self::Bins(Submission) => 7,
        }
    }
}

/// Parsed file name of a log: `STEM_bw.1.log`, of another host `STEM_bw.1.log.HOST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogName {
    /// Value of `write_bw_log` without its folders.
    pub(super) stem: String,
    pub(super) kind: Kind,
    /// Job number, from 1; `None` for all jobs (`per_job_logs=0`).
    pub(super) job: Option<u32>,
    /// Host of the job; empty without fio clients.
    pub(super) host: String,
}

impl LogName {
    /// Parses `file`, a name without its folder.
    pub(super) fn parse(file: &str) -> Option<Self> {
        use LatencyKind::{Completion, Submission, Total};
        const KINDS: [(&str, Kind); 8] = [
            ("_slat_hist", Kind::Bins(Submission)),
            ("_clat_hist", Kind::Bins(Completion)),
            ("_lat_hist", Kind::Bins(Total)),
            ("_bw", Kind::Bandwidth),
            ("_iops", Kind::Iops),
            ("_slat", Kind::Latency(Submission)),
            ("_clat", Kind::Latency(Completion)),
            ("_lat", Kind::Latency(Total)),
        ];
        let (name, host) = match file.split_once(".log.") {
            Some(found) => found,
            None => (file.strip_suffix(".log")?, ""),
        };
        let (name, job) = match name.rsplit_once('.') {
            Some((front, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (front, Some(number.parse().ok()?))
            }
            _ => (name, None),
        };
        KINDS.into_iter().find_map(|(ending, kind)| {
            let stem = name.strip_suffix(ending)?.to_owned();
            Some(Self { stem, kind, job, host: host.to_owned() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_the_log_kind() {
        let parsed = |file| LogName::parse(file).map(|name| (name.stem, name.kind, name.job));
        let total = Kind::Latency(LatencyKind::Total);
        assert_eq!(parsed("a_bw.1.log"), Some(("a".into(), Kind::Bandwidth, Some(1))));
        assert_eq!(parsed("a.5_lat.64.log"), Some(("a.5".into(), total, Some(64))));
        assert_eq!(parsed("a_bw_iops.log"), Some(("a_bw".into(), Kind::Iops, None)));
        let bins = Kind::Bins(LatencyKind::Completion);
        assert_eq!(parsed("avg_15.49_clat_hist.2.log"), Some(("avg_15.49".into(), bins, Some(2))));
        assert_eq!((parsed("broken.log"), parsed("a_bw.1.txt")), (None, None));
        assert_eq!(LogName::parse("a_bw.1.log.10.0.0.7").unwrap().host, "10.0.0.7");
    }
}
