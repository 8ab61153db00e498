//! Writes a trace as its I/Os arrive.

use std::io::Write;

use super::block::{self, Kind};
use super::index::{ChunkPlace, Index};
use super::{CHUNK_IOS, Chunk, END_MAGIC, Ending, Header, MAGIC, TraceError};
use crate::model::Modeller;
use crate::{Io, Names};

/// Writes a trace; it holds one chunk in memory. A trace that was not completed is readable as
/// well.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    at: u64,
    chunk: Chunk,
    index: Index,
    before_ns: u64,
    ios: u64,
    lost: u64,
    tick_ns: u64,
    modeller: Option<Box<Modeller>>,
}

/// Significant bits of a latency: an error of at most 0.2 %, which saves more than a byte per I/O.
const LATENCY_BITS: u32 = 9;

impl<W: Write> Writer<W> {
    /// Begins a trace; a model if the header has a seed.
    ///
    /// # Errors
    /// A system call failed.
    pub fn new(mut to: W, header: &Header) -> Result<Self, TraceError> {
        let tick_ns = header.tick_ns;
        let modeller = header.seed.map(|seed| Box::new(Modeller::new(seed)));
        to.write_all(&MAGIC)?;
        let header = serde_json::to_vec(header).map_err(std::io::Error::from)?;
        let at = MAGIC.len() as u64 + block::write(&mut to, Kind::Header, &header)?;
        to.flush()?;
        let (chunk, index) = (Chunk::default(), Index::default());
        let tick_ns = tick_ns.max(1);
        Ok(Self { to, at, chunk, index, before_ns: 0, ios: 0, lost: 0, tick_ns, modeller })
    }

    /// Appends an I/O whose device and actor are numbers of `names`. Its latency is rounded to 9
    /// bits, in ticks.
    ///
    /// # Errors
    /// It is older than the one before, or a system call failed.
    pub fn push(&mut self, io: Io, names: &Names) -> Result<(), TraceError> {
        if io.at_ns < self.before_ns {
            return Err(TraceError::Order { at_ns: io.at_ns, before_ns: self.before_ns });
        }
        self.before_ns = io.at_ns;
        self.ios += 1;
        let latency = io.latency.map(|ns| rounded(ns, self.tick_ns));
        self.chunk.ios.push(Io { latency, ..io });
        if self.chunk.ios.len() == CHUNK_IOS { self.flush(names) } else { Ok(()) }
    }

    /// Records that the kernel dropped `events` here.
    pub const fn lost(&mut self, events: u64) {
        self.chunk.lost += events;
        self.lost += events;
    }

    /// Writes the pending I/Os as a short chunk, and flushes the output.
    ///
    /// # Errors
    /// A system call failed.
    pub fn flush(&mut self, names: &Names) -> Result<(), TraceError> {
        let Some((first, last)) = self.chunk.ios.first().zip(self.chunk.ios.last()) else {
            return Ok(());
        };
        if let Some(modeller) = &mut self.modeller {
            let slices = modeller.chunk(&self.chunk.ios, names);
            self.at += block::write(&mut self.to, Kind::Model, &slices.encode())?;
            self.chunk = Chunk::default();
            return Ok(self.to.flush()?);
        }
        self.index.chunks.push(ChunkPlace {
            at: self.at,
            ios: self.chunk.ios.len() as u32,
            first_ns: first.at_ns,
            last_ns: last.at_ns,
        });
        self.at += block::write(&mut self.to, Kind::Chunk, &self.chunk.encode(names))?;
        self.chunk.ios.clear();
        self.chunk.lost = 0;
        Ok(self.to.flush()?)
    }

    /// Number of I/Os that a kill would lose: those of the chunk that is not full yet.
    pub const fn pending(&self) -> usize {
        self.chunk.ios.len()
    }

    /// Completes the trace: `duration_ns` of recording, `unmatched` I/Os. Returns the output.
    ///
    /// # Errors
    /// A system call failed.
    pub fn end(
        mut self,
        names: &Names,
        duration_ns: u64,
        unmatched: u64,
    ) -> Result<(W, Ending), TraceError> {
        self.flush(names)?;
        let duration_ns = duration_ns.max(self.before_ns);
        let likeness = self.modeller.as_ref().map(|modeller| modeller.likeness(duration_ns));
        let ending = Ending { duration_ns, ios: self.ios, lost: self.lost, unmatched, likeness };
        let json = serde_json::to_vec(&ending).map_err(std::io::Error::from)?;
        self.at += block::write(&mut self.to, Kind::Ending, &json)?;
        block::write(&mut self.to, Kind::Index, &self.index.encode())?;
        self.to.write_all(&self.at.to_le_bytes())?;
        self.to.write_all(&END_MAGIC)?;
        self.to.flush()?;
        Ok((self.to, ending))
    }
}

/// Rounds to the nearest number of ticks with few significant bits.
pub(super) fn rounded(ns: u64, tick_ns: u64) -> u64 {
    if !ns.is_multiple_of(tick_ns) {
        return rounded(ns, 1);
    }
    let ticks = ns / tick_ns;
    let drop = (u64::BITS - ticks.leading_zeros()).saturating_sub(LATENCY_BITS);
    let half = (1_u64 << drop) >> 1;
    (ticks.saturating_add(half) >> drop << drop).saturating_mul(tick_ns)
}
