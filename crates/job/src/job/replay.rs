//! Logs and traces of I/O that a job replays, and the log that it writes.

use std::sync::Arc;

use iodyno_model::ReplayedTrace;

use crate::Operation;
use crate::defaults::with_defaults;
use crate::traced::piece_map::PieceMap;

/// First bytes of fio's iologs (fio's HOWTO, "Trace file format").
pub const IOLOG_HEAD: &[u8] = b"fio version";

with_defaults! {
    /// fio's `read_iolog`, `replay_*` and `write_iolog`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Replay {
        /// `read_iolog`: log to replay; several with colons between them, one for each clone.
        pub read_iolog: Option<String>,
        /// `write_iolog`: log of the job's I/Os.
        pub write_iolog: Option<String>,
        /// `replay_no_stall`: without the log's pauses.
        pub no_stall: bool,
        /// `replay_redirect`: file or device to use instead of those in the log.
        pub redirect: Option<String>,
        /// `replay_scale`: offsets are divided by it.
        pub scale: u32 = 1,
        /// `replay_align`, bytes: offsets are rounded down to multiples; a power of two, or 0.
        pub align_bytes: u64,
        /// `replay_time_scale`, percent: 200 is twice as fast.
        pub time_scale_percent: u32 = 100,
        /// `replay_skip`: reads, writes, trims, syncs.
        pub skip: [bool; 4],
        /// Trace replayed instead of a log. Not an option.
        pub trace: Option<Box<TraceReplay>>,
        /// End of the furthest I/O of each file, bytes. Not an option: taken from the log.
        pub ends: Vec<u64>,
    }
}

/// Options of replaying a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceReplay {
    /// Description of the trace.
    pub trace: ReplayedTrace,
    /// Time in the trace at which the replay ends, ns.
    pub until_ns: u64,
    /// I/Os to skip: reads, writes, discards, flushes.
    pub skip: [bool; 4],
    /// Mapping of pieces of the recorded devices onto the target, if they are packed.
    pub pieces: Option<Arc<PieceMap>>,
    /// Block size that the trace was surveyed for, bytes; the target's may be smaller.
    pub align_bytes: u32,
}

impl Replay {
    /// The log that clone number `clone` replays, if any: fio's `get_name_by_idx`.
    pub fn log_of(&self, clone: u32) -> Option<String> {
        let names: Vec<&str> = self.read_iolog.as_ref()?.split(':').collect();
        names.get(clone as usize % names.len()).map(|name| (*name).to_owned())
    }

    /// True if the job replays a log or a trace.
    pub const fn is_on(&self) -> bool {
        self.read_iolog.is_some() || self.trace.is_some()
    }

    /// True if I/Os of this operation are skipped.
    pub const fn skips(&self, operation: Operation) -> bool {
        match operation {
            Operation::Read => self.skip[0],
            Operation::Write => self.skip[1],
            Operation::Trim => self.skip[2],
            Operation::Sync => self.skip[3],
            // As in fio.
            Operation::DataSync => false,
        }
    }
}
