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
const LOOK: Duration = Duration::from_millis(100);

/// Why a probe failed.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// No memory for the buffer, or no thread.
    Refused(SetupError),
    /// Number of completed reads before the one without an answer.
    NoAnswer(usize),
}

/// Reads `length` bytes at each of `offsets` until `most` has passed; failed reads are samples. A
/// read without an answer for `patience` ends the probe: its thread is abandoned with its
/// descriptor and its buffer, to which the kernel may still write.
///
/// # Errors
/// If the set-up fails or a read is not answered.
pub(crate) fn probe(
    target: OwnedFd,
    offsets: &[u64],
    length: u32,
    most: Duration,
    patience: Duration,
) -> Result<Vec<ProbeSample>, Stopped> {
    let offsets = offsets.to_vec();
    attended(patience, move |done| read_all(target, &offsets, length, most, done))
}

fn read_all(
    target: OwnedFd,
    offsets: &[u64],
    length: u32,
    most: Duration,
    done: &AtomicUsize,
) -> Result<Vec<ProbeSample>, SetupError> {
    let mut psync = Psync::open(Setup::read_only(target, 1, length))?.engine;
    let begun = Instant::now();
    let mut samples = Vec::with_capacity(offsets.len());
    for &offset in offsets {
        if begun.elapsed() >= most {
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
fn attended<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce(&AtomicUsize) -> Result<T, SetupError> + Send + 'static,
) -> Result<T, Stopped> {
    let (tell, told) = channel();
    let done = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&done);
    thread::Builder::new()
        .name("iodyno-probe".into())
        // A send error means that the probe was given up.
        .spawn(move || drop(tell.send(work(&counted))))
        .map_err(SetupError::during("start a thread"))
        .map_err(Stopped::Refused)?;
    loop {
        let seen = done.load(Ordering::Relaxed);
        match wait(&told, &done, seen, patience) {
            Waited::Told(result) => return result.map_err(Stopped::Refused),
            Waited::Moved => {}
            Waited::InVain => return Err(Stopped::NoAnswer(seen)),
        }
    }
}

/// Result of waiting.
enum Waited<T> {
    Told(Result<T, SetupError>),
    Moved,
    InVain,
}

/// Waits until the work is done or its counter differs from `seen`.
fn wait<T>(
    told: &Receiver<Result<T, SetupError>>,
    done: &AtomicUsize,
    seen: usize,
    patience: Duration,
) -> Waited<T> {
    let seen_at = Instant::now();
    loop {
        match told.recv_timeout(LOOK.min(patience)) {
            Ok(result) => return Waited::Told(result),
            // The thread panicked: its last read is unanswered, too.
            Err(RecvTimeoutError::Disconnected) => return Waited::InVain,
            Err(RecvTimeoutError::Timeout) if done.load(Ordering::Relaxed) != seen => {
                return Waited::Moved;
            }
            Err(RecvTimeoutError::Timeout) if seen_at.elapsed() >= patience => {
                return Waited::InVain;
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
            let asked = attended(patience, move |done| {
                done.store(3, Ordering::Relaxed);
                // Like a device that never answers.
                let _ = never.recv();
                Ok(())
            });
            drop(answer);
            match asked {
                Err(Stopped::NoAnswer(0)) => {}
                Err(Stopped::NoAnswer(done)) => return assert_eq!(done, 3),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn work_that_goes_on_is_waited_for() {
        let (tell, told) = channel();
        let counting = attended(Duration::from_secs(600), move |done| {
            (1..=5).for_each(|n| done.store(n, Ordering::Relaxed));
            tell.send(()).unwrap();
            Ok(5)
        });
        assert!(matches!(counting, Ok(5)), "{counting:?}");
        told.recv().unwrap();
    }
}
