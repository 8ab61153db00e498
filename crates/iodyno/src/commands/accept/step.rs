//! Runs a step as a process of its own, so that a device that never answers ends only its step.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::context::Context;
use crate::push::MAX_DOCUMENT_BYTES;
use crate::supervisor::end_with_us;

/// Time for a command to end after a signal; a worker that a device blocks is left behind.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between checks for an interrupt.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct StepResult {
    /// Exit status; 3 if it was killed.
    pub(super) status: u8,
    /// Standard output: the document, if the step got that far.
    pub(super) printed: Vec<u8>,
    /// Ended before it was done.
    pub(super) cut_short: bool,
}

/// Runs `words` until `until`.
///
/// # Errors
/// The process cannot be started.
pub(super) fn run_step(context: &Context, words: &[String], until: Instant) -> Result<StepResult> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("iodyno").args(words).args(["--json", "--as-step"]).args(context.global_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    // A step without its acceptance would go on writing, and nobody would read its document.
    end_with_us(&mut command);
    let mut child = command.spawn().context("cannot start iodyno again")?;
    let mut output = child.stdout.take();
    let (give, printed) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(output) = output.take() {
            let _ = output.take(MAX_DOCUMENT_BYTES).read_to_end(&mut bytes);
        }
        let _ = give.send(bytes);
    });
    let mut took = Vec::new();
    let mut cut_short = false;
    let status = match wait(context, &mut child, &printed, &mut took, until)? {
        Some(status) => status,
        None => {
            cut_short = true;
            terminate(&mut child, &printed, &mut took)?
        }
    };
    if took.is_empty() {
        took = printed.recv_timeout(CHECK_INTERVAL).unwrap_or_default();
    }
    Ok(StepResult { status, printed: took, cut_short })
}

/// Waits for the exit status; `None`: `until` has passed, or the user interrupted.
fn wait(
    context: &Context,
    child: &mut Child,
    printed: &Receiver<Vec<u8>>,
    took: &mut Vec<u8>,
    until: Instant,
) -> Result<Option<u8>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.code().map_or(3, |code| code as u8)));
        }
        if Instant::now() >= until || context.interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let left = until.saturating_duration_since(Instant::now()).min(CHECK_INTERVAL);
        receive(printed, took, left);
    }
}

/// Waits up to `most` for the output. Once that is closed, it only sleeps, so that a caller's loop
/// does not spin.
fn receive(printed: &Receiver<Vec<u8>>, took: &mut Vec<u8>, most: Duration) {
    match printed.recv_timeout(most) {
        Ok(bytes) => *took = bytes,
        // The process is about to end.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(most.min(CHECK_INTERVAL / 10)),
        Err(RecvTimeoutError::Timeout) => {}
    }
}

/// Ends the process: first by SIGINT, as Ctrl-C would, then by SIGTERM, after which it waits for
/// nothing.
fn terminate(child: &mut Child, printed: &Receiver<Vec<u8>>, took: &mut Vec<u8>) -> Result<u8> {
    let pid = Pid::from_child(child);
    for signal in [Signal::INT, Signal::TERM] {
        let _ = kill_process(pid, signal);
        let give_up = Instant::now() + END_TIMEOUT;
        while Instant::now() < give_up {
            if child.try_wait()?.is_some() {
                return Ok(3);
            }
            receive(printed, took, CHECK_INTERVAL);
        }
    }
    Ok(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_output_is_not_polled_without_a_pause() {
        let (give, printed) = channel();
        give.send(b"{}".to_vec()).unwrap();
        drop(give);
        let mut took = Vec::new();
        receive(&printed, &mut took, CHECK_INTERVAL);
        assert_eq!(took, b"{}");
        let began = Instant::now();
        receive(&printed, &mut took, CHECK_INTERVAL);
        assert!(began.elapsed() >= CHECK_INTERVAL / 10, "{:?}", began.elapsed());
        assert_eq!(took, b"{}", "what came before is kept");
    }
}
