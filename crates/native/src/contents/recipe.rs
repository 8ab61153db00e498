//! Block contents as a function of a seed.

use iodyno_job::Contents;

use super::random;

/// Generates blocks from seeds: random bytes, with a share of each chunk replaced by zeros or by
/// `buffer_pattern`, so that the block compresses.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// Length of a chunk, bytes; 0: the whole block.
    chunk: u64,
    /// Share of each chunk that is not random, percent.
    fixed_percent: u64,
    /// Replaces the random bytes; empty: zeros.
    pattern: Vec<u8>,
}

impl Recipe {
    /// Implements `buffer_compress_percentage`, `buffer_compress_chunk` and `buffer_pattern`.
    pub(crate) fn new(contents: &Contents) -> Self {
        Self {
            chunk: contents.buffer_compress_chunk,
            fixed_percent: u64::from(contents.buffer_compress_percentage.unwrap_or(0).min(100)),
            pattern: contents.buffer_pattern.clone(),
        }
    }

    /// Generates the block of `seed` in full.
    #[inline]
    pub(crate) fn fill(&self, block: &mut [u8], seed: u64) {
        self.fill_at(block, 0, block.len() as u64, seed);
    }

    /// Generates a part of the block of `seed`, which is `block_length` bytes long, starting at
    /// byte `position`.
    pub(crate) fn fill_at(&self, part: &mut [u8], position: u64, block_length: u64, seed: u64) {
        debug_assert!(position + part.len() as u64 <= block_length);
        if self.fixed_percent == 0 {
            return random::fill_at(part, position, seed);
        }
        let chunk = if self.chunk == 0 { block_length } else { self.chunk.min(block_length) };
        if chunk == 0 {
            return;
        }
        let (mut position, mut left) = (position, part);
        while !left.is_empty() {
            let in_chunk = position % chunk;
            // The last chunk may be shorter, with the same shares.
            let chunk = chunk.min(block_length - (position - in_chunk));
            let random_length =
                (u128::from(chunk) * u128::from(100 - self.fixed_percent) / 100) as u64;
            let is_random = in_chunk < random_length;
            let end = if is_random { random_length } else { chunk };
            let length = left.len().min(usize::try_from(end - in_chunk).unwrap_or(usize::MAX));
            let (now, later) = left.split_at_mut(length);
            if is_random {
                random::fill_at(now, position, seed);
            } else {
                repeat(&self.pattern, now, in_chunk - random_length);
            }
            position += length as u64;
            left = later;
        }
    }
}

/// Fills `bytes` with repetitions of `pattern`, starting at its byte `phase` (modulo its length);
/// an empty pattern is zeros.
pub(crate) fn repeat(pattern: &[u8], bytes: &mut [u8], phase: u64) {
    if pattern.is_empty() {
        return bytes.fill(0);
    }
    let (later, first) = pattern.split_at((phase % pattern.len() as u64) as usize);
    let mut done = 0;
    for piece in [first, later] {
        let length = piece.len().min(bytes.len() - done);
        bytes[done..done + length].copy_from_slice(&piece[..length]);
        done += length;
    }
    fill_by_doubling(bytes, done);
}

/// Fills `bytes` with repetitions of its first `done` bytes, doubling the copied part each time.
pub(crate) fn fill_by_doubling(bytes: &mut [u8], mut done: usize) {
    while done > 0 && done < bytes.len() {
        let more = done.min(bytes.len() - done);
        bytes.copy_within(..more, done);
        done += more;
    }
}
