//! What a job says about the order of its I/O, resolved as fio's
//! `fixup_options` does (init.c).

use iodyno_model::{DIRECTIONS, Direction};

use super::lengths::Lengths;
use crate::{
    BlockSize, Distribution, FileService, Job, Pattern, RandomGenerator, Sequencer, ZoneMode,
};

/// One direction's.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) smallest: u64,
    /// Random offsets are multiples of it.
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

/// What holds for all of a job's I/O.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// Offsets and lengths are multiples of it, bytes.
    pub(super) block: u64,
    pub(super) random: bool,
    /// Reads and writes, so many percent of them reads.
    pub(super) mix: Option<u32>,
    /// Each block is trimmed, then written.
    pub(super) trim_write: bool,
    /// Its writes are as long as the trims before them: fio draws both from the same seed.
    pub(super) paired_lengths: bool,
    /// The direction, where there is one only.
    pub(super) direction: Direction,
    /// By direction, fio's order.
    pub(super) ways: [Way; 3],
    /// Each pass of a sequence of random blocks begins behind the last one.
    pub(super) sequence_stride: bool,
    pub(super) lengths_by_order: bool,
    /// Requests for each random offset; `0`: never a new one.
    pub(super) each_ios: u64,
    pub(super) sequencer: Sequencer,
    /// Bytes added to each offset of a sequence.
    pub(super) step: i64,
    pub(super) strides: Option<Strides>,
    pub(super) time_based: bool,
    /// Rounds are alike: what one run wrote in some of them another can verify in as many.
    pub(super) repeats: bool,
    /// Each block once.
    pub(super) once: bool,
    /// Blocks that were had are marked.
    pub(super) marks: bool,
    pub(super) service: FileService,
    pub(super) service_ios: u32,
    pub(super) open_files: usize,
}

impl Rules {
    /// Of `job` with so many `files`, whose blocks have so many bytes.
    pub(super) fn new(job: &Job, files: usize, block: u64) -> Self {
        let pattern = &job.pattern;
        let random = pattern.rw.is_random();
        let openfiles = job.files.openfiles.filter(|open| *open > 0);
        let open_files = openfiles.map_or(files, |open| (open as usize).min(files));
        // As fio asks, before it bounds openfiles by the files there are.
        let one_open = openfiles.is_none_or(|open| open == 1);
        let ways = DIRECTIONS.map(|direction| {
            let bs = pattern.bs.of(direction);
            let smallest = bs.smallest();
            let align = pattern.blockalign.as_ref().map_or(0, |align| *align.of(direction));
            Way {
                smallest,
                align: if align == 0 || !random { smallest } else { align },
                lengths: Lengths::new(bs, pattern.bs_unaligned),
                random_percent: *pattern.percentage_random.of(direction),
                distribution: pattern.random_distribution.of(direction).clone(),
            }
        });
        let used = || DIRECTIONS.into_iter().zip(&ways).filter(|(d, _)| pattern.rw.has(*d));
        let first = &ways[index(pattern.rw.direction())];
        let alike =
            used().all(|(_, way)| way.smallest == first.smallest && way.align == first.align);
        let even = used().all(|(_, way)| way.distribution == Distribution::Random);
        let aligned = used().all(|(_, way)| way.align == way.smallest);
        let lfsr = pattern.random_generator == RandomGenerator::Lfsr;
        let fixed = used().all(|(_, way)| matches!(way.lengths, Lengths::Fixed(_)));
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
            each_ios: step.filter(|_| random).map_or(1, |n| n.max(0).unsigned_abs()),
            sequencer: pattern.rw_sequencer,
            step: if random { 0 } else { step.unwrap_or(0) },
            strides: pattern.zonesize.filter(|size| zoned && *size > 0 && one_open).map(|size| {
                let range = pattern.zonerange.filter(|range| *range > 0).unwrap_or(size);
                Strides { size, range, skip: pattern.zoneskip }
            }),
            time_based: job.time.time_based,
            repeats: job.verify.is_on() && pattern.randrepeat,
            once: random && even && alike && (lfsr || map),
            marks: random && map && !lfsr && (!fixed || pattern.bs_is_seq_rand),
            service: job.files.file_service_type,
            service_ios: job.files.file_service_ios.max(1),
            open_files,
            ways,
        }
    }

    pub(super) const fn way(&self, direction: Direction) -> &Way {
        &self.ways[index(direction)]
    }

    /// The directions of its I/O.
    pub(super) fn directions(&self) -> impl Iterator<Item = Direction> {
        let (mix, trim_write, one) = (self.mix.is_some(), self.trim_write, self.direction);
        DIRECTIONS.into_iter().filter(move |direction| match direction {
            Direction::Read => mix || *direction == one,
            Direction::Write => mix || trim_write || *direction == one,
            Direction::Trim | Direction::Mixed => trim_write || *direction == one,
        })
    }

    /// The directions whose block sizes its I/O has.
    pub(super) fn sizing(&self) -> impl Iterator<Item = Direction> {
        let used: Vec<_> = self.directions().collect();
        let by_order = self.lengths_by_order;
        DIRECTIONS.into_iter().filter(move |direction| {
            used.contains(direction) || (by_order && *direction != Direction::Trim)
        })
    }

    /// The size of all requests, if they are all of one size, bytes.
    pub(super) fn fixed_bs(&self) -> Option<u64> {
        let mut sizes = self.directions().map(|direction| match self.way(direction).lengths {
            Lengths::Fixed(size) => Some(size),
            _ => None,
        });
        let first = sizes.next().flatten().filter(|_| !self.lengths_by_order)?;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// Offsets are in one plain order: all random or all in sequence.
    pub(super) fn is_plain(&self) -> bool {
        !self.trim_write
            && self.strides.is_none()
            && self.each_ios == 1
            && self.step == 0
            && self.directions().all(|direction| {
                let way = self.way(direction);
                !self.random
                    || (way.random_percent >= 100 && way.distribution == Distribution::Random)
            })
    }

    /// Refuses what would need blocks that the target cannot take.
    ///
    /// # Errors
    /// A sentence that says what does not fit, and what would.
    pub(super) fn check(&self, job: &Job) -> Result<(), String> {
        let block = self.block;
        let fits = |bytes: u64| bytes.is_multiple_of(block);
        let multiples = format!("the target takes multiples of {block} bytes");
        for direction in self.sizing() {
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
            let align = self.way(direction).align;
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

/// The largest block, bytes. The kernel moves up to 2 GiB less a page at once.
const LARGEST_BLOCK: u64 = 1 << 30;

/// The place of `direction` in fio's order.
pub(super) const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Read | Direction::Mixed => 0,
        Direction::Write => 1,
        Direction::Trim => 2,
    }
}
