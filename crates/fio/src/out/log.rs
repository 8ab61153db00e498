//! Writes fio's logs: bandwidth, IOPS, latencies and histograms over time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use iodyno_files::{FileError, NameOrigin};
use iodyno_job::Logs;
use iodyno_model::{Direction, Histogram};

/// Number of bins in a row of a histogram log, as in fio, which ends at about 17 s; longer
/// latencies count in the last bin.
const BINS: usize = 29 << 6;

/// Size of a sample in a compressed log (fio's iolog.h) without optional members, bytes: time, two
/// values, direction with flags, priority, block size; offset and issue time may follow.
pub(crate) const SAMPLE_BYTES: usize = 40;
const WITH_OFFSET: u32 = 1 << 31;
const WITH_PRIORITY: u32 = 1 << 30;
const WITH_BOTH: u32 = 1 << 29;
const WITH_ISSUE_TIME: u32 = 1 << 28;

/// Quantity in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// `write_bw_log`: KiB/s.
    Bandwidth,
    /// `write_iops_log`: IOPS.
    Iops,
    /// `write_lat_log`: total latency, ns.
    Latency,
    /// `write_lat_log`: submission latency, ns.
    Submission,
    /// `write_lat_log`: completion latency, from submission on, ns.
    Completion,
    /// `write_hist_log`: histogram of the completion latency.
    Histogram,
}

/// Columns in addition to time, value, direction and block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogColumns {
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`: the priority as a number; without it a flag for high priority.
    pub priority: bool,
    /// `log_issue_time`.
    pub issue_time: bool,
    /// `log_window_value=both`: mean and maximum of the window.
    pub both: bool,
    /// `log_store_compressed`: fio's samples, compressed, instead of text.
    pub compressed: bool,
}

/// A row of a log, except histogram logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow {
    /// Time since the job's start, ms; end of the window with `log_avg_msec`.
    pub time_ms: u64,
    /// Value in the log's unit.
    pub value: u64,
    /// Maximum of the window, for [`LogColumns::both`].
    pub max: u64,
    /// Direction; `Mixed` is logged as read, as in fio.
    pub direction: Direction,
    /// Block size, bytes; 0 for a window.
    pub bs: u64,
    /// Offset of the I/O, bytes; 0 for a window.
    pub offset: u64,
    /// Priority: class and level as in ioprio_set(2).
    pub priority: u16,
    /// Issue time, ns since the job's start; 0 for a window.
    pub issue_time_ns: u64,
}

/// Writes a log row by row through a buffer: memory does not grow with the log.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: Sink,
    columns: LogColumns,
}

#[derive(Debug)]
enum Sink {
    Text(BufWriter<File>),
    Samples(ZlibEncoder<BufWriter<File>>),
}

impl LogKind {
    /// Name of the log file: `PREFIX_bw.3.log` for the third job (from 1), `PREFIX_bw.log` for all
    /// jobs together (`per_job_logs=0`).
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
    /// Columns that `logs` selects.
    pub const fn of(logs: &Logs) -> Self {
        let Logs { offset, priority, issue_time, max, mean, compressed, .. } = *logs;
        Self { offset, priority, issue_time, both: max && mean, compressed }
    }

    /// Columns of a sample with these flags.
    pub(crate) const fn of_flags(flags: u32) -> Self {
        Self {
            offset: flags & WITH_OFFSET > 0,
            priority: flags & WITH_PRIORITY > 0,
            issue_time: flags & WITH_ISSUE_TIME > 0,
            both: flags & WITH_BOTH > 0,
            compressed: false,
        }
    }

    fn flags(self) -> u32 {
        let flag = |wanted, flag| if wanted { flag } else { 0 };
        flag(self.offset, WITH_OFFSET)
            | flag(self.priority, WITH_PRIORITY)
            | flag(self.issue_time, WITH_ISSUE_TIME)
            | flag(self.both, WITH_BOTH)
    }
}

impl LogWriter {
    /// Creates the log at `path`; previous content is overwritten, as by fio.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: impl Into<PathBuf>, columns: LogColumns) -> Result<Self, FileError> {
        let path = path.into();
        let file = iodyno_files::create(&path, NameOrigin::Iodyno)?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let file = match columns.compressed {
            true => Sink::Samples(ZlibEncoder::new(file, Compression::default())),
            false => Sink::Text(file),
        };
        Ok(Self { path, file, columns })
    }

    /// Path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn row(&mut self, row: &LogRow) -> Result<(), FileError> {
        let written = match &mut self.file {
            Sink::Text(file) => write_row(file, self.columns, row),
            Sink::Samples(file) => file.write_all(&sample(self.columns, row)),
        };
        self.with_path(written)
    }

    /// Adds a row of a histogram log: I/Os completed since the last row, with 2^`coarseness` (0 to
    /// 6) of fio's bins joined (`log_hist_coarseness`).
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
        let written = match &mut self.file {
            Sink::Text(file) => write_histogram(file, head, &bins),
            Sink::Samples(file) => write_histogram(file, head, &bins),
        };
        self.with_path(written)
    }

    /// Ends the log: flushes the buffer to the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), FileError> {
        let flushed = match &mut self.file {
            Sink::Text(file) => file.flush(),
            Sink::Samples(file) => file.try_finish().and_then(|()| file.get_mut().flush()),
        };
        self.with_path(flushed)
    }

    fn with_path(&self, result: io::Result<()>) -> Result<(), FileError> {
        result.map_err(|error| FileError::System { path: self.path.clone(), error })
    }
}

pub(crate) fn write_row(
    file: &mut impl Write,
    columns: LogColumns,
    row: &LogRow,
) -> io::Result<()> {
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

/// Encodes a row of a compressed log.
fn sample(columns: LogColumns, row: &LogRow) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SAMPLE_BYTES + 16);
    for number in [row.time_ms, row.value, row.max] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend((u32::from(number(row.direction)) | columns.flags()).to_ne_bytes());
    bytes.extend(row.priority.to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(row.bs.to_ne_bytes());
    let more = [(columns.offset, row.offset), (columns.issue_time, row.issue_time_ns)];
    for (_, number) in more.iter().filter(|(wanted, _)| *wanted) {
        bytes.extend(number.to_ne_bytes());
    }
    bytes
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

/// Counts in fio's bins, 2^`coarseness` of them joined.
fn fio_bins(latencies: &Histogram, coarseness: u32) -> Vec<u64> {
    let coarseness = coarseness.min(6);
    let mut bins = vec![0; BINS >> coarseness];
    for bin in latencies.bins() {
        bins[Histogram::index(bin.low_ns).min(BINS - 1) >> coarseness] += bin.count;
    }
    bins
}

/// fio's number of a direction.
const fn number(direction: Direction) -> u8 {
    match direction {
        Direction::Read | Direction::Mixed => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}

/// Direction in the flags of a sample.
pub(crate) const fn direction_of_flags(flags: u32) -> Direction {
    match flags & 3 {
        0 => Direction::Read,
        1 => Direction::Write,
        _ => Direction::Trim,
    }
}

/// True for the real-time class, which fio flags (ioprio_set(2): the class is in bits 13 to 15, 1
/// is real time).
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
    fn columns_match_the_options() {
        let none = LogColumns::default();
        assert_eq!(
            text(none, &[ROW, LogRow { priority: 0, ..ROW }]),
            "500, 60752, 1, 4096, 1\n500, 60752, 1, 4096, 0\n"
        );
        let all = LogColumns {
            offset: true,
            priority: true,
            issue_time: true,
            both: true,
            compressed: false,
        };
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
    fn a_full_disk_is_an_error() {
        // `iodyno_files` opens no device, and only this one is always full.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (path, columns) = (PathBuf::from("/dev/full"), LogColumns::default());
        let mut log = LogWriter { path, file: Sink::Text(BufWriter::new(full)), columns };
        log.row(&ROW).unwrap();
        let error = log.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write /dev/full: No space left"), "{error}");
    }
}
