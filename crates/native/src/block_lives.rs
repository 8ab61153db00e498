//! Counts the trims of each block until it fails (fio's `block_error_percentiles`).

use iodyno_job::{Job, Operation, Region};
use iodyno_model::{BlockLife, BlockState};

use crate::in_flight::InFlight;

/// Limit of blocks per job, as in fio.
const MAX_BLOCKS: u64 = 8192;

/// The history of each block; a block is as long as the job's smallest trim.
#[derive(Debug)]
pub(crate) struct BlockLives {
    start: u64,
    block: u64,
    blocks: Box<[(BlockState, u32)]>,
}

impl BlockLives {
    /// Tracks the blocks of `job`'s first region; `None` without `block_error_percentiles`.
    ///
    /// # Errors
    /// A message if the region has no block or too many.
    pub(crate) fn new(job: &Job, regions: &[Region]) -> Result<Option<Self>, String> {
        let (true, Some(region)) = (job.report.block_error_percentiles, regions.first()) else {
            return Ok(None);
        };
        let block = job.pattern.bs.trim.smallest().max(1);
        let count = region.length / block;
        if !(1..=MAX_BLOCKS).contains(&count) {
            return Err(format!(
                "block_error_percentiles counts 1 to {MAX_BLOCKS} trim blocks, not {count}: \
                 change size or bs"
            ));
        }
        let blocks = vec![Default::default(); count as usize].into();
        Ok(Some(Self { start: region.offset, block, blocks }))
    }

    /// Records a completion.
    pub(crate) fn completed(&mut self, io: &InFlight, succeeded: bool) {
        let block = io.offset.saturating_sub(self.start) / self.block;
        let Some((state, trims)) = self.blocks.get_mut(block as usize) else { return };
        if *state > BlockState::Trimmed {
            return;
        }
        match (io.operation, succeeded) {
            (Operation::Trim, true) => (*state, *trims) = (BlockState::Trimmed, *trims + 1),
            (Operation::Trim, false) => *state = BlockState::TrimFailed,
            (Operation::Write, false) => *state = BlockState::WriteFailed,
            _ => {}
        }
    }

    /// Returns the histories, each with the number of blocks that share it.
    pub(crate) fn finish(&self) -> Vec<BlockLife> {
        let mut lives = Vec::new();
        for &(state, trims) in &self.blocks {
            BlockLife { state, trims, blocks: 1 }.add(&mut lives);
        }
        lives
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_ends_the_history_of_its_block() {
        let mut job = Job::default();
        job.report.block_error_percentiles = true;
        let region = |length| [Region { file: 0, offset: 8192, length }];
        assert!(BlockLives::new(&job, &region(4096 * 8193)).is_err());
        assert!(BlockLives::new(&job, &region(512)).is_err());
        let mut lives = BlockLives::new(&job, &region(4 * 4096)).unwrap().unwrap();
        let mut done = |operation, number: u64, succeeded| {
            let offset = 8192 + 4096 * number;
            let io = InFlight { operation, offset, length: 4096, file: 0, start_ticks: 0 };
            lives.completed(&io, succeeded);
        };
        for (number, succeeded) in [(0, true), (0, true), (1, true), (1, false), (1, true)] {
            done(Operation::Trim, number, succeeded);
        }
        done(Operation::Write, 2, false);
        done(Operation::Trim, 2, true);
        done(Operation::Write, 3, true);
        let life = |state, trims| BlockLife { state, trims, blocks: 1 };
        let expected = [
            life(BlockState::Trimmed, 2),
            life(BlockState::TrimFailed, 1),
            life(BlockState::WriteFailed, 0),
            life(BlockState::Untrimmed, 0),
        ];
        assert_eq!(lives.finish(), expected);
    }
}
