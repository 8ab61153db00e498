//! Records I/Os from the kernel's block tracepoints, through an instance of tracefs of its own.
//!
//! No kernel module, no BPF: what every distribution's kernel has. Pages of the kernel's rings
//! are parsed as they are; which fields are where, the kernel says in its `format` files.

#[allow(
    clippy::disallowed_methods,
    reason = "tracefs is the kernel's; only files of an instance that was made here are written"
)]
mod instance;
mod layout;
mod page;
mod recorder;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use instance::remove_stale;
pub use recorder::{Options, Recorder, Watched};

/// Why nothing is recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// Nobody mounted it, or the kernel has none.
    #[error("tracefs is not mounted: mount -t tracefs none /sys/kernel/tracing")]
    NotMounted,
    /// The user is not root, or the kernel is locked down.
    #[error("cannot use {path}: permission denied; {}", match rustix::process::geteuid().is_root() {
        true => "see /sys/kernel/security/lockdown: in mode `confidentiality` root may not either",
        false => "run as root",
    })]
    Denied {
        /// What was to be used.
        path: PathBuf,
    },
    /// The kernel was built without CONFIG_BLK_DEV_IO_TRACE.
    #[error("this kernel has no tracepoint block:{event} (CONFIG_BLK_DEV_IO_TRACE)")]
    NoTracepoint {
        /// Its name.
        event: &'static str,
    },
    /// A `format` file is not as kernels write them.
    #[error("{path} is not understood: it has no field `{field}`")]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is missing.
        field: &'static str,
    },
    /// The system refuses.
    #[error("{path}: {error}")]
    System {
        /// What was to be used.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

impl RecordError {
    fn of(path: impl Into<PathBuf>, error: io::Error) -> Self {
        let path = path.into();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::System { path, error },
        }
    }
}
