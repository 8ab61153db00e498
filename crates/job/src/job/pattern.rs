//! In which directions, blocks and order I/O is made.

use iodyno_model::{Direction, PerDirection};

use crate::defaults::with_defaults;

/// fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pattern {
    /// `read`: sequential reads.
    #[default]
    Read,
    /// `write`: sequential writes.
    Write,
    /// `trim`: sequential trims.
    Trim,
    /// `rw`, `readwrite`: sequential reads and writes.
    ReadWrite,
    /// `randread`: random reads.
    RandRead,
    /// `randwrite`: random writes.
    RandWrite,
    /// `randtrim`: random trims.
    RandTrim,
    /// `randrw`: random reads and writes.
    RandRw,
    /// `trimwrite`: each block is trimmed, then written, in sequence.
    TrimWrite,
    /// `randtrimwrite`: the same at random.
    RandTrimWrite,
}

/// How an offset behind `rw=` (`rw=randread:8`, `rw=write:4k`) is used: fio's `rw_sequencer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sequencer {
    /// `sequential`: a new offset only every so many I/Os, in sequence in between.
    #[default]
    Sequential,
    /// `identical`: the same offset so many times.
    Identical,
}

/// Sizes of the blocks of a direction, bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockSize {
    /// `bs`: all the same.
    Fixed(u64),
    /// `bsrange`: evenly from low to high, in multiples of low (of
    /// `blocksize_unaligned`: any).
    Range {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// `bssplit`: (size, percent), percents sum to 100.
    Split(Vec<(u64, f64)>),
}

/// fio's `random_distribution`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Distribution {
    /// `random`: all alike.
    #[default]
    Random,
    /// `zipf:theta[:center]`; center 0..1.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Where the most frequent block is, 0..1 of the range; `None`: scattered.
        center: Option<f64>,
    },
    /// `pareto:h[:center]`.
    Pareto {
        /// 0..1.
        h: f64,
        /// As of zipf.
        center: Option<f64>,
    },
    /// `normal:deviation[:center]`, percent of the range.
    Normal {
        /// Standard deviation, percent.
        deviation: f64,
        /// As of zipf.
        center: Option<f64>,
    },
    /// `zoned:percent/size:…`; sizes as percent of the range.
    Zoned(Vec<Zone>),
    /// `zoned_abs:percent/size:…`; sizes in bytes.
    ZonedAbsolute(Vec<Zone>),
    /// `sequence:block,block,…`: these blocks, again and again.
    Sequence(Vec<u32>),
}

/// A zone of a random distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zone {
    /// Share of the I/Os, percent.
    pub access_percent: f64,
    /// Size: percent of the range, or bytes.
    pub size: f64,
}

/// fio's `random_generator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RandomGenerator {
    /// `tausworthe` and `tausworthe64`: independent offsets, and a map of
    /// those that were had; ours is a permutation, which needs no map.
    #[default]
    Tausworthe,
    /// `tausworthe64`.
    Tausworthe64,
    /// `lfsr`: every block once, without a map.
    Lfsr,
}

/// fio's `zonemode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZoneMode {
    /// Not given: `strided` where a `zonesize` is.
    #[default]
    NotGiven,
    /// `none`.
    None,
    /// `strided`: `zonesize` bytes of I/O in each `zonerange`, then on by `zoneskip`.
    Strided,
}

with_defaults! {
    /// In which directions, blocks and order I/O is made.
    #[derive(Debug, Clone, PartialEq)]
    pub struct AccessPattern {
        /// `rw`.
        pub rw: Pattern,
        /// Number behind `rw=…:`: I/Os before the next random offset, or bytes
        /// (may be negative: backwards) added to each offset of a sequence.
        pub rw_step: Option<i64>,
        /// `rw_sequencer`.
        pub rw_sequencer: Sequencer,
        /// `bs`, `bsrange`, `bssplit`.
        pub bs: PerDirection<BlockSize>,
        /// `blocksize_unaligned`, `bs_unaligned`.
        pub bs_unaligned: bool,
        /// `bs_is_seq_rand`: sizes of reads are for sequential, of writes for random I/O.
        pub bs_is_seq_rand: bool,
        /// `blockalign`, `ba`: offsets of random I/O are multiples of it; `None`,
        /// and 0 of a direction: of its block size.
        pub blockalign: Option<PerDirection<u64>>,
        /// `rwmixread`, percent of reads in a mix.
        pub rwmixread_percent: u32 = 50,
        /// `percentage_random`.
        pub percentage_random: PerDirection<u32> = PerDirection::all(100),
        /// `random_distribution`.
        pub random_distribution: PerDirection<Distribution>,
        /// `random_sequence_stride`: each time further by as many blocks as the sequence has.
        pub random_sequence_stride: bool,
        /// `norandommap`: blocks may come again before all were had.
        pub norandommap: bool,
        /// `random_generator`.
        pub random_generator: RandomGenerator,
        /// `sprandom`: written as an SSD is preconditioned.
        pub sprandom: bool,
        /// How.
        pub preconditioning: Sprandom,
        /// `randseed`; with `randrepeat` the seeds of all streams follow from it.
        pub randseed: u64 = 0x1055_eed5,
        /// `randrepeat`: the same each time; else a new seed for each run.
        pub randrepeat: bool = true,
        /// `zonemode`.
        pub zonemode: ZoneMode,
        /// `zonesize`, bytes; with one zones are strided once the options are settled.
        pub zonesize: Option<u64>,
        /// `zonerange`, bytes.
        pub zonerange: Option<u64>,
        /// `zoneskip`, bytes.
        pub zoneskip: u64,
    }

    /// fio's `sprandom`: random writes that leave an SSD as a long random load would.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Sprandom {
        /// `spr_num_regions`: parts of the drive that are written one after the other.
        pub regions: u32 = 100,
        /// `spr_op`: what the drive has beyond its size, as a share of that.
        pub over_provisioning: f64 = 0.15,
        /// `spr_cs`: the drive's cache, bytes.
        pub cache_bytes: u64,
    }
}

impl Pattern {
    /// All, with fio's names.
    pub const ALL: [(&'static str, Self); 12] = [
        ("read", Self::Read),
        ("write", Self::Write),
        ("trim", Self::Trim),
        ("rw", Self::ReadWrite),
        ("readwrite", Self::ReadWrite),
        ("randread", Self::RandRead),
        ("randwrite", Self::RandWrite),
        ("randtrim", Self::RandTrim),
        ("randrw", Self::RandRw),
        ("randreadwrite", Self::RandRw),
        ("trimwrite", Self::TrimWrite),
        ("randtrimwrite", Self::RandTrimWrite),
    ];

    /// fio's name of it.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, pattern)| *pattern == self);
        found.map_or("", |(name, _)| name)
    }

    /// Offsets come in random order.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandRead | Self::RandWrite | Self::RandTrim | Self::RandRw | Self::RandTrimWrite
        )
    }

    /// It has I/O in `direction`.
    pub const fn has(self, direction: Direction) -> bool {
        match direction {
            Direction::Read => {
                matches!(self, Self::Read | Self::RandRead | Self::ReadWrite | Self::RandRw)
            }
            Direction::Write => matches!(
                self,
                Self::Write
                    | Self::RandWrite
                    | Self::ReadWrite
                    | Self::RandRw
                    | Self::TrimWrite
                    | Self::RandTrimWrite
            ),
            Direction::Trim => {
                matches!(self, Self::Trim | Self::RandTrim | Self::TrimWrite | Self::RandTrimWrite)
            }
            Direction::Mixed => false,
        }
    }

    /// Each block is trimmed, then written.
    pub const fn trims_and_writes(self) -> bool {
        matches!(self, Self::TrimWrite | Self::RandTrimWrite)
    }

    /// The direction of its I/O, where it has one only; else the first.
    pub const fn direction(self) -> Direction {
        if self.has(Direction::Read) {
            Direction::Read
        } else if self.has(Direction::Write) && !self.has(Direction::Trim) {
            Direction::Write
        } else {
            Direction::Trim
        }
    }
}

impl Default for BlockSize {
    /// fio's: 4 KiB.
    fn default() -> Self {
        Self::Fixed(4096)
    }
}

impl BlockSize {
    /// The largest block, bytes.
    pub fn largest(&self) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Range { high, .. } => *high,
            Self::Split(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    /// The smallest block, bytes.
    pub fn smallest(&self) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Range { low, .. } => *low,
            Self::Split(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    /// The size, bytes, where all are alike.
    pub const fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(size) => Some(*size),
            _ => None,
        }
    }
}
