//! How many I/Os are outstanding, and how they are handed over.

use crate::defaults::with_defaults;

with_defaults! {
    /// How many I/Os are outstanding, and how they are handed over.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Depth {
        /// `iodepth`: outstanding I/Os of each job.
        pub iodepth: u32 = 1,
        /// `iodepth_batch`, `iodepth_batch_submit`: handed over at once at most;
        /// `None`: as many as are free, up to 32.
        pub batch: Option<u32>,
        /// `iodepth_batch_complete`, `iodepth_batch_complete_min`: waits for this many.
        pub batch_complete_min: u32 = 1,
        /// `iodepth_low`: refills only when as few are outstanding.
        pub low: Option<u32>,
        /// `serialize_overlap`: no two outstanding I/Os touch the same blocks.
        pub serialize_overlap: bool,
        /// `io_submit_mode=offload`: a thread for each of them submits it, and waits for it.
        pub offload: bool,
    }
}
