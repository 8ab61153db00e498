//! Checksums of a payload.

use std::fmt;

use crc::{Crc, Table};
use iodyno_job::VerifyMethod;
use md5::Digest;

/// Bytes of the longest checksum (SHA-512).
const LONGEST: usize = 64;

/// CRC-7 as in SD cards (JESD84-A43): the polynomial of fio's `crc7`.
static CRC7: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&crc::CRC_7_MMC);
/// CRC-16/ARC: that of fio's `crc16`.
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&crc::CRC_16_ARC);
/// CRC-64/XZ, ECMA-182's polynomial reflected.
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&crc::CRC_64_XZ);

/// A checksum, 0 to 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checksum {
    bytes: [u8; LONGEST],
    length: u8,
}

/// Length of the checksums of `method`, bytes; 0 for methods without.
pub(super) const fn length(method: VerifyMethod) -> usize {
    match method {
        VerifyMethod::None
        | VerifyMethod::Null
        | VerifyMethod::Meta
        | VerifyMethod::PatternHeader
        | VerifyMethod::Pattern => 0,
        VerifyMethod::Crc7 => 1,
        VerifyMethod::Crc16 => 2,
        VerifyMethod::Crc32 | VerifyMethod::Crc32c | VerifyMethod::Xxhash => 4,
        VerifyMethod::Crc64 => 8,
        VerifyMethod::Md5 => 16,
        VerifyMethod::Sha1 => 20,
        VerifyMethod::Sha3_224 => 28,
        VerifyMethod::Sha256 | VerifyMethod::Sha3_256 => 32,
        VerifyMethod::Sha3_384 => 48,
        VerifyMethod::Sha512 | VerifyMethod::Sha3_512 => 64,
    }
}

impl Checksum {
    /// The checksum of `method` over `pieces`, one after the other; empty for
    /// methods without.
    pub(super) fn of(method: VerifyMethod, pieces: [&[u8]; 2]) -> Self {
        let [first, second] = pieces;
        match method {
            VerifyMethod::None
            | VerifyMethod::Null
            | VerifyMethod::Meta
            | VerifyMethod::PatternHeader
            | VerifyMethod::Pattern => Self::from_bytes(&[]),
            VerifyMethod::Crc7 => {
                let mut digest = CRC7.digest();
                pieces.iter().for_each(|piece| digest.update(piece));
                Self::from_bytes(&[digest.finalize()])
            }
            VerifyMethod::Crc16 => {
                let mut digest = CRC16.digest();
                pieces.iter().for_each(|piece| digest.update(piece));
                Self::from_bytes(&digest.finalize().to_le_bytes())
            }
            VerifyMethod::Crc32 => {
                let mut hasher = crc32fast::Hasher::new();
                pieces.iter().for_each(|piece| hasher.update(piece));
                Self::from_bytes(&hasher.finalize().to_le_bytes())
            }
            VerifyMethod::Crc32c => {
                let sum = crc32c::crc32c_append(crc32c::crc32c(first), second);
                Self::from_bytes(&sum.to_le_bytes())
            }
            VerifyMethod::Crc64 => {
                let mut digest = CRC64.digest();
                pieces.iter().for_each(|piece| digest.update(piece));
                Self::from_bytes(&digest.finalize().to_le_bytes())
            }
            VerifyMethod::Xxhash => {
                let mut hasher = xxhash_rust::xxh32::Xxh32::new(0);
                pieces.iter().for_each(|piece| hasher.update(piece));
                Self::from_bytes(&hasher.digest().to_le_bytes())
            }
            VerifyMethod::Md5 => Self::digest::<md5::Md5>(pieces),
            VerifyMethod::Sha1 => Self::digest::<sha1::Sha1>(pieces),
            VerifyMethod::Sha256 => Self::digest::<sha2::Sha256>(pieces),
            VerifyMethod::Sha512 => Self::digest::<sha2::Sha512>(pieces),
            VerifyMethod::Sha3_224 => Self::digest::<sha3::Sha3_224>(pieces),
            VerifyMethod::Sha3_256 => Self::digest::<sha3::Sha3_256>(pieces),
            VerifyMethod::Sha3_384 => Self::digest::<sha3::Sha3_384>(pieces),
            VerifyMethod::Sha3_512 => Self::digest::<sha3::Sha3_512>(pieces),
        }
    }

    fn digest<D: Digest>(pieces: [&[u8]; 2]) -> Self {
        let mut digest = D::new();
        pieces.iter().for_each(|piece| digest.update(piece));
        Self::from_bytes(&digest.finalize())
    }

    /// Wraps a stored checksum of at most 64 bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let length = bytes.len().min(LONGEST);
        let mut sum = Self { bytes: [0; LONGEST], length: length as u8 };
        sum.bytes[..length].copy_from_slice(&bytes[..length]);
        sum
    }

    /// The bytes, as stored after the header.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for Checksum {
    /// Formats as hexadecimal digits, in the order on the medium.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
