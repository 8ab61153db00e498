//! Identifies the device or file that a thread waits for, by its system call
//! (`/proc/PID/task/TID/syscall`).

use std::fs::{File, read_link, read_to_string};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Maximum length of a path, bytes.
const PATH_MAX: usize = 4096;

/// Argument of a system call that names its object.
#[derive(Clone, Copy)]
enum Named {
    /// A descriptor.
    By(usize),
    Path(usize),
    /// A path relative to a descriptor, in this argument and the next.
    At(usize),
    /// No argument.
    Not,
}
use Named::{At, By, Not, Path as In};

/// A system call that waits for devices.
struct Call {
    number: i64,
    /// Kind of request, for messages.
    asked: &'static str,
    named: Named,
    /// Waits for nothing but devices, so that an interruptible wait (FUSE, io_uring) counts as
    /// well.
    interruptible: bool,
    /// May be the I/O that a job measures.
    is_io: bool,
}

const fn call(number: i64, asked: &'static str, named: Named) -> Call {
    Call { number, asked, named, interruptible: true, is_io: false }
}

const fn io(number: i64, asked: &'static str, named: Named) -> Call {
    Call { is_io: true, ..call(number, asked, named) }
}

const fn read_or_write(number: i64, asked: &'static str) -> Call {
    Call { interruptible: false, ..io(number, asked, By(0)) }
}

const IO: &str = "I/O";

const CALLS: &[Call] = &[
    // No system call: the thread waits for a page fault.
    Call { interruptible: false, ..io(-1, "a read of a mapped page", Not) },
    read_or_write(libc::SYS_read, "a read"),
    read_or_write(libc::SYS_readv, "a read"),
    read_or_write(libc::SYS_write, "a write"),
    read_or_write(libc::SYS_writev, "a write"),
    io(libc::SYS_pread64, "a read", By(0)),
    io(libc::SYS_preadv, "a read", By(0)),
    io(libc::SYS_preadv2, "a read", By(0)),
    io(libc::SYS_pwrite64, "a write", By(0)),
    io(libc::SYS_pwritev, "a write", By(0)),
    io(libc::SYS_pwritev2, "a write", By(0)),
    call(libc::SYS_fsync, "an fsync", By(0)),
    call(libc::SYS_fdatasync, "an fdatasync", By(0)),
    call(libc::SYS_sync_file_range, "a sync_file_range", By(0)),
    call(libc::SYS_syncfs, "a syncfs", By(0)),
    call(libc::SYS_fallocate, "an fallocate", By(0)),
    call(libc::SYS_ftruncate, "a truncate", By(0)),
    call(libc::SYS_ioctl, "a command", By(0)),
    call(libc::SYS_close, "a close", By(0)),
    call(libc::SYS_fstat, "a stat", By(0)),
    call(libc::SYS_fstatfs, "a statfs", By(0)),
    call(libc::SYS_getdents64, "a listing", By(0)),
    call(libc::SYS_openat, "an open", At(0)),
    call(libc::SYS_newfstatat, "a stat", At(0)),
    call(libc::SYS_statx, "a stat", At(0)),
    call(libc::SYS_faccessat, "a stat", At(0)),
    call(libc::SYS_readlinkat, "a stat", At(0)),
    call(libc::SYS_unlinkat, "a removal", At(0)),
    call(libc::SYS_mkdirat, "a mkdir", At(0)),
    call(libc::SYS_renameat2, "a renaming", At(0)),
    call(libc::SYS_statfs, "a statfs", In(0)),
    call(libc::SYS_mount, "a mount", In(0)),
    call(libc::SYS_umount2, "an unmount", In(0)),
    call(libc::SYS_msync, "an msync", Not),
    call(libc::SYS_sync, "a sync", Not),
    io(libc::SYS_io_submit, IO, Not),
    io(libc::SYS_io_getevents, IO, Not),
    io(libc::SYS_io_destroy, IO, Not),
    io(libc::SYS_io_uring_enter, IO, Not),
    io(libc::SYS_io_uring_register, IO, Not),
    // A process waits for its I/O when it exits.
    io(libc::SYS_exit, IO, Not),
    io(libc::SYS_exit_group, IO, Not),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "an open", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_stat, "a stat", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lstat, "a stat", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_access, "a stat", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_readlink, "a stat", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "a removal", In(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "a mkdir", In(0)),
];

/// A thread's wait in the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait {
    /// Kind of request, with its article.
    pub(super) asked: &'static str,
    /// The device, file or directory, if known.
    pub(super) name: Option<PathBuf>,
    /// Waits for a device even if signals can interrupt it.
    pub(super) interruptible: bool,
    /// Waits for the I/O that a job measures, which has its own watchdog.
    pub(super) is_io: bool,
}

impl Wait {
    /// The wait of the thread at `/proc/PID/task/TID`; `None`: the kernel does not tell, or the
    /// call does not wait for devices.
    pub(super) fn of(thread: &Path) -> Option<Self> {
        let text = read_to_string(thread.join("syscall")).ok()?;
        let mut words = text.split_ascii_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let arguments: Vec<u64> = words
            .filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
            .collect();
        let call = CALLS.iter().find(|call| call.number == number)?;
        // Turns `/mnt/.` into `/mnt`.
        let name = name(thread, call.named, &arguments).map(|name| name.components().collect());
        let Call { asked, interruptible, is_io, .. } = *call;
        Some(Self { asked, name, interruptible, is_io })
    }
}

fn name(thread: &Path, named: Named, arguments: &[u64]) -> Option<PathBuf> {
    let argument = |n: usize| arguments.get(n).copied();
    // A negative descriptor is the working directory (AT_FDCWD).
    let open = |n: usize| match argument(n)? as i32 {
        ..0 => read_link(thread.join("cwd")).ok(),
        descriptor => read_link(thread.join(format!("fd/{descriptor}"))).ok(),
    };
    let path = |n: usize| {
        let (memory, mut bytes) = (File::open(thread.join("mem")).ok()?, vec![0; PATH_MAX]);
        let read = memory.read_at(&mut bytes, argument(n)?).ok()?;
        bytes.truncate(bytes[..read].iter().position(|byte| *byte == 0)?);
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    };
    match named {
        By(n) => open(n),
        In(n) => path(n),
        At(n) => Some(open(n)?.join(path(n + 1)?)),
        Not => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn system_calls_give_request_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        let (tell, told) = channel();
        let waiting = thread::spawn({
            let fifo = fifo.clone();
            move || {
                tell.send(rustix::thread::gettid()).unwrap();
                let mut fifo = File::open(fifo).unwrap();
                std::io::Read::read(&mut fifo, &mut [0])
            }
        });
        let thread = PathBuf::from(format!("/proc/self/task/{}", told.recv().unwrap()));
        let waits = |asked: &str| loop {
            match Wait::of(&thread) {
                Some(wait) if wait.asked == asked => break wait,
                _ => thread::yield_now(),
            }
        };
        let opening = waits("an open");
        assert_eq!((opening.name, opening.interruptible), (Some(fifo.clone()), true));
        let other = OpenOptions::new().write(true).open(&fifo).unwrap();
        let reading = waits("a read");
        assert_eq!((reading.name, reading.interruptible), (Some(fifo), false));
        drop(other);
        assert_eq!(waiting.join().unwrap().unwrap(), 0);
    }
}
