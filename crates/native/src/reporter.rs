//! Turns the workers' counts into the intervals that the observer sees.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use iodyno_load::{Interval, IoRow, JobInterval, Whole};
use iodyno_model::PerDirection;

use crate::tally::{Counts, Tallies, Tally, TallyReader};

/// If all I/Os fail for this long, jobs that give up end: the device is probably gone.
const ALL_FAILED_NS: u64 = 1_000_000_000;

/// Reads the counts of all threads, by job.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    jobs: Vec<JobCounts>,
    reported_ns: u64,
}

/// A job's threads and their totals.
#[derive(Debug, Default)]
pub(crate) struct JobCounts {
    threads: Vec<ThreadCounts>,
    /// Latencies are measured.
    timed: bool,
    rows: Option<Receiver<Vec<IoRow>>>,
    failing_since_ns: Option<u64>,
    /// Totals.
    pub(crate) whole: PerDirection<Whole>,
    /// Those errors of `whole.write` that are of syncs.
    pub(crate) sync_errors: u64,
    /// All I/Os have failed for a second.
    pub(crate) all_failed: bool,
    /// I/Os that completed or failed in the last interval.
    pub(crate) completed: u64,
}

#[derive(Debug)]
struct ThreadCounts {
    tallies: Arc<Tallies>,
    directions: PerDirection<Option<TallyReader>>,
    sync: Option<TallyReader>,
    split: PerDirection<Option<[TallyReader; 2]>>,
}

impl Reporter {
    /// Adds a job with the counts of its threads.
    pub(crate) fn add(
        &mut self,
        timed: bool,
        tallies: impl IntoIterator<Item = Arc<Tallies>>,
        rows: Option<Receiver<Vec<IoRow>>>,
    ) {
        let threads = tallies
            .into_iter()
            .map(|tallies| ThreadCounts {
                directions: tallies
                    .directions
                    .map(|tally| tally.is_some().then(TallyReader::default)),
                sync: tallies.sync.is_some().then(TallyReader::default),
                split: tallies.split.map(|tallies| tallies.is_some().then(Default::default)),
                tallies,
            })
            .collect();
        self.jobs.push(JobCounts { threads, timed, rows, ..JobCounts::default() });
    }

    /// The completions since the last interval, which ended where this one begins. The caller fills
    /// in how long each job was active.
    pub(crate) fn interval(&mut self, now_ns: u64, draining: bool) -> Interval {
        let start_ns = std::mem::replace(&mut self.reported_ns, now_ns);
        let jobs = self.jobs.iter_mut().map(|job| job.interval(start_ns, now_ns)).collect();
        let duration_ns = now_ns - start_ns;
        Interval { start_ns, duration_ns, draining, cut: false, warnings: Vec::new(), jobs }
    }

    /// Restarts the next interval where this one began: the clock was set back.
    pub(crate) const fn rewind(&mut self, interval: &Interval) {
        self.reported_ns = interval.start_ns;
    }

    /// The counts of each job, in order.
    pub(crate) fn jobs(&self) -> &[JobCounts] {
        &self.jobs
    }
}

impl JobCounts {
    fn interval(&mut self, start_ns: u64, now_ns: u64) -> JobInterval {
        let mut interval = JobInterval::default();
        let (mut ios, mut errors) = (0, 0);
        for thread in &mut self.threads {
            for (direction, tally) in thread.tallies.directions.iter() {
                let reading = thread.directions.of_mut(direction);
                let (Some(tally), Some(reading)) = (tally, reading) else { continue };
                let (part, whole) =
                    (interval.directions.of_mut(direction), self.whole.of_mut(direction));
                let counts = read_counts(reading, tally);
                let count = counts.latency.count();
                ios += count;
                errors += counts.errors;
                part.ios += count;
                part.bytes += counts.bytes;
                part.errors += counts.errors;
                if self.timed {
                    part.latency.merge(&counts.latency);
                }
                whole.ios += count;
                whole.bytes += counts.bytes;
                whole.errors += counts.errors;
                whole.short_ios += counts.short;
            }
            for (direction, tallies) in thread.tallies.split.iter() {
                let readings = thread.split.of_mut(direction);
                let (Some(tallies), Some(readings)) = (tallies, readings) else { continue };
                let both = interval.directions.of_mut(direction).split.get_or_insert_default();
                let [first, then] = readings;
                both.submission.merge(&read_counts(first, &tallies[0]).latency);
                both.completion.merge(&read_counts(then, &tallies[1]).latency);
            }
            if let (Some(tally), Some(reading)) = (&thread.tallies.sync, &mut thread.sync) {
                let counts = read_counts(reading, tally);
                interval.sync.merge(&counts.latency);
                // Acknowledged writes that are not durable.
                errors += counts.errors;
                interval.directions.write.errors += counts.errors;
                self.whole.write.errors += counts.errors;
                self.sync_errors += counts.errors;
            }
        }
        if let Some(rows) = &self.rows {
            interval.rows.extend(rows.try_iter().flatten());
        }
        self.completed = ios + errors + interval.sync.count();
        if ios > 0 {
            self.failing_since_ns = None;
        } else if errors > 0 {
            let since_ns = *self.failing_since_ns.get_or_insert(start_ns);
            self.all_failed |= now_ns - since_ns >= ALL_FAILED_NS;
        }
        interval
    }
}

fn read_counts(reading: &mut TallyReader, tally: &Tally) -> Counts {
    let mut counts = Counts::default();
    reading.read_into(tally, &mut counts);
    counts
}

#[cfg(test)]
mod tests {
    use iodyno_load::DirectionInterval;
    use iodyno_model::Histogram;

    use super::*;

    fn tallies() -> Arc<Tallies> {
        Arc::new(Tallies::new(|direction| direction == iodyno_model::Direction::Read, false))
    }

    #[test]
    fn intervals_join_and_hold_all_threads() {
        let threads = [tallies(), tallies()];
        let mut reporter = Reporter::default();
        reporter.add(true, threads.clone(), None);
        threads[0].table()[0].record(10, 512, 1);
        threads[1].table()[0].record(30, 512, 1);
        let first = reporter.interval(100, false);
        threads[1].table()[0].record(20, 512, 1);
        let second = reporter.interval(250, false);
        assert_eq!((first.start_ns, first.duration_ns), (0, 100));
        assert_eq!((second.start_ns, second.duration_ns), (100, 150));
        let read = &first.jobs[0].directions.read;
        assert_eq!((read.latency.mean_ns(), read.bytes, read.ios), (Some(20.0), 1024, 2));
        assert_eq!(second.jobs[0].directions.read.ios, 1);
        let whole = reporter.jobs()[0].whole.read;
        assert_eq!((whole.ios, whole.bytes), (3, 1536));
    }

    #[test]
    fn both_parts_of_latencies_are_reported_where_they_are_counted() {
        let read = |direction| direction == iodyno_model::Direction::Read;
        let threads = [(); 2].map(|()| Arc::new(Tallies::new(read, false).split()));
        let mut reporter = Reporter::default();
        reporter.add(true, threads.clone(), None);
        for (thread, ns) in threads.iter().zip([10, 30]) {
            let [submission, completion] = &**thread.split.read.as_ref().unwrap();
            submission.record(ns, 0, 1);
            completion.record(ns * 2, 0, 1);
        }
        let interval = reporter.interval(100, false);
        let split = interval.jobs[0].directions.read.split.as_ref().unwrap();
        let means = (split.submission.mean_ns(), split.completion.mean_ns());
        assert_eq!(means, (Some(20.0), Some(40.0)));
        assert!(interval.jobs[0].directions.write.split.is_none());
        let next = reporter.interval(200, false);
        let split = next.jobs[0].directions.read.split.as_ref().unwrap();
        assert_eq!(split.submission.count(), 0);
    }

    #[test]
    fn unstamped_ios_have_no_latency() {
        let thread = tallies();
        let mut reporter = Reporter::default();
        reporter.add(false, [Arc::clone(&thread)], None);
        thread.table()[0].count(512, 1);
        let interval = reporter.interval(100, false);
        let read: &DirectionInterval = &interval.jobs[0].directions.read;
        assert_eq!((read.ios, &read.latency), (1, &Histogram::default()));
    }

    #[test]
    fn a_sync_that_fails_is_an_error_of_writing() {
        let writes = |direction| direction == iodyno_model::Direction::Write;
        let thread = Arc::new(Tallies::new(writes, true));
        let mut reporter = Reporter::default();
        reporter.add(true, [Arc::clone(&thread)], None);
        thread.table()[1].record(10, 512, 1);
        thread.table()[3].count_error();
        let interval = reporter.interval(100, false);
        let write = &interval.jobs[0].directions.write;
        assert_eq!((write.ios, write.errors, interval.jobs[0].sync.count()), (1, 1, 0));
        let job = &reporter.jobs()[0];
        assert_eq!((job.whole.write.errors, job.sync_errors, job.completed), (1, 1, 2));
    }

    #[test]
    fn a_second_of_errors_alone_is_detected() {
        let thread = tallies();
        let mut reporter = Reporter::default();
        reporter.add(true, [Arc::clone(&thread)], None);
        let tally = thread.table()[0];
        tally.count_error();
        reporter.interval(400_000_000, false);
        tally.count_error();
        tally.record(1, 512, 1);
        reporter.interval(800_000_000, false);
        for _ in 0..2 {
            tally.count_error();
            reporter.interval(1_200_000_000, false);
            assert!(!reporter.jobs()[0].all_failed);
        }
        tally.count_error();
        reporter.interval(1_900_000_000, false);
        assert!(reporter.jobs()[0].all_failed);
        assert_eq!(reporter.jobs()[0].whole.read.errors, 5);
    }
}
