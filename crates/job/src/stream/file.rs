//! Where a job is in one of its files.

use super::area::Area;
use super::blocks::Blocks;
use super::rules::{Rules, Way};

/// No request was made yet.
const NONE: u64 = u64::MAX;

/// Where a job is in one of its files. The rules are those of fio's
/// `get_next_seq_offset` and `last_block` (io_u.c).
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) area: Area,
    /// Offsets count from here: the start of the area, or of the zone.
    pub(super) base: u64,
    /// Where the last request of each direction ended.
    pub(super) ends: [u64; 3],
    /// Where it started.
    pub(super) starts: [u64; 3],
    /// Where random blocks come from.
    pub(super) blocks: Option<Blocks>,
    pub(super) open: bool,
    pub(super) done: bool,
    /// How often it was begun again from its start.
    pub(super) restarts: u64,
}

impl File {
    pub(super) const fn new(area: Area, blocks: Option<Blocks>) -> Self {
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

    /// Nothing of it was had.
    pub(super) fn reset(&mut self) {
        self.ends = [self.base; 3];
        self.starts = [NONE; 3];
        if let Some(blocks) = &mut self.blocks {
            blocks.again();
        }
    }

    /// The next offset in sequence, from the base; `None` at the file's end.
    pub(super) fn sequential(&mut self, rules: &Rules, way: usize, alone: bool) -> Option<u64> {
        let Area { start, length, file_bytes } = self.area;
        let end = &mut self.ends[way];
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
        // Past the end it begins again, backwards from the end.
        let stepped = offset.wrapping_add_signed(rules.step);
        Some(match stepped {
            stepped if stepped < file_bytes => stepped,
            _ if rules.step > 0 => self.base,
            _ => last.wrapping_add_signed(rules.step),
        })
    }

    /// The next random offset, from the base; `None` when all blocks were had.
    pub(super) fn random(
        &mut self,
        rules: &Rules,
        way: usize,
        rng: &mut super::rng::Rng,
    ) -> Option<u64> {
        let blocks = self.blocks.as_mut()?;
        let mut block = blocks.next_block(way, rng);
        if block.is_none() && rules.time_based {
            self.reset();
            self.restarts += 1;
            block = self.blocks.as_mut()?.next_block(way, rng);
        }
        Some(block? * rules.ways[way].align)
    }

    /// Takes the blocks of a random request of `length` bytes, at `offset` or where
    /// there is room for it near by and before `end`, and says where that is and how many bytes of
    /// it were free.
    pub(super) fn take(&mut self, way: &Way, offset: u64, length: u64, end: u64) -> (u64, u64) {
        match &mut self.blocks {
            Some(blocks @ Blocks::Marked(..)) => {
                let count = length.div_ceil(way.smallest);
                let asked = (offset - self.base) / way.smallest;
                // A zone of the last range may be longer than what is left of the file.
                let last = end.saturating_sub(self.base + length) / way.smallest;
                let room = blocks.room(asked, count);
                let first = if room <= last { room } else { asked };
                let taken = blocks.mark(first, count);
                (self.base + first * way.smallest, length.min(taken * way.smallest))
            }
            _ => (offset, length),
        }
    }

    /// Sequential requests of `bs` bytes until the file is through.
    pub(super) fn requests_left(&self, way: usize, bs: u64) -> u64 {
        self.area.end().saturating_sub(self.ends[way]) / bs
    }
}

/// Random blocks of an area for a way.
pub(super) fn random_blocks(area: &Area, way: &Way, rules: &Rules) -> u64 {
    let size = match rules.strides {
        Some(strides) => strides.range,
        None => area.end().saturating_sub(area.start),
    };
    let size = size.saturating_sub(way.smallest.saturating_sub(way.align));
    // A direction that is not used may have no block size.
    size.checked_div(way.align).unwrap_or(0)
}
