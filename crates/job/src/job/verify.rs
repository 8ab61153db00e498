//! Verification of written data.

use crate::defaults::with_defaults;

/// fio's `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyMethod {
    /// `none`, `0`.
    #[default]
    None,
    /// `null`: blocks are read back but not compared.
    Null,
    /// `md5`.
    Md5,
    /// `crc16`.
    Crc16,
    /// `crc32`.
    Crc32,
    /// `crc32c`, `crc32c-intel`.
    Crc32c,
    /// `crc64`.
    Crc64,
    /// `crc7`.
    Crc7,
    /// `sha1`.
    Sha1,
    /// `sha256`.
    Sha256,
    /// `sha512`.
    Sha512,
    /// `sha3-224`.
    Sha3_224,
    /// `sha3-256`.
    Sha3_256,
    /// `sha3-384`.
    Sha3_384,
    /// `sha3-512`.
    Sha3_512,
    /// `xxhash`.
    Xxhash,
    /// `meta`: offset and sequence number only; now part of every method.
    Meta,
    /// `pattern_hdr`, and `verify_pattern` without `verify`: the pattern, with a header in each
    /// interval.
    PatternHeader,
    /// `pattern`: the pattern alone, without header.
    Pattern,
}

with_defaults! {
    /// Verification of written data.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Verify {
        /// `verify`.
        pub method: VerifyMethod,
        /// `do_verify`: reads back and verifies the job's writes.
        pub do_verify: bool = true,
        /// `verify_only`.
        pub verify_only: bool,
        /// `verifysort`.
        pub sort: bool = true,
        /// `verify_offset`: offset of the header in its interval, bytes.
        pub offset: u32,
        /// `verify_interval`, bytes; `None`: the block size.
        pub interval: Option<u32>,
        /// `verify_pattern`, in which `%o` stands for the offset.
        pub pattern: Vec<PatternPart>,
        /// `verify_pattern_interval`: bytes after which the pattern restarts; 0: a block.
        pub pattern_interval: u32,
        /// `verify_fatal`: ends at the first mismatch.
        pub fatal: bool,
        /// `verify_dump`: dumps expected and found data into files.
        pub dump: bool,
        /// `verify_backlog`: verifies after this many writes; 0: at the end.
        pub backlog: u64,
        /// `trim_percentage`: percent of the writes to trim after each `trim_backlog`.
        pub trim_percent: u32,
        /// `trim_verify_zero`: trimmed blocks are read back and must be zeros.
        pub trim_verify_zero: bool = true,
        /// `trim_backlog`: writes between two batches of trims; 0: no trims.
        pub trim_backlog: u64,
        /// `trim_backlog_batch`: most trims per batch; 0: `trim_backlog`.
        pub trim_batch: u64,
        /// `verify_async`: verifying threads; in the native generator the reading thread verifies.
        pub asynchronous: u32,
        /// `verify_state_save`: saves which writes completed, by `policy`, for other runs.
        pub state_save: bool = true,
        /// `verify_state_load`: verifies the writes that another run saved.
        pub state_load: bool,
        /// `verify_policy`.
        pub policy: VerifyPolicy,
        /// `verify_write_sequence`: checks the sequence number of the write in each header.
        pub write_sequence: bool = true,
    }
}

/// The writes in a saved state: fio's `verify_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyPolicy {
    /// `completed`: all successful writes.
    #[default]
    Completed,
    /// `fsynced`: writes before the last sync.
    Fsynced,
}

impl Verify {
    /// True if blocks are verified, or at least read back.
    pub fn is_on(&self) -> bool {
        self.method != VerifyMethod::None
    }
}

/// A part of a `verify_pattern`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// The offset of the block, 8 bytes, little endian (`%o`).
    Offset,
}
