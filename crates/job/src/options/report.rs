//! Options of the report and the logs.

use super::codecs::{Bool, Codec, Count, List, Number, Words};
use super::value::{Parsed, Value};
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

/// (word, (maximum, mean))
const WINDOW: [(&str, (bool, bool)); 5] = [
    ("avg", (false, true)),
    ("max", (true, false)),
    ("both", (true, true)),
    ("0", (false, true)),
    ("1", (true, false)),
];

/// A row for a log, whose value is an optional prefix.
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
            ..OptionSpec::DEFAULT
        }
    };
}

fn log(prefix: &str) -> Log {
    Log { prefix: (!prefix.is_empty()).then(|| prefix.into()) }
}

/// Prints a log's prefix, by default the job's name.
fn print_log(job: &Job, log: Option<&Log>) -> String {
    let Some(log) = log else { return String::new() };
    let name = if job.name.is_empty() { "job" } else { &job.name };
    log.prefix.as_deref().unwrap_or(name).into()
}

pub(super) static ROWS: &[OptionSpec] = &[
    off!("disable_lat", report.disable_lat, Bool, "omit total latency (lat)"),
    off!("disable_clat", report.disable_clat, Bool, "omit completion latency (clat)"),
    off!("disable_slat", report.disable_slat, Bool, "omit submission latency (slat)"),
    off!(
        "disable_bw_measurement" | "disable_bw",
        report.disable_bw,
        Bool,
        "omit single I/Os from the bandwidth log"
    ),
    off!(
        "block_error_percentiles",
        report.block_error_percentiles,
        Bool,
        "report how often each block was trimmed before a write or trim of it failed"
    ),
    off!(
        "gtod_reduce",
        report.gtod_reduce,
        Bool,
        "omit all latencies, and single I/Os from the bandwidth log"
    ),
    row!(
        "unified_rw_reporting",
        report.unified,
        Words(UNIFIED),
        "none",
        ["mixed", "both", "1"],
        "report directions separately (none), together (mixed) or both"
    ),
    on!(
        "clat_percentiles",
        report.percentiles.clat,
        Bool,
        "report percentiles of completion latency"
    ),
    off!("lat_percentiles", report.percentiles.lat, Bool, "report percentiles of total latency"),
    off!(
        "slat_percentiles",
        report.percentiles.slat,
        Bool,
        "report percentiles of submission latency"
    ),
    OptionSpec {
        name: "percentile_list",
        default: "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        examples: &["50:99:99.9", "99.99"],
        help: "percentiles to report, at most 20",
        kind: || Kind::Floats,
        parse: |job, value| {
            job.report.percentiles.list = percentiles(value)?;
            job.report.percentiles.decimals = decimals(value.text);
            Ok(())
        },
        print: |job| {
            let list = &job.report.percentiles.list;
            list.iter().map(f64::to_string).collect::<Vec<_>>().join(":")
        },
        ..OptionSpec::DEFAULT
    },
    log!("write_bw_log", bandwidth, "log bandwidth to files with this prefix"),
    log!("write_iops_log", iops, "log IOPS to files with this prefix"),
    log!("write_lat_log", latency, "log slat, clat and lat to files with this prefix"),
    log!(
        "write_hist_log",
        histogram,
        "log histograms of completion latency to files with this prefix"
    ),
    on!("per_job_logs", report.logs.per_job, Bool, "write separate log files for each job"),
    row!(
        "log_avg_msec",
        report.logs.average_ms,
        Number(0, u32::MAX as u64),
        "0",
        ["250"],
        "average log rows over this time, ms; 0: a row per I/O"
    ),
    row!(
        "log_hist_msec",
        report.logs.histogram_ms,
        Number(0, u32::MAX as u64),
        "0",
        ["1000"],
        "time per histogram in write_hist_log, ms"
    ),
    row!(
        "log_hist_coarseness",
        report.logs.histogram_coarseness,
        Count(0, 6),
        "0",
        ["2"],
        "merge 2 to the power of this bins of a histogram"
    ),
    OptionSpec {
        name: "log_window_value",
        aliases: &["log_max_value"],
        default: "avg",
        examples: &["max", "both", "1"],
        help: "log the average or maximum of each log_avg_msec window, or both",
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
        ..OptionSpec::DEFAULT
    },
    off!("log_offset", report.logs.offset, Bool, "log the offset of each I/O"),
    off!("log_prio", report.logs.priority, Bool, "log the I/O priority"),
    off!("log_issue_time", report.logs.issue_time, Bool, "log the time of issue"),
    off!("log_unix_epoch", report.logs.unix_epoch, Bool, "log Unix time"),
    OptionSpec {
        name: "log_alternate_epoch",
        default: "0",
        examples: &["1"],
        help: "log the time of log_alternate_epoch_clock_id",
        kind: || Kind::Bool,
        parse: |job, value| {
            let clock = job.report.logs.alternate_epoch.unwrap_or(0);
            job.report.logs.alternate_epoch = Bool.parse(value)?.then_some(clock);
            Ok(())
        },
        print: |job| u8::from(job.report.logs.alternate_epoch.is_some()).to_string(),
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "log_alternate_epoch_clock_id",
        default: "0",
        examples: &["0", "4"],
        help: "clock ID for clock_gettime(2)",
        kind: || Kind::Number,
        parse: |job, value| {
            job.report.logs.alternate_epoch = Some(value.number_within(0, 64)? as i32);
            Ok(())
        },
        print: |job| {
            job.report.logs.alternate_epoch.map_or(String::new(), |clock| clock.to_string())
        },
        ..OptionSpec::DEFAULT
    },
    row!(
        "log_entries",
        report.logs.entries,
        Number(1, u32::MAX as u64),
        "1024",
        ["4096"],
        "initial number of entries of a log"
    ),
    off!(
        "log_store_compressed",
        report.logs.compressed,
        Bool,
        "store logs compressed (`.fz`), except histograms; --inflate-log prints one"
    ),
    ignored!(
        "log_compression",
        Number(0, u64::MAX),
        "",
        ["10k", "1m"],
        "rows go to their file as they come",
        "compress logs in memory beyond this size"
    ),
    ignored!(
        "log_compression_cpus",
        List,
        "",
        ["0-3"],
        "rows go to their file as they come",
        "CPUs for log compression"
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
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        name: "unit_base",
        default: "0",
        examples: &["8", "1"],
        help: "units of bandwidth in fio's normal output; 8: bytes, 1: bits",
        kind: || Kind::Words(vec!["0", "8", "1"]),
        parse: |job, value| {
            job.report.unit_base = value.word(&[("0", 0), ("8", 8), ("1", 1)])?;
            Ok(())
        },
        print: |job| job.report.unit_base.to_string(),
        ..OptionSpec::DEFAULT
    },
    OptionSpec {
        support: Support::Ignored("fio's normal output has four; JSON has all"),
        ..row!(
            "significant_figures",
            report.significant_figures,
            Count(1, 10),
            "4",
            ["6"],
            "significant digits in fio's normal output"
        )
    },
    OptionSpec {
        support: Support::Ignored("it is reported wherever it is known"),
        ..on!("disk_util", report.disk_util, Bool, "report disk utilization")
    },
    OptionSpec {
        support: Support::IodynoOnly,
        ..off!(
            "strict_stamps",
            report.strict_stamps,
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
        "averaging time of the bandwidth, ms"
    ),
    ignored!(
        "iopsavgtime",
        Count(0, u32::MAX),
        "500",
        ["500"],
        "rates are taken every 100 ms",
        "averaging time of IOPS, ms"
    ),
];

/// The most decimals of any number in `list`.
fn decimals(list: &str) -> usize {
    let each = list.split(':').map(|one| one.trim().split_once('.').map_or(0, |(_, of)| of.len()));
    each.max().unwrap_or(0)
}

fn percentiles(value: Value<'_>) -> Parsed<Vec<f64>> {
    let parts = value.text.split(':').filter(|part| !part.trim().is_empty());
    let mut list = parts.map(|part| value.with(part).float()).collect::<Parsed<Vec<f64>>>()?;
    if list.is_empty() || list.len() > 20 || list.iter().any(|p| !(0.0..=100.0).contains(p)) {
        return Err("expected one to 20 percentiles such as 50:99:99.9".into());
    }
    list.sort_by(f64::total_cmp);
    Ok(list)
}
