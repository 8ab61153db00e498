//! Writes fio's JSON and JSON+.

use iodyno_job::LatencyTarget;
use iodyno_model::{DiskUse, Histogram, PerDirection};

use crate::out::block_lives;
use crate::out::json_value::JsonValue;
use crate::out::report::{CpuIdleness, Report};
use crate::out::section::{DirectionStats, GroupStats, Section, group_of, groups, sections};
use crate::out::shares::{RANGES, level_shares, middle_ns, percentiles};

/// `report` as `--output-format=json`: one document that ends with a line feed.
pub fn json(report: &Report<'_>) -> String {
    document(report, false)
}

/// `report` as `--output-format=json+`: with the bins of every histogram whose
/// percentiles are reported.
pub fn json_plus(report: &Report<'_>) -> String {
    document(report, true)
}

fn document(report: &Report<'_>, bins: bool) -> String {
    let sections = sections(report);
    let groups = groups(&sections);
    let elapsed_s = elapsed_s(&sections);
    let jobs = sections.iter().map(|section| {
        let group = group_of(&groups, section);
        job(section, &group, elapsed_s, bins)
    });
    let mut members = vec![
        ("fio version", report.fio_version().into()),
        ("timestamp", (report.written_ms() / 1000).into()),
        ("timestamp_ms", report.written_ms().into()),
        ("time", report.written().into()),
    ];
    if !report.global_options.is_empty() {
        members.push(("global options", options(&report.global_options)));
    }
    members.push(("jobs", JsonValue::Array(jobs.collect())));
    if !report.disks.is_empty() {
        members.push(("disk_util", JsonValue::Array(report.disks.iter().map(disk).collect())));
    }
    if let Some(idleness) = &report.idleness {
        members.push(("cpu_idleness", idle(idleness)));
    }
    members.push(("iodyno", about(report)));
    object(members).document()
}

/// Facts without a place in fio's documents: the program that measured, and the meaning of members
/// here.
fn about(report: &Report<'_>) -> JsonValue {
    let results = || report.jobs.iter().flat_map(|job| &job.measurement.total);
    let split = results().filter(|result| result.split.is_some()).count();
    let latencies = match split {
        0 => "clat_ns repeats lat_ns (total latency); slat_ns is unknown",
        n if n == results().count() => "slat_ns, clat_ns and lat_ns are separate",
        _ => "where slat_ns is empty, clat_ns repeats lat_ns, the total latency",
    };
    let sources: Vec<&str> = {
        let mut all: Vec<_> = report.jobs.iter().map(|job| &*job.measurement.source).collect();
        all.dedup();
        all
    };
    JsonValue::object([
        ("version", report.version.into()),
        ("source", sources.join(", ").into()),
        ("latencies", latencies.into()),
    ])
}

fn job(
    section: &Section<'_>,
    group: &PerDirection<GroupStats>,
    elapsed_s: u64,
    bins: bool,
) -> JsonValue {
    let account = &section.account;
    let reporting = section.reporting;
    let list = reporting.percentile_list();
    let latency = |histogram: &Histogram, asked: bool| {
        let list = if asked { list.as_slice() } else { &[] };
        latencies(histogram, list, bins)
    };
    let mut members = vec![
        ("jobname", section.name.into()),
        ("groupid", section.group.into()),
        ("job_start", (section.started_ns / 1_000_000).into()),
        ("error", section.error().into()),
        ("eta", 0_u64.into()),
        ("elapsed", elapsed_s.into()),
    ];
    if !section.options.is_empty() {
        members.push(("job options", options(section.options)));
    }
    if section.mixed {
        members
            .push(("mixed", direction(&section.by_direction.read, &group.read, section, &latency)));
    } else {
        let PerDirection { read, write, trim } = &section.by_direction;
        // fio counts the writes that it verifies and nothing else of them: it does not issue any.
        let verified =
            DirectionStats { ios: read.ios, bytes: read.bytes, ..DirectionStats::default() };
        let write = if reporting.verify_only { &verified } else { write };
        members.push(("read", direction(read, &group.read, section, &latency)));
        members.push(("write", direction(write, &group.write, section, &latency)));
        members.push(("trim", direction(trim, &group.trim, section, &latency)));
        let asked = reporting.percentiles.clat || reporting.percentiles.lat;
        let sync = JsonValue::object([
            ("total_ios", section.syncs().into()),
            ("lat_ns", latency(&account.sync, asked)),
        ]);
        members.push(("sync", sync));
    }
    if reporting.unified == iodyno_job::Unified::Both {
        let all = section.all_directions();
        members.push(("mixed", direction(&all, &group.read, section, &latency)));
    }
    let shares = section.latency_shares();
    members.extend([
        ("job_runtime", section.counted_ms().into()),
        ("usr_cpu", section.cpu_percent.0.into()),
        ("sys_cpu", section.cpu_percent.1.into()),
        ("ctx", account.switches.into()),
        ("majf", account.major_faults.into()),
        ("minf", account.minor_faults.into()),
        ("iodepth_level", levels(["1", "2", "4", "8", "16", "32"], &account.depth_levels)),
        ("iodepth_submit", batches(&account.submit_levels)),
        ("iodepth_complete", batches(&account.complete_levels)),
        ("latency_ns", ranges(&shares.ns)),
        ("latency_us", ranges(&shares.us)),
        ("latency_ms", ranges(&shares.ms)),
    ]);
    if reporting.continue_on_error {
        members.push(("total_err", section.errors.into()));
        members.push(("first_error", section.first_error.into()));
    }
    members.extend(latency_target(reporting.latency_target.as_ref(), section.iodepth));
    if let Some(description) = &reporting.description {
        members.push(("desc", description.as_str().into()));
    }
    let lives = &account.block_lives;
    let found = block_lives::percentiles(lives, &list);
    if !found.is_empty() {
        let found = found.into_iter().map(|(percent, trims)| (format!("{percent:.6}"), trims));
        let states = block_lives::states(lives).map(|(name, blocks)| (name, blocks.into()));
        let block = [("percentiles", found.collect()), ("states", JsonValue::object(states))];
        members.push(("block", JsonValue::object(block)));
    }
    if let Some(asked) = &reporting.steadystate {
        let attained = section.steadystate_attained;
        members.push(("steadystate", section.steady.to_json(asked, attained)));
    }
    object(members)
}

fn direction(
    stats: &DirectionStats,
    group: &GroupStats,
    section: &Section<'_>,
    latency: &dyn Fn(&Histogram, bool) -> JsonValue,
) -> JsonValue {
    let asked = &section.reporting.percentiles;
    let total = asked.lat || section.reporting.total_percentiles;
    let iops = match stats.runtime_ms {
        0 => 0.0,
        ms => stats.ios as f64 * 1000.0 / ms as f64,
    };
    let (bandwidth, rate) = (&stats.bandwidth, &stats.iops);
    let mut members = vec![
        ("io_bytes", stats.bytes.into()),
        ("io_kbytes", (stats.bytes >> 10).into()),
        ("bw_bytes", stats.bytes_per_s().into()),
        ("bw", (stats.bytes_per_s() >> 10).into()),
        ("iops", iops.into()),
        ("runtime", stats.runtime_ms.into()),
        ("total_ios", stats.ios.into()),
        ("short_ios", stats.short_ios.into()),
        // fio drops I/Os when it verifies trimmed blocks asynchronously; iodyno never does.
        ("drop_ios", 0_u64.into()),
        ("slat_ns", latency(&stats.slat, asked.slat)),
        ("clat_ns", latency(&stats.clat, asked.clat)),
        ("lat_ns", latency(&stats.lat, total)),
    ];
    let ranked = stats.priorities().into_iter().map(|([class, level, hint], histogram)| {
        JsonValue::object([
            ("prioclass", u64::from(class).into()),
            ("prio", u64::from(level).into()),
            ("priohint", u64::from(hint).into()),
            (
                if asked.lat { "lat_ns" } else { "clat_ns" },
                latency(histogram, asked.clat || asked.lat),
            ),
        ])
    });
    let ranked: Vec<_> = ranked.collect();
    if !ranked.is_empty() {
        members.push(("prios", JsonValue::Array(ranked)));
    }
    members.extend([
        ("bw_min", bandwidth.min.into()),
        ("bw_max", bandwidth.max.into()),
        ("bw_agg", group.share_percent(bandwidth).into()),
        ("bw_mean", bandwidth.mean.into()),
        ("bw_dev", bandwidth.deviation().into()),
        ("bw_samples", bandwidth.count.into()),
        ("iops_min", rate.min.into()),
        ("iops_max", rate.max.into()),
        ("iops_mean", rate.mean.into()),
        ("iops_stddev", rate.deviation().into()),
        ("iops_samples", rate.count.into()),
    ]);
    object(members)
}

/// Moments, and percentiles for `list` unless it is empty.
fn latencies(histogram: &Histogram, list: &[f64], bins: bool) -> JsonValue {
    let mut members = vec![
        ("min", histogram.min_ns().unwrap_or(0).into()),
        ("max", histogram.max_ns().unwrap_or(0).into()),
        ("mean", histogram.mean_ns().unwrap_or(0.0).into()),
        ("stddev", histogram.stdev_ns().unwrap_or(0.0).into()),
        ("N", histogram.count().into()),
    ];
    if histogram.count() > 0 && !list.is_empty() {
        let found = percentiles(histogram, list);
        let found = found.into_iter().map(|(percent, ns)| (format!("{percent:.6}"), ns));
        members.push(("percentile", found.collect()));
        if bins {
            let bins = histogram.bins().map(|bin| (middle_ns(&bin).to_string(), bin.count));
            members.push(("bins", bins.collect()));
        }
    }
    object(members)
}

/// Seven shares, percent; the last is for 64 and more.
fn levels(names: [&str; 6], counts: &[u64; 7]) -> JsonValue {
    let names = names.into_iter().chain([">=64"]).map(str::to_owned);
    names.zip(level_shares(counts)).collect()
}

fn batches(counts: &[u64; 7]) -> JsonValue {
    levels(["0", "4", "8", "16", "32", "64"], counts)
}

fn ranges(shares: &[f64]) -> JsonValue {
    let names = RANGES.iter().map(u64::to_string).chain([">=2000".to_owned()]);
    names.zip(shares.iter().copied()).collect()
}

/// fio prints these for every job.
fn latency_target(target: Option<&LatencyTarget>, depth: u32) -> [(&'static str, JsonValue); 6] {
    let target_ns = target.map_or(0, |target| target.target_ns);
    let window_us = target.map_or(0, |target| target.window_ns / 1000);
    [
        ("latency_depth", depth.into()),
        ("latency_target", target_ns.into()),
        ("latency_target_ns", target_ns.into()),
        ("latency_percentile", target.map_or(100.0, |target| target.percentile).into()),
        ("latency_window", window_us.into()),
        ("latency_window_us", window_us.into()),
    ]
}

fn disk(disk: &DiskUse) -> JsonValue {
    let mut members = vec![
        ("name", disk.name.as_str().into()),
        ("read_ios", disk.read_ios.into()),
        ("write_ios", disk.write_ios.into()),
        ("read_sectors", disk.read_sectors.into()),
        ("write_sectors", disk.write_sectors.into()),
        ("read_merges", disk.read_merges.into()),
        ("write_merges", disk.write_merges.into()),
        ("read_ticks", disk.read_ticks_ms.into()),
        ("write_ticks", disk.write_ticks_ms.into()),
        ("in_queue", disk.in_queue_ms.into()),
        ("util", disk.util_percent().into()),
    ];
    if let Some((mean, util)) = disk.aggregate() {
        members.extend([
            ("aggr_read_ios", mean.read_ios.into()),
            ("aggr_write_ios", mean.write_ios.into()),
            ("aggr_read_sectors", mean.read_sectors.into()),
            ("aggr_write_sectors", mean.write_sectors.into()),
            ("aggr_read_merges", mean.read_merges.into()),
            // fio's name lacks the `s`.
            ("aggr_write_merge", mean.write_merges.into()),
            ("aggr_read_ticks", mean.read_ticks_ms.into()),
            ("aggr_write_ticks", mean.write_ticks_ms.into()),
            ("aggr_in_queue", mean.in_queue_ms.into()),
            ("aggr_util", util.into()),
        ]);
    }
    object(members)
}

fn idle(idleness: &CpuIdleness) -> JsonValue {
    let CpuIdleness { system_percent, cpu_percent, unit_us } = idleness;
    let cpus = (0..).zip(cpu_percent).map(|(cpu, percent)| (format!("cpu-{cpu}"), *percent));
    [("system".to_owned(), *system_percent)]
        .into_iter()
        .chain(cpus)
        .chain([("unit_mean".to_owned(), unit_us.0), ("unit_stddev".to_owned(), unit_us.1)])
        .collect()
}

/// Elapsed time of the whole run, s, rounded up.
fn elapsed_s(sections: &[Section<'_>]) -> u64 {
    let starts = sections.iter().map(|section| section.started_ns);
    let ends = sections.iter().map(|section| {
        let elapsed_ns = section.account.elapsed_ns / u64::from(section.members.max(1));
        section.started_ns.saturating_add_unsigned(elapsed_ns)
    });
    let (Some(first), Some(last)) = (starts.min(), ends.max()) else { return 0 };
    last.saturating_sub(first).unsigned_abs().div_ceil(1_000_000_000)
}

fn options(options: &[(String, String)]) -> JsonValue {
    options.iter().cloned().collect()
}

fn object(members: Vec<(&str, JsonValue)>) -> JsonValue {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
