//! The p99 of a running phase: its required and its current precision.

use iodyno_job::Job;
use iodyno_judge::{clustering, tail};
use iodyno_load::{DirectionRecord, Recorder};
use iodyno_model::{Histogram, PerDirection};
use iodyno_stats::QuantileInterval;

use super::series::{Cut, summed};
use crate::plan::Stop;

/// The quantile.
pub(crate) const Q: f64 = 0.99;

/// Required precision for jobs that run at the same time; `None` if not required, or if their I/Os
/// have no timestamps.
pub(crate) fn required_precision<'j>(
    stop: &Stop,
    jobs: impl Iterator<Item = &'j Job> + Clone,
) -> Option<f64> {
    if jobs.clone().any(|job| job.report.gtod_reduce) {
        return None;
    }
    stop.p99_at(jobs.map(Job::outstanding).sum())
}

/// The p99, ns, of what was recorded after the `cut`, in the direction with the widest interval;
/// `None` if unknown in one of them.
pub(crate) fn p99(recorder: &Recorder, cut: Cut, level: f64) -> Option<QuantileInterval> {
    let records = || recorder.jobs.iter().flat_map(|job| job.directions.iter());
    let cut_ns = cut.ns(&summed(records().map(|(_, one)| &one.series)), level);
    let mut by_direction: PerDirection<Vec<&DirectionRecord>> = PerDirection::default();
    records().for_each(|(direction, one)| by_direction.of_mut(direction).push(one));
    let found = by_direction.iter().filter_map(|(_, records)| {
        let mut bins = Histogram::default();
        records.iter().for_each(|one| bins.merge(&one.counted_from(cut_ns).latency));
        (bins.count() > 0).then(|| {
            let known = clustering(&bins, &windows(records, cut_ns), &[Q * 100.0]);
            tail(&bins, known.first()?.effect?, Q, level)
        })
    });
    let found: Vec<QuantileInterval> = found.collect::<Option<_>>()?;
    let width = QuantileInterval::relative_half_width;
    found.into_iter().max_by(|a, b| width(a).total_cmp(&width(b)))
}

/// Latencies of several jobs from `cut_ns` on by time windows: the windows of the job that has the
/// fewest; the others' are assigned by their start.
pub(crate) fn windows<'r>(records: &[&'r DirectionRecord], cut_ns: u64) -> Vec<Vec<&'r Histogram>> {
    let of_each = records.iter().map(|one| one.latencies_from(cut_ns).collect::<Vec<_>>());
    let of_each: Vec<Vec<(u64, &Histogram)>> = of_each.filter(|one| !one.is_empty()).collect();
    let Some(fewest) = of_each.iter().min_by_key(|one| one.len()) else { return Vec::new() };
    let starts: Vec<u64> = fewest.iter().map(|(start_ns, _)| *start_ns).collect();
    let mut windows = vec![Vec::new(); starts.len()];
    for (start_ns, latency) in of_each.into_iter().flatten() {
        let behind = starts.partition_point(|start| *start <= start_ns);
        windows[behind.saturating_sub(1)].push(latency);
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_load::{DirectionInterval, Interval, JobInterval};

    /// 100 windows of two jobs; the second begins 5 windows later, and `clustered` puts all slow
    /// I/Os into one window of ten.
    fn recorded(clustered: bool) -> Recorder {
        let mut recorder = Recorder::default();
        for n in 0..100_u64 {
            let slow = match (clustered, n % 10) {
                (true, 3) => 200,
                (true, _) => 0,
                (false, _) => 20,
            };
            let job = |runs: bool| {
                let mut latency = Histogram::default();
                (0..1000 - slow).for_each(|i| latency.record(80_000 + i * 10));
                (0..slow).for_each(|i| latency.record(1_000_000 + i * 10_000));
                let read = DirectionInterval { ios: 1000, latency, ..DirectionInterval::default() };
                match runs {
                    true => JobInterval {
                        active_ns: 100_000_000,
                        directions: PerDirection { read, ..PerDirection::default() },
                        ..JobInterval::default()
                    },
                    false => JobInterval::default(),
                }
            };
            let interval = Interval {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000,
                draining: false,
                cut: false,
                warnings: Vec::new(),
                jobs: vec![job(true), job(n >= 5)],
            };
            recorder.record(&interval, None);
        }
        recorder
    }

    #[test]
    fn clustering_widens_the_p99_interval() {
        let width = |clustered| {
            let found = p99(&recorded(clustered), Cut::Nothing, 0.95).unwrap();
            found.relative_half_width()
        };
        assert!(width(true) > 4.0 * width(false), "{} {}", width(true), width(false));
    }

    #[test]
    fn windows_hold_all_ios() {
        let recorder = recorded(false);
        let records: Vec<&DirectionRecord> =
            recorder.jobs.iter().map(|job| &job.directions.read).collect();
        let windows = windows(&records, 0);
        assert_eq!(windows.len(), 95);
        let count = |window: &Vec<&Histogram>| window.iter().map(|one| one.count()).sum::<u64>();
        assert_eq!(windows.iter().map(count).sum::<u64>(), 195_000);
        // I/Os before the second job began are in the first window.
        assert_eq!((count(&windows[0]), count(&windows[1])), (7000, 2000));
    }
}
