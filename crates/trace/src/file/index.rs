//! Positions of the chunks of a file; rebuilt from their heads if the file was not completed.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use super::block::{self, Blocks, HEAD_BYTES, Kind};
use super::chunk;
use super::{END_MAGIC, MAGIC, TraceError};

/// Encoded size of a position, bytes.
const PLACE_BYTES: usize = 28;

/// Position of a chunk in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Offset of its block, bytes.
    pub at: u64,
    /// Number of I/Os.
    pub ios: u32,
    /// Time of the first I/O, ns.
    pub first_ns: u64,
    /// Time of the last I/O, ns.
    pub last_ns: u64,
}

/// Positions of a file's chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// In order of time.
    pub chunks: Vec<ChunkPlace>,
}

impl Index {
    pub(super) fn encode(&self) -> Vec<u8> {
        let place = |one: &ChunkPlace| {
            let mut bytes = one.ios.to_le_bytes().to_vec();
            [one.at, one.first_ns, one.last_ns].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
            bytes
        };
        self.chunks.iter().flat_map(place).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (places, rest) = bytes.as_chunks::<PLACE_BYTES>();
        let place = |bytes: &[u8; PLACE_BYTES]| {
            let long =
                |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|n| bytes[at + n]));
            let ios = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            ChunkPlace { at: long(4), ios, first_ns: long(12), last_ns: long(20) }
        };
        rest.is_empty().then(|| Self { chunks: places.iter().map(place).collect() })
    }

    /// Reads the index at the end of a file, or rebuilds it from all chunks.
    ///
    /// # Errors
    /// It is not a trace, or cannot be read.
    pub fn read(mut file: impl Read + Seek) -> Result<Self, TraceError> {
        file.rewind()?;
        super::reader::check_magic(&mut file)?;
        match Self::read_stored(&mut file)? {
            Some(index) => Ok(index),
            None => Self::rebuild(file),
        }
    }

    /// Reads the index at the end of a file, if the file was completed and the index is intact.
    fn read_stored(file: &mut (impl Read + Seek)) -> Result<Option<Self>, TraceError> {
        let length = file.seek(SeekFrom::End(0))?;
        let Some(at) = length.checked_sub(16).filter(|at| *at >= MAGIC.len() as u64) else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(at))?;
        let mut end = [0; 16];
        file.read_exact(&mut end)?;
        let (place, magic) = end.split_at(8);
        if magic != END_MAGIC {
            return Ok(None);
        }
        let place = place.iter().rev().fold(0_u64, |place, byte| place << 8 | u64::from(*byte));
        file.seek(SeekFrom::Start(place.min(length)))?;
        match Blocks::new(BufReader::new(file), place).next() {
            Ok(Some((head, _, contents))) if head.is(Kind::Index) => Ok(Self::decode(&contents)),
            Err(TraceError::System(error)) => Err(error.into()),
            _ => Ok(None),
        }
    }

    /// Reads only the heads, one after the other; stops at damage.
    fn rebuild(mut file: impl Read + Seek) -> Result<Self, TraceError> {
        let mut index = Self::default();
        let mut at = MAGIC.len() as u64;
        loop {
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = [0; HEAD_BYTES + chunk::HEAD_BYTES];
            let read = read_up_to(&mut file, &mut bytes)?;
            let (head, rest) = bytes[..read].split_at(read.min(HEAD_BYTES));
            let head = head.try_into().ok().and_then(block::Head::parse);
            let Some(head) = head else { return Ok(index) };
            if head.is(Kind::Chunk)
                && let Some(chunk) = chunk::Head::parse(rest)
            {
                let (ios, first_ns, last_ns) = (chunk.count, chunk.first_ns, chunk.last_ns);
                index.chunks.push(ChunkPlace { at, ios, first_ns, last_ns });
            }
            at += HEAD_BYTES as u64 + u64::from(head.length);
        }
    }
}

fn read_up_to(from: &mut impl Read, bytes: &mut [u8]) -> Result<usize, TraceError> {
    let mut read = 0;
    while read < bytes.len() {
        match from.read(&mut bytes[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(read)
}
