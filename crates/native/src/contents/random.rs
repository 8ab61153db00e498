//! Random bytes as a function of a seed and a position.
//!
//! Word `i` of a seed is wyrand's output for its state after `i + 1` steps
//! (Wang Yi, wyhash, public domain): a multiplication of 64 by 64 bits folded
//! to 64. No word depends on the one before, so the processor makes several
//! at a time, and any place of a block can be made again by itself.

const STEP: u64 = 0xa076_1d64_78bd_642f;
const FOLD: u64 = 0xe703_7ed1_a0b4_28db;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// Bytes that are made at a time: half as fast again as word by word.
const ROW: usize = 4 * WORD;

#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product >> 64) as u64 ^ product as u64
}

/// Word `index` of the stream of `seed`.
#[inline(always)]
const fn word(seed: u64, index: u64) -> u64 {
    let state = seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1)));
    fold(state, state ^ FOLD)
}

/// Two numbers as one, all bits mixed: seeds from seeds.
pub(crate) const fn mix(a: u64, b: u64) -> u64 {
    word(fold(a ^ STEP, b ^ FOLD).wrapping_add(a), b)
}

/// Fills `bytes` with what the stream of `seed` holds from byte `position` on.
pub(crate) fn fill_at(bytes: &mut [u8], position: u64, seed: u64) {
    let mut index = position / WORD as u64;
    let skipped = (position % WORD as u64) as usize;
    let (head, body) = if skipped == 0 {
        bytes.split_at_mut(0)
    } else {
        bytes.split_at_mut((WORD - skipped).min(bytes.len()))
    };
    if !head.is_empty() {
        let first = word(seed, index).to_le_bytes();
        head.copy_from_slice(&first[skipped..skipped + head.len()]);
        index += 1;
    }
    let (rows, body) = body.as_chunks_mut::<ROW>();
    for row in rows {
        for (bytes, index) in row.as_chunks_mut::<WORD>().0.iter_mut().zip(index..) {
            *bytes = word(seed, index).to_le_bytes();
        }
        index += (ROW / WORD) as u64;
    }
    let (words, tail) = body.as_chunks_mut::<WORD>();
    for bytes in words {
        *bytes = word(seed, index).to_le_bytes();
        index += 1;
    }
    let last = word(seed, index).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}
