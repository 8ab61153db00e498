//! Finds the greatest depth at which latencies stay below a limit (fio's `latency_target`).

use iodyno_job::LatencyTarget;

use crate::clock::Clock;

/// Searches by doubling, then by bisection. Each depth is tried for one window and passes if enough
/// of the I/Os that ended in it met the target.
#[derive(Debug)]
pub(crate) struct TargetSearch {
    target_ns: u64,
    window_ticks: u64,
    share: f64,
    /// Keeps running at the depth found (`latency_run`).
    run: bool,
    /// Greatest depth that passed, and smallest that failed.
    held: usize,
    failed: usize,
    depth: usize,
    most: usize,
    /// Time of the last change of depth, ticks.
    since: u64,
    window_end: u64,
    in_time: u64,
    all: u64,
    found: bool,
}

impl TargetSearch {
    pub(crate) fn new(target: &LatencyTarget, most: usize, clock: Clock) -> Self {
        Self {
            target_ns: target.target_ns,
            window_ticks: clock.ticks(target.window_ns).max(1),
            share: target.percentile / 100.0,
            run: target.run,
            held: 0,
            failed: most + 1,
            depth: 1,
            most,
            since: 0,
            window_end: 0,
            in_time: 0,
            all: 0,
            found: false,
        }
    }

    /// The current depth.
    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }

    /// The depth found, once the search has ended.
    pub(crate) fn result(&self) -> Option<u32> {
        self.found.then_some(self.held as u32)
    }

    /// Records an I/O. Returns true when the search, and with it the job, has ended.
    pub(crate) fn completed(&mut self, begun: u64, latency_ns: u64, now: u64) -> bool {
        // I/Os submitted at the previous depth do not count (fio drains them).
        if begun < self.since {
            return false;
        }
        if self.window_end == 0 {
            self.window_end = now + self.window_ticks;
        }
        self.all += 1;
        self.in_time += u64::from(latency_ns <= self.target_ns);
        if now < self.window_end || self.found {
            return false;
        }
        let holds = self.in_time as f64 >= self.share * self.all as f64;
        if self.depth == 1 && !holds {
            // Depth 0 does not exist: as in fio, depth 1 is tried until it passes.
            return false;
        }
        if holds {
            self.held = self.depth;
        } else {
            self.failed = self.depth;
        }
        self.found = self.held + 1 >= self.failed;
        self.depth = if self.found {
            self.held.max(1)
        } else if self.failed > self.most {
            (self.depth * 2).min(self.most)
        } else {
            self.held.midpoint(self.failed)
        };
        (self.since, self.window_end) = (now, now + self.window_ticks);
        (self.in_time, self.all) = (0, 0);
        self.found && !self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_depth_that_holds_is_found() {
        let clock = Clock::get();
        for (limit, most) in [(1, 64), (7, 64), (32, 32), (33, 100)] {
            let target = LatencyTarget {
                target_ns: 1000,
                window_ns: 1_000_000,
                percentile: 100.0,
                run: false,
            };
            let mut search = TargetSearch::new(&target, most, clock);
            let mut now = 1;
            let over = (0..1000).any(|_| {
                now += clock.ticks(600_000);
                let latency_ns = if search.depth() <= limit { 900 } else { 1100 };
                search.completed(now - clock.ticks(latency_ns), latency_ns, now)
            });
            assert!(over);
            assert_eq!(search.result(), Some(limit.min(most) as u32), "{limit} of {most}");
        }
    }

    #[test]
    fn what_was_submitted_at_a_depth_that_failed_is_not_held_against_the_next() {
        let clock = Clock::get();
        for limit in [1, 7, 50, 60, 63] {
            let target = LatencyTarget {
                target_ns: 10_000,
                window_ns: 1_000_000,
                percentile: 100.0,
                run: false,
            };
            let mut search = TargetSearch::new(&target, 64, clock);
            // I/Os in flight: end, start, latency.
            let (mut in_flight, mut now) = (std::collections::BinaryHeap::new(), 1);
            loop {
                while in_flight.len() < search.depth() {
                    let ns = if in_flight.len() < limit { 9000 } else { 11_000 };
                    in_flight.push(std::cmp::Reverse((now + clock.ticks(ns), now, ns)));
                }
                let std::cmp::Reverse((end, begun, latency_ns)) = in_flight.pop().unwrap();
                now = end;
                if search.completed(begun, latency_ns, now) {
                    break;
                }
            }
            assert_eq!(search.result(), Some(limit as u32));
        }
    }

    #[test]
    fn a_slow_begin_ends_nothing() {
        let clock = Clock::get();
        let target =
            LatencyTarget { target_ns: 1000, window_ns: 1_000_000, percentile: 90.0, run: false };
        let mut search = TargetSearch::new(&target, 8, clock);
        let mut now = 1;
        let mut ended = |latency_ns, times| {
            (0..times).any(|_| {
                now += clock.ticks(600_000);
                search.completed(now - clock.ticks(latency_ns), latency_ns, now)
            })
        };
        assert!(!ended(2000, 10), "nothing less than one can be tried");
        assert!(ended(500, 1000));
        assert_eq!(search.result(), Some(8));
    }
}
