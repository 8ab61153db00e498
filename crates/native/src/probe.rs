//! Probes a target by single reads: contents and latencies of blocks.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use iodyno_load::{BlockContent, ProbeSample};

use crate::engines::{Engine, Psync, Setup, SetupError, read_once};

/// Interval between checks for progress.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Why a probe failed.
#[derive(Debug)]
pub(crate) enum ProbeError {
    /// No memory for the buffer, or no thread.
    Setup(SetupError),
    /// Number of completed reads before the one without an answer.
    NoAnswer(usize),
}

/// Reads `length` bytes at each of `offsets` until `time_limit` has passed; failed reads are samples. A
/// read without an answer for `patience` ends the probe: its thread is abandoned with its
/// descriptor and its buffer, to which the kernel may still write.
///
/// # Errors
/// If the set-up fails or a read is not answered.
pub(crate) fn probe(
    target: OwnedFd,
    offsets: &[u64],
    length: u32,
    time_limit: Duration,
    patience: Duration,
) -> Result<Vec<ProbeSample>, ProbeError> {
    let offsets = offsets.to_vec();
    run_watched(patience, move |done| read_all(target, &offsets, length, time_limit, done))
}

fn read_all(
    target: OwnedFd,
    offsets: &[u64],
    length: u32,
    time_limit: Duration,
    done: &AtomicUsize,
) -> Result<Vec<ProbeSample>, SetupError> {
    let mut psync = Psync::open(Setup::read_only(vec![target], 1, length))?.engine;
    let start = Instant::now();
    let mut samples = Vec::with_capacity(offsets.len());
    for &offset in offsets {
        if start.elapsed() >= time_limit {
            break;
        }
        let (latency_ns, result) =
            read_once(&mut psync, offset, length).map_err(SetupError::during("pread"))?;
        let content = if result == i64::from(length) {
            BlockContent::of(psync.buffers().slot(0, length))
        } else {
            BlockContent::Unreadable
        };
        samples.push(ProbeSample { offset, latency_ns, content });
        done.store(samples.len(), Ordering::Relaxed);
    }
    Ok(samples)
}

/// Runs `work` on a thread of its own, for as long as its progress counter keeps growing.
fn run_watched<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce(&AtomicUsize) -> Result<T, SetupError> + Send + 'static,
) -> Result<T, ProbeError> {
    let (sender, receiver) = channel();
    let done = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&done);
    thread::Builder::new()
        .name("iodyno-probe".into())
        // A send error means that the probe was given up.
        .spawn(move || drop(sender.send(work(&counted))))
        .map_err(SetupError::during("start a thread"))
        .map_err(ProbeError::Setup)?;
    loop {
        let seen = done.load(Ordering::Relaxed);
        match wait(&receiver, &done, seen, patience) {
            WaitResult::Finished(result) => return result.map_err(ProbeError::Setup),
            WaitResult::Advanced => {}
            WaitResult::TimedOut => return Err(ProbeError::NoAnswer(seen)),
        }
    }
}

/// Result of waiting.
enum WaitResult<T> {
    Finished(Result<T, SetupError>),
    Advanced,
    TimedOut,
}

/// Waits until the work is done or its counter differs from `seen`.
fn wait<T>(
    receiver: &Receiver<Result<T, SetupError>>,
    done: &AtomicUsize,
    seen: usize,
    patience: Duration,
) -> WaitResult<T> {
    let seen_at = Instant::now();
    loop {
        match receiver.recv_timeout(CHECK_INTERVAL.min(patience)) {
            Ok(result) => return WaitResult::Finished(result),
            // The thread panicked: its last read is unanswered, too.
            Err(RecvTimeoutError::Disconnected) => return WaitResult::TimedOut,
            Err(RecvTimeoutError::Timeout) if done.load(Ordering::Relaxed) != seen => {
                return WaitResult::Advanced;
            }
            Err(RecvTimeoutError::Timeout) if seen_at.elapsed() >= patience => {
                return WaitResult::TimedOut;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_without_an_answer_is_given_up() {
        // On a busy machine, the thread may start too late for the first of these.
        for patience in (0..).map(|n| Duration::from_millis(1 << n)) {
            let (answer, never) = channel::<()>();
            let asked = run_watched(patience, move |done| {
                done.store(3, Ordering::Relaxed);
                // Like a device that never answers.
                let _ = never.recv();
                Ok(())
            });
            drop(answer);
            match asked {
                Err(ProbeError::NoAnswer(0)) => {}
                Err(ProbeError::NoAnswer(done)) => return assert_eq!(done, 3),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn work_with_progress_is_waited_for() {
        let (sender, receiver) = channel();
        let counting = run_watched(Duration::from_secs(600), move |done| {
            (1..=5).for_each(|n| done.store(n, Ordering::Relaxed));
            sender.send(()).unwrap();
            Ok(5)
        });
        assert!(matches!(counting, Ok(5)), "{counting:?}");
        receiver.recv().unwrap();
    }
}
