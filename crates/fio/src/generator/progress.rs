//! Turns fio's cumulative reports into intervals.

use std::collections::BTreeMap;

use iodyno_job::Job;
use iodyno_load::{DirectionInterval, Interval, JobInterval};
use iodyno_model::{DIRECTIONS, DirectionResult, Histogram, Measurement, PerDirection};

use crate::read::Document;

/// State of the reports so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// For each section, the number of its job.
    owners: Vec<usize>,
    /// One for each job.
    ramps: Vec<Ramp>,
    sections: Vec<SectionCounts>,
    /// Start of the first job, ns since 1970 UTC.
    start_ns: Option<i64>,
    /// End of the last interval, ns since the start.
    end_ns: u64,
}

/// A job's ramp time, which is not counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    length_ns: u64,
    /// Its I/Os are timed.
    stamps: bool,
}

impl Ramp {
    pub(super) fn of(job: &Job) -> Self {
        let stamps = !job.report.gtod_reduce && !job.report.disable_lat;
        Self { length_ns: job.time.ramp_ns, stamps }
    }

    /// True if `measurement`, `elapsed_ns` after fio's start, is within the ramp. At its end fio
    /// resets all counts to zero; it counts latencies only from then on.
    fn is_ramping(self, measurement: &Measurement, elapsed_ns: u64) -> bool {
        if self.length_ns == 0 {
            false
        } else if self.stamps {
            measurement.total.iter().all(|one| one.latency.count() == 0)
        } else {
            measurement.duration_ns.unwrap_or(0) + self.length_ns / 2 > elapsed_ns
        }
    }
}

/// Counts reported for a section so far.
#[derive(Debug, Clone, Default)]
struct SectionCounts {
    runtime_ns: u64,
    ios: PerDirection<u64>,
    bytes: PerDirection<u64>,
    errors: PerDirection<u64>,
    latency: PerDirection<Histogram>,
}

impl Progress {
    pub(super) fn new(owners: Vec<usize>, ramps: Vec<Ramp>) -> Self {
        let sections = vec![SectionCounts::default(); owners.len()];
        Self { owners, ramps, sections, ..Self::default() }
    }

    /// Empty interval without a report, which ends `silent_ns` after the last interval.
    pub(super) fn silence(&self, silent_ns: u64) -> Interval {
        Interval {
            start_ns: self.end_ns + silent_ns,
            duration_ns: 0,
            draining: false,
            cut: false,
            warnings: Vec::new(),
            jobs: vec![JobInterval::default(); self.ramps.len()],
        }
    }

    /// Interval from the last report to `report`, which came `elapsed_ns` after fio's start; `None`
    /// if it is not a report of this phase.
    pub(super) fn interval(
        &mut self,
        report: &Document,
        draining: bool,
        elapsed_ns: u64,
    ) -> Option<Interval> {
        if report.measurements.len() != self.owners.len() {
            return None;
        }
        let written_ns = report.written_ns?;
        let runtimes_ns = report.measurements.iter().filter_map(|one| one.duration_ns);
        let longest_ns = runtimes_ns.max().unwrap_or(0);
        let start_ns = *self.start_ns.get_or_insert(written_ns.saturating_sub_unsigned(longest_ns));
        let end_ns =
            u64::try_from(written_ns.saturating_sub(start_ns)).unwrap_or(0).max(self.end_ns);
        let duration_ns = end_ns - self.end_ns;
        let mut jobs = vec![JobInterval::default(); self.ramps.len()];
        let sections = self.sections.iter_mut().zip(&self.owners);
        for ((seen, owner), measurement) in sections.zip(&report.measurements) {
            let (job, ramp) = (&mut jobs[*owner], self.ramps[*owner]);
            if ramp.is_ramping(measurement, elapsed_ns) {
                job.ramping = true;
                job.active_ns = duration_ns;
                continue;
            }
            seen.add_to(job, measurement);
        }
        let interval = Interval {
            start_ns: self.end_ns,
            duration_ns,
            draining,
            cut: false,
            warnings: Vec::new(),
            jobs,
        };
        self.end_ns = end_ns;
        Some(interval)
    }
}

impl SectionCounts {
    fn add_to(&mut self, job: &mut JobInterval, measurement: &Measurement) {
        let runtime_ns = measurement.duration_ns.unwrap_or(0);
        job.ramping = false;
        job.active_ns = job.active_ns.max(runtime_ns.saturating_sub(self.runtime_ns));
        self.runtime_ns = runtime_ns;
        for one in &measurement.total {
            let of = job.directions.of_mut(one.direction);
            let latency = difference(&one.latency, self.latency.of(one.direction));
            let new = DirectionInterval {
                ios: advance(self.ios.of_mut(one.direction), one.ios.unwrap_or(0)),
                bytes: advance(self.bytes.of_mut(one.direction), one.bytes.unwrap_or(0)),
                errors: advance(self.errors.of_mut(one.direction), one.errors.unwrap_or(0)),
                latency,
                ..DirectionInterval::default()
            };
            self.latency.of_mut(one.direction).merge(&new.latency);
            of.ios += new.ios;
            of.bytes += new.bytes;
            of.errors += new.errors;
            of.latency.merge(&new.latency);
        }
    }
}

/// Increase from `seen` to `now`; updates `seen`.
fn advance(seen: &mut u64, now: u64) -> u64 {
    let new = now.saturating_sub(*seen);
    *seen = now.max(*seen);
    new
}

/// Latencies of `now` that are not in `seen`. Their extremes are known as far as the bins and the
/// overall extremes tell.
fn difference(now: &Histogram, seen: &Histogram) -> Histogram {
    let old: BTreeMap<u64, u64> = seen.bins().map(|bin| (bin.low_ns, bin.count)).collect();
    let new = now.bins().filter_map(|mut bin| {
        bin.count = bin.count.saturating_sub(old.get(&bin.low_ns).copied().unwrap_or(0));
        (bin.count > 0).then_some(bin)
    });
    let bins: Vec<_> = new.collect();
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return Histogram::default();
    };
    let (min_ns, max_ns) = (now.min_ns().unwrap_or(0), now.max_ns().unwrap_or(u64::MAX));
    let (low_ns, high_ns) = (first.low_ns.max(min_ns), last.high_ns.min(max_ns));
    let mut difference = Histogram::default();
    difference.add_counts(
        bins.iter().map(|bin| (Histogram::index(bin.low_ns), bin.count)),
        (now.sum_ns() - seen.sum_ns()).max(0.0),
        (sum_squares(now) - sum_squares(seen)).max(0.0),
        low_ns.min(high_ns),
        high_ns,
    );
    difference
}

fn sum_squares(histogram: &Histogram) -> f64 {
    let n = histogram.count() as f64;
    let (mean, deviation) =
        (histogram.mean_ns().unwrap_or(0.0), histogram.stdev_ns().unwrap_or(0.0));
    n * mean * mean + (n - 1.0).max(0.0) * deviation * deviation
}

/// Picks a value of the results, for each direction.
pub(super) fn of_direction<T: Default>(
    measurement: &Measurement,
    mut pick: impl FnMut(&DirectionResult) -> T,
) -> PerDirection<T> {
    let mut each = PerDirection::default();
    for direction in DIRECTIONS {
        if let Some(result) = measurement.result(direction) {
            *each.of_mut(direction) = pick(result);
        }
    }
    each
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::documents;

    /// A report of one job, `ms` after its start.
    fn at(ms: u64, runtime_ms: u64, issued: u64, counted: u64) -> Document {
        let latencies = match counted {
            0 => "{\"N\": 0}".to_owned(),
            n => format!(
                "{{\"min\": 9, \"max\": 9, \"mean\": 9.0, \"stddev\": 0.0, \"N\": {n}, \
                 \"bins\": {{\"9\": {n}}}}}"
            ),
        };
        let (written_ms, bytes) = (1_700_000_000_000 + ms, 512 * issued);
        let text = format!(
            "{{\n\"fio version\": \"fio-3.33\", \"timestamp_ms\": {written_ms}, \"jobs\": \
             [{{\"jobname\": \"a\", \"read\": {{\"total_ios\": {issued}, \"io_bytes\": {bytes}, \
             \"runtime\": {runtime_ms}, \"lat_ns\": {latencies}}}}}]}}\n"
        );
        documents(&text).unwrap().remove(0)
    }

    #[test]
    fn a_ramp_is_not_counted() {
        let mut job = Job::default();
        job.time.ramp_ns = 1_000_000_000;
        for stamps in [true, false] {
            job.report.gtod_reduce = !stamps;
            let mut progress = Progress::new(vec![0], vec![Ramp::of(&job)]);
            // fio resets its counts after one second.
            let reports = [(500, 500, 70), (1500, 500, 50), (2000, 1000, 90), (2010, 1010, 91)];
            let mut seen = Vec::new();
            for (ms, runtime_ms, ios) in reports {
                let counted = if stamps && ms > 1000 { ios } else { 0 };
                let report = at(ms, runtime_ms, ios, counted);
                let interval = progress.interval(&report, false, ms * 1_000_000).unwrap();
                let one = &interval.jobs[0];
                seen.push((one.ramping, one.ios(), one.active_ns / 1_000_000));
                assert_eq!(one.bytes(), 512 * one.ios());
                assert_eq!(interval.start_ns + interval.duration_ns, ms * 1_000_000);
            }
            let expected = [(true, 0, 500), (false, 50, 500), (false, 40, 500), (false, 1, 10)];
            assert_eq!(seen, expected, "stamps: {stamps}");
        }
    }

    proptest! {
        #[test]
        fn differences_add_up_to_the_last_report(
            values in prop::collection::vec(1_u64..1 << 36, 1..200), cuts in 1_usize..9,
        ) {
            let mut all = Histogram::default();
            let mut seen = Histogram::default();
            for part in values.chunks(values.len().div_ceil(cuts)) {
                part.iter().for_each(|value| all.record(*value));
                let new = difference(&all, &seen);
                prop_assert_eq!(new.count(), part.len() as u64);
                seen.merge(&new);
            }
            prop_assert!(seen.bins().eq(all.bins()));
            prop_assert_eq!((seen.min_ns(), seen.max_ns()), (all.min_ns(), all.max_ns()));
            prop_assert!((seen.sum_ns() - all.sum_ns()).abs() <= all.sum_ns() * 1e-9);
        }
    }
}
