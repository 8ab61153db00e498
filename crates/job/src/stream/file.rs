//! Progress of a job in one of its files.

use super::area::Area;
use super::blocks::BlockSource;
use super::rules::{DirectionRules, Rules};

/// No request so far.
const NONE: u64 = u64::MAX;

/// Progress of a job in one of its files. The rules are those of fio's `get_next_seq_offset` and
/// `last_block` (io_u.c).
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) area: Area,
    /// Origin of offsets: the start of the area, or of the zone.
    pub(super) base: u64,
    /// End of the last request of each direction.
    pub(super) ends: [u64; 3],
    /// Start of the last request of each direction.
    pub(super) starts: [u64; 3],
    /// Source of random blocks.
    pub(super) blocks: Option<BlockSource>,
    pub(super) open: bool,
    pub(super) done: bool,
    /// Number of restarts from its beginning.
    pub(super) restarts: u64,
}

impl File {
    pub(super) const fn new(area: Area, blocks: Option<BlockSource>) -> Self {
        Self {
            base: area.start,
            ends: [area.start; 3],
            starts: [NONE; 3],
            area,
            blocks,
            open: false,
            done: false,
            restarts: 0,
        }
    }

    /// Starts over.
    pub(super) fn reset(&mut self) {
        self.ends = [self.base; 3];
        self.starts = [NONE; 3];
        if let Some(blocks) = &mut self.blocks {
            blocks.restart();
        }
    }

    /// The next sequential offset, from the base; `None` at the file's end.
    pub(super) fn next_sequential(
        &mut self,
        rules: &Rules,
        dir: usize,
        alone: bool,
    ) -> Option<u64> {
        let Area { start, length, file_bytes } = self.area;
        let end = &mut self.ends[dir];
        if rules.time_based && alone && *end >= start.saturating_add(length) {
            *end = self.base;
            self.restarts += 1;
        }
        if *end >= file_bytes {
            return None;
        }
        let last = length.min(file_bytes) / rules.block * rules.block;
        if rules.step < 0 && *end == self.base && self.base > 0 {
            *end = last;
        }
        let offset = end.wrapping_sub(self.base);
        if offset == 0 || rules.step == 0 {
            return Some(offset);
        }
        // Wraps around at the end, or backwards at the start.
        let stepped = offset.wrapping_add_signed(rules.step);
        Some(match stepped {
            stepped if stepped < file_bytes => stepped,
            _ if rules.step > 0 => self.base,
            _ => last.wrapping_add_signed(rules.step),
        })
    }

    /// The next random offset, from the base; `None` after all blocks have been visited.
    pub(super) fn next_random(
        &mut self,
        rules: &Rules,
        dir: usize,
        rng: &mut super::rng::Rng,
    ) -> Option<u64> {
        let blocks = self.blocks.as_mut()?;
        let mut block = blocks.next_block(dir, rng);
        if block.is_none() && rules.time_based {
            self.reset();
            self.restarts += 1;
            block = self.blocks.as_mut()?.next_block(dir, rng);
        }
        Some(block? * rules.per_direction[dir].align)
    }

    /// Takes the blocks of a random request of `length` bytes at `offset`, or at a free run near by
    /// and before `end`; returns the offset, and the number of bytes that were free.
    pub(super) fn take(
        &mut self,
        direction: &DirectionRules,
        offset: u64,
        length: u64,
        end: u64,
    ) -> (u64, u64) {
        match &mut self.blocks {
            Some(blocks @ BlockSource::Mapped(..)) => {
                let count = length.div_ceil(direction.smallest);
                let asked = (offset - self.base) / direction.smallest;
                // The last zone may exceed the rest of the file.
                let last = end.saturating_sub(self.base + length) / direction.smallest;
                let free = blocks.find_free_run(asked, count);
                let first = if free <= last { free } else { asked };
                let taken = blocks.mark(first, count);
                (self.base + first * direction.smallest, length.min(taken * direction.smallest))
            }
            _ => (offset, length),
        }
    }

    /// Sequential requests of `bs` bytes up to the end of the area.
    pub(super) fn requests_left(&self, dir: usize, bs: u64) -> u64 {
        self.area.end().saturating_sub(self.ends[dir]) / bs
    }
}

/// Number of random blocks of an area for a direction.
pub(super) fn random_blocks(area: &Area, direction: &DirectionRules, rules: &Rules) -> u64 {
    let size = match rules.strides {
        Some(strides) => strides.range,
        None => area.end().saturating_sub(area.start),
    };
    let size = size.saturating_sub(direction.smallest.saturating_sub(direction.align));
    // An unused direction may have no block size.
    size.checked_div(direction.align).unwrap_or(0)
}
