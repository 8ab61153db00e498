//! Options of logs of I/O, replayed or written.

use super::codecs::{Bool, Count, Optional, Size, Text};
use super::{Kind, OptionSpec, ignored, off, row};

const SKIPPED: [&str; 4] = ["read", "write", "trim", "sync"];

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "read_iolog",
        replay.read_iolog,
        Optional(Text),
        "",
        ["log"],
        "replay the I/Os of this log: fio's text, versions 2 and 3, or a blktrace; of several, separated by colons, each clone takes one"
    ),
    row!(
        "write_iolog",
        replay.write_iolog,
        Optional(Text),
        "",
        ["log"],
        "log the job's I/Os for replay, as text, version 3"
    ),
    off!("replay_no_stall", replay.no_stall, Bool, "replay without the log's pauses"),
    row!(
        "replay_redirect",
        replay.redirect,
        Optional(Text),
        "",
        ["/dev/nvme0n1"],
        "replay onto this file or device instead of those in the log"
    ),
    row!("replay_scale", replay.scale, Count(0, u32::MAX), "1", ["2"], "divide offsets by this"),
    row!(
        "replay_align",
        replay.align_bytes,
        Size(0, 1 << 40),
        "",
        ["4096"],
        "round offsets down to a multiple of this power of two"
    ),
    row!(
        "replay_time_scale",
        replay.time_scale_percent,
        Count(1, u32::MAX),
        "100",
        ["200"],
        "speed in percent: 200 is twice as fast"
    ),
    OptionSpec {
        name: "replay_skip",
        examples: &["write", "read,sync"],
        help: "skip read, write, trim or sync; comma-separated",
        kind: || Kind::Text,
        parse: |job, value| {
            for word in value.text.split(',').map(str::trim) {
                let known = SKIPPED.iter().position(|known| *known == word);
                job.replay.skip[known.ok_or("expected read, write, trim or sync")?] = true;
            }
            Ok(())
        },
        print: |job| {
            let skipped = SKIPPED.iter().zip(job.replay.skip).filter(|(_, skip)| *skip);
            skipped.map(|(word, _)| *word).collect::<Vec<_>>().join(",")
        },
        ..OptionSpec::DEFAULT
    },
    ignored!(
        "read_iolog_chunked",
        Bool,
        "0",
        ["1"],
        "logs are always read as they are needed",
        "read the log in chunks"
    ),
];
