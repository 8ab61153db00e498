//! Writes a job's I/Os as fio's iolog, version 3.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use iodyno_files::{NameOrigin, create, inspect_log};
use iodyno_job::{IOLOG_HEAD, Job, Operation};
use iodyno_model::Caveat;

use crate::clock::Clock;
use crate::in_flight::Batch;

/// Writes a line for each I/O, as it is submitted.
#[derive(Debug)]
pub(crate) struct IologWriter {
    writer: BufWriter<File>,
    names: Vec<String>,
    epoch: u64,
    failure: Option<io::Error>,
}

impl IologWriter {
    /// Creates the log of `job` with its head, if requested.
    ///
    /// # Errors
    /// A message if it cannot be written.
    pub(crate) fn create(job: &Job) -> Result<Option<Self>, String> {
        let Some(name) = &job.replay.write_iolog else { return Ok(None) };
        let file = inspect_log(name.as_ref(), NameOrigin::User, IOLOG_HEAD)
            .and_then(|_| create(name.as_ref(), NameOrigin::User))
            .map_err(|error| format!("write_iolog: {error}"))?;
        let names = job.files.paths.clone();
        let mut log = Self { writer: BufWriter::new(file), names, epoch: 0, failure: None };
        log.write_head().map_err(|error| format!("write_iolog={name}: {error}"))?;
        Ok(Some(log))
    }

    fn write_head(&mut self) -> io::Result<()> {
        writeln!(self.writer, "fio version 3 iolog")?;
        for action in ["add", "open"] {
            self.names.iter().try_for_each(|name| writeln!(self.writer, "0 {name} {action}"))?;
        }
        Ok(())
    }

    /// Sets the start of the I/Os.
    pub(crate) const fn start(&mut self, now: u64) {
        self.epoch = now;
    }

    /// Logs a batch that is about to be submitted.
    pub(crate) fn record(&mut self, clock: Clock, batch: &Batch<'_>) {
        let us = clock.ns(clock.now().saturating_sub(self.epoch)) / 1000;
        for unit in batch.iter() {
            let name = self.names.get(usize::from(unit.file)).map_or("", String::as_str);
            let action = match unit.operation {
                Operation::Read => "read",
                Operation::Write => "write",
                Operation::Trim => "trim",
                Operation::Sync => "sync",
                Operation::DataSync => "datasync",
            };
            let line =
                writeln!(self.writer, "{us} {name} {action} {} {}", unit.offset, unit.length);
            if let Err(error) = line {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Completes the log. Returns a caveat if some of it could not be written.
    pub(crate) fn finish(&mut self) -> Option<Caveat> {
        let us = Clock::get().ns(Clock::get().now().saturating_sub(self.epoch)) / 1000;
        let closed =
            self.names.iter().try_for_each(|name| writeln!(self.writer, "{us} {name} close"));
        let error = self.failure.take().or(closed.and_then(|()| self.writer.flush()).err())?;
        Some(Caveat::LogNotWritten { option: "write_iolog".into(), why: error.to_string() })
    }
}
