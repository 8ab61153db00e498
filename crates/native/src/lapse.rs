//! Detects lapses: times in which the process did not run, because it was stopped (SIGSTOP), its
//! virtual machine migrated, or the machine slept. They are not measured, and the phase's clock
//! stands still.

use std::time::Instant;

use rustix::time::ClockId;

use crate::clock::kernel_ns;

/// Waking up this late is a lapse if little I/O completed meanwhile …
pub(crate) const LATE_NS: u64 = 500_000_000;
/// … less than this share of the usual rate, …
const LOW_RATE: f64 = 0.5;
/// … and this late in any case.
const FAR_LATE_NS: u64 = 2_000_000_000;
/// The machine slept if CLOCK_BOOTTIME gained this much.
const SLEPT_NS: u64 = 100_000_000;

/// A phase's clock, ns since its start, without lapses.
#[derive(Debug)]
pub(crate) struct PhaseClock {
    start: Instant,
    /// Excluded time, ns.
    excluded_ns: u64,
    /// Total sleep of the machine since boot, ns.
    slept_ns: u64,
    /// Completed I/Os and their time, ns, outside of lapses.
    usual: (u64, u64),
    /// The previous interval was a lapse: I/Os now complete whose latencies contain it.
    settling: bool,
    lapses_ns: Vec<u64>,
}

/// An interval as the control thread observed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed {
    pub(crate) duration_ns: u64,
    /// I/Os that completed or failed.
    pub(crate) completed: u64,
    /// Delay of the control thread's wakeup, ns.
    pub(crate) late_ns: u64,
    /// Total sleep of the machine since boot, ns.
    pub(crate) slept_ns: u64,
}

impl PhaseClock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            excluded_ns: 0,
            slept_ns: slept_ns(),
            usual: (0, 0),
            settling: false,
            lapses_ns: Vec::new(),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).saturating_sub(self.excluded_ns)
    }

    /// Length of each lapse, ns.
    pub(crate) fn lapses_ns(&self) -> &[u64] {
        &self.lapses_ns
    }

    /// True if an interval contains a lapse, or I/Os that were in flight in one. Excludes such an
    /// interval from the clock.
    pub(crate) fn excludes(&mut self, seen: Observed) -> bool {
        let Observed { duration_ns, completed, late_ns, .. } = seen;
        let slept_ns = seen.slept_ns.saturating_sub(self.slept_ns);
        self.slept_ns = seen.slept_ns;
        let (ios, ns) = self.usual;
        // The first interval has no usual rate.
        let is_slow = completed as f64 * ns as f64 <= LOW_RATE * ios as f64 * duration_ns as f64;
        let is_lapse =
            late_ns >= FAR_LATE_NS || (late_ns >= LATE_NS && is_slow) || slept_ns >= SLEPT_NS;
        if is_lapse {
            self.lapses_ns.push(late_ns.saturating_add(slept_ns));
        }
        let excluded = is_lapse || self.settling;
        self.settling = is_lapse;
        if excluded {
            self.excluded_ns += duration_ns;
        } else {
            self.usual = (ios + completed, ns + duration_ns);
        }
        excluded
    }
}

/// Total sleep of the machine, ns: CLOCK_BOOTTIME, which includes sleep, minus CLOCK_MONOTONIC,
/// which does not.
pub(crate) fn slept_ns() -> u64 {
    let awake_ns = kernel_ns(ClockId::Monotonic);
    kernel_ns(ClockId::Boottime).saturating_sub(awake_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn seen(ms: u64, completed: u64, late_ms: u64) -> Observed {
        Observed { duration_ns: ms * MS, completed, late_ns: late_ms * MS, slept_ns: 0 }
    }

    fn clock() -> PhaseClock {
        let mut clock = PhaseClock { slept_ns: 0, ..PhaseClock::start() };
        assert!((0..9).all(|_| !clock.excludes(seen(100, 1000, 3))));
        clock
    }

    #[test]
    fn a_stopped_process_is_a_lapse_with_the_interval_after_it() {
        let mut clock = clock();
        assert!(clock.excludes(seen(5100, 700, 5000)));
        assert!(clock.excludes(seen(100, 1000, 0)), "latencies in it hold the lapse");
        assert!(!clock.excludes(seen(100, 1000, 0)));
        assert_eq!(clock.lapses_ns(), [5000 * MS]);
        assert_eq!(clock.excluded_ns, 5200 * MS);
    }

    #[test]
    fn a_busy_control_thread_or_a_slow_drive_is_no_lapse() {
        let mut clock = clock();
        assert!(!clock.excludes(seen(800, 7500, 700)), "the others went on");
        assert!(clock.excludes(seen(800, 100, 700)));
        assert!(clock.excludes(seen(100, 0, 0)), "behind it");
        assert!(!clock.excludes(seen(30_000, 0, 20)), "a device that does not answer");
    }

    #[test]
    fn sleep_is_detected_by_the_boottime_clock() {
        let mut clock = clock();
        assert!(clock.excludes(Observed { slept_ns: 60_000 * MS, ..seen(110, 900, 5) }));
        assert_eq!(clock.lapses_ns(), [60_005 * MS]);
        let awake = Observed { slept_ns: 60_000 * MS, ..seen(100, 1000, 0) };
        assert!(clock.excludes(awake) && !clock.excludes(awake));
    }
}
