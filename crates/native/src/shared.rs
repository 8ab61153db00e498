//! What the threads of a job share with the control thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use iodyno_model::{Direction, ErrorCount};

use crate::clock::Clock;
use crate::failure::Failure;

/// Offsets that are kept of each kind of error.
const OFFSETS_KEPT: usize = 8;

/// What the threads of a job share with the control thread.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: AtomicU8,
    /// When the ramp was over, ticks; 0: it goes on.
    counting_since: AtomicU64,
    first_error: OnceLock<Failure>,
    errors: Mutex<Vec<ErrorCount>>,
}

const STANDBY: u8 = 0;
const RUNNING: u8 = 1;
/// No new work; what was written may still be verified.
const ENOUGH: u8 = 2;
/// Nothing new at all.
const ABORTED: u8 = 3;

impl Shared {
    /// Lets the threads go; they must be unparked then. A stop is final.
    pub(crate) fn start(&self) {
        let _ = self.state.compare_exchange(STANDBY, RUNNING, Ordering::Release, Ordering::Relaxed);
    }

    /// No new I/O from now on, but for verifying what was written.
    pub(crate) fn enough(&self) {
        self.state.fetch_max(ENOUGH, Ordering::Release);
    }

    /// No new I/O from now on.
    pub(crate) fn abort(&self) {
        self.state.fetch_max(ABORTED, Ordering::Release);
    }

    /// Whether no new I/O is wanted, of a thread that verifies or not.
    #[inline]
    pub(crate) fn is_over(&self, verifying: bool) -> bool {
        self.state.load(Ordering::Relaxed) > if verifying { ENOUGH } else { RUNNING }
    }

    /// The ramp is over: what is only kept by the threads counts from now on.
    pub(crate) fn count_from_now(&self) {
        self.counting_since.store(Clock::get().now().max(1), Ordering::Relaxed);
    }

    /// Whether the ramp is over.
    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.counting_since.load(Ordering::Relaxed) > 0
    }

    /// How much of the time between two others counts: what is behind the ramp; ticks.
    pub(crate) fn counted(&self, begun: u64, ended: u64) -> u64 {
        match self.counting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => ended.saturating_sub(begun.max(since)),
        }
    }

    /// Takes down an I/O that failed.
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

    /// The first I/O that failed, on any thread.
    pub(crate) fn first_error(&self) -> Option<Failure> {
        self.first_error.get().copied()
    }

    /// I/Os that failed, by errno.
    pub(crate) fn errors(&self) -> Vec<ErrorCount> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns when the threads are let go, or told to end before that.
    pub(crate) fn wait_for_start(&self) {
        while self.state.load(Ordering::Acquire) == STANDBY {
            std::thread::park();
        }
    }
}
