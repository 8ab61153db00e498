//! How what was written is verified.

use crate::defaults::with_defaults;

/// fio's `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyMethod {
    /// `none`, `0`.
    #[default]
    None,
    /// `null`: blocks are read again, and not looked at.
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
    /// `meta`: offset and number only; today part of every method.
    Meta,
    /// `pattern_hdr`, and `verify_pattern` without `verify`: the pattern, with a
    /// header in each interval.
    PatternHeader,
    /// `pattern`: the pattern alone, without header.
    Pattern,
}

with_defaults! {
    /// How what was written is verified.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Verify {
        /// `verify`.
        pub method: VerifyMethod,
        /// `do_verify`: reads again what the job wrote.
        pub do_verify: bool = true,
        /// `verify_only`.
        pub verify_only: bool,
        /// `verifysort`.
        pub sort: bool = true,
        /// `verify_offset`: where the header is in its interval, bytes.
        pub offset: u32,
        /// `verify_interval`, bytes; `None`: a block.
        pub interval: Option<u32>,
        /// `verify_pattern`; `%o` stands for the offset: (bytes, places of offsets).
        pub pattern: Vec<PatternPart>,
        /// `verify_pattern_interval`, bytes after which the pattern begins again; 0: a block.
        pub pattern_interval: u32,
        /// `verify_fatal`: ends at the first that is wrong.
        pub fatal: bool,
        /// `verify_dump`: writes what was expected and found into files.
        pub dump: bool,
        /// `verify_backlog`: verifies after so many writes; 0: at the end.
        pub backlog: u64,
        /// `trim_percentage`: of the writes, trimmed after `trim_backlog` of them.
        pub trim_percent: u32,
        /// `trim_verify_zero`: trimmed blocks have to read as zeros, and are read.
        pub trim_verify_zero: bool = true,
        /// `trim_backlog`: writes between two turns of trims; 0: none are made.
        pub trim_backlog: u64,
        /// `trim_backlog_batch`: trims in a turn at most; 0: as many as `trim_backlog`.
        pub trim_batch: u64,
        /// `verify_async`: threads that verify; ours do it where they read.
        pub asynchronous: u32,
        /// `verify_state_save`: what was written is known to other runs, as far as `policy` has it.
        pub state_save: bool = true,
        /// `verify_state_load`: verifies as far as another run wrote.
        pub state_load: bool,
        /// `verify_policy`.
        pub policy: VerifyPolicy,
        /// `verify_write_sequence`: headers hold the number of the write, which is checked.
        pub write_sequence: bool = true,
    }
}

/// Which writes a saved state has: fio's `verify_policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyPolicy {
    /// `completed`: all that succeeded.
    #[default]
    Completed,
    /// `fsynced`: those before the last sync.
    Fsynced,
}

impl Verify {
    /// Something is verified, or at least read again.
    pub fn is_on(&self) -> bool {
        self.method != VerifyMethod::None
    }
}

/// A part of a `verify_pattern`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The offset of the block, 8 bytes, little endian (`%o`).
    Offset,
}
