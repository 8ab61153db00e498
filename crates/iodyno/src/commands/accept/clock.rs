//! Maximum error of this machine's clock.

#![allow(unsafe_code)] // adjtimex has no safe wrapper.

/// Maximum clock error as reported by the kernel (adjtimex(2)), ns; `None`: the clock is not
/// synchronised.
pub(super) fn error_ns() -> Option<u64> {
    // SAFETY: a timex of all zero bits is valid, and its modes of 0 change nothing.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most a timex, into memory that we own.
    let state = unsafe { libc::adjtimex(&mut clock) };
    let is_known = state >= 0 && clock.status & libc::STA_UNSYNC == 0;
    is_known.then(|| u64::try_from(clock.maxerror).ok()?.checked_mul(1000)).flatten()
}
