//! Exports the progress of a running measurement as metrics to be scraped.

use std::fmt;

use iodyno_model::{Direction, Histogram, Run};

use super::{Family, Labels, NS_PER_S, rendered};

/// Upper bounds of the latency buckets, as powers of 2 ns: 1 us to 17 s.
const BUCKETS: std::ops::RangeInclusive<u32> = 10..=34;

/// Progress of a run.
#[derive(Debug)]
pub struct LiveMetrics<'a> {
    /// Run; `None` if it has not started.
    pub run: Option<&'a Run>,
    /// Current measurement.
    pub now: Option<&'a str>,
    /// Number of finished measurements.
    pub done: usize,
    /// Maximum remaining time, ns.
    pub left_ns: u64,
    /// Temperature of the hottest drive, °C.
    pub temperature_c: Option<f32>,
    /// All I/O of the process.
    pub counts: Vec<LiveCounts<'a>>,
}

/// All I/O of one direction on a target, including ramp time and warm-up.
#[derive(Debug)]
pub struct LiveCounts<'a> {
    /// Target.
    pub target: &'a str,
    /// Direction.
    pub direction: Direction,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Latencies.
    pub latency: &'a Histogram,
}

impl fmt::Display for LiveMetrics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut families = self.gauges();
        let counter =
            |name, unit, help| Family { kind: "counter", ..Family::new(name, unit, help) };
        let mut ios = counter("iodyno_live_ios", "", "I/Os completed.");
        let mut bytes = counter("iodyno_live_bytes", "bytes", "Bytes moved.");
        let mut errors = counter("iodyno_live_errors", "", "I/Os that failed.");
        let help = "Latencies, submission to completion.";
        let mut latency = Family::new("iodyno_live_latency_seconds", "seconds", help);
        latency.kind = "histogram";
        for one in &self.counts {
            let labels: Labels = vec![
                ("target", one.target.to_owned()),
                ("direction", one.direction.name().to_owned()),
            ];
            ios.push_as("_total", labels.clone(), one.ios as f64);
            bytes.push_as("_total", labels.clone(), one.bytes as f64);
            errors.push_as("_total", labels.clone(), one.errors as f64);
            let count = one.latency.count();
            let mut bucket = |le: String, below: u64| {
                let labels = labels.iter().cloned().chain([("le", le)]).collect();
                latency.push_as("_bucket", labels, below as f64);
            };
            for power in BUCKETS {
                let end_ns = 1_u64 << power;
                let below = count - one.latency.count_from(Histogram::index(end_ns));
                bucket((end_ns as f64 / NS_PER_S).to_string(), below);
            }
            bucket("+Inf".into(), count);
            latency.push_as("_sum", labels.clone(), one.latency.sum_ns() / NS_PER_S);
            latency.push_as("_count", labels, count as f64);
        }
        families.extend([ios, bytes, errors, latency]);
        f.write_str(&rendered(&families))
    }
}

impl LiveMetrics<'_> {
    fn gauges(&self) -> Vec<Family> {
        let mut info = Family::new("iodyno_live_info", "", "Current measurement.");
        if let Some(run) = self.run {
            let labels = vec![
                ("run_id", run.id.clone()),
                ("plan", run.plan_name.clone()),
                ("version", run.writer.clone()),
                ("measurement", self.now.unwrap_or_default().to_owned()),
            ];
            info.push(labels, 1.0);
        }
        let help = "Finished measurements of the run.";
        let mut done = Family::new("iodyno_live_measurements_done", "", help);
        done.push(Vec::new(), self.done as f64);
        let help = "Maximum remaining time of the run.";
        let mut left = Family::new("iodyno_live_left_seconds", "seconds", help);
        left.push(Vec::new(), self.left_ns as f64 / NS_PER_S);
        let help = "Temperature of the hottest drive, if known.";
        let mut hottest = Family::new("iodyno_live_temperature_celsius", "celsius", help);
        if let Some(celsius) = self.temperature_c {
            hottest.push(Vec::new(), celsius.into());
        }
        vec![info, done, left, hottest]
    }
}
