//! State shared by the threads of a job and the control thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use iodyno_model::{Direction, ErrorCount};

use crate::clock::Clock;
use crate::io_failure::IoFailure;

/// Offsets kept for each kind of error.
const OFFSETS_KEPT: usize = 8;

/// State shared by the threads of a job and the control thread.
#[derive(Debug, Default)]
pub(crate) struct JobControl {
    state: AtomicU8,
    /// End of the ramp, ticks; 0: still ramping.
    counting_since: AtomicU64,
    /// Time in which the process did not run, ticks.
    lapsed: AtomicU64,
    first_error: OnceLock<IoFailure>,
    errors: Mutex<Vec<ErrorCount>>,
}

const STANDBY: u8 = 0;
const RUNNING: u8 = 1;
/// No new work; earlier writes may still be verified.
const STOPPING: u8 = 2;
/// No new I/O at all.
const ABORTED: u8 = 3;

impl JobControl {
    /// Starts the threads, which must then be unparked. A stop is final.
    pub(crate) fn start(&self) {
        let _ = self.state.compare_exchange(STANDBY, RUNNING, Ordering::Release, Ordering::Relaxed);
    }

    /// Stops issuing I/O, except to verify earlier writes.
    pub(crate) fn stop_issuing(&self) {
        self.state.fetch_max(STOPPING, Ordering::Release);
    }

    /// Stops issuing any I/O.
    pub(crate) fn abort(&self) {
        self.state.fetch_max(ABORTED, Ordering::Release);
    }

    /// True if a thread, `verifying` or not, must issue no new I/O.
    #[inline]
    pub(crate) fn is_stopped(&self, verifying: bool) -> bool {
        self.state.load(Ordering::Relaxed) > if verifying { STOPPING } else { RUNNING }
    }

    /// Ends the ramp: the threads' own statistics count from now on.
    pub(crate) fn end_ramp(&self) {
        self.counting_since.store(Clock::get().now().max(1), Ordering::Relaxed);
    }

    /// True if the ramp has ended.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.counting_since.load(Ordering::Relaxed) > 0
    }

    /// The part of a period after the ramp, ticks.
    pub(crate) fn counted(&self, start: u64, end: u64) -> u64 {
        match self.counting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => end.saturating_sub(start.max(since)),
        }
    }

    /// Excludes `ticks`, in which the process did not run, from the pace of the threads.
    pub(crate) fn add_lapse(&self, ticks: u64) {
        self.lapsed.fetch_add(ticks, Ordering::Relaxed);
    }

    /// Time excluded so far, ticks.
    #[inline]
    pub(crate) fn lapsed(&self) -> u64 {
        self.lapsed.load(Ordering::Relaxed)
    }

    /// Records a failed I/O.
    #[cold]
    pub(crate) fn note_failure(&self, failure: IoFailure) {
        let _ = self.first_error.set(failure);
        let errno = failure.errno();
        let direction = failure.operation.direction().unwrap_or(Direction::Write);
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            errors.iter_mut().find(|known| (known.errno, known.direction) == (errno, direction));
        match known {
            Some(known) => {
                known.count += 1;
                if known.offsets.len() < OFFSETS_KEPT {
                    known.offsets.push(failure.offset);
                }
            }
            None => {
                errors.push(ErrorCount {
                    errno,
                    direction,
                    count: 1,
                    offsets: vec![failure.offset],
                });
            }
        }
    }

    /// The first failed I/O of any thread.
    pub(crate) fn first_error(&self) -> Option<IoFailure> {
        self.first_error.get().copied()
    }

    /// Failed I/Os by errno.
    pub(crate) fn errors(&self) -> Vec<ErrorCount> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the start, or for a stop before it.
    pub(crate) fn wait_for_start(&self) {
        while self.state.load(Ordering::Acquire) == STANDBY {
            std::thread::park();
        }
    }
}
