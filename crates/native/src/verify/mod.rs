//! Verification of written data: each interval of a block starts with a header that identifies it,
//! and every byte is checked.
//!
//! The payload is a function of the header (run, thread, offset, number of the write) and of the
//! job's options, so it can be regenerated: methods without a checksum compare it, the others
//! identify the wrong bytes, and the expected contents can be dumped without having been stored.

mod checksum;
mod header;
mod ledger;
mod mismatch;
mod payload;
mod state;
#[cfg(test)]
mod tests;

use iodyno_job::{BlockSize, Contents, Verify, VerifyMethod, gcd};

use checksum::Checksum;
use header::{HEADER_BYTES, Header, HeaderError};
pub(crate) use ledger::Ledger;
pub(crate) use mismatch::{ChecksumPair, Mismatch, MismatchKind};
use payload::Payload;
pub(crate) use state::{Verdict, VerifyState, WriteTracker};

/// Verify options that cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VerifyError {
    /// No room for a header.
    #[error(
        "verify: a header needs {least} bytes of each interval, which has {interval}: \
         raise bs or verify_interval, or choose a shorter checksum"
    )]
    TooSmall {
        /// Length of the interval, bytes.
        interval: u64,
        /// Required length, bytes.
        least: u64,
    },
    /// Intervals do not divide blocks.
    #[error("verify_interval={interval} does not divide the block size {block}")]
    Interval {
        /// Requested interval, bytes.
        interval: u64,
        /// Smallest block, bytes.
        block: u64,
    },
    /// The header does not fit at that offset.
    #[error(
        "verify_offset={offset}: the header ends at byte {end}, beyond the interval's {interval}"
    )]
    Offset {
        /// Requested offset, bytes.
        offset: u64,
        /// End of the header, bytes.
        end: u64,
        /// Length of the interval, bytes.
        interval: u64,
    },
    /// No pattern to compare with.
    #[error("verify=pattern and verify=pattern_hdr need a verify_pattern")]
    NoPattern,
}

/// Expected contents of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Unknown: not checked.
    Unknown,
    /// A write.
    Write {
        /// Number of the write; `None`: any.
        number: Option<u64>,
        /// Made by this run and thread.
        own: bool,
    },
    /// Zeros: trimmed.
    Zeros,
}

impl Expected {
    /// Any write by any writer: the expectation of jobs that only read.
    pub(crate) const ANY: Self = Self::Write { number: None, own: false };

    /// Write `number` of this run and thread.
    #[cfg(test)]
    pub(crate) const fn number(number: u64) -> Self {
        Self::Write { number: Some(number), own: true }
    }
}

/// Expected and found contents of a block, for `verify_dump`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dump {
    /// Expected contents; `None`: unknown.
    pub(crate) expected: Option<Vec<u8>>,
    /// Found contents.
    pub(crate) found: Vec<u8>,
}

/// Stamps the blocks of one thread before they are written, and checks them.
#[derive(Debug, Clone)]
pub(crate) struct Verifier {
    method: VerifyMethod,
    /// Bytes.
    interval: usize,
    /// Offset of the header in its interval, bytes.
    header_offset: usize,
    payload: Payload,
    /// Write numbers are compared.
    sequence: bool,
    /// Without headers, each written block begins its pattern again.
    reads_as_written: bool,
    run: u64,
    thread: u32,
}

impl Verifier {
    /// A verifier with the options `verify`, for blocks of `sizes` at multiples of `spacing` bytes
    /// (0: of their size). `run` must be unique to this run, `thread` unique within it.
    ///
    /// # Errors
    /// If no header fits into an interval, intervals do not divide blocks, or a required pattern is
    /// missing.
    pub(crate) fn new(
        verify: &Verify,
        contents: &Contents,
        sizes: &BlockSize,
        spacing: u64,
        run: u64,
        thread: u32,
    ) -> Result<Self, VerifyError> {
        // Blocks of several sizes overwrite parts of each other: as in fio, intervals are their
        // greatest common divisor.
        let block = match sizes {
            BlockSize::Split(sizes) => sizes.iter().fold(0, |unit, (size, _)| gcd(unit, *size)),
            sizes => sizes.smallest(),
        };
        let block = gcd(spacing, block);
        let asked = verify.interval.filter(|interval| *interval > 0).map_or(block, u64::from);
        let interval = asked.min(block);
        let patterned =
            matches!(verify.method, VerifyMethod::Pattern | VerifyMethod::PatternHeader);
        let payload = Payload::new(verify, contents);
        if patterned && matches!(payload, Payload::Recipe(_)) {
            return Err(VerifyError::NoPattern);
        }
        let mut verifier = Self {
            method: verify.method,
            interval: usize::try_from(interval).unwrap_or(usize::MAX),
            header_offset: verify.offset as usize,
            payload,
            sequence: verify.write_sequence,
            reads_as_written: false,
            run,
            thread,
        };
        let header = verifier.header_bytes() as u64;
        if header == 0 {
            verifier.header_offset = 0;
            verifier.reads_as_written = interval < sizes.largest();
        } else {
            let end = u64::from(verify.offset) + header;
            if interval == 0 || !block.is_multiple_of(interval) {
                return Err(VerifyError::Interval { interval, block });
            } else if interval <= header {
                return Err(VerifyError::TooSmall { interval, least: header + 1 });
            } else if end > interval {
                let offset = u64::from(verify.offset);
                return Err(VerifyError::Offset { offset, end, interval });
            }
        }
        Ok(verifier)
    }

    /// True if no read may hold parts of two writes.
    pub(crate) const fn reads_as_written(&self) -> bool {
        self.reads_as_written
    }

    /// Length of a header with its checksum, bytes; 0 for methods without.
    pub(crate) fn header_bytes(&self) -> usize {
        match self.method {
            VerifyMethod::None | VerifyMethod::Null | VerifyMethod::Pattern => 0,
            method => HEADER_BYTES + checksum::length(method),
        }
    }

    /// Length of an interval, the unit of verification, bytes. Blocks without headers are checked
    /// as a whole.
    pub(crate) const fn interval(&self) -> u64 {
        self.interval as u64
    }

    /// True if [`Self::stamp`] generates the contents of blocks; otherwise they are the job's own,
    /// and not checked.
    pub(crate) const fn stamps(&self) -> bool {
        !matches!(self.method, VerifyMethod::None | VerifyMethod::Null)
    }

    /// Generates the block to be written to `offset`, bytes: its contents, and the header of each
    /// interval. `number` counts the job's writes, over all of its loops.
    pub(crate) fn stamp(&self, block: &mut [u8], offset: u64, number: u64) {
        self.stamp_as(block, offset, number, self.run, self.thread);
    }

    fn stamp_as(&self, block: &mut [u8], offset: u64, number: u64, run: u64, thread: u32) {
        if !self.stamps() {
            return;
        }
        for (start, length) in self.intervals(block.len()) {
            let interval = &mut block[start..start + length];
            let header = Header {
                method: header::method_code(self.method),
                length: u32::try_from(length).unwrap_or(u32::MAX),
                thread,
                offset: offset + start as u64,
                number,
                run,
            };
            self.payload.fill(interval, header.offset, header.seed());
            if self.header_bytes() == 0 || !self.has_room(length) {
                continue;
            }
            let sum = Checksum::of(self.method, self.payload_of(interval));
            let place = &mut interval[self.header_offset..][..self.header_bytes()];
            let (place, place_of_sum) = place.split_at_mut(HEADER_BYTES);
            place.copy_from_slice(&header.to_bytes());
            place_of_sum.copy_from_slice(sum.bytes());
        }
    }

    /// Checks the block that was read from `offset`, bytes, against `expected` at the offset of
    /// each interval.
    ///
    /// # Errors
    /// The first interval with unexpected contents.
    pub(crate) fn check(
        &self,
        block: &[u8],
        offset: u64,
        expected: impl Fn(u64) -> Expected,
    ) -> Result<(), Mismatch> {
        if !self.stamps() {
            return Ok(());
        }
        for (start, length) in self.intervals(block.len()) {
            let interval = &block[start..start + length];
            let offset = offset + start as u64;
            let checked = match expected(offset) {
                Expected::Unknown => Ok(()),
                Expected::Zeros => check_zeros(interval),
                Expected::Write { number, own } => self.check_write(interval, offset, number, own),
            };
            checked.map_err(|kind| Mismatch { offset, length: length as u64, kind })?;
        }
        Ok(())
    }

    fn check_write(
        &self,
        interval: &[u8],
        offset: u64,
        number: Option<u64>,
        own: bool,
    ) -> Result<(), MismatchKind> {
        let header_bytes = self.header_bytes();
        let skip = (self.header_offset, header_bytes);
        if !self.has_room(interval.len()) {
            return Err(MismatchKind::Short);
        }
        if header_bytes == 0 {
            let damage = self.payload.damage(interval, (0, 0), offset, 0);
            return damage.map_or(Ok(()), |damage| Err(MismatchKind::Contents { damage }));
        }
        let header = self.header_of(interval).map_err(|why| match why {
            HeaderError::Zeros => {
                MismatchKind::NeverWritten { zeros: interval.iter().all(|byte| *byte == 0) }
            }
            HeaderError::Foreign => MismatchKind::NeverWritten { zeros: false },
            HeaderError::Fio => MismatchKind::Fio,
            HeaderError::Damaged => MismatchKind::Header,
            HeaderError::Version(found) => MismatchKind::Version { found },
        })?;
        self.check_header(&header, interval.len(), offset, number, own)?;
        let damage = || self.payload.damage(interval, skip, offset, header.seed());
        if checksum::length(self.method) == 0 {
            return damage().map_or(Ok(()), |damage| Err(MismatchKind::Contents { damage }));
        }
        let stored = &interval[self.header_offset..][HEADER_BYTES..header_bytes];
        let expected = Checksum::from_bytes(stored);
        let found = Checksum::of(self.method, self.payload_of(interval));
        if expected == found {
            return Ok(());
        }
        Err(MismatchKind::Checksum {
            sums: Box::new(ChecksumPair { expected, found }),
            damage: damage(),
        })
    }

    /// Checks that the header belongs to the expected write.
    fn check_header(
        &self,
        header: &Header,
        length: usize,
        offset: u64,
        number: Option<u64>,
        own: bool,
    ) -> Result<(), MismatchKind> {
        let method = header::method_code(self.method);
        if header.offset != offset {
            Err(MismatchKind::Misdirected { found_offset: header.offset })
        } else if own && header.run != self.run {
            Err(MismatchKind::LostWrite { expected: number, found: None })
        } else if own && header.thread != self.thread {
            Err(MismatchKind::OtherWriter { thread: header.thread })
        } else if header.method != method {
            Err(MismatchKind::Method { expected: method, found: header.method })
        } else if u64::from(header.length) != length as u64 {
            Err(MismatchKind::Length { found: header.length })
        } else {
            match number.filter(|_| self.sequence) {
                Some(expected) if header.number < expected => {
                    Err(MismatchKind::LostWrite { expected: number, found: Some(header.number) })
                }
                Some(expected) if header.number > expected => {
                    Err(MismatchKind::NewerWrite { expected, found: header.number })
                }
                _ => Ok(()),
            }
        }
    }

    /// The found and the expected contents at `offset`: regenerated from the expected write number
    /// if known, otherwise from each intact header with the right offset.
    pub(crate) fn dump(
        &self,
        block: &[u8],
        offset: u64,
        expected: impl Fn(u64) -> Expected,
    ) -> Dump {
        let mut regenerated = vec![0; block.len()];
        let mut known = true;
        for (start, length) in self.intervals(block.len()) {
            let (found, regenerated) =
                (&block[start..start + length], &mut regenerated[start..start + length]);
            let offset = offset + start as u64;
            let header = self.header_of(found).ok().filter(|header| header.offset == offset);
            match (expected(offset), header) {
                (Expected::Write { number: Some(number), own: true }, _) => {
                    self.stamp(regenerated, offset, number);
                }
                (Expected::Zeros, _) => {}
                (Expected::Unknown, _) => regenerated.copy_from_slice(found),
                (_, Some(header)) => {
                    self.stamp_as(regenerated, offset, header.number, header.run, header.thread);
                }
                // A pattern without a header is independent of its writer.
                (_, None) if self.stamps() && self.header_bytes() == 0 => {
                    self.stamp(regenerated, offset, 0);
                }
                (_, None) => known = false,
            }
        }
        Dump { expected: known.then_some(regenerated), found: block.to_vec() }
    }

    /// True if an interval of `length` bytes, possibly the rest at the end of a file, has room for
    /// the header.
    fn has_room(&self, length: usize) -> bool {
        length >= self.header_offset + self.header_bytes()
    }

    fn header_of(&self, interval: &[u8]) -> Result<Header, HeaderError> {
        let place = interval.get(self.header_offset..).and_then(<[u8]>::first_chunk);
        place.map_or(Err(HeaderError::Foreign), Header::from_bytes)
    }

    /// The bytes before and after the header.
    fn payload_of<'a>(&self, interval: &'a [u8]) -> [&'a [u8]; 2] {
        [&interval[..self.header_offset], &interval[self.header_offset + self.header_bytes()..]]
    }

    /// (start, length) of the intervals of a block of `length` bytes. The last one includes the
    /// remainder.
    fn intervals(&self, length: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let whole = self.header_bytes() == 0 || self.interval == 0 || self.interval > length;
        let step = if whole { length } else { self.interval };
        let count = length.checked_div(step).unwrap_or(0);
        (0..count).map(move |n| {
            let start = n * step;
            (start, if n + 1 == count { length - start } else { step })
        })
    }
}

/// Checks that a trimmed interval reads as zeros.
fn check_zeros(interval: &[u8]) -> Result<(), MismatchKind> {
    match interval.iter().position(|byte| *byte != 0) {
        Some(first) => Err(MismatchKind::NotZero { first: first as u64, found: interval[first] }),
        None => Ok(()),
    }
}
