//! How far this machine's clock may be off.

#![allow(unsafe_code)] // adjtimex has no safe wrapper.

/// The largest error of the clock as the kernel knows it from what disciplines it (adjtimex(2)), ns; `None`:
/// nothing does.
pub(super) fn error_ns() -> Option<u64> {
    // SAFETY: all bits zero are a timex, whose modes of 0 change nothing.
    let mut clock: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes no more than a timex, and this one is ours.
    let state = unsafe { libc::adjtimex(&mut clock) };
    let is_known = state >= 0 && clock.status & libc::STA_UNSYNC == 0;
    is_known.then(|| u64::try_from(clock.maxerror).ok()?.checked_mul(1000)).flatten()
}
