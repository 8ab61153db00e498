//! Counts queue depths and batch sizes, for fio's distributions.

use iodyno_model::JobStats;

/// Last bin: larger values are counted here.
const LAST_BIN: usize = 65;

/// I/Os by queue depth, and batches by size; reduced to fio's levels at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DepthHistogram {
    depth: [u64; LAST_BIN + 1],
    submit: [u64; LAST_BIN + 1],
    complete: [u64; LAST_BIN + 1],
}

impl Default for DepthHistogram {
    fn default() -> Self {
        let none = [0; LAST_BIN + 1];
        Self { depth: none, submit: none, complete: none }
    }
}

impl DepthHistogram {
    /// Records that `count` I/Os were submitted at once, after which `in_flight` were outstanding.
    #[inline]
    pub(crate) fn submitted(&mut self, count: usize, in_flight: usize) {
        if count > 0 {
            self.depth[in_flight.min(LAST_BIN)] += count as u64;
            self.submit[count.min(LAST_BIN)] += 1;
        }
    }

    /// Records that `count` completions were reaped at once.
    #[inline]
    pub(crate) fn completed(&mut self, count: usize) {
        self.complete[count.min(LAST_BIN)] += 1;
    }

    /// Adds the counts to a job's statistics.
    pub(crate) fn add_to(&self, stats: &mut JobStats) {
        for (size, times) in self.depth.iter().enumerate().skip(1) {
            stats.depth_levels[depth_level(size)] += times;
        }
        for (size, (submit, complete)) in self.submit.iter().zip(&self.complete).enumerate() {
            stats.submit_levels[batch_level(size)] += submit;
            stats.complete_levels[batch_level(size)] += complete;
        }
    }
}

/// Levels 1, 2, 4, 8, 16, 32, 64 and more.
const fn depth_level(depth: usize) -> usize {
    let level = depth.ilog2() as usize;
    if level < 7 { level } else { 6 }
}

/// Levels 0, 1 to 4, 5 to 8, 9 to 16, 17 to 32, 33 to 64, more.
const fn batch_level(count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let level = (count - 1) >> 2;
    let level = if level == 0 { 1 } else { level.ilog2() as usize + 2 };
    if level < 7 { level } else { 6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_fio() {
        let levels = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 1000].map(batch_level);
        assert_eq!(levels, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        let levels = [1, 2, 3, 4, 63, 64, 4096].map(depth_level);
        assert_eq!(levels, [0, 1, 1, 2, 5, 6, 6]);
    }
}
