//! Detects stalled I/O: requests that the device does not answer.

use std::time::Duration;

use crate::clock::Clock;
use crate::in_flight::{InFlight, InFlightView};

/// A stalled I/O is reported after this time.
pub(crate) const WARN_AFTER: Duration = Duration::from_secs(5);

/// The warning about an I/O that was not answered for `age`.
pub(crate) fn no_answer(age: Duration, io: &InFlight) -> String {
    let (seconds, InFlight { operation, length, offset, .. }) = (age.as_secs(), io);
    let place = match operation.direction() {
        Some(_) => format!(" of {length} bytes at offset {offset}"),
        None => String::new(),
    };
    format!("no answer for {seconds} s to a {operation}{place}")
}

/// Severity of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stall {
    /// Long enough for a warning.
    Warning,
    /// So long that no answer will come.
    Final,
}

/// Watches a job's I/Os in flight.
///
/// An I/O's age is no measure of a stall: a paced I/O is stamped with its due time, and in a deep
/// queue on a slow device each waits for all before it. The time since the last completion is.
#[derive(Debug)]
pub(crate) struct StallDetector {
    views: Vec<InFlightView>,
    final_after_ns: u64,
    /// When I/Os last completed, or none was in flight; ticks.
    completed_at: Option<u64>,
    /// The current stall was reported.
    reported: bool,
}

impl StallDetector {
    /// A watch that gives up I/Os without an answer for this long.
    pub(crate) const fn new(final_after_ns: u64) -> Self {
        Self { views: Vec::new(), final_after_ns, completed_at: None, reported: false }
    }

    /// Watches another thread.
    pub(crate) fn include(&mut self, view: InFlightView) {
        self.views.push(view);
    }

    /// Checks at `now`, ticks; `completed`: some I/Os have completed since the last check. Returns a
    /// warning once per stall, and another when it is final.
    pub(crate) fn check(
        &mut self,
        completed: bool,
        now: u64,
        clock: Clock,
    ) -> Option<(Stall, String)> {
        let views = if completed { &[] } else { self.views.as_slice() };
        let oldest = views.iter().filter_map(InFlightView::oldest).min_by_key(|io| io.start_ticks);
        let (Some(oldest), Some(completed_at)) = (oldest, self.completed_at) else {
            (self.completed_at, self.reported) = (Some(now), false);
            return None;
        };
        // It may have been submitted later.
        let since = oldest.start_ticks.max(completed_at);
        let age = Duration::from_nanos(clock.ns(now.saturating_sub(since)));
        // A sync is as many commands as there is to write back.
        let is_one_command = oldest.operation.direction().is_some();
        let stall = if is_one_command && age.as_nanos() > self.final_after_ns.into() {
            Stall::Final
        } else if age > WARN_AFTER && !self.reported {
            Stall::Warning
        } else {
            return None;
        };
        self.reported = true;
        Some((stall, no_answer(age, &oldest)))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Operation, Request};

    use super::*;
    use crate::in_flight::SlotTable;

    const START: u64 = 1 << 50;
    const FINAL_AFTER_NS: u64 = 60_000_000_000;

    /// A thread with one I/O in flight, stamped `start_ticks`.
    fn in_flight(start_ticks: u64) -> SlotTable {
        let mut slots = SlotTable::new(4);
        let operation = Operation::Read;
        slots
            .reserve(&[Request { offset: 8192, length: 4096, file: 0, operation }])
            .mark_submitted(start_ticks);
        slots
    }

    /// The stalls reported in checks once per second; `completes` tells when I/Os complete.
    fn reported(
        slots: &SlotTable,
        completes: impl Fn(u64) -> bool,
        seconds: u64,
    ) -> Vec<(u64, Stall)> {
        let clock = Clock::get();
        let mut watch = StallDetector::new(FINAL_AFTER_NS);
        watch.include(slots.view());
        let check = |second| {
            let now = START + clock.ticks(second * 1_000_000_000 + 1000);
            let reported = watch.check(completes(second), now, clock);
            reported.map(|(stall, _)| (second, stall))
        };
        (0..seconds).filter_map(check).collect()
    }

    #[test]
    fn a_stall_is_reported_once_and_then_as_final() {
        let reported = reported(&in_flight(START), |second| second < 10, 72);
        let after = |seconds: u64| 9 + seconds;
        assert_eq!(reported[0], (after(6), Stall::Warning));
        assert_eq!(reported[1], (after(61), Stall::Final), "{reported:?}");
    }

    #[test]
    fn old_due_times_and_deep_queues_are_no_stall() {
        // One I/O completes every three seconds; the oldest is much older.
        assert_eq!(reported(&in_flight(1), |second| second % 3 == 0, 200), []);
    }

    #[test]
    fn nothing_in_flight_is_no_stall() {
        assert_eq!(reported(&SlotTable::new(4), |_| false, 200), []);
        let (clock, mut watch) = (Clock::get(), StallDetector::new(FINAL_AFTER_NS));
        let slots = in_flight(START);
        watch.include(slots.view());
        let check =
            |watch: &mut StallDetector, ns| watch.check(false, START + clock.ticks(ns), clock);
        assert_eq!(check(&mut watch, 0), None);
        let (_, text) = check(&mut watch, 6_500_000_000).unwrap();
        assert_eq!(text, "no answer for 6 s to a read of 4096 bytes at offset 8192");
    }
}
