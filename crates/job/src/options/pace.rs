//! Options of rates, pauses and latency targets.

use super::codecs::{
    Bool, Codec, Count, Directions, NonZero, Number, PlainMilliseconds, Size, Time, Words,
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

/// A row for a field of the latency target.
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
            ..OptionSpec::DEFAULT
        }
    };
}

/// A percentage with decimals.
struct Percentile;

impl Codec for Percentile {
    type Field = f64;
    fn kind(&self) -> Kind {
        Kind::Percent
    }
    fn parse(&self, value: super::value::Value<'_>) -> super::value::Parsed<f64> {
        let percentile = value.float()?;
        if !(0.0..=100.0).contains(&percentile) {
            return Err("expected percentages from 0 to 100".into());
        }
        Ok(percentile)
    }
    fn print(&self, field: &f64) -> String {
        field.to_string()
    }
}

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "rate",
        pace.rate,
        Directions(NonZero(Size(0, u64::MAX))),
        "",
        ["100m", "1m,500k", ",2275,", "300,300,300"],
        "bandwidth limit, bytes per second; 0: none"
    ),
    row!(
        "rate_min" | "ratemin",
        pace.rate_min,
        Directions(NonZero(Size(0, u64::MAX))),
        "",
        ["10m", "10m,5m"],
        "fail below this bandwidth, bytes per second"
    ),
    row!(
        "rate_iops",
        pace.rate_iops,
        Directions(NonZero(Number(0, u32::MAX as u64))),
        "",
        ["13251", "100,50", "10k"],
        "IOPS limit; 0: none"
    ),
    row!(
        "rate_iops_min",
        pace.rate_iops_min,
        Directions(NonZero(Number(0, u32::MAX as u64))),
        "",
        ["1000"],
        "fail below this many IOPS"
    ),
    row!(
        "rate_process",
        pace.rate_process,
        Words(&[("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)]),
        "linear",
        ["poisson"],
        "linear: evenly spaced I/Os; poisson: random arrivals"
    ),
    row!(
        "rate_cycle" | "ratecycle",
        pace.rate_cycle_ns,
        PlainMilliseconds,
        "1000",
        ["500"],
        "averaging time for rate_min and rate_iops_min"
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
        "part of thinktime spent busy on the CPU"
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
        "count completed or issued I/Os for thinktime_blocks"
    ),
    row!(
        "thinktime_iotime",
        pace.thinktime_iotime_ns,
        Time(Seconds),
        "0",
        ["9", "250ms"],
        "time between pauses, instead of thinktime_blocks"
    ),
    row!(
        "flow",
        pace.flow,
        Count(0, u32::MAX),
        "0",
        ["8"],
        "share of the I/Os of all jobs with the same flow_id; a job ahead of its share waits"
    ),
    row!("flow_id", pace.flow_id, Count(0, u32::MAX), "0", ["1"], "ID of the flow that jobs share"),
    row!(
        "flow_sleep",
        pace.flow_sleep_ns,
        Time(Microseconds),
        "0",
        ["100"],
        "pause of a job that is ahead of its share"
    ),
    target_row!(
        "latency_target",
        target_ns,
        Time(Microseconds),
        "",
        ["500000", "10ms"],
        "search for the highest queue depth that keeps this latency"
    ),
    target_row!(
        "latency_window",
        window_ns,
        Time(Microseconds),
        "",
        ["5000000", "2s"],
        "time for which a depth must keep latency_target"
    ),
    target_row!(
        "latency_percentile",
        percentile,
        Percentile,
        "100",
        ["99.9"],
        "percent of the I/Os that must be within latency_target"
    ),
    target_row!("latency_run", run, Bool, "0", ["1"], "continue with the depth found"),
];
