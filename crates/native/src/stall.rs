//! Detects stalled I/O: requests that the device does not answer.

use std::time::Duration;

use crate::clock::Clock;
use crate::in_flight::{InFlight, InFlightView};

/// A stalled I/O is reported after this time.
pub(crate) const WARN_AFTER: Duration = Duration::from_secs(5);

/// The warning about an I/O that `target` has not answered for `age`.
pub(crate) fn no_answer(target: &str, age: Duration, flight: &InFlight) -> String {
    let (seconds, InFlight { operation, length, offset, .. }) = (age.as_secs(), flight);
    format!(
        "{target}: no answer for {seconds} s to a {operation} of {length} bytes at offset {offset}"
    )
}

/// Severity of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Long enough for a warning.
    Long,
    /// So long that no answer will come.
    ForGood,
}

/// Watches a job's I/Os in flight.
///
/// An I/O's age is no measure of a stall: a paced I/O is stamped with its due time, and in a deep
/// queue on a slow device each waits for all before it. The time since the last completion is.
#[derive(Debug)]
pub(crate) struct SilenceWatch {
    outlooks: Vec<InFlightView>,
    for_good_after_ns: u64,
    /// When I/Os last completed, or none was in flight; ticks.
    moved_at: Option<u64>,
    /// The current stall was reported.
    told: bool,
}

impl SilenceWatch {
    /// A watch that gives up I/Os without an answer for this long.
    pub(crate) const fn new(for_good_after_ns: u64) -> Self {
        Self { outlooks: Vec::new(), for_good_after_ns, moved_at: None, told: false }
    }

    /// Watches another thread.
    pub(crate) fn include(&mut self, outlook: InFlightView) {
        self.outlooks.push(outlook);
    }

    /// Checks at `now`, ticks; `moved`: some I/Os have completed since the last check. Returns a
    /// warning once per stall, and another when it is final.
    pub(crate) fn look(
        &mut self,
        moved: bool,
        now: u64,
        clock: Clock,
        target: &str,
    ) -> Option<(Silence, String)> {
        let outlooks = if moved { &[] } else { self.outlooks.as_slice() };
        let oldest =
            outlooks.iter().filter_map(InFlightView::oldest).min_by_key(|flight| flight.begun);
        let (Some(oldest), Some(moved_at)) = (oldest, self.moved_at) else {
            (self.moved_at, self.told) = (Some(now), false);
            return None;
        };
        // It may have been submitted later.
        let since = oldest.begun.max(moved_at);
        let age = Duration::from_nanos(clock.ns(now.saturating_sub(since)));
        let silence = if age.as_nanos() > self.for_good_after_ns.into() {
            Silence::ForGood
        } else if age > WARN_AFTER && !self.told {
            Silence::Long
        } else {
            return None;
        };
        self.told = true;
        Some((silence, no_answer(target, age, &oldest)))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Operation, Request};

    use super::*;
    use crate::in_flight::InFlights;

    const START: u64 = 1 << 50;
    const FOR_GOOD_AFTER_NS: u64 = 60_000_000_000;

    /// A thread with one I/O in flight, stamped `begun`.
    fn flying(begun: u64) -> InFlights {
        let mut flights = InFlights::new(4);
        let operation = Operation::Read;
        flights.reserve(&[Request { offset: 8192, length: 4096, file: 0, operation }]).begin(begun);
        flights
    }

    /// The stalls reported in checks once per second; `moves` tells when I/Os complete.
    fn told(flights: &InFlights, moves: impl Fn(u64) -> bool, seconds: u64) -> Vec<(u64, Silence)> {
        let clock = Clock::get();
        let mut watch = SilenceWatch::new(FOR_GOOD_AFTER_NS);
        watch.include(flights.outlook());
        let look = |second| {
            let now = START + clock.ticks(second * 1_000_000_000 + 1000);
            let told = watch.look(moves(second), now, clock, "disk");
            told.map(|(silence, _)| (second, silence))
        };
        (0..seconds).filter_map(look).collect()
    }

    #[test]
    fn a_silence_is_told_once_and_then_for_good() {
        let told = told(&flying(START), |second| second < 10, 72);
        let after = |seconds: u64| 9 + seconds;
        assert_eq!(told[0], (after(6), Silence::Long));
        assert_eq!(told[1], (after(61), Silence::ForGood), "{told:?}");
    }

    #[test]
    fn what_was_due_long_ago_or_waits_in_a_deep_queue_is_not_lost() {
        // One I/O completes every three seconds; the oldest is much older.
        assert_eq!(told(&flying(1), |second| second % 3 == 0, 200), []);
    }

    #[test]
    fn nothing_in_flight_is_no_silence() {
        assert_eq!(told(&InFlights::new(4), |_| false, 200), []);
        let (clock, mut watch) = (Clock::get(), SilenceWatch::new(FOR_GOOD_AFTER_NS));
        let flights = flying(START);
        watch.include(flights.outlook());
        let look = |watch: &mut SilenceWatch, ns| {
            watch.look(false, START + clock.ticks(ns), clock, "disk")
        };
        assert_eq!(look(&mut watch, 0), None);
        let (_, text) = look(&mut watch, 6_500_000_000).unwrap();
        assert_eq!(text, "disk: no answer for 6 s to a read of 4096 bytes at offset 8192");
    }
}
