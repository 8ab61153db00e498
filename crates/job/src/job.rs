//! A job: what is to be made, every option resolved.

use iodyno_model::{Direction, Workload};

use crate::Extent;

/// fio's `rw`, as far as load generators support it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// `read`: sequential reads.
    Read,
    /// `write`: sequential writes.
    Write,
    /// `randread`: random reads.
    RandRead,
    /// `randwrite`: random writes.
    RandWrite,
}

impl Pattern {
    /// Offsets come in random order.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite)
    }

    /// The direction of its I/O.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Read | Self::RandRead => Direction::Read,
            Self::Write | Self::RandWrite => Direction::Write,
        }
    }

    /// fio's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
        }
    }
}

/// fio's `ioengine`, and `auto`: the best that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring if its set-up and a probing read succeed, else libaio, else psync.
    Auto,
    /// io_uring.
    IoUring,
    /// Linux native asynchronous I/O.
    Libaio,
    /// pread and pwrite, one at a time.
    Psync,
}

impl IoEngine {
    /// fio's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::IoUring => "io_uring",
            Self::Libaio => "libaio",
            Self::Psync => "psync",
        }
    }
}

/// A job: every option resolved, units included.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name.
    pub name: String,
    /// Pattern and direction.
    pub rw: Pattern,
    /// Block size, bytes.
    pub bs: u64,
    /// Outstanding I/Os of each thread.
    pub iodepth: u32,
    /// Threads.
    pub numjobs: u32,
    /// I/O engine.
    pub ioengine: IoEngine,
    /// Bypass the page cache.
    pub direct: bool,
    /// Ends after this many ns, whatever the observer says; `None`: the observer alone decides.
    pub runtime_ns: Option<u64>,
    /// Seed of the random offsets.
    pub randseed: u64,
    /// Each thread is kept on one of these CPUs, in turn; empty: anywhere.
    pub cpus_allowed: Vec<u32>,
    /// Offsets stay inside these; empty: the whole target.
    pub extents: Vec<Extent>,
}

impl Default for Job {
    /// fio's defaults where it has them; direct I/O and the engine are ours,
    /// since we measure drives and not the page cache.
    fn default() -> Self {
        Self {
            name: String::new(),
            rw: Pattern::Read,
            bs: 4096,
            iodepth: 1,
            numjobs: 1,
            ioengine: IoEngine::Auto,
            direct: true,
            runtime_ns: None,
            randseed: 0x1055_eed5,
            cpus_allowed: Vec::new(),
            extents: Vec::new(),
        }
    }
}

impl Job {
    /// Outstanding I/Os over all threads.
    pub const fn outstanding(&self) -> u32 {
        self.iodepth.saturating_mul(self.numjobs)
    }

    /// What is known of the workload, with the engine that was in effect.
    pub fn workload(&self, engine: Option<&str>) -> Workload {
        Workload {
            rw: Some(self.rw.name().into()),
            bs: Some(self.bs),
            iodepth: Some(self.iodepth),
            numjobs: Some(self.numjobs),
            ioengine: engine.map(Into::into),
            direct: Some(self.direct),
            size: None,
            options: std::collections::BTreeMap::new(),
        }
    }
}
