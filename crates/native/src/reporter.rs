//! From the workers' counts to the intervals that the observer sees.

use std::sync::Arc;

use iodyno_load::{Interval, JobInterval};

use crate::tally::{Reading, Tally};

/// All I/Os of this long failing means that the device is gone, whatever it
/// answers: a surprise removal is EIO on most kernels.
const HOPELESS_NS: u64 = 1_000_000_000;

/// Reads the counts of all threads, by job.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    jobs: Vec<JobCounts>,
    reported_ns: u64,
}

/// One job's threads, and what they did in all.
#[derive(Debug, Default)]
pub(crate) struct JobCounts {
    bs: u64,
    threads: Vec<(Arc<Tally>, Reading)>,
    failing_since_ns: Option<u64>,
    /// I/Os that succeeded.
    pub(crate) ios: u64,
    /// Bytes that they moved.
    pub(crate) bytes: u64,
    /// I/Os that failed.
    pub(crate) errors: u64,
    /// All I/Os have failed for a second.
    pub(crate) hopeless: bool,
}

impl Reporter {
    /// Adds a job of block size `bs` with the counts of its threads.
    pub(crate) fn add(&mut self, bs: u64, tallies: impl IntoIterator<Item = Arc<Tally>>) {
        let threads = tallies.into_iter().map(|tally| (tally, Reading::default())).collect();
        self.jobs.push(JobCounts { bs, threads, ..JobCounts::default() });
    }

    /// What was completed since the last interval, which ended where this one begins.
    pub(crate) fn interval(&mut self, now_ns: u64, draining: bool) -> Interval {
        let start_ns = std::mem::replace(&mut self.reported_ns, now_ns);
        let jobs = self.jobs.iter_mut().map(|job| job.interval(start_ns, now_ns)).collect();
        Interval { start_ns, duration_ns: now_ns - start_ns, draining, jobs }
    }

    /// For each job, in order.
    pub(crate) fn jobs(&self) -> &[JobCounts] {
        &self.jobs
    }
}

impl JobCounts {
    fn interval(&mut self, start_ns: u64, now_ns: u64) -> JobInterval {
        let mut interval = JobInterval::default();
        for (tally, reading) in &mut self.threads {
            interval.errors += reading.take(tally, &mut interval.latency);
        }
        let ios = interval.latency.count();
        interval.bytes = ios * self.bs;
        self.ios += ios;
        self.bytes += interval.bytes;
        self.errors += interval.errors;
        if ios > 0 {
            self.failing_since_ns = None;
        } else if interval.errors > 0 {
            let since_ns = *self.failing_since_ns.get_or_insert(start_ns);
            self.hopeless |= now_ns - since_ns >= HOPELESS_NS;
        }
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_join_and_hold_all_threads() {
        let tallies = [Arc::new(Tally::default()), Arc::new(Tally::default())];
        let mut reporter = Reporter::default();
        reporter.add(512, tallies.clone());
        tallies[0].record(10);
        tallies[1].record(30);
        let first = reporter.interval(100, false);
        tallies[1].record(20);
        let second = reporter.interval(250, false);
        assert_eq!((first.start_ns, first.duration_ns), (0, 100));
        assert_eq!((second.start_ns, second.duration_ns), (100, 150));
        assert_eq!(first.jobs[0].latency.mean_ns(), Some(20.0));
        assert_eq!(first.jobs[0].bytes, 1024);
        assert_eq!((reporter.jobs()[0].ios, reporter.jobs()[0].bytes), (3, 1536));
    }

    #[test]
    fn a_second_of_nothing_but_errors_is_hopeless() {
        let tally = Arc::new(Tally::default());
        let mut reporter = Reporter::default();
        reporter.add(512, [tally.clone()]);
        let mut hopeless_after = |turns: u64, good_turn: Option<u64>, from_ns: u64| {
            for turn in 1..=turns {
                tally.fail();
                if good_turn == Some(turn) {
                    tally.record(1);
                }
                reporter.interval(from_ns + turn * 100_000_000, false);
            }
            reporter.jobs()[0].hopeless
        };
        assert!(!hopeless_after(15, Some(8), 0), "one success starts anew");
        assert!(hopeless_after(3, None, 1_500_000_000));
    }
}
