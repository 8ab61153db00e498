//! Summarizes a log before it is replayed.

use super::{IologError, IologReader};
use crate::{BlockSize, Job, Operation, Pattern};
use iodyno_model::PerDirection;

/// Files, sizes and counts of the I/Os of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSummary {
    /// Its files, each with the end of its furthest I/O, bytes.
    pub files: Vec<(String, u64)>,
    /// The largest read or write, bytes.
    pub largest: u32,
    /// The largest trim, bytes.
    pub largest_trim: u32,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of trims.
    pub trims: u64,
    /// Number of syncs.
    pub syncs: u64,
}

/// Reads a log to its end.
///
/// # Errors
/// As [`IologReader::next_io`], or the log holds no I/O.
pub fn scan(mut reader: IologReader) -> Result<LogSummary, IologError> {
    let mut summary = LogSummary::default();
    let mut ends: Vec<u64> = Vec::new();
    while let Some(io) = reader.next_io()? {
        match io.operation {
            Operation::Read => summary.reads += 1,
            Operation::Write => summary.writes += 1,
            Operation::Trim => summary.trims += 1,
            Operation::Sync | Operation::DataSync => summary.syncs += 1,
        }
        let file = usize::from(io.file);
        ends.resize(ends.len().max(file + 1), 0);
        let Some(end) = io.offset.checked_add(io.length.into()) else {
            return Err(reader.format.error("its offset is larger than any file"));
        };
        ends[file] = ends[file].max(end);
        if !matches!(io.operation, Operation::Sync | Operation::DataSync) {
            if io.length == 0 {
                return Err(reader.format.error("an I/O of no bytes"));
            }
            let largest = match io.operation {
                Operation::Trim => &mut summary.largest_trim,
                _ => &mut summary.largest,
            };
            *largest = (*largest).max(io.length);
        }
    }
    if summary.reads + summary.writes + summary.trims == 0 {
        return Err(IologError::Empty);
    }
    // Files that are named but have no I/O end at 0.
    ends.resize(reader.files().len(), 0);
    summary.files = reader.files().iter().cloned().zip(ends).collect();
    Ok(summary)
}

impl LogSummary {
    /// Sets the pattern, block sizes and files of `job` to those of the log.
    pub(crate) fn apply_to(self, job: &mut Job) {
        job.pattern.rw = match (self.reads, self.writes, self.trims) {
            (_, 0, 0) => Pattern::Read,
            (0, _, 0) => Pattern::Write,
            (0, 0, _) => Pattern::Trim,
            _ => Pattern::ReadWrite,
        };
        let [data, trim] = [self.largest, self.largest_trim].map(u64::from).map(BlockSize::Fixed);
        job.pattern.bs = PerDirection { read: data.clone(), write: data, trim };
        (job.files.paths, job.replay.ends) = self.files.into_iter().unzip();
        job.files.nrfiles = u32::try_from(job.files.paths.len()).unwrap_or(u32::MAX);
    }
}
