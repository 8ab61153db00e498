//! How fast a job goes at most.

use super::codecs::{
    Bool, Codec, Count, Directions, Number, OrZero, PlainMilliseconds, Size, Time, Words,
};
use super::{Kind, OptionSpec, row};
use crate::value::TimeUnit::{Microseconds, Seconds};
use crate::{Job, LatencyTarget, RateProcess, ThinkBlocks};

fn target(job: &mut Job) -> &mut LatencyTarget {
    job.pace.latency_target.get_or_insert(LatencyTarget {
        target_ns: 0,
        window_ns: 0,
        percentile: 100.0,
        run: false,
    })
}

/// A row for one of the fields of the latency target.
macro_rules! target_row {
    ($name:literal, $field:ident, $codec:expr, $default:literal, $examples:expr, $help:literal) => {
        OptionSpec {
            name: $name,
            default: $default,
            examples: &$examples,
            help: $help,
            kind: || $codec.kind(),
            parse: |job, value| $codec.set(value, &mut target(job).$field),
            print: |job| {
                let target = job.pace.latency_target;
                target.map_or(String::new(), |target| $codec.print(&target.$field))
            },
            ..OptionSpec::PLAIN
        }
    };
}

/// Percent with a point.
struct Percentile;

impl Codec for Percentile {
    type Of = f64;
    fn kind(&self) -> Kind {
        Kind::Percent
    }
    fn read(&self, value: super::value::Value<'_>) -> super::value::Taken<f64> {
        let percentile = value.float()?;
        if !(0.0..=100.0).contains(&percentile) {
            return Err("percent from 0 to 100 were expected".into());
        }
        Ok(percentile)
    }
    fn print(&self, of: &f64) -> String {
        of.to_string()
    }
}

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "rate",
        pace.rate,
        Directions(OrZero(Size(0, u64::MAX))),
        "",
        ["100m", "1m,500k", ",2275,", "300,300,300"],
        "limit in bytes per second; 0: none"
    ),
    row!(
        "rate_min" | "ratemin",
        pace.rate_min,
        Directions(OrZero(Size(0, u64::MAX))),
        "",
        ["10m", "10m,5m"],
        "fail below this many bytes per second"
    ),
    row!(
        "rate_iops",
        pace.rate_iops,
        Directions(OrZero(Number(0, u32::MAX as u64))),
        "",
        ["13251", "100,50", "10k"],
        "limit in I/Os per second; 0: none"
    ),
    row!(
        "rate_iops_min",
        pace.rate_iops_min,
        Directions(OrZero(Number(0, u32::MAX as u64))),
        "",
        ["1000"],
        "fail below this many I/Os per second"
    ),
    row!(
        "rate_process",
        pace.rate_process,
        Words(&[("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)]),
        "linear",
        ["poisson"],
        "evenly spaced, or random arrivals"
    ),
    row!(
        "rate_cycle" | "ratecycle",
        pace.rate_cycle_ns,
        PlainMilliseconds,
        "1000",
        ["500"],
        "time over which minimum rates are averaged"
    ),
    row!(
        "thinktime",
        pace.thinktime_ns,
        Time(Microseconds),
        "0",
        ["2000", "30s", "5ms"],
        "pause between I/Os"
    ),
    row!(
        "thinktime_spin",
        pace.thinktime_spin_ns,
        Time(Microseconds),
        "0",
        ["100"],
        "time of it spent busy on the CPU"
    ),
    row!(
        "thinktime_blocks",
        pace.thinktime_blocks,
        Count(0, u32::MAX),
        "1",
        ["32"],
        "I/Os between pauses"
    ),
    row!(
        "thinktime_blocks_type",
        pace.thinktime_blocks_type,
        Words(&[("complete", ThinkBlocks::Complete), ("issue", ThinkBlocks::Issue)]),
        "complete",
        ["issue"],
        "count completed or issued I/Os"
    ),
    row!(
        "thinktime_iotime",
        pace.thinktime_iotime_ns,
        Time(Seconds),
        "0",
        ["9", "250ms"],
        "time between pauses, instead of I/Os"
    ),
    row!(
        "flow",
        pace.flow,
        Count(0, u32::MAX),
        "0",
        ["8"],
        "share of the I/Os of all jobs with the same flow_id; a job ahead of its share waits"
    ),
    row!("flow_id", pace.flow_id, Count(0, u32::MAX), "0", ["1"], "which jobs share a flow"),
    row!(
        "flow_sleep",
        pace.flow_sleep_ns,
        Time(Microseconds),
        "0",
        ["100"],
        "pause of a job that is ahead"
    ),
    target_row!(
        "latency_target",
        target_ns,
        Time(Microseconds),
        "",
        ["500000", "10ms"],
        "search the highest depth that keeps this latency"
    ),
    target_row!(
        "latency_window",
        window_ns,
        Time(Microseconds),
        "",
        ["5000000", "2s"],
        "time for which a depth must keep it"
    ),
    target_row!(
        "latency_percentile",
        percentile,
        Percentile,
        "100",
        ["99.9"],
        "percent of the I/Os that must be within it"
    ),
    target_row!("latency_run", run, Bool, "0", ["1"], "continue with the depth found"),
];
