//! State shared by the threads of a job and the control thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use iodyno_model::{Direction, ErrorCount};

use crate::clock::Clock;
use crate::failure::Failure;

/// Offsets kept for each kind of error.
const OFFSETS_KEPT: usize = 8;

/// State shared by the threads of a job and the control thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: AtomicU8,
    /// End of the ramp, ticks; 0: still ramping.
    counting_since: AtomicU64,
    first_error: OnceLock<Failure>,
    errors: Mutex<Vec<ErrorCount>>,
}

const STANDBY: u8 = 0;
const RUNNING: u8 = 1;
/// No new work; earlier writes may still be verified.
const ENOUGH: u8 = 2;
/// No new I/O at all.
const ABORTED: u8 = 3;

impl Shared {
    /// Starts the threads, which must then be unparked. A stop is final.
    pub(crate) fn start(&self) {
        let _ = self.state.compare_exchange(STANDBY, RUNNING, Ordering::Release, Ordering::Relaxed);
    }

    /// Stops issuing I/O, except to verify earlier writes.
    pub(crate) fn enough(&self) {
        self.state.fetch_max(ENOUGH, Ordering::Release);
    }

    /// Stops issuing any I/O.
    pub(crate) fn abort(&self) {
        self.state.fetch_max(ABORTED, Ordering::Release);
    }

    /// True if a thread, `verifying` or not, must issue no new I/O.
    #[inline]
    pub(crate) fn is_over(&self, verifying: bool) -> bool {
        self.state.load(Ordering::Relaxed) > if verifying { ENOUGH } else { RUNNING }
    }

    /// Ends the ramp: the threads' own statistics count from now on.
    pub(crate) fn count_from_now(&self) {
        self.counting_since.store(Clock::get().now().max(1), Ordering::Relaxed);
    }

    /// True if the ramp has ended.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.counting_since.load(Ordering::Relaxed) > 0
    }

    /// The part of a period after the ramp, ticks.
    pub(crate) fn counted(&self, begun: u64, ended: u64) -> u64 {
        match self.counting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => ended.saturating_sub(begun.max(since)),
        }
    }

    /// Records a failed I/O.
    #[cold]
    pub(crate) fn note(&self, failure: Failure) {
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
    pub(crate) fn first_error(&self) -> Option<Failure> {
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
