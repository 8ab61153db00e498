//! Starts the two processes and manages the worker's output.

#![allow(unsafe_code)] // fork has no safe wrapper, and Rust's runtime starts before any of our code.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// Time for the worker to release its output, unless that hangs as well.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(100);

/// Set if this process was started without a standard output.
static IS_WITHOUT_OUTPUT: AtomicBool = AtomicBool::new(false);

/// Called before Rust's runtime, which opens /dev/null where standard output is closed.
// SAFETY: the C library calls such functions once, before main; this one needs nothing of Rust's.
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK_FOR_OUTPUT: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: without pointers.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        IS_WITHOUT_OUTPUT.store(flags < 0, Ordering::Relaxed);
    }
    look
};

/// Fails if this process was started without a standard output (`>&-`).
pub(crate) fn require_output() -> io::Result<()> {
    match IS_WITHOUT_OUTPUT.load(Ordering::Relaxed) {
        true => Err(rustix::io::Errno::BADF.into()),
        false => Ok(()),
    }
}

/// Forks: returns `None` in the child, which ends when the parent does, however that ends. There
/// must be no other thread yet.
pub(super) fn fork() -> Result<Option<Pid>> {
    let parent = getpid();
    // SAFETY: this is the only thread, so the child's state is complete.
    let child = unsafe { libc::fork() };
    match Pid::from_raw(child) {
        _ if child < 0 => Err(io::Error::last_os_error().into()),
        Some(child) => Ok(Some(child)),
        None => {
            if !end_with(parent, Signal::KILL)? {
                std::process::exit(0);
            }
            Ok(None)
        }
    }
}

/// Makes the process that `command` starts get SIGTERM when the calling thread ends, however that
/// ends.
pub(crate) fn end_with_us(command: &mut Command) {
    let parent = getpid();
    let begin = move || match end_with(parent, Signal::TERM)? {
        true => Ok(()),
        false => Err(io::ErrorKind::Interrupted.into()),
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(begin) };
}

/// Makes the kernel send `signal` to this process when `parent` ends; false: that has ended before.
fn end_with(parent: Pid, signal: Signal) -> io::Result<bool> {
    set_parent_process_death_signal(Some(signal))?;
    Ok(getppid() == Some(parent))
}

/// In the worker: starts a thread that releases the output when the supervisor requests it. If no
/// thread can be started, there is none, and no other thread either.
pub(super) fn share_output(supervisor: UnixStream) {
    let lent = thread::Builder::new().name("iodyno-output".into()).spawn(move || {
        if (&supervisor).read(&mut [0]).is_ok_and(|read| read > 0) {
            release_output();
            let _ = (&supervisor).write_all(&[0]);
        }
    });
    drop(lent);
}

/// In the worker: closes our output for its readers, although the kernel may keep this process.
pub(super) fn release_output() {
    let _ = io::stdout().flush();
    // Opened read-only: writes then fail with EBADF, which the standard library ignores.
    let Ok(nothing) = File::open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdout(&nothing);
    let _ = rustix::stdio::dup2_stderr(&nothing);
}

/// In the supervisor: makes the worker release the output.
pub(super) fn claim_output(worker: &UnixStream) {
    let asked = worker
        .set_nonblocking(false)
        .and_then(|()| worker.set_read_timeout(Some(RELEASE_TIMEOUT)))
        .and_then(|()| { worker }.write_all(&[0]));
    if asked.is_ok() {
        // Without an answer it has released the output already.
        let _ = { worker }.read(&mut [0]);
    }
}

/// Converts the number of a signal that requests an end.
pub(super) fn signal(number: i32) -> Signal {
    Signal::from_named_raw(number).unwrap_or(Signal::TERM)
}

/// True if a signal was ignored when this process was started.
pub(super) fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}
