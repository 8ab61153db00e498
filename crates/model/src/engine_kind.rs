//! Where an engine lets its I/Os wait, by its name.

use crate::Workload;

/// Where the I/Os of an engine wait (fio(1), ioengine and iodepth).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// As many as iodepth in a queue.
    Queued,
    /// The engine waits for each I/O, whatever iodepth says.
    OneAtATime,
    /// The engine waits for each call, which moves no data to or from a device.
    Allocating,
    /// In no device: no I/O, or operations on names.
    WithoutDevice,
}

impl EngineKind {
    /// Kind of the engine of this name; `None`: another one of fio's.
    pub fn of(engine: &str) -> Option<Self> {
        Some(match engine {
            "auto" | "io_uring" | "io_uring_cmd" | "libaio" | "linuxaio" | "aio" | "posixaio" => {
                Self::Queued
            }
            "sync" | "psync" | "pvsync" | "vsync" | "pvsync2" | "mmap" | "splice" => {
                Self::OneAtATime
            }
            "falloc" | "ftruncate" => Self::Allocating,
            "null" | "page_fault" | "cpuio" | "exec" | "filecreate" | "filestat" | "filedelete"
            | "dircreate" | "dirstat" | "dirdelete" => Self::WithoutDevice,
            _ => return None,
        })
    }

    /// True if it waits for each I/O, whatever iodepth says.
    pub const fn is_synchronous(self) -> bool {
        matches!(self, Self::OneAtATime | Self::Allocating)
    }
}

impl Workload {
    /// True if each job waits for an I/O before it submits the next, whatever iodepth says; `None`:
    /// unknown engine.
    pub fn waits_for_each(&self) -> Option<bool> {
        let engine = self.ioengine.as_deref()?;
        // Each of `iodepth` threads waits for its own.
        if self.options.get("io_submit_mode").is_some_and(|mode| mode == "offload") {
            return Some(false);
        }
        // Buffered I/O: the kernel copies to and from the page cache within io_submit.
        let buffered = engine == "libaio" && self.direct == Some(false);
        Some(EngineKind::of(engine).is_some_and(EngineKind::is_synchronous) || buffered)
    }

    /// True if its engine waits for each I/O although its iodepth is more than 1.
    pub fn ignores_depth(&self) -> bool {
        self.iodepth > Some(1) && self.waits_for_each() == Some(true)
    }
}
