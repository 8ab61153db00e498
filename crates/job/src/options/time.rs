//! Options of the run time.

use super::codecs::{Flag, NonZero, Time, print_size, print_time};
use super::value::Value;
use super::{Kind, OptionSpec, off, row};
use crate::value::{TimeUnit, ValueError, parse_size_in, parse_time};
use crate::{Job, SteadyKind, SteadyState};

const KINDS: [(&str, SteadyKind); 6] = [
    ("iops", SteadyKind::Iops),
    ("iops_slope", SteadyKind::IopsSlope),
    ("bw", SteadyKind::Bandwidth),
    ("bw_slope", SteadyKind::BandwidthSlope),
    ("lat", SteadyKind::Latency),
    ("lat_slope", SteadyKind::LatencySlope),
];

/// fio's default, used once a duration is given.
const DEFAULT: SteadyState = SteadyState {
    kind: SteadyKind::IopsSlope,
    limit: 0.01,
    percent: true,
    duration_ns: 0,
    ramp_ns: 0,
    check_interval_ns: 1_000_000_000,
};

fn steady(job: &mut Job) -> &mut SteadyState {
    job.time.steadystate.get_or_insert(DEFAULT)
}

fn seconds(value: Value<'_>) -> Result<u64, ValueError> {
    parse_time(value.text, TimeUnit::Seconds)
}

/// A row for a time of the steady state.
macro_rules! steady_time {
    ($name:literal | $alias:literal, $field:ident, $default:literal, $help:literal) => {
        OptionSpec {
            name: $name,
            aliases: &[$alias],
            default: $default,
            examples: &["10", "30s"],
            help: $help,
            kind: || Kind::Time(TimeUnit::Seconds),
            parse: |job, value| {
                steady(job).$field = seconds(value)?;
                Ok(())
            },
            print: |job| job.time.steadystate.map_or(String::new(), |s| print_time(s.$field)),
            ..OptionSpec::DEFAULT
        }
    };
}

pub(super) static ROWS: &[OptionSpec] = &[
    row!(
        "runtime" | "timeout",
        time.runtime_ns,
        NonZero(Time(TimeUnit::Seconds)),
        "0",
        ["60", "30s", "1500ms", "5m"],
        "time limit; 0: none"
    ),
    off!(
        "time_based",
        time.time_based,
        Flag,
        "run for the full runtime, starting over when the work is done"
    ),
    row!(
        "ramp_time",
        time.ramp_ns,
        Time(TimeUnit::Seconds),
        "0",
        ["10", "2s"],
        "warm-up time before anything is counted"
    ),
    OptionSpec {
        name: "steadystate",
        aliases: &["ss"],
        default: "iops_slope:0.01%",
        examples: &["iops:10%", "iops:500", "bw_slope:1%", "bw:100m", "lat:5%", "lat_slope:20us"],
        help: "end when this criterion stays within its limit for steadystate_duration",
        kind: || Kind::Words(KINDS.map(|(word, _)| word).to_vec()),
        parse: |job, value| {
            let kind = value.word(&KINDS)?;
            let limit = value.text.split_once(':').map(|(_, limit)| limit.trim());
            let limit = limit.ok_or("expected a limit, such as iops:10%")?;
            let percent = value.with(limit).percent();
            let number = match (percent, kind) {
                (Some(number), _) => number.float()?,
                (_, SteadyKind::Iops | SteadyKind::IopsSlope) => value.with(limit).float()?,
                (_, SteadyKind::Bandwidth | SteadyKind::BandwidthSlope) => {
                    parse_size_in(limit, value.units)? as f64
                }
                (_, SteadyKind::Latency | SteadyKind::LatencySlope) => {
                    parse_time(limit, TimeUnit::Microseconds)? as f64
                }
            };
            if number < 0.0 {
                return Err("expected a limit of 0 or more".into());
            }
            let state = steady(job);
            (state.kind, state.limit, state.percent) = (kind, number, percent.is_some());
            Ok(())
        },
        print: |job| {
            let Some(state) = job.time.steadystate else { return String::new() };
            let word =
                KINDS.into_iter().find(|(_, kind)| *kind == state.kind).map_or("", |(w, _)| w);
            let limit = match state.kind {
                _ if state.percent => format!("{}%", state.limit),
                SteadyKind::Iops | SteadyKind::IopsSlope => state.limit.to_string(),
                SteadyKind::Bandwidth | SteadyKind::BandwidthSlope => {
                    print_size(state.limit as u64)
                }
                SteadyKind::Latency | SteadyKind::LatencySlope => print_time(state.limit as u64),
            };
            format!("{word}:{limit}")
        },
        ..OptionSpec::DEFAULT
    },
    steady_time!(
        "steadystate_duration" | "ss_dur",
        duration_ns,
        "0",
        "time to stay within the limit; 0: no steady-state test"
    ),
    steady_time!(
        "steadystate_ramp_time" | "ss_ramp",
        ramp_ns,
        "0",
        "start testing after this time"
    ),
    steady_time!(
        "steadystate_check_interval" | "ss_interval",
        check_interval_ns,
        "1",
        "time between two tests"
    ),
];
