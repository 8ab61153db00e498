//! Asks the kernel whether a file is open anywhere else.

#![allow(unsafe_code)] // one fcntl, which rustix does not offer

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Other open file descriptions or mappings of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenElsewhere {
    /// Not open in any process of any user or container, nor in a kernel server.
    No,
    /// Open elsewhere, perhaps in this process.
    Yes,
    /// The kernel does not say: another user's file, without CAP_LEASE; a file system without
    /// leases (NFS).
    Unknown,
}

impl OpenElsewhere {
    /// Requests a write lease, which is granted only if the file has no other open file description
    /// (fcntl(2), F_SETLEASE), and releases it at once.
    pub(crate) fn check(file: &OwnedFd) -> Self {
        let set = |lease: libc::c_int| {
            // SAFETY: the descriptor is open, and this command takes a number.
            match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // Whoever opens it in between waits until the lease is released.
        match set(libc::F_WRLCK).and_then(|()| set(libc::F_UNLCK)) {
            Ok(()) => Self::No,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Self::Yes,
            Err(_) => Self::Unknown,
        }
    }
}
