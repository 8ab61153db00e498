//! Ends jobs that fall below `rate_min` or `rate_iops_min`.

use iodyno_job::{BlockSize, Job};
use iodyno_load::JobInterval;
use iodyno_model::{DIRECTIONS, PerDirection};

/// fio's `rate_cycle`, ns.
const CYCLE_NS: u64 = 1_000_000_000;
/// Unchecked time at the start, as in fio, ns.
const SETTLE_NS: u64 = 2_000_000_000;

/// The minimum rates of a job, checked once per cycle (fio's `__check_min_rate`, backend.c): when
/// an I/O completes, so that a block that takes longer than a cycle counts over all of its time; or
/// when two blocks are overdue.
#[derive(Debug)]
pub(crate) struct MinRate {
    bytes_per_s: PerDirection<Option<u64>>,
    iops: PerDirection<Option<u64>>,
    cycle_ns: u64,
    settled_ns: u64,
    /// Largest blocks, bytes.
    largest: PerDirection<u64>,
    /// Progress in the current cycle.
    done: PerDirection<Progress>,
}

/// Progress of a direction since its last check.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    ns: u64,
    ios: u64,
    bytes: u64,
}

impl MinRate {
    /// The minimum rates of `job` in its own directions, if it has any.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let mut pace = job.pace.clone();
        for direction in DIRECTIONS {
            if !job.pattern.rw.has(direction) {
                *pace.rate_min.of_mut(direction) = None;
                *pace.rate_iops_min.of_mut(direction) = None;
            }
        }
        let asks = |rates: &PerDirection<Option<u64>>| rates.iter().any(|(_, rate)| rate.is_some());
        (asks(&pace.rate_min) || asks(&pace.rate_iops_min)).then(|| Self {
            bytes_per_s: pace.rate_min,
            iops: pace.rate_iops_min,
            cycle_ns: if pace.rate_cycle_ns > 0 { pace.rate_cycle_ns } else { CYCLE_NS },
            settled_ns: 0,
            largest: job.pattern.bs.map(BlockSize::largest),
            done: PerDirection::default(),
        })
    }

    /// Records an interval in which the job was active throughout. Returns a message if a rate was
    /// too low at the end of a cycle.
    pub(crate) fn check(&mut self, interval: &JobInterval) -> Option<String> {
        if self.settled_ns < SETTLE_NS {
            self.settled_ns += interval.active_ns;
            return None;
        }
        for (direction, counts) in interval.directions.iter() {
            let done = self.done.of_mut(direction);
            done.ns += interval.active_ns;
            done.ios += counts.ios;
            done.bytes += counts.bytes;
            let seconds = done.ns as f64 / 1e9;
            let block = *self.largest.of(direction) as f64;
            let blocks_per_s = [
                self.bytes_per_s.of(direction).map(|least| least as f64 / block),
                self.iops.of(direction).map(|least| least as f64),
            ];
            let is_late = blocks_per_s.into_iter().flatten().any(|least| least * seconds >= 2.0);
            if done.ns < self.cycle_ns || !(counts.ios > 0 || is_late) {
                continue;
            }
            let Progress { ios, bytes, .. } = std::mem::take(done);
            let limits = [
                ("rate_min", "bytes per second", self.bytes_per_s.of(direction), bytes),
                ("rate_iops_min", "IOPS", self.iops.of(direction), ios),
            ];
            let slow = limits.into_iter().find_map(|(option, unit, least, done)| {
                let (least, rate) = ((*least)?, done as f64 / seconds);
                let name = direction.name();
                (rate < least as f64)
                    .then(|| format!("{option}={least} was not met: {name} made {rate:.0} {unit}"))
            });
            if slow.is_some() {
                return slow;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use iodyno_load::DirectionInterval;

    use super::*;

    #[test]
    fn a_slow_cycle_is_reported() {
        let mut job = Job::default();
        assert!(MinRate::new(&job).is_none());
        job.pace.rate_iops_min.write = Some(100);
        assert!(MinRate::new(&job).is_none(), "it only reads");
        job.pace.rate_iops_min.read = Some(100);
        let mut least = MinRate::new(&job).unwrap();
        let interval = |ios| JobInterval {
            active_ns: 250_000_000,
            directions: PerDirection {
                read: DirectionInterval { ios, ..DirectionInterval::default() },
                ..PerDirection::default()
            },
            ..JobInterval::default()
        };
        for ios in [0, 0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 10] {
            assert_eq!(least.check(&interval(ios)), None);
        }
        for ios in [33, 33, 33] {
            assert_eq!(least.check(&interval(ios)), None);
        }
        let message = least.check(&interval(0)).unwrap();
        assert!(message.contains("rate_iops_min=100") && message.contains("99 IOPS"), "{message}");
    }

    #[test]
    fn blocks_that_take_longer_than_a_cycle_count_for_all_of_their_time() {
        let mut job = Job::default();
        job.pace.rate_min.read = Some(1000);
        let mut least = MinRate::new(&job).unwrap();
        let interval = |ios| JobInterval {
            active_ns: 1_000_000_000,
            directions: PerDirection {
                read: DirectionInterval { ios, bytes: ios * 4096, ..DirectionInterval::default() },
                ..PerDirection::default()
            },
            ..JobInterval::default()
        };
        // 4096 bytes in 4 s, again and again.
        for second in 0..40 {
            assert_eq!(least.check(&interval(u64::from(second % 4 == 1))), None, "{second}");
        }
        assert!((0..10).any(|_| least.check(&interval(0)).is_some()), "nothing is too little");
    }
}
