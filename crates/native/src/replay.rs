//! Replays the I/Os of an iolog or a trace.

use std::io::BufReader;
use std::path::Path;

use iodyno_job::iolog::IologReader;
use iodyno_job::{Job, Request};
use iodyno_model::Replayed;

use crate::clock::Clock;
use crate::trace_replay::{OpenTrace, TraceReplay};

/// The requests of an iolog or a trace.
#[derive(Debug)]
pub(crate) struct Replay {
    source: Source,
    /// Largest block that the buffers hold, bytes.
    largest: u32,
    pub(crate) failure: Option<String>,
}

#[derive(Debug)]
enum Source {
    /// fio's iolog, and the due time of its last request, ns after the start.
    Log(Box<IologReader>, u64),
    Trace(Box<TraceReplay>),
}

impl Replay {
    /// Opens what `job` replays, if anything, on a target with a block size of `align_bytes`.
    ///
    /// # Errors
    /// A message if it cannot be read.
    pub(crate) fn open(
        job: &Job,
        align_bytes: u32,
        open_trace: Option<OpenTrace>,
    ) -> Result<Option<Self>, String> {
        let largest = job.largest_block() as u32;
        let replay_of = |source| Some(Self { source, largest, failure: None });
        if let (Some(trace), Some(open)) = (&job.replay.trace, open_trace) {
            let replay = TraceReplay::start(job, align_bytes, open);
            let replay = replay.map_err(|why| format!("{}: {why}", trace.trace.file))?;
            return Ok(replay_of(Source::Trace(Box::new(replay))));
        }
        let Some(name) = job.replay.log_of(job.threads.clone) else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| format!("read_iolog={name}: {error}");
        let file = iodyno_files::open_to_read(Path::new(&name)).map_err(|error| failed(&error))?;
        let reader = IologReader::new(Box::new(BufReader::new(file)), &job.replay);
        let reader = reader.map_err(|error| failed(&error))?;
        Ok(replay_of(Source::Log(Box::new(reader), 0)))
    }

    /// Fills `requests` with the next ones; returns fewer at the end.
    pub(crate) fn fill(&mut self, requests: &mut [Request]) -> usize {
        for (count, to) in requests.iter_mut().enumerate() {
            match self.next_request() {
                Ok(Some(request)) if request.length <= self.largest => *to = request,
                Ok(None) => return count,
                Ok(Some(_)) => return self.end(count, "it is another log than before"),
                Err(why) => return self.end(count, &why),
            }
        }
        requests.len()
    }

    fn next_request(&mut self) -> Result<Option<Request>, String> {
        match &mut self.source {
            Source::Trace(trace) => Ok(trace.next_io()?.map(|io| io.request)),
            Source::Log(reader, due_ns) => {
                let next = reader.next_io().map_err(|error| error.to_string())?;
                Ok(next.map(|io| {
                    *due_ns = io.at_ns;
                    let (file, operation) = (io.file, io.operation);
                    Request { offset: io.offset, length: io.length, file, operation }
                }))
            }
        }
    }

    #[cold]
    fn end(&mut self, count: usize, why: &str) -> usize {
        let what = match self.source {
            Source::Log(..) => "read_iolog",
            Source::Trace(_) => "the trace",
        };
        self.failure.get_or_insert_with(|| format!("{what}: {why}"));
        count
    }

    /// Due time of the last request, ticks; `u64::MAX`: it waits for other I/Os.
    pub(crate) fn due(&mut self, started: u64) -> u64 {
        match &mut self.source {
            Source::Log(_, due_ns) => started.saturating_add(Clock::get().ticks(*due_ns)),
            Source::Trace(trace) => trace.due(started),
        }
    }

    /// The trace, if this is one.
    pub(crate) fn trace(&mut self) -> Option<&mut TraceReplay> {
        match &mut self.source {
            Source::Log(..) => None,
            Source::Trace(trace) => Some(trace),
        }
    }

    /// Result of a replayed trace.
    pub(crate) fn summary(&self) -> Option<Box<Replayed>> {
        match &self.source {
            Source::Log(..) => None,
            Source::Trace(trace) => Some(Box::new(trace.summary())),
        }
    }
}
