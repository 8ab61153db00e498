//! Results of `steadystate` as fio reports them: the samples of its last duration, and their
//! deviation (steadystate.c).

use iodyno_job::{SteadyKind, SteadyState};
use iodyno_model::{RateSeries, SteadySample};

use crate::out::json_value::JsonValue;

/// Default time between samples: fio's `steadystate_check_interval`, ns.
const CHECK_NS: u64 = 1_000_000_000;

/// Limit of zero samples that fill up a list.
const MOST: usize = 1 << 16;

/// Steady-state samples of a section.
#[derive(Debug, Clone, Default)]
pub(super) struct SteadySamples {
    samples: Vec<Sample>,
    /// These are the judged samples, which cover all jobs judged together.
    judged: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    ns: u64,
    ios: u64,
    bytes: u64,
    latency_ns: f64,
}

impl SteadySamples {
    /// Samples by which it was judged; none for imported results, or while the job runs.
    pub(super) fn judged(samples: &[SteadySample]) -> Self {
        let sample = |one: &SteadySample| Sample {
            ns: one.duration_ns,
            ios: one.ios,
            bytes: one.bytes,
            latency_ns: one.latency_sum_ns,
        };
        Self { samples: samples.iter().map(sample).collect(), judged: !samples.is_empty() }
    }

    /// Samples from `series`, which start with the job, after the ramp: close to those by which it
    /// was judged, as long as no windows were merged.
    pub(super) fn of(series: &RateSeries, asked: &SteadyState) -> Self {
        let every_ns = every_ns(asked);
        let (mut samples, mut open) = (Vec::new(), Sample::default());
        let counted = |start_ns: u64| start_ns >= asked.ramp_ns;
        for window in series.windows().iter().filter(|window| counted(window.start_ns)) {
            open.ns += window.duration_ns;
            open.ios += window.ios.unwrap_or(0);
            open.bytes += window.bytes.unwrap_or(0);
            open.latency_ns += window.latency_sum_ns;
            // Windows end slightly late: accept a sample that lacks a tenth of a window.
            if open.ns + window.duration_ns / 10 >= every_ns {
                samples.push(std::mem::take(&mut open));
            }
        }
        Self { samples, judged: false }
    }

    /// Adds samples of a job that ran at the same time, unless these already cover it.
    pub(super) fn add(&mut self, other: &Self) {
        if self.judged {
            return;
        }
        let most = self.samples.len().max(other.samples.len());
        self.samples.resize(most, Sample::default());
        for (mine, theirs) in self.samples.iter_mut().zip(&other.samples) {
            mine.ns = mine.ns.max(theirs.ns);
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            mine.latency_ns += theirs.latency_ns;
        }
    }

    /// JSON member of a job with `steadystate`.
    pub(super) fn to_json(&self, asked: &SteadyState, attained: bool) -> JsonValue {
        let SteadyResult { slope, deviation, criterion, bytes_per_s, iops, latency_ns, .. } =
            self.evaluate(asked);
        let percent = if asked.percent { "%" } else { "" };
        // fio writes missing samples as zeros, since readers divide by the number requested.
        let list = |value: fn(&Sample) -> u64| {
            let missing = std::iter::repeat_n(0, required_samples(asked).min(MOST));
            let values = self.last(asked).iter().map(value).chain(missing);
            JsonValue::Array(values.take(required_samples(asked)).map(Into::into).collect())
        };
        let mut data =
            vec![("bw_mean".to_owned(), bytes_per_s.into()), ("iops_mean".to_owned(), iops.into())];
        if let Some(ns) = latency_ns {
            data.push(("lat_mean".to_owned(), ns.into()));
            data.push(("lat_ns".to_owned(), list(Sample::latency_ns)));
        }
        data.push(("iops".to_owned(), list(Sample::iops)));
        data.push(("bw".to_owned(), list(Sample::bytes_per_s)));
        let (kind, is_slope) = watched(asked);
        let kind = if is_slope { format!("{kind}_slope") } else { kind.to_owned() };
        JsonValue::object([
            ("ss", format!("{kind}:{:.6}{percent}", asked.limit).into()),
            ("duration", (asked.duration_ns / 1_000_000_000).into()),
            ("attained", u64::from(attained).into()),
            ("criterion", format!("{criterion:.6}{percent}").into()),
            ("max_deviation", deviation.into()),
            ("slope", slope.into()),
            ("data", JsonValue::Object(data)),
        ])
    }

    /// Last samples, as many as must be steady, or all if there are fewer.
    fn last(&self, asked: &SteadyState) -> &[Sample] {
        &self.samples[self.samples.len().saturating_sub(required_samples(asked))..]
    }

    /// Evaluates the samples. Only the watched quantity is calculated, as in fio.
    pub(super) fn evaluate(&self, asked: &SteadyState) -> SteadyResult {
        let last = self.last(asked);
        let means = |value: fn(&Sample) -> u64| mean(&last.iter().map(value).collect::<Vec<_>>());
        let (kind, is_slope) = watched(asked);
        let value = match kind {
            "iops" => Sample::iops,
            "bw" => Sample::bytes_per_s,
            _ => Sample::latency_ns,
        };
        let values: Vec<u64> = last.iter().map(value).collect();
        let mean = mean(&values);
        let share =
            |value: f64| if asked.percent && mean > 0.0 { 100.0 * value / mean } else { value };
        // Not judged before there are as many samples as must be steady.
        let is_full = required_samples(asked) > 0 && last.len() == required_samples(asked);
        let distances = values.iter().map(|one| (*one as f64 - mean).abs());
        let (slope, deviation) = match (is_full, is_slope) {
            (false, _) => (0.0, 0.0),
            (true, true) => (share(slope(&values)), 0.0),
            (true, false) => (0.0, share(distances.fold(0.0, f64::max))),
        };
        SteadyResult {
            slope,
            deviation,
            criterion: if is_slope { slope.abs() } else { deviation },
            bytes_per_s: means(Sample::bytes_per_s) as u64,
            iops: means(Sample::iops) as u64,
            latency_ns: (kind == "lat").then(|| means(Sample::latency_ns) as u64),
            what: format!("{kind}{}", if is_slope { " slope" } else { " mean dev" }),
        }
    }
}

impl Sample {
    fn per_s(&self, amount: u64) -> u64 {
        if self.ns == 0 { 0 } else { (amount as f64 * 1e9 / self.ns as f64) as u64 }
    }

    fn iops(&self) -> u64 {
        self.per_s(self.ios)
    }

    fn bytes_per_s(&self) -> u64 {
        self.per_s(self.bytes)
    }

    /// Mean latency.
    fn latency_ns(&self) -> u64 {
        if self.ios == 0 { 0 } else { (self.latency_ns / self.ios as f64) as u64 }
    }
}

/// Evaluated samples: means, and slope and deviation, in percent if so requested.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SteadyResult {
    pub(super) slope: f64,
    pub(super) deviation: f64,
    pub(super) criterion: f64,
    pub(super) bytes_per_s: u64,
    pub(super) iops: u64,
    /// Mean latency, if it is watched.
    pub(super) latency_ns: Option<u64>,
    /// fio's name of the criterion.
    pub(super) what: String,
}

/// fio's name of the watched quantity, and whether its slope is watched.
fn watched(asked: &SteadyState) -> (&'static str, bool) {
    match asked.kind {
        SteadyKind::Iops => ("iops", false),
        SteadyKind::IopsSlope => ("iops", true),
        SteadyKind::Bandwidth => ("bw", false),
        SteadyKind::BandwidthSlope => ("bw", true),
        SteadyKind::Latency => ("lat", false),
        SteadyKind::LatencySlope => ("lat", true),
    }
}

/// Number of samples that must be steady.
fn required_samples(asked: &SteadyState) -> usize {
    usize::try_from(asked.duration_ns / every_ns(asked)).unwrap_or(usize::MAX)
}

fn mean(samples: &[u64]) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    samples.iter().sum::<u64>() as f64 / samples.len() as f64
}

/// Slope per sample of the least-squares line through the samples.
fn slope(samples: &[u64]) -> f64 {
    let count = samples.len() as f64;
    let (mean_x, mean_y) = ((count - 1.0) / 2.0, mean(samples));
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in samples.iter().enumerate() {
        above += (x as f64 - mean_x) * (*y as f64 - mean_y);
        below += (x as f64 - mean_x).powi(2);
    }
    if below > 0.0 { above / below } else { 0.0 }
}

fn every_ns(asked: &SteadyState) -> u64 {
    if asked.check_interval_ns == 0 { CHECK_NS } else { asked.check_interval_ns }
}

#[cfg(test)]
mod tests {
    use iodyno_job::Job;
    use iodyno_model::Window;

    use super::*;

    #[test]
    fn last_samples_and_deviation_match_fio() {
        let mut job = Job::default();
        for (name, value) in [("ss", "iops:10%"), ("ss_dur", "4"), ("ss_ramp", "1")] {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        let asked = job.time.steadystate.unwrap();
        let mut series = RateSeries::default();
        for n in 0..70_u64 {
            series.push(Window {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000,
                ios: Some(n / 10),
                bytes: Some(1024 * (n / 10)),
                latency_sum_ns: 0.0,
                ..Window::default()
            });
        }
        let text = SteadySamples::of(&series, &asked).to_json(&asked, true).document();
        // 30, 40, 50, 60 I/Os per second: mean 45, largest deviation 15.
        for part in [
            "\"ss\" : \"iops:10.000000%\"",
            "\"attained\" : 1",
            "\"criterion\" : \"33.333333%\"",
            "\"slope\" : 0.000000",
            "\"iops_mean\" : 45",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!((slope(&[30, 40, 50, 60]) - 10.0).abs() < 1e-9);
        // Judged samples are available even for a run so long that its windows were merged.
        let duration_ns = 1_000_000_000;
        let sample = |ios| SteadySample { duration_ns, ios, ..SteadySample::default() };
        let mut samples = SteadySamples::judged(&[100, 102, 98, 100].map(sample));
        samples.add(&SteadySamples::of(&series, &asked));
        let found = samples.evaluate(&asked);
        assert_eq!((found.iops, found.criterion), (100, 2.0));
        let mut samples = SteadySamples::judged(&[]);
        samples.add(&SteadySamples::of(&series, &asked));
        assert_eq!(samples.evaluate(&asked).iops, 45);
        let few = SteadySamples::default().to_json(&asked, false).document();
        assert!(few.contains("\"criterion\" : \"0.000000%\""), "{few}");
        assert_eq!(few.lines().filter(|line| line.trim_end_matches(',').trim() == "0").count(), 8);
    }
}
