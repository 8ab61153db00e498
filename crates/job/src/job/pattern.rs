//! Directions, block sizes and order of a job's I/O.

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
    /// `sequential`: a random offset every N I/Os, sequential offsets in between.
    #[default]
    Sequential,
    /// `identical`: each random offset N times.
    Identical,
}

/// Block sizes of a direction, bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockSize {
    /// `bs`: one size.
    Fixed(u64),
    /// `bsrange`: uniform from low to high, in multiples of low (any size with
    /// `blocksize_unaligned`).
    Range {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// `bssplit`: (size, percent); the percentages sum to 100.
    Split(Vec<(u64, f64)>),
}

/// fio's `random_distribution`.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Distribution {
    /// `random`: uniform.
    #[default]
    Random,
    /// `zipf:theta[:center]`; center 0..1.
    Zipf {
        /// Exponent.
        theta: f64,
        /// Place of the most frequent block, 0..1 of the range; `None`: scattered.
        center: Option<f64>,
    },
    /// `pareto:h[:center]`.
    Pareto {
        /// Shape, 0..1.
        h: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// `normal:deviation[:center]`, percent of the range.
    Normal {
        /// Standard deviation, percent.
        deviation: f64,
        /// As for zipf.
        center: Option<f64>,
    },
    /// `zoned:percent/size:…`; sizes as percent of the range.
    Zoned(Vec<Zone>),
    /// `zoned_abs:percent/size:…`; sizes in bytes.
    ZonedAbsolute(Vec<Zone>),
    /// `sequence:block,block,…`: these blocks, repeated.
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
    /// `tausworthe`: in fio independent offsets and a map of visited blocks; here a permutation,
    /// which needs no map.
    #[default]
    Tausworthe,
    /// `tausworthe64`: as `tausworthe`.
    Tausworthe64,
    /// `lfsr`: every block once, without a map.
    Lfsr,
}

/// fio's `zonemode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZoneMode {
    /// Not given: `strided` if `zonesize` is.
    #[default]
    NotGiven,
    /// `none`.
    None,
    /// `strided`: `zonesize` bytes of I/O in each `zonerange`, then `zoneskip` bytes are skipped.
    Strided,
}

with_defaults! {
    /// Directions, block sizes and order of a job's I/O.
    #[derive(Debug, Clone, PartialEq)]
    pub struct AccessPattern {
        /// `rw`.
        pub rw: Pattern,
        /// Number after `rw=…:`: I/Os per random offset, or the gap in bytes between sequential
        /// blocks (negative: backwards).
        pub rw_step: Option<i64>,
        /// `rw_sequencer`.
        pub rw_sequencer: Sequencer,
        /// `bs`, `bsrange`, `bssplit`.
        pub bs: PerDirection<BlockSize>,
        /// `blocksize_unaligned`, `bs_unaligned`.
        pub bs_unaligned: bool,
        /// `bs_is_seq_rand`: the read size is for sequential, the write size for random I/O.
        pub bs_is_seq_rand: bool,
        /// `blockalign`, `ba`: random offsets are multiples of it; `None`, or 0 for a direction: of
        /// its block size.
        pub blockalign: Option<PerDirection<u64>>,
        /// `rwmixread`, percent of reads in a mix.
        pub rwmixread_percent: u32 = 50,
        /// `percentage_random`.
        pub percentage_random: PerDirection<u32> = PerDirection::all(100),
        /// `random_distribution`.
        pub random_distribution: PerDirection<Distribution>,
        /// `random_sequence_stride`: each pass of a sequence starts after the previous one.
        pub random_sequence_stride: bool,
        /// `norandommap`: a block may be repeated before all have been visited.
        pub norandommap: bool,
        /// `random_generator`.
        pub random_generator: RandomGenerator,
        /// `sprandom`: writes that precondition an SSD.
        pub sprandom: bool,
        /// Options of `sprandom`.
        pub preconditioning: Sprandom,
        /// `randseed`; with `randrepeat` the seeds of all streams are derived from it.
        pub randseed: u64 = 0x1055_eed5,
        /// `randrepeat`: the same random numbers in each run, or else a new seed.
        pub randrepeat: bool = true,
        /// `zonemode`.
        pub zonemode: ZoneMode,
        /// `zonesize`, bytes; implies `zonemode=strided` once the options are resolved.
        pub zonesize: Option<u64>,
        /// `zonerange`, bytes.
        pub zonerange: Option<u64>,
        /// `zoneskip`, bytes.
        pub zoneskip: u64,
    }

    /// Options of fio's `sprandom`: random writes that leave an SSD as a long random load would.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Sprandom {
        /// `spr_num_regions`: regions of the drive, written one after the other.
        pub regions: u32 = 100,
        /// `spr_op`: over-provisioning, as a share of the drive's size.
        pub over_provisioning: f64 = 0.15,
        /// `spr_cs`: the drive's cache, bytes.
        pub cache_bytes: u64,
    }
}

impl AccessPattern {
    /// Size of all its blocks, bytes; `None` if they differ.
    pub fn block_size(&self) -> Option<u64> {
        // With bs_is_seq_rand the sizes of other directions are used as well.
        let sizes = self.bs.iter();
        let used = sizes.filter(|(direction, _)| self.bs_is_seq_rand || self.rw.has(*direction));
        let mut used = used.map(|(_, bs)| bs.fixed());
        let first = used.next()??;
        used.all(|size| size == Some(first)).then_some(first)
    }

    /// Block sizes of the directions that it has.
    pub fn used_sizes(&self) -> impl Iterator<Item = (Direction, &BlockSize)> {
        self.bs.iter().filter(|(direction, _)| self.rw.has(*direction))
    }
}

impl Pattern {
    /// All patterns by fio's names.
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

    /// Its name in fio.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, pattern)| *pattern == self);
        found.map_or("", |(name, _)| name)
    }

    /// True if offsets are in random order.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandRead | Self::RandWrite | Self::RandTrim | Self::RandRw | Self::RandTrimWrite
        )
    }

    /// True if it has I/O in `direction`.
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

    /// True if each block is trimmed, then written.
    pub const fn trims_and_writes(self) -> bool {
        matches!(self, Self::TrimWrite | Self::RandTrimWrite)
    }

    /// Its direction, or the first of several.
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
    /// Largest block, bytes.
    pub fn largest(&self) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Range { high, .. } => *high,
            Self::Split(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(0),
        }
    }

    /// Smallest block, bytes.
    pub fn smallest(&self) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Range { low, .. } => *low,
            Self::Split(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(0),
        }
    }

    /// The block size in bytes, if there is only one.
    pub const fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(size) => Some(*size),
            _ => None,
        }
    }
}
