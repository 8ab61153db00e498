//! What became of blocks that are trimmed again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a job last did to a block; a failure is kept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// It was not trimmed.
    #[default]
    Untrimmed,
    /// All of its trims succeeded.
    Trimmed,
    /// A trim failed.
    TrimFailed,
    /// A write failed.
    WriteFailed,
}

/// Blocks of the same history (fio's `block_error_percentiles`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLife {
    /// How they ended.
    pub state: BlockState,
    /// Trims of each until then.
    pub trims: u32,
    /// How many blocks.
    pub blocks: u64,
}

impl BlockLife {
    /// Adds blocks to those of the same history in `lives`.
    pub fn add(self, lives: &mut Vec<Self>) {
        let same = |life: &&mut Self| (life.state, life.trims) == (self.state, self.trims);
        match lives.iter_mut().find(same) {
            Some(life) => life.blocks = life.blocks.saturating_add(self.blocks),
            None => lives.push(self),
        }
    }
}
