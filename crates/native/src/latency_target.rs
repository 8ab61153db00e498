//! Finds the greatest depth at which latencies stay below a limit (fio's `latency_target`).

use iodyno_job::LatencyTarget;

use crate::clock::Clock;

/// Searches by doubling, then by bisection. Each depth is tried for one window and passes if enough
/// of the I/Os that ended in it met the target.
#[derive(Debug)]
pub(crate) struct LatencyTargetSearch {
    target_ns: u64,
    window_ticks: u64,
    share: f64,
    /// Keeps running at the depth found (`latency_run`).
    keeps_running: bool,
    /// Greatest depth that passed, and smallest that failed.
    passing: usize,
    failing: usize,
    depth: usize,
    max_depth: usize,
    /// Time of the last change of depth, ticks.
    changed_at: u64,
    window_end: u64,
    in_time: u64,
    total: u64,
    found: bool,
}

impl LatencyTargetSearch {
    pub(crate) fn new(target: &LatencyTarget, max_depth: usize, clock: Clock) -> Self {
        Self {
            target_ns: target.target_ns,
            window_ticks: clock.ticks(target.window_ns).max(1),
            share: target.percentile / 100.0,
            keeps_running: target.run,
            passing: 0,
            failing: max_depth + 1,
            depth: 1,
            max_depth,
            changed_at: 0,
            window_end: 0,
            in_time: 0,
            total: 0,
            found: false,
        }
    }

    /// The current depth.
    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }

    /// The depth found, once the search has ended.
    pub(crate) fn result(&self) -> Option<u32> {
        self.found.then_some(self.passing as u32)
    }

    /// Records an I/O. Returns true when the search, and with it the job, has ended.
    pub(crate) fn completed(&mut self, start_ticks: u64, latency_ns: u64, now: u64) -> bool {
        // I/Os submitted at the previous depth do not count (fio drains them).
        if start_ticks < self.changed_at {
            return false;
        }
        if self.window_end == 0 {
            self.window_end = now + self.window_ticks;
        }
        self.total += 1;
        self.in_time += u64::from(latency_ns <= self.target_ns);
        if now < self.window_end || self.found {
            return false;
        }
        let holds = self.in_time as f64 >= self.share * self.total as f64;
        if self.depth == 1 && !holds {
            // Depth 0 does not exist: as in fio, depth 1 is tried until it passes.
            return false;
        }
        if holds {
            self.passing = self.depth;
        } else {
            self.failing = self.depth;
        }
        self.found = self.passing + 1 >= self.failing;
        self.depth = if self.found {
            self.passing.max(1)
        } else if self.failing > self.max_depth {
            (self.depth * 2).min(self.max_depth)
        } else {
            self.passing.midpoint(self.failing)
        };
        (self.changed_at, self.window_end) = (now, now + self.window_ticks);
        (self.in_time, self.total) = (0, 0);
        self.found && !self.keeps_running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_passing_depth_is_found() {
        let clock = Clock::get();
        for (limit, max_depth) in [(1, 64), (7, 64), (32, 32), (33, 100)] {
            let target = LatencyTarget {
                target_ns: 1000,
                window_ns: 1_000_000,
                percentile: 100.0,
                run: false,
            };
            let mut search = LatencyTargetSearch::new(&target, max_depth, clock);
            let mut now = 1;
            let over = (0..1000).any(|_| {
                now += clock.ticks(600_000);
                let latency_ns = if search.depth() <= limit { 900 } else { 1100 };
                search.completed(now - clock.ticks(latency_ns), latency_ns, now)
            });
            assert!(over);
            assert_eq!(
                search.result(),
                Some(limit.min(max_depth) as u32),
                "{limit} of {max_depth}"
            );
        }
    }

    #[test]
    fn ios_of_a_failed_depth_do_not_count_for_the_next() {
        let clock = Clock::get();
        for limit in [1, 7, 50, 60, 63] {
            let target = LatencyTarget {
                target_ns: 10_000,
                window_ns: 1_000_000,
                percentile: 100.0,
                run: false,
            };
            let mut search = LatencyTargetSearch::new(&target, 64, clock);
            // I/Os in flight: end, start, latency.
            let (mut in_flight, mut now) = (std::collections::BinaryHeap::new(), 1);
            loop {
                while in_flight.len() < search.depth() {
                    let ns = if in_flight.len() < limit { 9000 } else { 11_000 };
                    in_flight.push(std::cmp::Reverse((now + clock.ticks(ns), now, ns)));
                }
                let std::cmp::Reverse((end, start_ticks, latency_ns)) = in_flight.pop().unwrap();
                now = end;
                if search.completed(start_ticks, latency_ns, now) {
                    break;
                }
            }
            assert_eq!(search.result(), Some(limit as u32));
        }
    }

    #[test]
    fn a_slow_start_does_not_end_the_search() {
        let clock = Clock::get();
        let target =
            LatencyTarget { target_ns: 1000, window_ns: 1_000_000, percentile: 90.0, run: false };
        let mut search = LatencyTargetSearch::new(&target, 8, clock);
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
