//! Reads a trace chunk by chunk, skipping damage.

use std::io::{BufRead, ErrorKind, Read};

use super::block::{Blocks, Kind};
use super::{Chunk, Ending, Header, MAGIC, TraceError, chunk};
use crate::Names;
use crate::model::{Generator, Slices};

/// Reads a trace as a stream; it holds one chunk in memory.
#[derive(Debug)]
pub struct Reader<R> {
    blocks: Blocks<R>,
    header: Header,
    names: Names,
    ending: Option<Ending>,
    /// Chunks that end before this time are skipped, ns.
    from_ns: u64,
    lost_before: u64,
    lost: u64,
    /// Damaged blocks so far.
    damaged: u64,
    is_over: bool,
    generator: Option<Box<Generator>>,
}

/// Checks that a file begins as a readable trace.
pub(super) fn check_magic(input: &mut impl Read) -> Result<(), TraceError> {
    let mut magic = [0; MAGIC.len()];
    match input.read_exact(&mut magic) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(TraceError::NotATrace),
        Err(error) => Err(error.into()),
        Ok(()) if magic == MAGIC => Ok(()),
        Ok(()) if super::is_trace(&magic) => Err(TraceError::Version(magic[7])),
        Ok(()) => Err(TraceError::NotATrace),
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// It is not a trace, its header is damaged, or a system call failed.
    pub fn new(mut input: R) -> Result<Self, TraceError> {
        check_magic(&mut input)?;
        let at = MAGIC.len() as u64;
        let mut blocks = Blocks::new(input, at);
        let damaged = TraceError::Damaged { at, what: "no header" };
        let Some((head, _, contents)) = blocks.next()? else { return Err(damaged) };
        let header = head.is(Kind::Header).then(|| serde_json::from_slice(&contents).ok());
        let header: Header = header.flatten().ok_or(damaged)?;
        let mut names = Names::default();
        for device in &header.devices {
            names.device(device);
        }
        let generator = header.seed.map(|seed| Box::new(Generator::new(seed)));
        Ok(Self {
            blocks,
            header,
            names,
            ending: None,
            from_ns: 0,
            lost_before: 0,
            lost: 0,
            damaged: 0,
            is_over: false,
            generator,
        })
    }

    /// The header of the trace.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Devices and actors of the I/Os so far.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// The ending, once all is read; `None` if the trace was not completed.
    pub const fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Events that the kernel dropped before or within what was read so far, without those of
    /// skipped chunks.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Damaged blocks so far.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// True if the recording was cut off, known once all is read.
    pub const fn is_cut(&self) -> bool {
        self.is_over && self.ending.is_none()
    }

    /// Skips chunks whose last I/O is older than `from_ns` without unpacking them. I/Os of a model
    /// depend on earlier ones, so none of it is skipped.
    pub const fn skip_before(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
    }

    /// Returns the next chunk; `None` at the end.
    ///
    /// # Errors
    /// A system call failed, or a block is damaged: then the next call continues after it.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, TraceError> {
        let found = self.read_chunk();
        match &found {
            Err(TraceError::Damaged { .. }) => self.damaged += 1,
            Ok(None) => self.is_over = true,
            _ => {}
        }
        found
    }

    fn read_chunk(&mut self) -> Result<Option<Chunk>, TraceError> {
        while let Some((head, at, contents)) = self.blocks.next()? {
            let damaged = |what| TraceError::Damaged { at, what };
            if head.is(Kind::Chunk) {
                let place = chunk::Head::parse(&contents);
                if let Some(older) = place.filter(|one| one.last_ns < self.from_ns) {
                    self.lost_before += older.lost;
                    continue;
                }
                let chunk = Chunk::decode(&contents, &mut self.names);
                let chunk = chunk.ok_or(damaged("invalid columns"))?;
                self.lost += chunk.lost;
                return Ok(Some(chunk));
            }
            if head.is(Kind::Model)
                && let Some(generator) = &mut self.generator
            {
                let slices = Slices::decode(&contents);
                let ios = slices.and_then(|slices| generator.expand(&slices, &mut self.names));
                let (ios, _) = ios.ok_or(damaged("invalid counts"))?;
                return Ok(Some(Chunk { ios, lost: 0 }));
            }
            if head.is(Kind::Ending) {
                let ending: Option<Ending> = serde_json::from_slice(&contents).ok();
                let ending = ending.ok_or(damaged("invalid ending"))?;
                // Lost after the last chunk, or in a damaged one.
                self.lost = ending.lost.saturating_sub(self.lost_before).max(self.lost);
                self.ending = Some(ending);
            }
            // The index and 16 bytes follow, which serve readers that seek a time.
            if head.is(Kind::Index) {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the next undamaged chunk; `None` at the end. [`Self::damaged`] and [`Self::is_cut`]
    /// tell whether something is missing.
    ///
    /// # Errors
    /// A system call failed.
    pub fn next_undamaged_chunk(&mut self) -> Result<Option<Chunk>, TraceError> {
        loop {
            match self.next_chunk() {
                Err(TraceError::Damaged { .. }) => {}
                found => return found,
            }
        }
    }
}
