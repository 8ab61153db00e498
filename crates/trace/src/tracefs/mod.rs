//! Records I/Os from the kernel's block tracepoints, through its own tracefs instance.
//!
//! No kernel module, no BPF: every distribution's kernel has tracefs. Pages of the kernel's ring
//! buffers are parsed directly; the kernel's `format` files give the layout of the fields.

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
pub(crate) use recorder::now_ns;
pub use recorder::{Options, Recorder, Watched};

/// Reason why nothing is recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// tracefs is not mounted, or the kernel has none.
    #[error("tracefs is not mounted: {}mount -t tracefs none /sys/kernel/tracing", match rustix::process::geteuid().is_root() {
        true => "",
        false => "run as root, after: sudo ",
    })]
    NotMounted,
    /// The user is not root, or the kernel is locked down.
    #[error("cannot use {path}: permission denied; {}", match rustix::process::geteuid().is_root() {
        true => "see /sys/kernel/security/lockdown: in mode `confidentiality` root is denied too",
        false => "run as root",
    })]
    Denied {
        /// The inaccessible file.
        path: PathBuf,
    },
    /// The kernel was built without CONFIG_BLK_DEV_IO_TRACE.
    #[error("this kernel has no tracepoint block:{event} (CONFIG_BLK_DEV_IO_TRACE)")]
    NoTracepoint {
        /// Name of the tracepoint.
        event: &'static str,
    },
    /// A `format` file is not understood.
    #[error("{path}: unknown layout, no field `{field}`")]
    Layout {
        /// The `format` file.
        path: PathBuf,
        /// The missing field.
        field: &'static str,
    },
    /// A system call failed.
    #[error("{path}: {error}")]
    System {
        /// The file concerned.
        path: PathBuf,
        /// The system's error.
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
