//! Queue depth and batching of submissions and completions.

use crate::defaults::with_defaults;

with_defaults! {
    /// Queue depth and batching of submissions and completions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Depth {
        /// `iodepth`: outstanding I/Os of each job.
        pub iodepth: u32 = 1,
        /// `iodepth_batch`, `iodepth_batch_submit`: most I/Os submitted at once; `None`: all free
        /// slots, up to 32.
        pub batch: Option<u32>,
        /// `iodepth_batch_complete`, `iodepth_batch_complete_min`: completions to wait for.
        pub batch_complete_min: u32 = 1,
        /// `iodepth_low`: the queue is refilled only at this depth.
        pub low: Option<u32>,
        /// `serialize_overlap`: no two outstanding I/Os touch the same blocks.
        pub serialize_overlap: bool,
        /// `io_submit_mode=offload`: one thread per outstanding I/O submits it and waits for it.
        pub offload: bool,
    }
}
