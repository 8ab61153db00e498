//! Asks the kernel whether a file is open anywhere else.

#![allow(unsafe_code)] // one fcntl, which rustix does not offer

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// Sets the signal that tells the holder of a lease of an open (linux/fcntl.h; libc lacks it).
const F_SETSIG: libc::c_int = 10;

/// Other open file descriptions or mappings of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenElsewhere {
    /// Not open in any process of any user or container, nor in a kernel server.
    No,
    /// Open elsewhere, perhaps in this process.
    Yes,
    /// The kernel does not say: another user's file, without CAP_LEASE; a file system that has no
    /// leases, or whose server refuses them; Linux before 5.3.
    Unknown,
}

impl fmt::Display for OpenElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "not open elsewhere",
            Self::Yes => "the kernel says that it is open elsewhere, and no process shows it",
            Self::Unknown => "the kernel does not say whether it is open elsewhere",
        })
    }
}

impl OpenElsewhere {
    /// Requests a write lease, which is granted only if the file has no other open file description
    /// (fcntl(2), F_SETLEASE), and releases it at once.
    pub(crate) fn check(file: &OwnedFd) -> Self {
        let set = |command: libc::c_int, number: libc::c_int| {
            // SAFETY: the descriptor is open, and these commands take a number.
            match unsafe { libc::fcntl(file.as_raw_fd(), command, number) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let lease = |kind| set(libc::F_SETLEASE, kind);
        // Whoever opens it in between waits until the lease is released. The kernel reports that by
        // SIGIO, which would end this process; SIGURG is ignored (signal(7)).
        let quiet = set(F_SETSIG, libc::SIGURG);
        match quiet.and_then(|()| lease(libc::F_WRLCK)).and_then(|()| lease(libc::F_UNLCK)) {
            Ok(()) => Self::No,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && means_open(file) => {
                Self::Yes
            }
            Err(_) => Self::Unknown,
        }
    }
}

/// True if a refused lease means that somebody has the file open.
fn means_open(file: &OwnedFd) -> bool {
    // Clients of NFS and SMB refuse a lease unless the server delegated the file to them.
    const NETWORK: [u32; 3] = [0x6969, 0xff53_4d42, 0xfe53_4d42];
    let is_network =
        || rustix::fs::fstatfs(file).is_ok_and(|of| NETWORK.contains(&(of.f_type as u32)));
    // Before Linux 5.3 (387e3746d01c) other references of the kernel count: hard links, writeback.
    linux() >= (5, 3) && !is_network()
}

/// Version of the kernel.
fn linux() -> (u32, u32) {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Calls `act` while a thread with descriptors of its own has the file open.
    pub(crate) fn while_open_unseen(path: &Path, act: impl FnOnce()) {
        let (opened, is_open) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // SAFETY: this thread closes what it opens, and nothing else.
                assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
                let file = std::fs::File::open(path).unwrap();
                opened.send(()).unwrap();
                let _ = ended.recv();
                drop(file);
            });
            is_open.recv().unwrap();
            act();
            drop(end);
        });
    }

    #[test]
    fn whoever_opens_the_file_meanwhile_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let own: OwnedFd = std::fs::File::open(&path).unwrap().into();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    drop(std::fs::File::open(&path));
                }
            });
            let found: Vec<_> = (0..20_000).map(|_| OpenElsewhere::check(&own)).collect();
            ended.store(true, Ordering::Relaxed);
            assert!(!found.contains(&OpenElsewhere::Unknown));
        });
    }
}
