//! Options of verification.

use super::codecs::{Bool, Count, Flag, List, NonZero, Number, Percent, Words};
use super::{Kind, OptionSpec, Support, ignored, off, on, pattern_bytes, row};
use crate::{VerifyMethod, VerifyPolicy};

const METHODS: &[(&str, VerifyMethod)] = &[
    ("none", VerifyMethod::None),
    ("0", VerifyMethod::None),
    ("null", VerifyMethod::Null),
    ("md5", VerifyMethod::Md5),
    ("crc64", VerifyMethod::Crc64),
    ("crc32", VerifyMethod::Crc32),
    ("crc32c", VerifyMethod::Crc32c),
    ("crc32c-intel", VerifyMethod::Crc32c),
    ("crc16", VerifyMethod::Crc16),
    ("crc7", VerifyMethod::Crc7),
    ("sha1", VerifyMethod::Sha1),
    ("sha256", VerifyMethod::Sha256),
    ("sha512", VerifyMethod::Sha512),
    ("sha3-224", VerifyMethod::Sha3_224),
    ("sha3-256", VerifyMethod::Sha3_256),
    ("sha3-384", VerifyMethod::Sha3_384),
    ("sha3-512", VerifyMethod::Sha3_512),
    ("xxhash", VerifyMethod::Xxhash),
    ("meta", VerifyMethod::Meta),
    ("pattern", VerifyMethod::Pattern),
    ("pattern_hdr", VerifyMethod::PatternHeader),
];

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "verify",
        verify.method,
        Words(METHODS),
        "0",
        ["0", "crc32c", "md5", "sha256", "xxhash", "pattern", "crc32c-intel"],
        "checksum for verifying written data, after runtime if that ends the job"
    ),
    on!("do_verify", verify.do_verify, Bool, "read back and verify what the job wrote"),
    off!("verify_only", verify.verify_only, Flag, "verify earlier writes without writing"),
    on!("verifysort", verify.sort, Bool, "verify in order of offsets; removed from fio"),
    ignored!(
        "verifysort_nr",
        Count(0, u32::MAX),
        "",
        ["1024"],
        "fio itself took it out",
        "number of blocks sorted at once; removed from fio"
    ),
    row!(
        "verify_offset",
        verify.offset,
        Count(0, 1 << 30),
        "0",
        ["64"],
        "offset of the verify header in its interval, bytes"
    ),
    row!(
        "verify_interval",
        verify.interval,
        NonZero(Count(0, 1 << 30)),
        "",
        ["4k", "512"],
        "interval of verify headers, bytes; default: the block size"
    ),
    OptionSpec {
        name: "verify_pattern",
        examples: &["0xaa555aa5", "%o", "\"abcd\"%o0xff", "-12"],
        help: "repeated pattern to write and verify; %o is the offset",
        kind: || Kind::Text,
        parse: |job, value| {
            job.verify.pattern = pattern_bytes::parse(value.text)?;
            Ok(())
        },
        print: |job| pattern_bytes::print(&job.verify.pattern),
        ..OptionSpec::DEFAULT
    },
    row!(
        "verify_pattern_interval",
        verify.pattern_interval,
        Count(0, 1 << 30),
        "0",
        ["512"],
        "bytes after which the pattern restarts, with its own %o"
    ),
    row!(
        "verify_policy",
        verify.policy,
        Words(&[("completed", VerifyPolicy::Completed), ("fsynced", VerifyPolicy::Fsynced)]),
        "completed",
        ["fsynced"],
        "writes in a saved state: all completed ones, or those before the last sync"
    ),
    OptionSpec {
        support: Support::Ignored(
            "a job always ends at the first block that is wrong, but for continue_on_error=verify",
        ),
        ..off!(
            "verify_fatal",
            verify.fatal,
            Bool,
            "stop at the first block that fails verification"
        )
    },
    off!("verify_dump", verify.dump, Bool, "dump expected and found data into files"),
    OptionSpec {
        support: Support::Ignored("each thread verifies what it reads"),
        ..row!(
            "verify_async",
            verify.asynchronous,
            Count(0, 4096),
            "0",
            ["4"],
            "number of verifying threads"
        )
    },
    ignored!(
        "verify_async_cpus",
        List,
        "",
        ["0-3"],
        "each thread verifies what it reads",
        "CPUs of the verifying threads"
    ),
    row!(
        "verify_backlog",
        verify.backlog,
        Number(0, u64::MAX),
        "",
        ["1024"],
        "verify after this many writes; default: at the end"
    ),
    row!(
        "trim_percentage",
        verify.trim_percent,
        Percent,
        "0",
        ["20"],
        "percent of the verified writes to trim, with trim_backlog"
    ),
    on!("trim_verify_zero", verify.trim_verify_zero, Bool, "trimmed blocks must read as zeros"),
    row!(
        "trim_backlog",
        verify.trim_backlog,
        Number(0, u64::MAX),
        "0",
        ["16"],
        "trim after this many writes; 0: never"
    ),
    row!(
        "trim_backlog_batch",
        verify.trim_batch,
        Number(0, u64::MAX),
        "0",
        ["4"],
        "most trims per batch; 0: trim_backlog"
    ),
    ignored!(
        "verify_backlog_batch",
        Number(0, u32::MAX as u64),
        "",
        ["64"],
        "the whole backlog is verified each time",
        "number of blocks verified per batch"
    ),
    on!(
        "verify_state_save",
        verify.state_save,
        Bool,
        "save which writes completed to local-NAME-N-verify.state when the job ends"
    ),
    off!(
        "verify_state_load",
        verify.state_load,
        Bool,
        "verify the writes saved by verify_state_save, in a job that only reads"
    ),
    on!(
        "verify_write_sequence",
        verify.write_sequence,
        Bool,
        "check the sequence number of each write"
    ),
    ignored!(
        "verify_header_seed",
        Bool,
        "1",
        ["0"],
        "headers are iodyno's own (docs/reference/verify.md)",
        "check the seed of the contents"
    ),
    ignored!(
        "experimental_verify",
        Bool,
        "0",
        ["1"],
        "what was written is always verified from the books",
        "regenerate the I/Os to verify them, without logging them"
    ),
];
