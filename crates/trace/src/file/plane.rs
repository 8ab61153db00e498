//! Planes of a column: bytes that are compressed together, as a frame of zstd.
//!
//! Most are noise. A search for repetitions finds few in them, all by chance: it takes five times as
//! long as their Huffman code alone, and often more space.

use ruzstd::encoding::{
    CompressionLevel, FrameCompressor, Matcher, Sequence, compress_to_vec as search,
};

/// Length of the part by which it is decided what is done with the whole, bytes.
const SAMPLE_BYTES: usize = 1 << 12;
/// Maximum of zstd's blocks (RFC 8878, 3.1.1.2.4).
const BLOCK_BYTES: usize = 128 << 10;

/// Compresses a plane. What it repeats is searched for if that saves an eighth of a part from its
/// middle.
pub(super) fn compress(plane: &[u8]) -> Vec<u8> {
    let begin = plane.len().saturating_sub(SAMPLE_BYTES) / 2;
    let sample = &plane[begin..plane.len().min(begin + SAMPLE_BYTES)];
    let is_repetitive =
        search(sample, CompressionLevel::Fastest).len() * 8 < code(sample).len() * 7;
    if is_repetitive { search(plane, CompressionLevel::Fastest) } else { code(plane) }
}

/// Compresses without a search.
fn code(plane: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let literals = Literals { bytes: Vec::new(), length: plane.len() };
    let mut compressor = FrameCompressor::new_with_matcher(literals, CompressionLevel::Fastest);
    compressor.set_source(plane);
    compressor.set_drain(&mut packed);
    compressor.compress();
    packed
}

/// Repeats nothing.
struct Literals {
    bytes: Vec<u8>,
    /// Length of all there is, bytes.
    length: usize,
}

impl Matcher for Literals {
    fn get_next_space(&mut self) -> Vec<u8> {
        // The block that is not filled is the last one.
        vec![0; BLOCK_BYTES.min(self.length + 1)]
    }

    fn get_last_space(&mut self) -> &[u8] {
        &self.bytes
    }

    fn commit_space(&mut self, space: Vec<u8>) {
        self.bytes = space;
    }

    fn skip_matching(&mut self) {}

    fn start_matching(&mut self, mut handle_sequence: impl for<'a> FnMut(Sequence<'a>)) {
        handle_sequence(Sequence::Literals { literals: &self.bytes });
    }

    fn reset(&mut self, _level: CompressionLevel) {}

    fn window_size(&self) -> u64 {
        BLOCK_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::decoding::FrameDecoder;

    use super::*;

    #[test]
    fn planes_of_any_length_and_kind_are_read_back() {
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u8> = (0..3 * BLOCK_BYTES).map(|_| random.u8(..)).collect();
        let counting: Vec<u8> = (0..3 * BLOCK_BYTES).map(|at| at as u8).collect();
        let rare: Vec<u8> = noise.iter().map(|byte| byte >> 5).collect();
        let lengths = [1, 2, 1000, 5000, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1];
        for length in lengths.into_iter().chain([3 * BLOCK_BYTES]) {
            for (plane, most) in [(&noise, length + 32), (&counting, length), (&rare, length)] {
                let (plane, mut back) = (&plane[..length], vec![0; length]);
                let packed = compress(plane);
                let read = FrameDecoder::new().decode_all(&packed, &mut back).unwrap();
                assert_eq!((read, &back[..]), (length, plane));
                assert!(length < 5000 || packed.len() <= most, "{length}: {}", packed.len());
            }
        }
        let whole = 1 << 16;
        assert!(compress(&counting[..whole]).len() < whole / 20);
        assert!(compress(&rare[..whole]).len() < whole / 2);
    }
}
