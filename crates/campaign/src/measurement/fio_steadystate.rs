//! fio's `steadystate`: samples the intervals, and ends the jobs that are steady.

use iodyno_job::{Job, SteadyKind, SteadyState};
use iodyno_load::Interval;
use iodyno_model::SteadySample;
use iodyno_stats::{Decision, Steady, SteadyBy, StopRule, Stopper};

/// fio's default `steadystate_check_interval`, ns.
const CHECK_NS: u64 = 1_000_000_000;

/// Gathers intervals into samples, of one job or, as in fio, of a reporting group, whose jobs end
/// together.
#[derive(Debug)]
pub(crate) struct SteadyWatch {
    asked: SteadyState,
    /// Numbers of its jobs in the phase.
    jobs: Vec<usize>,
    group: Option<u32>,
    sample: SteadySample,
    samples: Vec<SteadySample>,
    /// Watched value of each sample.
    values: Vec<f64>,
    stopper: Stopper,
    /// The steady state was reached.
    attained: bool,
}

impl SteadyWatch {
    /// Watches for those of a phase's `jobs` that ask for a steady state.
    pub(crate) fn of<'j>(jobs: impl Iterator<Item = &'j Job>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (number, job) in jobs.enumerate() {
            let Some(asked) = job.time.steadystate.filter(|one| one.duration_ns > 0) else {
                continue;
            };
            let group = job.threads.group_reporting.then_some(job.threads.group);
            match all.iter_mut().find(|one| group.is_some() && one.group == group) {
                Some(one) => one.jobs.push(number),
                None => all.push(Self {
                    asked,
                    jobs: vec![number],
                    group,
                    sample: SteadySample::default(),
                    samples: Vec::new(),
                    values: Vec::new(),
                    stopper: Stopper::new(rule(asked)),
                    attained: false,
                }),
            }
        }
        all
    }

    /// True if the steady state that a job of the phase asked for was reached; `None` if it asked
    /// for none.
    pub(crate) fn attained(all: &[Self], number: usize) -> Option<bool> {
        all.iter().find(|one| one.jobs.contains(&number)).map(|one| one.attained)
    }

    /// Samples by which these jobs were judged, if they were judged on their own; for jobs judged
    /// together the first one has them.
    pub(crate) fn samples(all: &[Self], jobs: &[usize]) -> Vec<SteadySample> {
        let own = |one: &&Self| {
            one.jobs.first() == jobs.first() && jobs.iter().all(|job| one.jobs.contains(job))
        };
        all.iter().find(own).map_or_else(Vec::new, |one| {
            let first = one.samples.len().saturating_sub(wanted(one.asked));
            one.samples[first..].to_vec()
        })
    }

    /// Adds an interval; returns the jobs to end, once they are steady.
    pub(crate) fn take(&mut self, interval: &Interval) -> Option<&[usize]> {
        if self.attained {
            return None;
        }
        let sample = self.next_sample(interval)?;
        self.samples.push(sample);
        self.values.push(value(self.asked, sample));
        let elapsed_s = (interval.start_ns + interval.duration_ns) as f64 / 1e9;
        self.attained = self.stopper.observe(elapsed_s, &self.values) != Decision::Continue;
        self.attained.then_some(&self.jobs)
    }

    /// Next sample, if `interval` completes it.
    fn next_sample(&mut self, interval: &Interval) -> Option<SteadySample> {
        let jobs = || self.jobs.iter().filter_map(|number| interval.jobs.get(*number));
        // Jobs that begin, end or have ended by then have no rate in it.
        let runs = jobs().any(|job| job.active_ns >= interval.duration_ns);
        if interval.cut || interval.draining || interval.start_ns < self.asked.ramp_ns || !runs {
            return None;
        }
        let sample = &mut self.sample;
        sample.duration_ns += interval.duration_ns;
        for (_, one) in jobs().flat_map(|job| job.directions.iter()) {
            sample.ios += one.ios;
            sample.bytes += one.bytes;
            sample.latency_sum_ns += one.latency.sum_ns();
        }
        // Intervals end a little late: accept a sample that lacks up to a tenth of one.
        if sample.duration_ns + interval.duration_ns / 10 < every_ns(self.asked) {
            return None;
        }
        Some(std::mem::take(&mut self.sample))
    }
}

/// Watched value: IOPS, bytes per second, or mean latency, ns.
fn value(asked: SteadyState, sample: SteadySample) -> f64 {
    let SteadySample { duration_ns, ios, bytes, latency_sum_ns } = sample;
    let seconds = duration_ns as f64 / 1e9;
    match asked.kind {
        SteadyKind::Iops | SteadyKind::IopsSlope => ios as f64 / seconds,
        SteadyKind::Bandwidth | SteadyKind::BandwidthSlope => bytes as f64 / seconds,
        SteadyKind::Latency | SteadyKind::LatencySlope => latency_sum_ns / ios as f64,
    }
}

/// Check interval, ns.
const fn every_ns(asked: SteadyState) -> u64 {
    match asked.check_interval_ns {
        0 => CHECK_NS,
        ns => ns,
    }
}

/// Number of samples that it has to be steady over.
fn wanted(asked: SteadyState) -> usize {
    usize::try_from(asked.duration_ns / every_ns(asked)).unwrap_or(usize::MAX)
}

/// Its stop rule.
fn rule(asked: SteadyState) -> StopRule {
    let SteadyState { kind, limit, percent, .. } = asked;
    let by = match kind {
        SteadyKind::Iops | SteadyKind::Bandwidth | SteadyKind::Latency => SteadyBy::Deviation,
        SteadyKind::IopsSlope | SteadyKind::BandwidthSlope | SteadyKind::LatencySlope => {
            SteadyBy::Slope
        }
    };
    StopRule::Steady(Steady { by, limit, percent, samples: wanted(asked) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_load::{DirectionInterval, JobInterval};
    use iodyno_model::PerDirection;

    fn job(options: &[(&str, &str)]) -> Job {
        let mut job = Job::default();
        for (name, value) in options {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        job
    }

    /// The `n`th interval of 100 ms, with this many I/Os of each job; `None`: the job is over.
    fn interval(n: u64, ios: &[Option<u64>]) -> Interval {
        let job = |ios: &Option<u64>| {
            let read = DirectionInterval { ios: ios.unwrap_or(0), ..DirectionInterval::default() };
            let active_ns = ios.map_or(0, |_| 100_000_000);
            let directions = PerDirection { read, ..PerDirection::default() };
            JobInterval { active_ns, directions, ..JobInterval::default() }
        };
        Interval {
            start_ns: n * 100_000_000,
            duration_ns: 100_000_000,
            draining: false,
            cut: false,
            warnings: Vec::new(),
            jobs: ios.iter().map(job).collect(),
        }
    }

    #[test]
    fn samples_start_after_the_ramp() {
        let job = job(&[
            ("steadystate", "iops:5%"),
            ("steadystate_duration", "10"),
            ("steadystate_ramp_time", "1"),
            ("steadystate_check_interval", "500ms"),
        ]);
        let mut all = SteadyWatch::of([&Job::default(), &job].into_iter());
        let [watch] = all.as_mut_slice() else { panic!("{all:?}") };
        let StopRule::Steady(steady) = rule(watch.asked) else { panic!() };
        assert_eq!((steady.samples, steady.percent, steady.limit), (20, true, 5.0));
        for n in 0..20 {
            // The other job's I/Os do not count.
            assert_eq!(watch.take(&interval(n, &[Some(1_000_000), Some(n)])), None);
        }
        assert_eq!(watch.values, [2.0 * 60.0, 2.0 * 85.0]);
        assert!(SteadyWatch::of([&Job::default()].into_iter()).is_empty());
    }

    #[test]
    fn steady_job_or_group_is_ended() {
        let asked = [("steadystate", "iops:5%"), ("steadystate_duration", "3")];
        let (alone, other) = (job(&asked), job(&[]));
        let together = job(&[asked[0], asked[1], ("group_reporting", "1")]);
        // One is steady, the other is not: the first ends by itself, a group never does.
        for (jobs, expected) in [
            ([&alone, &alone, &other], (Some(true), Some(false))),
            ([&together, &together, &other], (Some(false), Some(false))),
        ] {
            let mut all = SteadyWatch::of(jobs.into_iter());
            let mut ended: Vec<usize> = Vec::new();
            for n in 0..40 {
                let interval = interval(n, &[Some(100), Some(100 + 20 * n), Some(7)]);
                ended.extend(all.iter_mut().filter_map(|one| one.take(&interval)).flatten());
            }
            let attained = |number| SteadyWatch::attained(&all, number);
            assert_eq!((attained(0), attained(1)), expected);
            assert_eq!(attained(2), None);
            assert_eq!(ended, if expected.0 == Some(true) { vec![0] } else { vec![] });
            // The last three seconds: of the first job, or of both, kept with the first one.
            let ios = |jobs: &[usize]| {
                let samples = SteadyWatch::samples(&all, jobs);
                samples.iter().map(|sample| sample.ios).collect::<Vec<_>>()
            };
            match expected.0 {
                Some(true) => assert_eq!((ios(&[0]), ios(&[1]).len()), (vec![1000; 3], 3)),
                _ => assert_eq!((ios(&[0]), ios(&[1])), (ios(&[0, 1]), vec![])),
            }
            assert_eq!((ios(&[0]).len(), ios(&[2])), (3, vec![]));
        }
        let mut all = SteadyWatch::of([&other, &together, &together].into_iter());
        let ended = (0..40).find_map(|n| {
            let interval = interval(n, &[Some(n), Some(100), Some(200)]);
            all[0].take(&interval).map(<[usize]>::to_vec)
        });
        assert_eq!(ended, Some(vec![1, 2]));
    }

    #[test]
    fn a_job_that_is_over_is_not_steady() {
        let job = job(&[("steadystate", "iops:5"), ("steadystate_duration", "3")]);
        let mut all = SteadyWatch::of([&job].into_iter());
        for n in 0..100 {
            let ios = (n < 10).then_some(100);
            assert_eq!(all[0].take(&interval(n, &[ios])), None, "{n}");
        }
    }
}
