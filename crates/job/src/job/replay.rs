//! Logs of I/O: those that a job makes again, and the one that it writes.

use std::sync::Arc;

use iodyno_model::ReplayedTrace;

use crate::Operation;
use crate::defaults::with_defaults;
use crate::traced::places::Places;

/// How fio's logs of I/Os begin (fio's HOWTO, "Trace file format").
pub const IOLOG_HEAD: &[u8] = b"fio version";

with_defaults! {
    /// fio's `read_iolog` with what belongs to it, and `write_iolog`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Replay {
        /// `read_iolog`: the job makes the I/Os of this log. Colons between several, one for each clone.
        pub read_iolog: Option<String>,
        /// `write_iolog`: the job's I/Os are logged.
        pub write_iolog: Option<String>,
        /// `replay_no_stall`: without regard to time.
        pub no_stall: bool,
        /// `replay_redirect`: onto this file or device, whatever the log names.
        pub redirect: Option<String>,
        /// `replay_scale`: offsets are divided by it.
        pub scale: u32 = 1,
        /// `replay_align`, bytes: offsets are rounded down to multiples; a power of two, or 0.
        pub align_bytes: u64,
        /// `replay_time_scale`, percent: 200 is twice as fast.
        pub time_scale_percent: u32 = 100,
        /// `replay_skip`: reads, writes, trims, syncs.
        pub skip: [bool; 4],
        /// The trace that is replayed in the place of a log. Not an option.
        pub trace: Option<Box<TraceReplay>>,
        /// Where the last I/O of each file ends, bytes. Not an option: what the log says.
        pub ends: Vec<u64>,
    }
}

/// How a trace is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceReplay {
    /// What is known of it beforehand.
    pub trace: ReplayedTrace,
    /// Where in the trace it ends, ns.
    pub until_ns: u64,
    /// I/Os that are left out: reads, writes, discards, flushes.
    pub skip: [bool; 4],
    /// Where pieces of the recorded devices go, if they are packed.
    pub places: Option<Arc<Places>>,
    /// Addresses and lengths were surveyed as multiples of this, bytes.
    pub align_bytes: u32,
}

impl Replay {
    /// The log of clone number `clone`, if it makes one again: fio's `get_name_by_idx`.
    pub fn log_of(&self, clone: u32) -> Option<String> {
        let names: Vec<&str> = self.read_iolog.as_ref()?.split(':').collect();
        names.get(clone as usize % names.len()).map(|name| (*name).to_owned())
    }

    /// Whether the job's I/Os are those of a log or a trace.
    pub const fn is_on(&self) -> bool {
        self.read_iolog.is_some() || self.trace.is_some()
    }

    /// Whether such I/Os are left out.
    pub const fn skips(&self, operation: Operation) -> bool {
        match operation {
            Operation::Read => self.skip[0],
            Operation::Write => self.skip[1],
            Operation::Trim => self.skip[2],
            Operation::Sync => self.skip[3],
            // As fio.
            Operation::DataSync => false,
        }
    }
}
