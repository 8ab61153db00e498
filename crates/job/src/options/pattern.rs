//! Options of direction, block sizes and order.

use iodyno_model::PerDirection;

use super::codecs::{
    Bool, Codec, Count, Directions, Flag, NonZero, Percent, Size, SizeOrPercent, Words,
};
use super::value::Refusal;
use super::{Kind, OptionSpec, ignored, off, on, row};
use crate::value::parse_signed;
use crate::{Amount, Pattern, RandomGenerator, Sequencer, ZoneMode};

const GENERATORS: &[(&str, RandomGenerator)] = &[
    ("tausworthe", RandomGenerator::Tausworthe),
    ("tausworthe64", RandomGenerator::Tausworthe64),
    ("lfsr", RandomGenerator::Lfsr),
];

fn words_of_rw() -> Kind {
    Kind::Words(Pattern::ALL.map(|(word, _)| word).to_vec())
}

pub(super) static ROWS: &[OptionSpec] = &[
    OptionSpec {
        name: "rw",
        aliases: &["readwrite"],
        default: "read",
        examples: &["randread", "rw", "randwrite:8", "read:-8k", "write:4k", "trimwrite"],
        help: "direction and order; `:N` sets the I/Os per random offset, or the gap between sequential blocks",
        kind: words_of_rw,
        parse: |job, value| {
            let pattern = value.word(&Pattern::ALL)?;
            let mut step = None;
            if let Some((_, text)) = value.text.split_once(':') {
                let number = parse_signed(text, value.units)?;
                if pattern.is_random() && !(1..=i64::from(u32::MAX)).contains(&number) {
                    return Err("expected at least 1 I/O before the next random offset".into());
                }
                step = Some(number);
            }
            (job.pattern.rw, job.pattern.rw_step) = (pattern, step);
            Ok(())
        },
        print: |job| match (job.pattern.rw.name(), job.pattern.rw_step) {
            (word, Some(step)) => format!("{word}:{step}"),
            (word, None) => word.into(),
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "rw_sequencer",
        pattern.rw_sequencer,
        Words(&[("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)]),
        "sequential",
        ["identical"],
        "between two random offsets of rw=rand…:N, continue sequentially or stay at the offset"
    ),
    super::blocks::BS,
    super::blocks::BSRANGE,
    super::blocks::BSSPLIT,
    off!(
        "bs_unaligned" | "blocksize_unaligned",
        pattern.bs_unaligned,
        Flag,
        "block sizes of a range need not be multiples of the smallest (with verify: by fio)"
    ),
    off!(
        "bs_is_seq_rand",
        pattern.bs_is_seq_rand,
        Bool,
        "use the read block size for sequential, the write block size for random I/O"
    ),
    OptionSpec {
        name: "ba",
        aliases: &["blockalign"],
        examples: &["4k", "4k,8k", ",512,"],
        help: "alignment of random offsets; default: the block size",
        kind: || Kind::Directions(Box::new(Kind::Size)),
        parse: |job, value| {
            let align = job.pattern.blockalign.get_or_insert_default();
            Directions(Size(1, 1 << 40)).set(value, align)
        },
        print: |job| {
            let print = |align: PerDirection<u64>| {
                let part = |align: &u64| (*align > 0).then(|| Size(1, 1 << 40).print(align));
                super::value::print_directions(&align.map(part))
            };
            job.pattern.blockalign.map_or(String::new(), print)
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "rwmixread",
        pattern.rwmixread_percent,
        Percent,
        "50",
        ["70"],
        "percent of reads in a mixed workload"
    ),
    OptionSpec {
        name: "rwmixwrite",
        default: "50",
        examples: &["30", "0"],
        help: "percent of writes in a mixed workload",
        kind: || Kind::Percent,
        parse: |job, value| {
            job.pattern.rwmixread_percent = 100 - Percent.parse(value)?;
            Ok(())
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "percentage_random",
        pattern.percentage_random,
        Directions(Percent),
        "100",
        ["85", "0,33,0", ",11,", "99,,"],
        "percent of I/Os at random offsets; the others are sequential"
    ),
    super::distribution::ROW,
    off!(
        "random_sequence_stride",
        pattern.random_sequence_stride,
        Bool,
        "start each pass of random_distribution=sequence after the previous one"
    ),
    off!(
        "norandommap",
        pattern.norandommap,
        Flag,
        "a block may be repeated before all have been visited"
    ),
    ignored!(
        "softrandommap",
        Bool,
        "0",
        ["1"],
        "the order of offsets needs no map in memory",
        "fall back to norandommap if the map does not fit in memory"
    ),
    row!(
        "random_generator",
        pattern.random_generator,
        Words(GENERATORS),
        "tausworthe",
        ["lfsr", "tausworthe64"],
        "generator of random offsets; iodyno's is a permutation, like lfsr"
    ),
    off!(
        "sprandom",
        pattern.sprandom,
        Bool,
        "SSD preconditioning: random writes of the physical capacity that leave the drive as a long \
         random load would; implies random_generator=lfsr and norandommap"
    ),
    row!(
        "spr_num_regions",
        pattern.preconditioning.regions,
        Count(1, 1 << 24),
        "100",
        ["50"],
        "number of regions of the drive (sprandom)"
    ),
    OptionSpec {
        name: "spr_op",
        default: "0.15",
        examples: &["0.25"],
        help: "over-provisioning of the drive, as a share of its size (sprandom)",
        kind: || Kind::Floats,
        parse: |job, value| {
            let share = value.float()?;
            if !(share > 0.0 && share < 1.0) {
                return Err("expected a share between 0 and 1".into());
            }
            job.pattern.preconditioning.over_provisioning = share;
            Ok(())
        },
        print: |job| job.pattern.preconditioning.over_provisioning.to_string(),
        ..OptionSpec::DEFAULT
    },
    row!(
        "spr_cs",
        pattern.preconditioning.cache_bytes,
        Size(0, u64::MAX),
        "0",
        ["32k"],
        "size of the drive's cache, which must not hold a block twice (sprandom); 0: none"
    ),
    OptionSpec {
        name: "randseed",
        default: "137",
        examples: &["42", "0xdeadbeef"],
        help: "seed of all random choices",
        kind: || Kind::Number,
        parse: |job, value| {
            job.pattern.randseed = value.number()?;
            Ok(())
        },
        print: |job| job.pattern.randseed.to_string(),
        ..OptionSpec::DEFAULT
    },
    on!(
        "randrepeat" | "allrandrepeat",
        pattern.randrepeat,
        Bool,
        "repeat the same random sequence in each run"
    ),
    OptionSpec {
        name: "zonemode",
        default: "none",
        examples: &["none", "strided"],
        // Without the word `zbd`: blktests searches `--cmdhelp=zonemode` for it.
        help: "strided: zonesize bytes of I/O in each zonerange, zones zoneskip apart (zoned devices: by fio)",
        kind: || Kind::Words(vec!["none", "strided", "zbd"]),
        parse: |job, value| {
            let modes = [
                ("none", Some(ZoneMode::None)),
                ("strided", Some(ZoneMode::Strided)),
                ("zbd", None),
            ];
            let mode = value.word(&modes)?;
            job.pattern.zonemode = mode.ok_or_else(|| {
                Refusal::FioOnly("zones of zoned devices are not looked at".into())
            })?;
            Ok(())
        },
        print: |job| match job.pattern.zonemode {
            ZoneMode::NotGiven => String::new(),
            ZoneMode::None => "none".into(),
            ZoneMode::Strided => "strided".into(),
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "zonesize",
        pattern.zonesize,
        NonZero(Size(0, u64::MAX)),
        "0",
        ["256m"],
        "bytes of I/O in each zone"
    ),
    row!(
        "zonerange",
        pattern.zonerange,
        NonZero(Size(0, u64::MAX)),
        "0",
        ["1g"],
        "size of a zone; default: zonesize"
    ),
    OptionSpec {
        name: "zoneskip",
        default: "0",
        examples: &["2g"],
        help: "bytes skipped between zones",
        kind: || Kind::Size,
        parse: |job, value| {
            let Amount::Bytes(bytes) = SizeOrPercent.parse(value)? else {
                return Err("expected bytes".into());
            };
            job.pattern.zoneskip = bytes;
            Ok(())
        },
        print: |job| job.pattern.zoneskip.to_string(),
        ..OptionSpec::DEFAULT
    },
];
