//! `--bandwidth-log`: logs the total bandwidth of all jobs over time, one file per direction.

use std::path::PathBuf;

use iodyno_files::FileError;
use iodyno_fio::out::{LogColumns, LogRow, LogWriter};
use iodyno_job::Logs;
use iodyno_load::Interval;
use iodyno_model::{DIRECTIONS, Direction, PerDirection};

/// fio's `bwavgtime`, ns.
const WINDOW_NS: u64 = 500_000_000;

/// Writer of the sums that fio computes for its status line: a row every half second, zeros
/// included.
pub(super) struct AggregateLog {
    prefix: String,
    writers: Vec<(Direction, LogWriter)>,
    bytes: PerDirection<u64>,
    gathered_ns: u64,
    /// Time of finished phases and of this one, ns.
    before_ns: u64,
    phase_ns: u64,
}

impl AggregateLog {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            writers: Vec::new(),
            bytes: PerDirection::default(),
            gathered_ns: 0,
            before_ns: 0,
            phase_ns: 0,
        }
    }

    /// Paths of the logs.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        DIRECTIONS.map(|direction| self.path(direction)).into_iter()
    }

    fn path(&self, direction: Direction) -> PathBuf {
        format!("{}-{}_bw.log", self.prefix, direction.name()).into()
    }

    /// Records an interval. As in fio, nothing is logged while a job is in its ramp.
    pub(super) fn record(&mut self, interval: &Interval) -> Result<(), FileError> {
        if interval.start_ns < self.phase_ns {
            self.before_ns += self.phase_ns;
        }
        self.phase_ns = interval.start_ns + interval.duration_ns;
        for (direction, one) in interval.jobs.iter().flat_map(|job| job.directions.iter()) {
            *self.bytes.of_mut(direction) += one.bytes;
        }
        self.gathered_ns += interval.duration_ns;
        if self.gathered_ns < WINDOW_NS || interval.jobs.iter().any(|job| job.ramping) {
            return Ok(());
        }
        let ns = u128::from(std::mem::take(&mut self.gathered_ns));
        let bytes = std::mem::take(&mut self.bytes);
        self.open()?;
        for (direction, writer) in &mut self.writers {
            let kib_per_s = u128::from(*bytes.of(*direction)) * 1_000_000_000 / ns / 1024;
            let value = u64::try_from(kib_per_s).unwrap_or(u64::MAX);
            writer.row(&LogRow {
                time_ms: (self.before_ns + self.phase_ns) / 1_000_000,
                value,
                max: value,
                direction: *direction,
                bs: 0,
                offset: 0,
                priority: 0,
                issue_time_ns: 0,
            })?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), FileError> {
        if self.writers.is_empty() {
            let columns = || LogColumns::of(&Logs::default());
            for direction in DIRECTIONS {
                let writer = LogWriter::create(self.path(direction), columns())?;
                self.writers.push((direction, writer));
            }
        }
        Ok(())
    }

    /// Finishes the files, which exist even without rows.
    pub(super) fn finish(mut self) -> Result<(), FileError> {
        self.open()?;
        self.writers.into_iter().try_for_each(|(_, writer)| writer.finish())
    }
}
