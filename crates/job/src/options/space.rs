//! How much of the files and devices is used.

use super::codecs::{Bool, Codec, Number, OrZero, Share, Size, print_size};
use super::value::{Taken, Value};
use super::{Kind, OptionSpec, Support, row};
use crate::Amount;

/// An amount that is none where it is 0.
struct ShareOrZero;

impl Codec for ShareOrZero {
    type Of = Option<Amount>;
    fn kind(&self) -> Kind {
        Kind::Share
    }
    fn set(&self, value: Value<'_>, of: &mut Self::Of) -> Taken {
        let mut amount = Amount::Bytes(0);
        Share.set(value, &mut amount)?;
        *of = (amount.of(u64::MAX) > 0).then_some(amount);
        Ok(())
    }
    fn print(&self, of: &Self::Of) -> String {
        of.map_or("0".into(), |amount| Share.print(&amount))
    }
}

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "size",
        space.size,
        ShareOrZero,
        "",
        ["1g", "20%", "0x100000", "(4*256m)"],
        "of all files of the job together; bounds the I/O, too, unless io_size does; nothing behind offset and size is touched, but by zonemode=strided"
    ),
    row!(
        "io_size" | "io_limit",
        space.io_size,
        ShareOrZero,
        "",
        ["10g", "50%"],
        "bytes of I/O; may be more or less than size"
    ),
    OptionSpec {
        name: "filesize",
        aliases: &[],
        default: "",
        support: Support::Native,
        harmless: &[],
        examples: &["4m", "4k-1m"],
        help: "of each file, or from one size to another at random",
        kind: || Kind::Range,
        parse: |job, value| {
            let parts = value.directions(true)?;
            let sizes: Taken<Vec<u64>> = parts.iter().map(|(_, part)| part.number()).collect();
            let sizes = sizes?;
            let (low, high) = match (sizes.first(), sizes.get(1)) {
                (Some(low), Some(high)) if *low > 0 => (*low.min(high), *low.max(high)),
                _ => return Err("a size, or two with a dash between them, was expected".into()),
            };
            job.space.filesize = Some((low, high));
            Ok(())
        },
        print: |job| match job.space.filesize {
            None => String::new(),
            Some((low, high)) if low == high => print_size(low),
            Some((low, high)) => format!("{}-{}", print_size(low), print_size(high)),
        },
    },
    row!(
        "offset" | "fileoffset",
        space.offset,
        Share,
        "0",
        ["1g", "20%"],
        "where the job starts in each file"
    ),
    row!(
        "offset_align",
        space.offset_align,
        Size(0, 1 << 40),
        "0",
        ["1m"],
        "an offset in percent is rounded up to a multiple of it; 0: of the block size"
    ),
    row!(
        "offset_increment",
        space.offset_increment,
        Share,
        "0",
        ["16g", "10%"],
        "the offset of each clone is this much further than the one's before"
    ),
    row!(
        "number_ios",
        space.number_ios,
        OrZero(Number(0, u64::MAX)),
        "0",
        ["1000"],
        "ends after this many I/Os; 0: no bound"
    ),
    OptionSpec {
        name: "loops",
        aliases: &[],
        default: "1",
        support: Support::Native,
        harmless: &[],
        examples: &["10"],
        help: "the whole job so many times",
        kind: || Kind::Number,
        // fio makes one loop of none.
        parse: |job, value| {
            job.space.loops = value.number_within(0, u32::MAX.into())?.max(1);
            Ok(())
        },
        print: |job| job.space.loops.to_string(),
    },
    row!(
        "fill_device" | "fill_fs",
        space.fill_device,
        Bool,
        "0",
        ["1"],
        "writes until nothing is free"
    ),
    row!(
        "file_append",
        space.file_append,
        Bool,
        "0",
        ["1"],
        "begins behind what the file holds, which stays; the file grows"
    ),
];
