//! `rate_min` and `rate_iops_min`: a job that is slower ends.

use iodyno_job::Job;
use iodyno_load::JobInterval;
use iodyno_model::{DIRECTIONS, Each};

/// fio's `rate_cycle`, ns.
const CYCLE_NS: u64 = 1_000_000_000;
/// As in fio, it may settle first.
const SETTLE_NS: u64 = 2_000_000_000;

/// The least that a job has to do, looked at once a cycle (fio's
/// `__check_min_rate`, backend.c).
#[derive(Debug)]
pub(crate) struct LeastRate {
    bytes_per_s: Each<Option<u64>>,
    iops: Each<Option<u64>>,
    cycle_ns: u64,
    settled_ns: u64,
    /// Of this cycle.
    ns: u64,
    ios: Each<u64>,
    bytes: Each<u64>,
}

impl LeastRate {
    /// What `job` asks for, if it does, of the directions that it has.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let mut pace = job.pace.clone();
        for direction in DIRECTIONS {
            if !job.pattern.rw.has(direction) {
                *pace.rate_min.of_mut(direction) = None;
                *pace.rate_iops_min.of_mut(direction) = None;
            }
        }
        let asks = |rates: &Each<Option<u64>>| rates.iter().any(|(_, rate)| rate.is_some());
        (asks(&pace.rate_min) || asks(&pace.rate_iops_min)).then(|| Self {
            bytes_per_s: pace.rate_min,
            iops: pace.rate_iops_min,
            cycle_ns: if pace.rate_cycle_ns > 0 { pace.rate_cycle_ns } else { CYCLE_NS },
            settled_ns: 0,
            ns: 0,
            ios: Each::default(),
            bytes: Each::default(),
        })
    }

    /// Takes down what the job did in an interval in which it was to work all
    /// the time. Says what was too slow once a cycle is over.
    pub(crate) fn check(&mut self, interval: &JobInterval) -> Option<String> {
        if self.settled_ns < SETTLE_NS {
            self.settled_ns += interval.active_ns;
            return None;
        }
        self.ns += interval.active_ns;
        for (direction, one) in interval.directions.iter() {
            *self.ios.of_mut(direction) += one.ios;
            *self.bytes.of_mut(direction) += one.bytes;
        }
        if self.ns < self.cycle_ns {
            return None;
        }
        let seconds = std::mem::take(&mut self.ns) as f64 / 1e9;
        let ios = std::mem::take(&mut self.ios);
        let bytes = std::mem::take(&mut self.bytes);
        let looks = [
            ("rate_min", "bytes per second", &self.bytes_per_s, &bytes),
            ("rate_iops_min", "IOPS", &self.iops, &ios),
        ];
        looks.into_iter().find_map(|(option, unit, least, done)| {
            least.iter().find_map(|(direction, least)| {
                let (least, rate) = ((*least)?, *done.of(direction) as f64 / seconds);
                (rate < least as f64).then(|| {
                    let name = direction.name();
                    format!("{option}={least} was not met: {name} made {rate:.0} {unit}")
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use iodyno_load::DirectionInterval;

    use super::*;

    #[test]
    fn a_cycle_that_is_too_slow_is_told() {
        let mut job = Job::default();
        assert!(LeastRate::new(&job).is_none());
        job.pace.rate_iops_min.write = Some(100);
        assert!(LeastRate::new(&job).is_none(), "it only reads");
        job.pace.rate_iops_min.read = Some(100);
        let mut least = LeastRate::new(&job).unwrap();
        let interval = |ios| JobInterval {
            active_ns: 250_000_000,
            directions: Each {
                read: DirectionInterval { ios, ..DirectionInterval::default() },
                ..Each::default()
            },
            ..JobInterval::default()
        };
        for ios in [0, 0, 0, 0, 0, 0, 0, 0, 90, 0, 0, 10] {
            assert_eq!(least.check(&interval(ios)), None);
        }
        for ios in [33, 33, 33] {
            assert_eq!(least.check(&interval(ios)), None);
        }
        let said = least.check(&interval(0)).unwrap();
        assert!(said.contains("rate_iops_min=100") && said.contains("99 IOPS"), "{said}");
    }
}
