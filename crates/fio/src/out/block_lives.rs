//! Percentiles of the trims that blocks survived (fio's `block_error_percentiles`).

use iodyno_model::{BlockLife, BlockState};

/// Block counts by fio's state names; fio never counts a block as written.
pub(super) fn states(lives: &[BlockLife]) -> [(&'static str, u64); 5] {
    let blocks = |state| {
        let lives = lives.iter().filter(|life| life.state == state);
        lives.fold(0_u64, |sum, life| sum.saturating_add(life.blocks))
    };
    [
        ("unwritten", blocks(BlockState::Untrimmed)),
        ("trimmed", blocks(BlockState::Trimmed)),
        ("written", 0),
        ("trim failure", blocks(BlockState::TrimFailed)),
        ("write failure", blocks(BlockState::WriteFailed)),
    ]
}

/// (percent, trims) for each of `list`, over the blocks with a history, failed ones sorted last.
/// Empty if there are none.
pub(super) fn percentiles(lives: &[BlockLife], list: &[f64]) -> Vec<(f64, u32)> {
    let mut lives: Vec<_> =
        lives.iter().filter(|life| life.state > BlockState::Untrimmed).collect();
    lives.sort_by_key(|life| (life.state > BlockState::Trimmed, life.trims));
    let total = lives.iter().fold(0_u64, |sum, life| sum.saturating_add(life.blocks));
    let trims = |percent: f64| {
        let before = ((percent * total as f64 / 100.0) as u64).min(total.saturating_sub(1));
        let mut sum = 0_u64;
        let life = lives.iter().find(|life| {
            sum = sum.saturating_add(life.blocks);
            sum > before
        });
        Some((percent, life?.trims))
    };
    list.iter().filter_map(|percent| trims(*percent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_blocks_sort_last() {
        let life = |state, trims, blocks| BlockLife { state, trims, blocks };
        let lives = [
            life(BlockState::WriteFailed, 1, 1),
            life(BlockState::Trimmed, 5, 2),
            life(BlockState::Untrimmed, 0, 90),
            life(BlockState::Trimmed, 2, 7),
        ];
        let found = percentiles(&lives, &[1.0, 70.0, 89.0, 90.0, 100.0]);
        assert_eq!(found, [(1.0, 2), (70.0, 5), (89.0, 5), (90.0, 1), (100.0, 1)]);
        assert_eq!(percentiles(&lives[2..3], &[50.0]), []);
    }
}
