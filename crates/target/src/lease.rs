//! The kernel's own word on whether a file is open anywhere else.

#![allow(unsafe_code)] // one fcntl, which rustix does not offer

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Whether a file is open or mapped by another open file description than one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenElsewhere {
    /// By no process of any user or container, and no server in the kernel.
    No,
    /// By somebody, which may be this process.
    Yes,
    /// The kernel does not say: a file of another user, without CAP_LEASE; a
    /// file system without leases (NFS).
    Unknown,
}

impl OpenElsewhere {
    /// Asks for a write lease, which only the one open file description of a
    /// file gets (fcntl(2), F_SETLEASE), and gives it back at once.
    pub(crate) fn than(file: &OwnedFd) -> Self {
        let set = |lease: libc::c_int| {
            // SAFETY: the descriptor is open, and this command takes a number.
            match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, lease) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // Whoever opens it in between waits until the lease is given back.
        match set(libc::F_WRLCK).and_then(|()| set(libc::F_UNLCK)) {
            Ok(()) => Self::No,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Self::Yes,
            Err(_) => Self::Unknown,
        }
    }
}
