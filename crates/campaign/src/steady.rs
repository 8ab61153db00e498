//! fio's `steadystate`: what of the intervals is looked at.

use iodyno_job::{Job, SteadyKind, SteadyState};
use iodyno_load::Interval;
use iodyno_stats::{Rule, Steady, SteadyBy};

/// fio's `steadystate_check_interval`, ns.
const CHECK_NS: u64 = 1_000_000_000;

/// Gathers intervals into samples of what is watched, over all jobs of a phase
/// (as fio does within a group that reports as one).
#[derive(Debug)]
pub(crate) struct SteadyWatch {
    asked: SteadyState,
    sample: Sample,
}

#[derive(Debug, Default)]
struct Sample {
    duration_ns: u64,
    ios: u64,
    bytes: u64,
    latency_sum_ns: f64,
}

impl SteadyWatch {
    /// What the first of `jobs` that wants a steady state wants.
    pub(crate) fn of<'j>(mut jobs: impl Iterator<Item = &'j Job>) -> Option<Self> {
        let asked = jobs.find_map(|job| job.time.steadystate.filter(|one| one.duration_ns > 0))?;
        Some(Self { asked, sample: Sample::default() })
    }

    const fn every_ns(&self) -> u64 {
        match self.asked.check_interval_ns {
            0 => CHECK_NS,
            ns => ns,
        }
    }

    /// When it ends.
    pub(crate) fn rule(&self) -> Rule {
        let SteadyState { kind, limit, percent, duration_ns, .. } = self.asked;
        let by = match kind {
            SteadyKind::Iops | SteadyKind::Bandwidth | SteadyKind::Latency => SteadyBy::Deviation,
            SteadyKind::IopsSlope | SteadyKind::BandwidthSlope | SteadyKind::LatencySlope => {
                SteadyBy::Slope
            }
        };
        let samples = usize::try_from(duration_ns / self.every_ns()).unwrap_or(usize::MAX);
        Rule::Steady(Steady { by, limit, percent, samples })
    }

    /// Takes an interval; the next sample, if it is complete: IOPS, bytes per
    /// second, or the mean latency, ns.
    pub(crate) fn take(&mut self, interval: &Interval) -> Option<f64> {
        if interval.draining || interval.start_ns < self.asked.ramp_ns {
            return None;
        }
        let sample = &mut self.sample;
        sample.duration_ns += interval.duration_ns;
        for (_, one) in interval.jobs.iter().flat_map(|job| job.directions.iter()) {
            sample.ios += one.ios;
            sample.bytes += one.bytes;
            sample.latency_sum_ns += one.latency.sum_ns();
        }
        // Intervals end a little late: those that fill it but for a tenth of one do.
        if sample.duration_ns + interval.duration_ns / 10 < self.every_ns() {
            return None;
        }
        let Sample { duration_ns, ios, bytes, latency_sum_ns } = std::mem::take(&mut self.sample);
        let seconds = duration_ns as f64 / 1e9;
        Some(match self.asked.kind {
            SteadyKind::Iops | SteadyKind::IopsSlope => ios as f64 / seconds,
            SteadyKind::Bandwidth | SteadyKind::BandwidthSlope => bytes as f64 / seconds,
            SteadyKind::Latency | SteadyKind::LatencySlope => latency_sum_ns / ios as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_load::{DirectionInterval, JobInterval};
    use iodyno_model::Each;

    #[test]
    fn samples_are_gathered_behind_the_ramp() {
        let mut job = Job::default();
        for (name, value) in [
            ("steadystate", "iops:5%"),
            ("steadystate_duration", "10"),
            ("steadystate_ramp_time", "1"),
            ("steadystate_check_interval", "500ms"),
        ] {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        let mut watch = SteadyWatch::of([&Job::default(), &job].into_iter()).unwrap();
        let Rule::Steady(steady) = watch.rule() else { panic!() };
        assert_eq!((steady.samples, steady.percent, steady.limit), (20, true, 5.0));
        let mut samples = Vec::new();
        for n in 0..20_u64 {
            let read = DirectionInterval { ios: n, ..DirectionInterval::default() };
            let directions = Each { read, ..Each::default() };
            samples.extend(watch.take(&Interval {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000,
                draining: false,
                warnings: Vec::new(),
                jobs: vec![JobInterval { directions, ..JobInterval::default() }],
            }));
        }
        assert_eq!(samples, [2.0 * 60.0, 2.0 * 85.0]);
        assert!(SteadyWatch::of([&Job::default()].into_iter()).is_none());
    }
}
