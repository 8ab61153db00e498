//! The I/Os of a log, to be made again.

use std::io::BufReader;
use std::path::Path;

use iodyno_job::iolog::{IologError, IologReader};
use iodyno_job::{Job, Request};

/// Requests as a log has them.
#[derive(Debug)]
pub(crate) struct ReplayedLog {
    reader: IologReader,
    /// When the last one that was made is due, ns after the start.
    due_ns: u64,
    /// The largest block that there are buffers for, bytes.
    largest: u32,
    pub(crate) failure: Option<String>,
}

impl ReplayedLog {
    /// Of what `job` makes again, if it does.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    pub(crate) fn open(job: &Job) -> Result<Option<Self>, String> {
        let Some(name) = job.replay.log_of(job.threads.clone) else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| format!("read_iolog={name}: {error}");
        let file = iodyno_files::open_to_read(Path::new(&name)).map_err(|error| failed(&error))?;
        let reader = IologReader::new(Box::new(BufReader::new(file)), &job.replay);
        let reader = reader.map_err(|error| failed(&error))?;
        let largest = job.largest_block() as u32;
        Ok(Some(Self { reader, due_ns: 0, largest, failure: None }))
    }

    /// The next requests; fewer where there are no more.
    pub(crate) fn fill(&mut self, requests: &mut [Request]) -> usize {
        for (count, request) in requests.iter_mut().enumerate() {
            let io = match self.reader.next_io() {
                Ok(Some(io)) if io.length <= self.largest => io,
                Ok(None) => return count,
                Ok(Some(_)) => return self.end(count, &"it is another log than before"),
                Err(error) => return self.end(count, &error as &IologError),
            };
            self.due_ns = io.at_ns;
            let (file, operation) = (io.file, io.operation);
            *request = Request { offset: io.offset, length: io.length, file, operation };
        }
        requests.len()
    }

    #[cold]
    fn end(&mut self, count: usize, why: &dyn std::fmt::Display) -> usize {
        self.failure.get_or_insert_with(|| format!("read_iolog: {why}"));
        count
    }

    /// When the request that was made last is due, ns after the start.
    pub(crate) const fn due_ns(&self) -> u64 {
        self.due_ns
    }
}
