//! Contents of written blocks.

use crate::defaults::with_defaults;

/// fio's `dedupe_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DedupeMode {
    /// `repeat`: the previous block.
    #[default]
    Repeat,
    /// `working_set`: one of a set of blocks.
    WorkingSet,
}

with_defaults! {
    /// Contents of written blocks.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Contents {
        /// `zero_buffers`.
        pub zero_buffers: bool,
        /// `refill_buffers`: new contents for every write.
        pub refill_buffers: bool,
        /// `scramble_buffers`: slightly changed for every write, so that no two blocks are equal;
        /// fio's default.
        pub scramble_buffers: bool = true,
        /// `buffer_pattern`, repeated bytes; empty: random contents.
        pub buffer_pattern: Vec<u8>,
        /// `buffer_compress_percentage`, 0 to 100; `None`: not given.
        pub buffer_compress_percentage: Option<u32>,
        /// `buffer_compress_chunk`, bytes.
        pub buffer_compress_chunk: u64 = 512,
        /// `dedupe_percentage`, 0 to 100.
        pub dedupe_percentage: u32,
        /// `dedupe_mode`.
        pub dedupe_mode: DedupeMode,
        /// `dedupe_global`: duplicates come from the working sets of all jobs with this option.
        pub dedupe_global: bool,
        /// `dedupe_working_set_percentage`.
        pub dedupe_working_set_percentage: u32 = 5,
    }
}
