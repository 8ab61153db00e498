//! What a log holds, before any of it is made again.

use super::{IologError, IologReader};
use crate::{BlockSize, Job, Operation, Pattern};
use iodyno_model::PerDirection;

/// What a log holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scanned {
    /// Its files, and where the last I/O of each ends, bytes.
    pub files: Vec<(String, u64)>,
    /// The largest read or write, bytes.
    pub largest: u32,
    /// The largest trim, bytes.
    pub largest_trim: u32,
    /// I/Os, by operation.
    pub reads: u64,
    /// As `reads`.
    pub writes: u64,
    /// As `reads`.
    pub trims: u64,
    /// As `reads`.
    pub syncs: u64,
}

/// Goes through a log to its end.
///
/// # Errors
/// As [`IologReader::next_io`], or it holds no I/O.
pub fn scan(mut reader: IologReader) -> Result<Scanned, IologError> {
    let mut scanned = Scanned::default();
    let mut ends: Vec<u64> = Vec::new();
    while let Some(io) = reader.next_io()? {
        match io.operation {
            Operation::Read => scanned.reads += 1,
            Operation::Write => scanned.writes += 1,
            Operation::Trim => scanned.trims += 1,
            Operation::Sync | Operation::DataSync => scanned.syncs += 1,
        }
        let file = usize::from(io.file);
        ends.resize(ends.len().max(file + 1), 0);
        let Some(end) = io.offset.checked_add(io.length.into()) else {
            return Err(reader.format.wrong("its offset is larger than any file"));
        };
        ends[file] = ends[file].max(end);
        if !matches!(io.operation, Operation::Sync | Operation::DataSync) {
            if io.length == 0 {
                return Err(reader.format.wrong("an I/O of no bytes"));
            }
            let largest = match io.operation {
                Operation::Trim => &mut scanned.largest_trim,
                _ => &mut scanned.largest,
            };
            *largest = (*largest).max(io.length);
        }
    }
    if scanned.reads + scanned.writes + scanned.trims == 0 {
        return Err(IologError::Empty);
    }
    // Those that are named and have no I/O come to nothing.
    ends.resize(reader.files().len(), 0);
    scanned.files = reader.files().iter().cloned().zip(ends).collect();
    Ok(scanned)
}

impl Scanned {
    /// Makes `job` one of what the log holds.
    pub(crate) fn settle(self, job: &mut Job) {
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
