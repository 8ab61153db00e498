//! I/O errors and the names of errnos.

use std::fmt;
use std::io;

use iodyno_job::Operation;

use crate::in_flight::InFlight;

/// An I/O that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IoFailure {
    /// Kind of I/O.
    pub(crate) operation: Operation,
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Requested bytes.
    pub(crate) length: u32,
    /// Bytes transferred, or a negative errno.
    pub(crate) result: i64,
}

impl IoFailure {
    /// The failure of an I/O that completed with `result`.
    pub(crate) const fn new(io: &InFlight, result: i64) -> Self {
        let &InFlight { operation, offset, length, .. } = io;
        Self { operation, offset, length, result }
    }

    /// The errno; EIO for a short transfer.
    pub(crate) fn errno(self) -> i32 {
        match self.result {
            0.. => libc::EIO,
            result => i32::try_from(-result).unwrap_or(libc::EIO),
        }
    }

    /// True if the device is gone, so that further I/O is useless.
    pub(crate) const fn is_device_gone(self) -> bool {
        self.result == -(libc::ENODEV as i64) || self.result == -(libc::ENXIO as i64)
    }
}

impl fmt::Display for IoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, offset, length, result } = self;
        match (result, operation) {
            (0.., _) => write!(f, "{result} of {length} bytes at offset {offset}"),
            (_, Operation::Read) => write!(f, "{} at offset {offset}", errno_name(-result)),
            (_, Operation::Sync | Operation::DataSync) => {
                write!(f, "{} of {operation}", errno_name(-result))
            }
            _ => write!(f, "{} of a {operation} at offset {offset}", errno_name(-result)),
        }
    }
}

/// The errno's name, such as `EIO`.
pub(crate) fn error_name(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |errno| errno_name(i64::from(errno)))
}

fn errno_name(errno: i64) -> String {
    let known = i32::try_from(errno).ok().and_then(iodyno_job::errno_name);
    known.map_or_else(|| format!("errno {errno}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_show_errno_names() {
        let failure =
            |result| IoFailure { operation: Operation::Read, offset: 8192, length: 4096, result };
        assert_eq!(failure(-5).to_string(), "EIO at offset 8192");
        assert_eq!(failure(512).to_string(), "512 of 4096 bytes at offset 8192");
        assert_eq!(failure(-9999).to_string(), "errno 9999 at offset 8192");
        assert!(failure(-19).is_device_gone() && !failure(-5).is_device_gone());
    }
}
