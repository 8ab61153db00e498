//! The two processes: their start, and what the second one holds.

#![allow(unsafe_code)] // fork has no safe wrapper.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

/// The worker needs no longer than this to let go of its output, unless that hangs as well.
const LET_GO_WITHIN: Duration = Duration::from_millis(100);

/// Divides this process in two: `None` in the new one, which ends when the other one does, however
/// that ends. There may be no other thread yet.
pub(super) fn fork() -> Result<Option<Pid>> {
    let parent = getpid();
    // SAFETY: this is the only thread, so the child has all that the parent has.
    let child = unsafe { libc::fork() };
    match Pid::from_raw(child) {
        _ if child < 0 => Err(io::Error::last_os_error().into()),
        Some(child) => Ok(Some(child)),
        None => {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // It may have ended just before.
            if getppid() != Some(parent) {
                std::process::exit(0);
            }
            Ok(None)
        }
    }
}

/// In the worker: has a thread that lets go of the output as soon as the other process asks for
/// that. It is not there where no thread can be started, and then nobody else has any either.
pub(super) fn lend_output(supervisor: UnixStream) {
    let lent = thread::Builder::new().name("iodyno-output".into()).spawn(move || {
        if (&supervisor).read(&mut [0]).is_ok_and(|read| read > 0) {
            let_go_of_output();
            let _ = (&supervisor).write_all(&[0]);
        }
    });
    drop(lent);
}

/// In the worker: whoever reads our output gets its end, although the kernel may keep this process.
pub(super) fn let_go_of_output() {
    let _ = io::stdout().flush();
    // Written to, it is an error that the standard library does not mind.
    let Ok(nothing) = File::open("/dev/null") else { return };
    let _ = rustix::stdio::dup2_stdout(&nothing);
    let _ = rustix::stdio::dup2_stderr(&nothing);
}

/// In the other process: has the worker let go of the output.
pub(super) fn take_output(worker: &UnixStream) {
    let asked = worker
        .set_nonblocking(false)
        .and_then(|()| worker.set_read_timeout(Some(LET_GO_WITHIN)))
        .and_then(|()| { worker }.write_all(&[0]));
    if asked.is_ok() {
        // It has none any more where it does not answer.
        let _ = { worker }.read(&mut [0]);
    }
}

/// A signal by its number, one of those that ask for an end.
pub(super) fn signal(number: i32) -> Signal {
    Signal::from_named_raw(number).unwrap_or(Signal::TERM)
}

/// Whether a signal was ignored when this process was started.
pub(super) fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}
