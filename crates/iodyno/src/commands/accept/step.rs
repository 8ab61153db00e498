//! A step of an acceptance: a command of iodyno in a process of its own, so that a device that never
//! answers ends no more than its step.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::context::Context;
use crate::push::MOST_DOCUMENT_BYTES;

/// A command that was asked to end does so within this: its worker is left behind where a device keeps it.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks at whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// What came of a step.
pub(super) struct Ended {
    /// Its exit status; 3 where it had to be killed.
    pub(super) status: u8,
    /// What it printed: its document, if it came so far.
    pub(super) printed: Vec<u8>,
    /// It was ended before it was done.
    pub(super) cut_short: bool,
}

/// Carries out `words` until `until`.
///
/// # Errors
/// It cannot be started.
pub(super) fn carry_out(context: &Context, words: &[String], until: Instant) -> Result<Ended> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("iodyno").args(words).arg("--json").args(context.global_words());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("iodyno cannot be started again")?;
    let mut output = child.stdout.take();
    let (give, printed) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(output) = output.take() {
            let _ = output.take(MOST_DOCUMENT_BYTES).read_to_end(&mut bytes);
        }
        let _ = give.send(bytes);
    });
    let mut took = Vec::new();
    let mut cut_short = false;
    let status = match wait(context, &mut child, &printed, &mut took, until)? {
        Some(status) => status,
        None => {
            cut_short = true;
            ended(&mut child, &printed, &mut took)?
        }
    };
    if took.is_empty() {
        took = printed.recv_timeout(LOOK).unwrap_or_default();
    }
    Ok(Ended { status, printed: took, cut_short })
}

/// Its exit status; `None`: `until` is past, or the user wants an end.
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
        let left = until.saturating_duration_since(Instant::now()).min(LOOK);
        match printed.recv_timeout(left) {
            Ok(bytes) => *took = bytes,
            // It has closed its output and is about to end.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(LOOK / 10)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Ends it: by a request, as Ctrl-C is one, and by a second one, upon which it waits for nothing.
fn ended(child: &mut Child, printed: &Receiver<Vec<u8>>, took: &mut Vec<u8>) -> Result<u8> {
    let pid = Pid::from_child(child);
    for signal in [Signal::INT, Signal::TERM] {
        let _ = kill_process(pid, signal);
        let give_up = Instant::now() + ENDS_WITHIN;
        while Instant::now() < give_up {
            if child.try_wait()?.is_some() {
                return Ok(3);
            }
            if let Ok(bytes) = printed.recv_timeout(LOOK) {
                *took = bytes;
            }
        }
    }
    Ok(3)
}
