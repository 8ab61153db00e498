//! The 99 % percentile while a phase goes on: whether it is asked for, and how
//! well it is known.

use iodyno_job::Job;
use iodyno_judge::tail;
use iodyno_load::Recorder;
use iodyno_model::{Each, Histogram};
use iodyno_stats::QuantileInterval;

use crate::measure::{Cut, summed};
use crate::plan::Stop;

/// The percentile that is looked at.
pub(crate) const Q: f64 = 0.99;

/// How well it has to be known of jobs that run at the same time; `None`: it is
/// not asked for, or nobody stamps their I/Os.
pub(crate) fn asked<'j>(stop: &Stop, jobs: impl Iterator<Item = &'j Job> + Clone) -> Option<f64> {
    if jobs.clone().any(|job| job.report.gtod_reduce) {
        return None;
    }
    stop.p99_at(jobs.map(Job::outstanding).sum())
}

/// The percentile, ns, of what was recorded behind the `cut`, in the
/// direction in which it is known worst; `None`: in one of them it is not known.
pub(crate) fn p99(recorder: &Recorder, cut: Cut, level: f64) -> Option<QuantileInterval> {
    let records = || recorder.jobs.iter().flat_map(|job| job.directions.iter());
    let cut_ns = cut.ns(&summed(records().map(|(_, one)| &one.series)), level);
    let mut latencies: Each<Histogram> = Each::default();
    for (direction, one) in records() {
        latencies.of_mut(direction).merge(&one.counted_from(cut_ns).latency);
    }
    let used = latencies.iter().filter(|(_, bins)| bins.count() > 0);
    let found: Vec<QuantileInterval> =
        used.map(|(_, bins)| tail(bins, Q, level)).collect::<Option<_>>()?;
    let width = QuantileInterval::relative_half_width;
    found.into_iter().max_by(|a, b| width(a).total_cmp(&width(b)))
}
