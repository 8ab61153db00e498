//! The options that determine the order of a job's I/O, resolved as in fio's `fixup_options`
//! (init.c).

use iodyno_model::{DIRECTIONS, Direction};

use super::lengths::Lengths;
use crate::{
    BlockSize, Distribution, FileService, Job, Pattern, RandomGenerator, Sequencer, ZoneMode,
};

/// Rules of one direction.
#[derive(Debug, Clone)]
pub(super) struct DirectionRules {
    pub(super) smallest: u64,
    /// Random offsets are multiples of this, bytes.
    pub(super) align: u64,
    pub(super) lengths: Lengths,
    pub(super) random_percent: u32,
    pub(super) distribution: Distribution,
}

/// fio's strided zones, bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    pub(super) size: u64,
    pub(super) range: u64,
    pub(super) skip: u64,
}

/// Rules of a job's I/O.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Offsets and lengths are multiples of this, bytes.
    pub(super) block: u64,
    pub(super) random: bool,
    /// Percent of reads in a mix of reads and writes.
    pub(super) mix: Option<u32>,
    /// Each block is trimmed, then written.
    pub(super) trim_write: bool,
    /// Each write is as long as the trim before it: fio draws both from the same seed.
    pub(super) paired_lengths: bool,
    /// The direction, or the first of several.
    pub(super) direction: Direction,
    /// By direction, in fio's order.
    pub(super) per_direction: [DirectionRules; 3],
    /// Each pass of a sequence of blocks starts after the previous one.
    pub(super) sequence_stride: bool,
    pub(super) lengths_by_order: bool,
    /// Requests per random offset; 0: never a new offset.
    pub(super) ios_per_offset: u64,
    pub(super) sequencer: Sequencer,
    /// Gap between sequential requests, bytes.
    pub(super) step: i64,
    pub(super) strides: Option<Strides>,
    pub(super) time_based: bool,
    /// All rounds are the same, so that another run can verify what one wrote in several rounds.
    pub(super) repeats: bool,
    /// Each block is visited once.
    pub(super) each_once: bool,
    /// A map marks visited blocks.
    pub(super) random_map: bool,
    pub(super) service: FileService,
    pub(super) service_ios: u32,
    pub(super) open_files: usize,
}

impl Rules {
    /// Resolves the rules of `job` for a number of `files` with blocks of `block` bytes.
    pub(super) fn new(job: &Job, files: usize, block: u64) -> Self {
        let pattern = &job.pattern;
        let random = pattern.rw.is_random();
        let openfiles = job.files.openfiles.filter(|open| *open > 0);
        let open_files = openfiles.map_or(files, |open| (open as usize).min(files));
        // As in fio, before openfiles is limited to the number of files.
        let one_open = openfiles.is_none_or(|open| open == 1);
        let per_direction = DIRECTIONS.map(|direction| {
            let bs = pattern.bs.of(direction);
            let smallest = bs.smallest();
            let align = pattern.blockalign.as_ref().map_or(0, |align| *align.of(direction));
            DirectionRules {
                smallest,
                align: if align == 0 || !random { smallest } else { align },
                lengths: Lengths::new(bs, pattern.bs_unaligned),
                random_percent: *pattern.percentage_random.of(direction),
                distribution: pattern.random_distribution.of(direction).clone(),
            }
        });
        let used =
            || DIRECTIONS.into_iter().zip(&per_direction).filter(|(d, _)| pattern.rw.has(*d));
        let first = &per_direction[index(pattern.rw.direction())];
        let alike =
            used().all(|(_, rules)| rules.smallest == first.smallest && rules.align == first.align);
        let even = used().all(|(_, rules)| rules.distribution == Distribution::Random);
        let aligned = used().all(|(_, rules)| rules.align == rules.smallest);
        let lfsr = pattern.random_generator == RandomGenerator::Lfsr;
        let fixed = used().all(|(_, rules)| matches!(rules.lengths, Lengths::Fixed(_)));
        let map = !pattern.norandommap && aligned;
        let step = pattern.rw_step;
        let zoned = pattern.zonemode == ZoneMode::Strided;
        Self {
            block,
            random,
            mix: matches!(pattern.rw, Pattern::ReadWrite | Pattern::RandRw)
                .then_some(pattern.rwmixread_percent),
            trim_write: matches!(pattern.rw, Pattern::TrimWrite | Pattern::RandTrimWrite),
            paired_lengths: pattern.bs.write == pattern.bs.trim
                && pattern.bs.write.fixed().is_none(),
            direction: pattern.rw.direction(),
            sequence_stride: pattern.random_sequence_stride,
            lengths_by_order: pattern.bs_is_seq_rand,
            ios_per_offset: step.filter(|_| random).map_or(1, |n| n.max(0).unsigned_abs()),
            sequencer: pattern.rw_sequencer,
            step: if random { 0 } else { step.unwrap_or(0) },
            strides: pattern.zonesize.filter(|size| zoned && *size > 0 && one_open).map(|size| {
                let range = pattern.zonerange.filter(|range| *range > 0).unwrap_or(size);
                Strides { size, range, skip: pattern.zoneskip }
            }),
            time_based: job.time.time_based,
            repeats: job.verify.is_on() && pattern.randrepeat,
            each_once: random && even && alike && (lfsr || map),
            random_map: random && map && !lfsr && (!fixed || pattern.bs_is_seq_rand),
            service: job.files.file_service_type,
            service_ios: job.files.file_service_ios.max(1),
            open_files,
            per_direction,
        }
    }

    pub(super) const fn for_direction(&self, direction: Direction) -> &DirectionRules {
        &self.per_direction[index(direction)]
    }

    /// The directions of the job's I/O.
    pub(super) fn directions(&self) -> impl Iterator<Item = Direction> {
        let (mix, trim_write, one) = (self.mix.is_some(), self.trim_write, self.direction);
        DIRECTIONS.into_iter().filter(move |direction| match direction {
            Direction::Read => mix || *direction == one,
            Direction::Write => mix || trim_write || *direction == one,
            Direction::Trim | Direction::Mixed => trim_write || *direction == one,
        })
    }

    /// The directions whose block sizes are used.
    pub(super) fn sizing_directions(&self) -> impl Iterator<Item = Direction> {
        let used: Vec<_> = self.directions().collect();
        let by_order = self.lengths_by_order;
        DIRECTIONS.into_iter().filter(move |direction| {
            used.contains(direction) || (by_order && *direction != Direction::Trim)
        })
    }

    /// The size of all requests in bytes, if there is only one.
    pub(super) fn fixed_bs(&self) -> Option<u64> {
        let mut sizes =
            self.directions().map(|direction| match self.for_direction(direction).lengths {
                Lengths::Fixed(size) => Some(size),
                _ => None,
            });
        let first = sizes.next().flatten().filter(|_| !self.lengths_by_order)?;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// True if all offsets are random, or all are sequential.
    pub(super) fn is_plain(&self) -> bool {
        !self.trim_write
            && self.strides.is_none()
            && self.ios_per_offset == 1
            && self.step == 0
            && self.directions().all(|direction| {
                let rules = self.for_direction(direction);
                !self.random
                    || (rules.random_percent >= 100 && rules.distribution == Distribution::Random)
            })
    }

    /// Refuses requests that are not multiples of the target's blocks.
    ///
    /// # Errors
    /// The job does not fit; the message says what would.
    pub(super) fn check(&self, job: &Job) -> Result<(), String> {
        let block = self.block;
        let fits = |bytes: u64| bytes.is_multiple_of(block);
        let multiples = format!("the target takes multiples of {block} bytes");
        for direction in self.sizing_directions() {
            let bs = job.pattern.bs.of(direction);
            let (low, high) = (bs.smallest(), bs.largest());
            let sizes = match bs {
                BlockSize::Split(sizes) => sizes.iter().map(|(size, _)| *size).collect(),
                _ => vec![low, high],
            };
            let odd = sizes.into_iter().find(|size| *size == 0 || !fits(*size));
            let odd = odd.or((low == 0).then_some(0));
            if let Some(size) = odd.or((high > LARGEST_BLOCK).then_some(high)) {
                return Err(format!("bs={size} does not fit: {multiples} up to 1 GiB"));
            }
            if low > high {
                return Err(format!("bsrange={low}-{high} does not fit: the smaller comes first"));
            }
            if low < high && job.pattern.bs_unaligned && block > 1 {
                return Err(format!("bs_unaligned=1 does not fit: {multiples}; use direct=0"));
            }
            let align = self.for_direction(direction).align;
            if !fits(align) {
                return Err(format!("blockalign={align} does not fit: {multiples}"));
            }
        }
        if !fits(self.step.unsigned_abs()) {
            let rw = job.pattern.rw.name();
            return Err(format!("rw={rw}:{} does not fit: {multiples}", self.step));
        }
        if let Some(strides) = self.strides {
            let odd = [strides.range, strides.skip].into_iter().find(|bytes| !fits(*bytes));
            if let Some(bytes) = odd {
                return Err(format!("zonerange or zoneskip={bytes} does not fit: {multiples}"));
            }
        }
        Ok(())
    }
}

/// Largest block, bytes. The kernel moves up to 2 GiB minus a page at once.
const LARGEST_BLOCK: u64 = 1 << 30;

/// The index of `direction` in fio's order.
pub(super) const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Read | Direction::Mixed => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}
