//! Options of the range and amount of I/O.

use super::codecs::{Bool, Codec, NonZero, Number, Size, SizeOrPercent, print_size};
use super::value::{Parsed, Value};
use super::{Kind, OptionSpec, off, row};
use crate::Amount;

/// A size or percentage; 0 is `None`.
struct NonZeroAmount;

impl Codec for NonZeroAmount {
    type Field = Option<Amount>;
    fn kind(&self) -> Kind {
        Kind::SizeOrPercent
    }
    fn parse(&self, value: Value<'_>) -> Parsed<Self::Field> {
        Ok(Some(SizeOrPercent.parse(value)?).filter(|amount| amount.of(u64::MAX) > 0))
    }
    fn print(&self, field: &Self::Field) -> String {
        field.map_or("0".into(), |amount| SizeOrPercent.print(&amount))
    }
}

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "size",
        space.size,
        NonZeroAmount,
        "",
        ["1g", "20%", "0x100000", "(4*256m)"],
        "total size of the job's files; also bounds the I/O, unless io_size does; nothing beyond offset and size is touched, except by zonemode=strided"
    ),
    row!(
        "io_size" | "io_limit",
        space.io_size,
        NonZeroAmount,
        "",
        ["10g", "50%"],
        "total bytes of I/O; may be more or less than size"
    ),
    OptionSpec {
        name: "filesize",
        examples: &["4m", "4k-1m"],
        help: "size of each file, or a range to choose sizes from at random",
        kind: || Kind::Range,
        parse: |job, value| {
            let parts = value.directions(true)?;
            let sizes: Parsed<Vec<u64>> = parts.iter().map(|(_, part)| part.number()).collect();
            let sizes = sizes?;
            let (low, high) = match (sizes.first(), sizes.get(1)) {
                (Some(low), Some(high)) if *low > 0 => (*low.min(high), *low.max(high)),
                _ => return Err("expected a size, or two with a dash between them".into()),
            };
            job.space.filesize = Some((low, high));
            Ok(())
        },
        print: |job| match job.space.filesize {
            None => String::new(),
            Some((low, high)) if low == high => print_size(low),
            Some((low, high)) => format!("{}-{}", print_size(low), print_size(high)),
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "offset" | "fileoffset",
        space.offset,
        SizeOrPercent,
        "0",
        ["1g", "20%"],
        "start of the job's range in each file"
    ),
    row!(
        "offset_align",
        space.offset_align,
        Size(0, 1 << 40),
        "0",
        ["1m"],
        "round an offset in percent up to a multiple of this; 0: the block size"
    ),
    row!(
        "offset_increment",
        space.offset_increment,
        SizeOrPercent,
        "0",
        ["16g", "10%"],
        "added to offset for each further clone"
    ),
    row!(
        "number_ios",
        space.number_ios,
        NonZero(Number(0, u64::MAX)),
        "0",
        ["1000"],
        "end after this many I/Os; 0: no limit"
    ),
    OptionSpec {
        name: "loops",
        default: "1",
        examples: &["10"],
        help: "repeat the job this many times",
        kind: || Kind::Number,
        // As in fio, 0 is one loop.
        parse: |job, value| {
            job.space.loops = value.number_within(0, u32::MAX.into())?.max(1);
            Ok(())
        },
        print: |job| job.space.loops.to_string(),
        ..OptionSpec::DEFAULT
    },
    off!("fill_device" | "fill_fs", space.fill_device, Bool, "write until no space is left"),
    off!("file_append", space.file_append, Bool, "append to the file"),
];
