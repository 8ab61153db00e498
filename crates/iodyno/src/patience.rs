//! Devices that do not answer: told, and not waited for by whoever wants an end.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iodyno_host::{Unanswered, unanswered};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::terminal;

/// A question without an answer is told of after this.
const TOLD_AFTER: Duration = Duration::from_secs(5);
/// An end that is asked for waits so long for an answer: for 2 s together with the looks.
const END_AFTER: Duration = Duration::from_millis(1500);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// As of everything that is interrupted.
const INTERRUPTED: i32 = 3;

/// Watches from now on, on a thread of its own: any other may be the one that waits. Once
/// `interrupted` is set, the process ends although a question is not answered. It leaves what the
/// journal says, to be undone by `iodyno clean-up`, as if it had been killed.
pub(crate) fn watch(interrupted: Arc<AtomicBool>) {
    let watching = thread::Builder::new().name("iodyno-patience".into()).spawn(move || {
        let mut told = HashSet::new();
        let mut asked_to_end = None;
        loop {
            thread::sleep(LOOK);
            for silent in unanswered(TOLD_AFTER) {
                if told.insert(silent.id) {
                    terminal::note(&format!("{silent}; it is waited for, Ctrl-C ends that"));
                }
            }
            if interrupted.load(Ordering::Relaxed) || is_wanted_in_vain() {
                let since: &Instant = asked_to_end.get_or_insert_with(Instant::now);
                if let Some(silent) = in_the_way(since.elapsed()) {
                    terminal::note(&format!(
                        "interrupted, and {silent}. If something was set or built for this run, \
                         iodyno clean-up undoes it"
                    ));
                    std::process::exit(INTERRUPTED);
                }
            }
        }
    });
    // Without it everything else works.
    drop(watching);
}

/// Whether a signal that asks for an end waits itself: the kernel leaves it to the main thread,
/// which takes none while a device keeps it in the kernel (proc(5), `ShdPnd`).
fn is_wanted_in_vain() -> bool {
    if unanswered(END_AFTER).is_empty() {
        return false;
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = pending.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    [SIGINT, SIGTERM, SIGHUP].iter().any(|signal| pending >> (signal - 1) & 1 == 1)
}

/// What an end that was asked for so long ago waits for.
fn in_the_way(asked_to_end: Duration) -> Option<Unanswered> {
    unanswered(END_AFTER).into_iter().next().filter(|_| asked_to_end >= END_AFTER)
}
