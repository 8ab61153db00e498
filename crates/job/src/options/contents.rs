//! Options of the contents of written blocks.

use super::codecs::{Bool, Flag, Optional, Percent, Size, Words};
use super::{Kind, OptionSpec, off, on, pattern_bytes, row};
use crate::{DedupeMode, PatternPart};

pub(super) static ROWS: &[OptionSpec] = &[
    off!("zero_buffers", contents.zero_buffers, Flag, "write zeros"),
    off!("refill_buffers", contents.refill_buffers, Flag, "new random data for every write"),
    on!(
        "scramble_buffers",
        contents.scramble_buffers,
        Bool,
        "change the data slightly for every write, so that no two blocks are equal"
    ),
    OptionSpec {
        name: "buffer_pattern",
        examples: &["0xdeadbeef", "\"aaaa\"", "255"],
        help: "fill buffers with this repeated pattern",
        kind: || Kind::Text,
        parse: |job, value| {
            job.contents.buffer_pattern = pattern_bytes::parse_bytes(value.text)?;
            Ok(())
        },
        print: |job| {
            pattern_bytes::print(&[PatternPart::Bytes(job.contents.buffer_pattern.clone())])
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "buffer_compress_percentage",
        contents.buffer_compress_percentage,
        Optional(Percent),
        "",
        ["50", "100", "0"],
        "compressibility of the data"
    ),
    row!(
        "buffer_compress_chunk",
        contents.buffer_compress_chunk,
        Size(1, 1 << 30),
        "512",
        ["4k"],
        "chunk size for buffer_compress_percentage"
    ),
    row!(
        "dedupe_percentage",
        contents.dedupe_percentage,
        Percent,
        "",
        ["50"],
        "percent of duplicate blocks"
    ),
    row!(
        "dedupe_mode",
        contents.dedupe_mode,
        Words(&[("repeat", DedupeMode::Repeat), ("working_set", DedupeMode::WorkingSet)]),
        "repeat",
        ["working_set"],
        "duplicate the previous block, or one of a set"
    ),
    off!(
        "dedupe_global",
        contents.dedupe_global,
        Bool,
        "share working sets between all jobs with this option (dedupe_mode=working_set)"
    ),
    row!(
        "dedupe_working_set_percentage",
        contents.dedupe_working_set_percentage,
        Percent,
        "5",
        ["10"],
        "size of the working set, percent of the file or device"
    ),
];
