//! Where the chunks of a file are; made of their heads where the file was not ended.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use super::block::{self, Blocks, HEAD_BYTES, Kind};
use super::chunk;
use super::{END_MAGIC, MAGIC, TraceError};

/// Bytes of a place in the file.
const PLACE_BYTES: usize = 28;

/// A chunk in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// Where its block begins, bytes.
    pub at: u64,
    /// Its I/Os.
    pub ios: u32,
    /// Time of the first of them, ns.
    pub first_ns: u64,
    /// Time of the last of them, ns.
    pub last_ns: u64,
}

/// The places of a file's chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// In the order of their times.
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

    /// The index of a file: as it stands at its end, or else made of all chunks.
    ///
    /// # Errors
    /// It is no trace, or cannot be read.
    pub fn read(mut file: impl Read + Seek) -> Result<Self, TraceError> {
        file.rewind()?;
        super::reader::check_magic(&mut file)?;
        match Self::stored(&mut file)? {
            Some(index) => Ok(index),
            None => Self::rebuilt(file),
        }
    }

    /// The index at the end of a file, if it was ended and is whole.
    fn stored(file: &mut (impl Read + Seek)) -> Result<Option<Self>, TraceError> {
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

    /// Goes from head to head, without what is between them; it ends where damage begins.
    fn rebuilt(mut file: impl Read + Seek) -> Result<Self, TraceError> {
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
