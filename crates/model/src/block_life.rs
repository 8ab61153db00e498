//! Histories of repeatedly trimmed blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Last state of a block; failures are kept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// Not trimmed.
    #[default]
    Untrimmed,
    /// All trims succeeded.
    Trimmed,
    /// A trim failed.
    TrimFailed,
    /// A write failed.
    WriteFailed,
}

/// Number of blocks with the same history (fio's `block_error_percentiles`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLife {
    /// Final state.
    pub state: BlockState,
    /// Trims of each block until then.
    pub trims: u32,
    /// Number of blocks.
    pub blocks: u64,
}

impl BlockLife {
    /// Adds the blocks to those of the same history in `lives`.
    pub fn add(self, lives: &mut Vec<Self>) {
        let same = |life: &&mut Self| (life.state, life.trims) == (self.state, self.trims);
        match lives.iter_mut().find(same) {
            Some(life) => life.blocks = life.blocks.saturating_add(self.blocks),
            None => lives.push(self),
        }
    }
}
