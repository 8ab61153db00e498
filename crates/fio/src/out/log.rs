//! fio's logs: bandwidth, IOPS, latencies and histograms over time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use iodyno_files::{FileError, NamedBy};
use iodyno_job::Logs;
use iodyno_model::{Direction, Histogram};

/// Bins of a row of a histogram log: fio's, which end at about 17 s; what
/// took longer counts in the last.
const BINS: usize = 29 << 6;

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// `write_bw_log`: KiB/s.
    Bandwidth,
    /// `write_iops_log`: per second.
    Iops,
    /// Of `write_lat_log`: total latency, ns.
    Latency,
    /// Of `write_lat_log`: until it was submitted, ns.
    Submission,
    /// Of `write_lat_log`: from there to the completion, ns.
    Completion,
    /// `write_hist_log`: counts by bins of the completion latency.
    Histogram,
}

/// Columns beside time, value, direction and block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogColumns {
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`: the priority as a number; else whether it is a high one.
    pub priority: bool,
    /// `log_issue_time`.
    pub issue_time: bool,
    /// `log_window_value=both`: mean and greatest value of the window.
    pub both: bool,
}

/// A row of a log other than a histogram's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow {
    /// Time since the job's start, ms; end of the window with `log_avg_msec`.
    pub time_ms: u64,
    /// In the log's unit.
    pub value: u64,
    /// The greatest of the window, for [`LogColumns::both`].
    pub max: u64,
    /// Direction; `Mixed` counts as reads, as in fio.
    pub direction: Direction,
    /// Bytes; 0 for a window.
    pub bs: u64,
    /// Offset of the I/O, bytes; 0 for a window.
    pub offset: u64,
    /// Priority: class and level as in ioprio_set(2).
    pub priority: u16,
    /// When it was issued, ns since the job's start; 0 for a window.
    pub issue_time_ns: u64,
}

/// A log that is written row by row, through a buffer: memory stays the same
/// however long it gets.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: BufWriter<File>,
    columns: LogColumns,
}

impl LogKind {
    /// The name of its file: `PREFIX_bw.3.log` for the third job (from 1),
    /// `PREFIX_bw.log` for all together (`per_job_logs=0`).
    pub fn file_name(self, prefix: &str, job: Option<u32>) -> String {
        let kind = match self {
            Self::Bandwidth => "bw",
            Self::Iops => "iops",
            Self::Latency => "lat",
            Self::Submission => "slat",
            Self::Completion => "clat",
            Self::Histogram => "clat_hist",
        };
        match job {
            Some(job) => format!("{prefix}_{kind}.{job}.log"),
            None => format!("{prefix}_{kind}.log"),
        }
    }
}

impl LogColumns {
    /// What `logs` asks for.
    pub const fn of(logs: &Logs) -> Self {
        let Logs { offset, priority, issue_time, max, mean, .. } = *logs;
        Self { offset, priority, issue_time, both: max && mean }
    }
}

impl LogWriter {
    /// Begins the log at `path`; what the file held is gone, as with fio.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: impl Into<PathBuf>, columns: LogColumns) -> Result<Self, FileError> {
        let path = path.into();
        let file = iodyno_files::create(&path, NamedBy::Iodyno)?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 16, file), columns })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn row(&mut self, row: &LogRow) -> Result<(), FileError> {
        let written = write_row(&mut self.file, self.columns, row);
        self.told(written)
    }

    /// Adds a row of a histogram log: what was completed since the last row,
    /// 2^`coarseness` (0 to 6) of fio's bins in one (`log_hist_coarseness`).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn histogram_row(
        &mut self,
        time_ms: u64,
        direction: Direction,
        bs: u64,
        latencies: &Histogram,
        coarseness: u32,
    ) -> Result<(), FileError> {
        let bins = fio_bins(latencies, coarseness);
        let head = (time_ms, number(direction), bs);
        let written = write_histogram(&mut self.file, head, &bins);
        self.told(written)
    }

    /// Ends the log: what is still in the buffer goes to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), FileError> {
        let flushed = self.file.flush();
        self.told(flushed)
    }

    fn told(&self, result: io::Result<()>) -> Result<(), FileError> {
        result.map_err(|error| FileError::System { path: self.path.clone(), error })
    }
}

fn write_row(file: &mut impl Write, columns: LogColumns, row: &LogRow) -> io::Result<()> {
    write!(file, "{}, {}", row.time_ms, row.value)?;
    if columns.both {
        write!(file, ", {}", row.max)?;
    }
    write!(file, ", {}, {}", number(row.direction), row.bs)?;
    if columns.offset {
        write!(file, ", {}", row.offset)?;
    }
    if columns.priority {
        write!(file, ", 0x{:04x}", row.priority)?;
    } else {
        write!(file, ", {}", u8::from(is_high(row.priority)))?;
    }
    if columns.issue_time {
        write!(file, ", {}", row.issue_time_ns)?;
    }
    writeln!(file)
}

fn write_histogram(
    file: &mut impl Write,
    (time_ms, direction, bs): (u64, u8, u64),
    bins: &[u64],
) -> io::Result<()> {
    write!(file, "{time_ms}, {direction}, {bs}")?;
    bins.iter().try_for_each(|count| write!(file, ", {count}"))?;
    writeln!(file)
}

/// Counts by fio's bins, 2^`coarseness` of them in one.
fn fio_bins(latencies: &Histogram, coarseness: u32) -> Vec<u64> {
    let coarseness = coarseness.min(6);
    let mut bins = vec![0; BINS >> coarseness];
    for bin in latencies.bins() {
        bins[Histogram::index(bin.low_ns).min(BINS - 1) >> coarseness] += bin.count;
    }
    bins
}

/// fio's numbers of directions.
const fn number(direction: Direction) -> u8 {
    match direction {
        Direction::Read | Direction::Mixed => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}

/// fio marks the real-time class (ioprio_set(2): the class stands in bits 13
/// to 15, 1 is real time).
const fn is_high(priority: u16) -> bool {
    priority >> 13 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(columns: LogColumns, rows: &[LogRow]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = LogWriter::create(&path, columns).unwrap();
        rows.iter().for_each(|row| log.row(row).unwrap());
        log.finish().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    const ROW: LogRow = LogRow {
        time_ms: 500,
        value: 60_752,
        max: 70_000,
        direction: Direction::Write,
        bs: 4096,
        offset: 8192,
        priority: 0x2004,
        issue_time_ns: 12,
    };

    #[test]
    fn columns_are_those_that_were_asked_for() {
        let none = LogColumns::default();
        assert_eq!(
            text(none, &[ROW, LogRow { priority: 0, ..ROW }]),
            "500, 60752, 1, 4096, 1\n500, 60752, 1, 4096, 0\n"
        );
        let all = LogColumns { offset: true, priority: true, issue_time: true, both: true };
        assert_eq!(text(all, &[ROW]), "500, 60752, 70000, 1, 4096, 8192, 0x2004, 12\n");
    }

    #[test]
    fn a_histogram_has_fios_bins() {
        let mut latencies = Histogram::default();
        [5, 5, 1_000_000, u64::MAX].iter().for_each(|ns| latencies.record(*ns));
        let fine = fio_bins(&latencies, 0);
        assert_eq!((fine.len(), fine[5], fine[BINS - 1]), (1856, 2, 1));
        let coarse = fio_bins(&latencies, 2);
        assert_eq!((coarse.len(), coarse[1], coarse.iter().sum()), (464, 2, 4));
    }

    #[test]
    fn files_have_fios_names() {
        assert_eq!(LogKind::Completion.file_name("a/b", Some(2)), "a/b_clat.2.log");
        assert_eq!(LogKind::Histogram.file_name("x", None), "x_clat_hist.log");
    }

    #[test]
    fn a_full_disk_is_told() {
        // The door opens no device, and this one alone is always full.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (path, columns) = (PathBuf::from("/dev/full"), LogColumns::default());
        let mut log = LogWriter { path, file: BufWriter::new(full), columns };
        log.row(&ROW).unwrap();
        let error = log.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full: No space left"), "{error}");
    }
}
