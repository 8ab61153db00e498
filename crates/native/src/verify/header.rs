//! The verify header of an interval: its writer, location and time.
//!
//! Little endian, without gaps, so that every bit is checked:
//!
//! | byte | length | what |
//! |---|---|---|
//! | 0 | 6 | magic, `iodyno` |
//! | 6 | 1 | version, 1 |
//! | 7 | 1 | method |
//! | 8 | 4 | length of the interval, bytes |
//! | 12 | 4 | thread that wrote it |
//! | 16 | 8 | offset of the interval, bytes |
//! | 24 | 8 | number of the write, counted over the whole job |
//! | 32 | 8 | run, a random number |
//! | 40 | 4 | CRC32C of bytes 0 to 39 |
//! | 44 | | checksum of the payload, as long as its method's is |

use iodyno_job::VerifyMethod;

use crate::contents::mix;

const MAGIC: &[u8; 6] = b"iodyno";
const VERSION: u8 = 1;

/// Start of fio's headers: 0xacca in its verify.h, in native byte order.
const FIO_MAGIC: [u8; 2] = 0xacca_u16.to_le_bytes();

/// Bytes covered by the header's own checksum.
const COVERED: usize = 40;

/// Length of the header without the payload's checksum, bytes.
pub(super) const HEADER_BYTES: usize = COVERED + 4;

/// The header of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Verify method, encoded by [`method_code`].
    pub(super) method: u8,
    /// Length of the interval, bytes.
    pub(super) length: u32,
    /// Writing thread.
    pub(super) thread: u32,
    /// Offset of the interval, bytes.
    pub(super) offset: u64,
    /// Number of the write.
    pub(super) number: u64,
    /// Writing run.
    pub(super) run: u64,
}

/// Why a header is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// Only zeros.
    Zeros,
    /// Nothing that resembles a header.
    Foreign,
    /// Starts like one of fio's headers.
    Fio,
    /// A damaged header.
    Damaged,
    /// A header of another version of iodyno.
    Version(u8),
}

impl Header {
    /// Encodes the header.
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..6].copy_from_slice(MAGIC);
        bytes[6] = VERSION;
        bytes[7] = self.method;
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.thread.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.number.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.run.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..COVERED]);
        bytes[COVERED..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Decodes a header.
    pub(super) fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, HeaderError> {
        let u32_at = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        let u64_at =
            |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[at + i]));
        let magic = bytes[..6] == *MAGIC;
        if crc32c::crc32c(&bytes[..COVERED]) != u32_at(COVERED) {
            return Err(match bytes {
                _ if magic => HeaderError::Damaged,
                _ if bytes.iter().all(|byte| *byte == 0) => HeaderError::Zeros,
                _ if resembles_magic(bytes) => HeaderError::Damaged,
                _ if bytes[..2] == FIO_MAGIC => HeaderError::Fio,
                _ => HeaderError::Foreign,
            });
        }
        if !magic {
            return Err(HeaderError::Foreign);
        }
        if bytes[6] != VERSION {
            return Err(HeaderError::Version(bytes[6]));
        }
        Ok(Self {
            method: bytes[7],
            length: u32_at(8),
            thread: u32_at(12),
            offset: u64_at(16),
            number: u64_at(24),
            run: u64_at(32),
        })
    }

    /// The seed of the payload: a function of the write, so that the payload can be regenerated.
    pub(super) const fn seed(&self) -> u64 {
        mix(mix(self.run, self.thread as u64), mix(self.offset, self.number))
    }
}

/// True if at most 8 bits of the magic differ; of random bytes, one in 30 000 qualifies.
fn resembles_magic(bytes: &[u8; HEADER_BYTES]) -> bool {
    let wrong: u32 = bytes.iter().zip(MAGIC).map(|(a, b)| (a ^ b).count_ones()).sum();
    wrong <= 8
}

/// Methods by their numbers on the medium: entries must never move.
const METHODS: [(VerifyMethod, &str); 17] = [
    (VerifyMethod::Meta, "meta"),
    (VerifyMethod::PatternHeader, "pattern_hdr"),
    (VerifyMethod::Crc7, "crc7"),
    (VerifyMethod::Crc16, "crc16"),
    (VerifyMethod::Crc32, "crc32"),
    (VerifyMethod::Crc32c, "crc32c"),
    (VerifyMethod::Crc64, "crc64"),
    (VerifyMethod::Xxhash, "xxhash"),
    (VerifyMethod::Md5, "md5"),
    (VerifyMethod::Sha1, "sha1"),
    (VerifyMethod::Sha256, "sha256"),
    (VerifyMethod::Sha512, "sha512"),
    (VerifyMethod::Sha3_224, "sha3-224"),
    (VerifyMethod::Sha3_256, "sha3-256"),
    (VerifyMethod::Sha3_384, "sha3-384"),
    (VerifyMethod::Sha3_512, "sha3-512"),
    (VerifyMethod::Pattern, "pattern"),
];

/// Number of `method` on the medium, from 1; 0: no headers.
pub(super) fn method_code(method: VerifyMethod) -> u8 {
    METHODS.iter().position(|(known, _)| *known == method).map_or(0, |place| place as u8 + 1)
}

/// fio's name of the method with number `code`.
pub(super) fn method_name(code: u8) -> &'static str {
    let place = usize::from(code).checked_sub(1);
    place.and_then(|place| METHODS.get(place)).map_or("an unknown method", |(_, name)| name)
}
