//! What is reported and logged.

use super::codecs::{Bool, Codec, Count, List, Number, Words};
use super::value::{Taken, Value};
use super::{Kind, OptionSpec, Support, ignored, off, on, row};
use crate::{Job, Log, Unified};

const UNIFIED: &[(&str, Unified)] = &[
    ("none", Unified::None),
    ("mixed", Unified::Mixed),
    ("both", Unified::Both),
    ("0", Unified::None),
    ("1", Unified::Mixed),
    ("2", Unified::Both),
];

/// (word, greatest value, mean value)
const WINDOW: [(&str, (bool, bool)); 5] = [
    ("avg", (false, true)),
    ("max", (true, false)),
    ("both", (true, true)),
    ("0", (false, true)),
    ("1", (true, false)),
];

/// A row of a log: its prefix, or none.
macro_rules! log {
    ($name:literal, $field:ident, $help:literal) => {
        OptionSpec {
            name: $name,
            examples: &["out/randread"],
            help: $help,
            kind: || Kind::OptionalText,
            parse: |job, value| {
                job.report.logs.$field = Some(log(value.text));
                Ok(())
            },
            print: |job| print_log(job, job.report.logs.$field.as_ref()),
            ..OptionSpec::PLAIN
        }
    };
}

fn log(prefix: &str) -> Log {
    Log { prefix: (!prefix.is_empty()).then(|| prefix.into()) }
}

/// A log without a prefix has that of the job's name.
fn print_log(job: &Job, log: Option<&Log>) -> String {
    let Some(log) = log else { return String::new() };
    let name = if job.name.is_empty() { "job" } else { &job.name };
    log.prefix.as_deref().unwrap_or(name).into()
}

pub(super) static ROWS: &[OptionSpec] = &[
    off!("disable_lat", report.disable_lat, Bool, "no total latencies"),
    off!("disable_clat", report.disable_clat, Bool, "no completion latencies"),
    off!("disable_slat", report.disable_slat, Bool, "no submission latencies"),
    off!(
        "disable_bw_measurement" | "disable_bw",
        report.disable_bw,
        Bool,
        "single I/Os have no rows in the bandwidth log"
    ),
    off!(
        "block_error_percentiles",
        report.block_lives,
        Bool,
        "how often each block was trimmed before a write or trim of it failed"
    ),
    off!("gtod_reduce", report.gtod_reduce, Bool, "no latencies"),
    row!(
        "unified_rw_reporting",
        report.unified,
        Words(UNIFIED),
        "none",
        ["mixed", "both", "1"],
        "report directions together, or both ways"
    ),
    on!("clat_percentiles", report.percentiles.clat, Bool, "of completion latencies"),
    off!("lat_percentiles", report.percentiles.lat, Bool, "of total latencies"),
    off!("slat_percentiles", report.percentiles.slat, Bool, "of submission latencies"),
    OptionSpec {
        name: "percentile_list",
        default: "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        examples: &["50:99:99.9", "99.99"],
        help: "percentiles to report, at most 20",
        kind: || Kind::Floats,
        parse: |job, value| {
            job.report.percentiles.list = percentiles(value)?;
            Ok(())
        },
        print: |job| {
            let list = &job.report.percentiles.list;
            list.iter().map(f64::to_string).collect::<Vec<_>>().join(":")
        },
        ..OptionSpec::PLAIN
    },
    log!("write_bw_log", bandwidth, "log bandwidth to files with this prefix"),
    log!("write_iops_log", iops, "log IOPS"),
    log!("write_lat_log", latency, "log latencies: slat, clat and lat"),
    log!("write_hist_log", histogram, "log histograms of completion latency"),
    on!("per_job_logs", report.logs.per_job, Bool, "a file for each job"),
    row!(
        "log_avg_msec",
        report.logs.average_ms,
        Number(0, u32::MAX as u64),
        "0",
        ["250"],
        "time per row; 0: a row per I/O"
    ),
    row!(
        "log_hist_msec",
        report.logs.histogram_ms,
        Number(0, u32::MAX as u64),
        "0",
        ["1000"],
        "time per histogram"
    ),
    row!(
        "log_hist_coarseness",
        report.logs.histogram_coarseness,
        Count(0, 6),
        "0",
        ["2"],
        "2 to the power of it fewer bins"
    ),
    OptionSpec {
        name: "log_window_value",
        aliases: &["log_max_value"],
        default: "avg",
        examples: &["max", "both", "1"],
        help: "a row holds the mean or the greatest value of its time, or both",
        kind: || Kind::Words(WINDOW.map(|(word, _)| word).to_vec()),
        parse: |job, value| {
            (job.report.logs.max, job.report.logs.mean) = value.word(&WINDOW)?;
            Ok(())
        },
        print: |job| {
            let wanted = (job.report.logs.max, job.report.logs.mean);
            let found = WINDOW.iter().find(|(_, value)| *value == wanted);
            found.map_or(String::new(), |(word, _)| (*word).into())
        },
        ..OptionSpec::PLAIN
    },
    off!("log_offset", report.logs.offset, Bool, "rows hold the offset"),
    off!("log_prio", report.logs.priority, Bool, "rows hold the I/O priority"),
    off!("log_issue_time", report.logs.issue_time, Bool, "rows hold the time of issue"),
    off!("log_unix_epoch", report.logs.unix_epoch, Bool, "rows hold Unix time"),
    OptionSpec {
        name: "log_alternate_epoch",
        default: "0",
        examples: &["1"],
        help: "rows hold the time of log_alternate_epoch_clock_id",
        kind: || Kind::Bool,
        parse: |job, value| {
            let clock = job.report.logs.alternate_epoch.unwrap_or(0);
            job.report.logs.alternate_epoch = Bool.read(value)?.then_some(clock);
            Ok(())
        },
        print: |job| u8::from(job.report.logs.alternate_epoch.is_some()).to_string(),
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        name: "log_alternate_epoch_clock_id",
        default: "0",
        examples: &["0", "4"],
        help: "a clock of clock_gettime(2)",
        kind: || Kind::Number,
        parse: |job, value| {
            job.report.logs.alternate_epoch = Some(value.number_within(0, 64)? as i32);
            Ok(())
        },
        print: |job| {
            job.report.logs.alternate_epoch.map_or(String::new(), |clock| clock.to_string())
        },
        ..OptionSpec::PLAIN
    },
    row!(
        "log_entries",
        report.logs.entries,
        Number(1, u32::MAX as u64),
        "1024",
        ["4096"],
        "room for so many rows at first"
    ),
    off!(
        "log_store_compressed",
        report.logs.compressed,
        Bool,
        "logs but those of histograms are written compressed (`.fz`); --inflate-log prints one"
    ),
    ignored!(
        "log_compression",
        Number(0, u64::MAX),
        "",
        ["10k", "1m"],
        "rows go to their file as they come",
        "logs are compressed in memory when they are larger"
    ),
    ignored!(
        "log_compression_cpus",
        List,
        "",
        ["0-3"],
        "rows go to their file as they come",
        "CPUs that compress"
    ),
    OptionSpec {
        name: "kb_base",
        default: "1024",
        examples: &["1000"],
        help: "1024: k is 1024 and KiB is 1000; 1000: k is 1000 and KiB is 1024",
        kind: || Kind::Words(vec!["1024", "1000"]),
        parse: |job, value| {
            job.report.kb_base = value.word(&[("1024", 1024), ("1000", 1000)])?;
            Ok(())
        },
        print: |job| job.report.kb_base.to_string(),
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        name: "unit_base",
        default: "0",
        examples: &["8", "1"],
        help: "fio's normal output: 8: bytes, 1: bits",
        kind: || Kind::Words(vec!["0", "8", "1"]),
        parse: |job, value| {
            job.report.unit_base = value.word(&[("0", 0), ("8", 8), ("1", 1)])?;
            Ok(())
        },
        print: |job| job.report.unit_base.to_string(),
        ..OptionSpec::PLAIN
    },
    OptionSpec {
        support: Support::Ignored("fio's normal output has four; JSON has all"),
        ..row!(
            "significant_figures",
            report.significant_figures,
            Count(1, 10),
            "4",
            ["6"],
            "digits in fio's normal output"
        )
    },
    OptionSpec {
        support: Support::Ignored("it is reported wherever it is known"),
        ..on!("disk_util", report.disk_util, Bool, "what the disks did is reported")
    },
    OptionSpec {
        support: Support::Own,
        ..off!(
            "strict_stamps",
            report.strict,
            Bool,
            "time stamps before and after each submission, to tell slat from clat"
        )
    },
    ignored!(
        "bwavgtime",
        Count(0, u32::MAX),
        "500",
        ["500"],
        "rates are taken every 100 ms",
        "ms between two samples of the bandwidth"
    ),
    ignored!(
        "iopsavgtime",
        Count(0, u32::MAX),
        "500",
        ["500"],
        "rates are taken every 100 ms",
        "ms between two samples of the rate"
    ),
];

fn percentiles(value: Value<'_>) -> Taken<Vec<f64>> {
    let parts = value.text.split(':').filter(|part| !part.trim().is_empty());
    let mut list = parts.map(|part| value.with(part).float()).collect::<Taken<Vec<f64>>>()?;
    if list.is_empty() || list.len() > 20 || list.iter().any(|p| !(0.0..=100.0).contains(p)) {
        return Err("one to 20 percentiles such as 50:99:99.9 were expected".into());
    }
    list.sort_by(f64::total_cmp);
    Ok(list)
}
