//! JSON document written by fio.

use iodyno_model::{DiskUse, Measurement};
use thiserror::Error;

use crate::read::same_run::is_later_report;

/// JSON report of one run, or an interim report of it (`--status-interval`).
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// fio's version as written: `fio-3.33`.
    pub version: String,
    /// Time of writing, ns since 1970 UTC.
    pub written_ns: Option<i64>,
    /// Options of `[global]`, as written.
    pub global_options: Vec<(String, String)>,
    /// One for each job of the report; without `group_reporting` one for each clone.
    pub measurements: Vec<Measurement>,
    /// Disk counters: their increase over the run.
    pub disks: Vec<DiskUse>,
    /// Elapsed time of the run, s.
    pub(super) elapsed_s: Option<u64>,
    /// Number of jobs beyond the limit, which were not read.
    pub(super) left_out: usize,
}

/// Reason why a text is not fio's JSON.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The text contains no document.
    #[error("no fio report in JSON found: expected `{{` followed by \"fio version\"")]
    NoDocument,
    /// A document is cut off or damaged.
    #[error("line {line}: the report starting here is not JSON: {what}")]
    NotJson {
        /// Line of the text, from 1.
        line: usize,
        /// The parser's message.
        what: String,
    },
    /// A document lacks a member that every report has.
    #[error("line {line}: the report starting here has no `{member}`")]
    Missing {
        /// Line of the text, from 1.
        line: usize,
        /// Name of the missing member.
        member: &'static str,
    },
}

impl Document {
    /// True if `next` is a later report of the same run (`--status-interval` repeats the whole
    /// report, cumulative from the start).
    pub(super) fn is_superseded_by(&self, next: &Self) -> bool {
        const SECOND_NS: i64 = 1_000_000_000;
        let begun = |document: &Self| {
            let elapsed_ns = i64::try_from(document.elapsed_s?).ok()?.checked_mul(SECOND_NS)?;
            document.written_ns?.checked_sub(elapsed_ns)
        };
        if self.measurements.len() != next.measurements.len() {
            return false;
        }
        let mut pairs = self.measurements.iter().zip(&next.measurements);
        match (begun(self), begun(next)) {
            (Some(one), Some(other)) => {
                one.abs_diff(other) <= 2 * SECOND_NS.unsigned_abs()
                    && pairs.all(|(one, next)| one.name == next.name)
            }
            // fio up to 2.2.4 wrote no time.
            _ => pairs.all(|(one, next)| one.name == next.name && is_later_report(one, next)),
        }
    }
}
