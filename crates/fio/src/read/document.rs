//! A document that fio wrote.

use iodyno_model::{DiskUse, Measurement};
use thiserror::Error;

use crate::read::same_run::continues;

/// A document that fio wrote: the report of one run, or of a part of it
/// (`--status-interval`).
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// As it says: `fio-3.33`.
    pub version: String,
    /// When it was written, ns since 1970 UTC.
    pub written_ns: Option<i64>,
    /// Options of `[global]`, as written.
    pub global_options: Vec<(String, String)>,
    /// One for each job (without `group_reporting`: each clone) of the report.
    pub measurements: Vec<Measurement>,
    /// Counters of the disks, their difference over the run.
    pub disks: Vec<DiskUse>,
    /// How long the run had taken, s.
    pub(super) elapsed_s: Option<u64>,
    /// Jobs behind as many as are read of a text.
    pub(super) left_out: usize,
}

/// Why a text is not fio's JSON.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// There is no document in it.
    #[error("no fio report in JSON found: `{{` followed by \"fio version\" was expected")]
    NoDocument,
    /// A document is cut off or damaged.
    #[error("line {line}: the report that begins here is not JSON: {what}")]
    NotJson {
        /// Line of the text, from 1.
        line: usize,
        /// What the parser says.
        what: String,
    },
    /// A document without what every report has.
    #[error("line {line}: the report that begins here has no `{member}`")]
    Missing {
        /// Line of the text, from 1.
        line: usize,
        /// What is missing.
        member: &'static str,
    },
}

impl Document {
    /// Whether `next` is a later report of the same run (`--status-interval`
    /// repeats the whole report, which holds all from the start).
    pub(super) fn continues_in(&self, next: &Self) -> bool {
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
            // fio wrote no time up to 2.2.4.
            _ => pairs.all(|(one, next)| one.name == next.name && continues(one, next)),
        }
    }
}
