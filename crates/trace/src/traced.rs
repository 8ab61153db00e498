//! Reads traces, iodyno's and other tools', as a stream of I/Os in order of time.

use std::io::BufRead;
use std::vec::IntoIter;

use crate::read::{ReadError, Source};
use crate::{Io, Names, Reader, TraceError, is_trace};

type Input = Box<dyn BufRead>;

/// A trace of any format.
pub enum Traced {
    /// An `.iotrace`, and the remaining I/Os of the current chunk.
    Ours {
        /// Reads the chunks.
        reader: Box<Reader<Input>>,
        /// I/Os left of the last chunk.
        chunk: IntoIter<Io>,
    },
    /// Another tool's trace.
    Others(Box<Source>),
}

impl std::fmt::Debug for Traced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traced").field("source", &self.source()).finish_non_exhaustive()
    }
}

impl Traced {
    /// Opens a trace, by its first bytes; for blktrace, all files that belong together.
    ///
    /// # Errors
    /// It cannot be read, has no known format, or its header is damaged.
    pub fn open(mut inputs: Vec<Input>) -> Result<Self, ReadError> {
        if let [input] = &mut inputs[..]
            && is_trace(input.fill_buf()?)
        {
            let input = std::mem::replace(input, Box::new(std::io::empty()));
            let reader = Box::new(Reader::new(input)?);
            return Ok(Self::Ours { reader, chunk: Vec::new().into_iter() });
        }
        Ok(Self::Others(Box::new(Source::new(inputs)?)))
    }

    /// Returns the next I/O; `None` at the end. Damaged blocks of an `.iotrace` are skipped.
    ///
    /// # Errors
    /// It cannot be read, or an entry of another tool's does not follow its format.
    pub fn next_io(&mut self) -> Result<Option<Io>, ReadError> {
        let (reader, chunk) = match self {
            Self::Others(source) => return source.next_io(),
            Self::Ours { reader, chunk } => (reader, chunk),
        };
        loop {
            if let Some(io) = chunk.next() {
                return Ok(Some(io));
            }
            match reader.next_chunk() {
                Ok(None) => return Ok(None),
                Ok(Some(next)) => *chunk = next.ios.into_iter(),
                Err(TraceError::Damaged { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Devices and actors so far.
    pub const fn names(&self) -> &Names {
        match self {
            Self::Ours { reader, .. } => reader.names(),
            Self::Others(source) => source.names(),
        }
    }

    /// Its format, or for an `.iotrace` its source.
    pub fn source(&self) -> &str {
        match self {
            Self::Ours { reader, .. } => &reader.header().source,
            Self::Others(source) => source.format().name(),
        }
    }

    /// Resolution of its times, ns.
    pub const fn tick_ns(&self) -> u64 {
        match self {
            Self::Ours { reader, .. } => reader.header().tick_ns,
            Self::Others(source) => source.format().tick_ns(),
        }
    }

    /// Skips I/Os older than `from_ns` as far as that saves unpacking them: some may still be
    /// returned.
    pub fn skip_before(&mut self, from_ns: u64) {
        if let Self::Ours { reader, .. } = self {
            reader.skip_before(from_ns);
        }
    }

    /// Events that the kernel dropped in the part read so far; other tools do not report them.
    pub const fn lost(&self) -> u64 {
        match self {
            Self::Ours { reader, .. } => reader.lost(),
            Self::Others(_) => 0,
        }
    }

    /// Lines and records of another tool's that are not I/Os, so far.
    pub const fn left_out(&self) -> u64 {
        match self {
            Self::Ours { .. } => 0,
            Self::Others(source) => source.skipped().count,
        }
    }

    /// I/Os of another tool's trace that were too far out of order, so far.
    pub const fn displaced(&self) -> u64 {
        match self {
            Self::Ours { .. } => 0,
            Self::Others(source) => source.displaced(),
        }
    }

    /// Damaged blocks of an `.iotrace` so far.
    pub const fn damaged(&self) -> u64 {
        match self {
            Self::Ours { reader, .. } => reader.damaged(),
            Self::Others(_) => 0,
        }
    }

    /// True if an `.iotrace` was cut off, known once all is read; another tool's ends with an error
    /// then.
    pub const fn is_cut(&self) -> bool {
        match self {
            Self::Ours { reader, .. } => reader.is_cut(),
            Self::Others(_) => false,
        }
    }
}
