//! Text that `show --details` adds: everything else known of each measurement.

use iodyno_model::{
    Bytes, DirectionResult, DiskUse, Estimate, JobStats, LatencyKind, LatencySummary, Measurement,
    RateSamples, RunRecord, format_count, format_duration_ns, format_mb_per_s,
};

use super::Style;
use super::figure::percent;
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean};

/// Column at which figures start.
const INDENT: usize = 14;

/// fio's queue depth buckets.
const DEPTHS: [&str; 7] = ["1", "2-3", "4-7", "8-15", "16-31", "32-63", "64 or more"];

/// For each measurement, as far as known: latency parts, rate samples, depth and latency
/// distributions, disk statistics, and when its report was printed.
pub fn details_text(record: &RunRecord, style: &Style) -> String {
    let mut out = Hanging { ink: Ink::Bold, ..Hanging::of(style) }.lines(&["Details".to_owned()]);
    let mut disks: &[DiskUse] = &[];
    for of in &record.measurements {
        let mut lines = lines_of(of);
        // All jobs of a report share its disk statistics.
        if of.disks != disks {
            lines.extend(of.disks.iter().map(|disk| ("disk".to_owned(), disk_words(disk))));
            disks = &of.disks;
        }
        if !lines.is_empty() {
            out.push_str(&Hanging::of(style).lines(&[clean(&of.name)]));
        }
        for (name, words) in lines {
            let lead = format!("  {name}");
            let lead_width = lead.len();
            let hanging = Hanging { lead, lead_width, indent: INDENT, ..Hanging::of(style) };
            out.push_str(&hanging.lines(&words));
        }
    }
    out
}

fn lines_of(of: &Measurement) -> Vec<(String, Vec<String>)> {
    let mut lines = Vec::new();
    if let Some(printed) = &of.printed {
        let words = format!("{} by that machine's clock", clean(&printed.replace('T', " ")));
        lines.push(("printed".to_owned(), vec![words]));
    }
    for result in &of.total {
        lines.extend(lines_of_direction(result));
    }
    if let Some(account) = &of.account {
        lines.push(("depth".to_owned(), depths(account)));
        lines.push(("classes".to_owned(), classes(account)));
    }
    lines.retain(|(_, words)| !words.is_empty());
    lines
}

fn lines_of_direction(result: &DirectionResult) -> Vec<(String, Vec<String>)> {
    let mut lines = Vec::new();
    let name = result.direction.name();
    for kind in LatencyKind::ALL {
        let stated = result.stated.as_ref().map(|stated| summary(stated.of(kind)));
        lines.push((format!("{name} {}", kind.fio_name()), stated.unwrap_or_default()));
    }
    if let Some(sampled) = &result.sampled {
        let bandwidth = |of: Estimate| format_mb_per_s(of.value);
        let iops = |of: Estimate| format_count(of.value);
        lines.push((format!("{name} bw"), samples(&sampled.bandwidth, bandwidth)));
        lines.push((format!("{name} iops"), samples(&sampled.iops, iops)));
    }
    lines
}

fn summary(of: &LatencySummary) -> Vec<String> {
    let words =
        [("min", of.min_ns), ("mean", of.mean_ns), ("max", of.max_ns), ("stdev", of.stdev_ns)];
    let time = |of: Estimate| format_duration_ns(of.value);
    let mut words: Vec<String> = named(&words, time);
    let percentile =
        |(percent, ns): &(f64, Estimate)| format!("p{percent} {}", format_duration_ns(ns.value));
    words.extend(of.percentiles.iter().map(percentile));
    words
}

fn samples(of: &RateSamples, figure: impl Fn(Estimate) -> String) -> Vec<String> {
    let figures = [("min", of.min), ("mean", of.mean), ("max", of.max), ("stdev", of.stdev)];
    let mut words = named(&figures, figure);
    words.extend(of.count.map(|count| counted(count as usize, "sample")));
    words
}

fn named(figures: &[(&str, Option<Estimate>)], figure: impl Fn(Estimate) -> String) -> Vec<String> {
    let word = |(name, of): &(&str, Option<Estimate>)| Some(format!("{name} {}", figure((*of)?)));
    figures.iter().filter_map(word).collect()
}

/// Shares of I/Os by queue depth.
fn depths(account: &JobStats) -> Vec<String> {
    let all: u64 = account.depth_levels.iter().fold(0, |sum, count| sum.saturating_add(*count));
    let used = DEPTHS.iter().zip(&account.depth_levels).filter(|(_, count)| **count > 0);
    used.map(|(name, count)| format!("{name}: {}", percent(*count as f64 / all as f64))).collect()
}

/// Shares of I/Os by latency.
fn classes(account: &JobStats) -> Vec<String> {
    let class = |of: &iodyno_model::LatencyRange| {
        let share = format!("{:.2} %", of.share.value * 100.0);
        match of.high_ns {
            Some(high_ns) => format!("< {}: {share}", format_duration_ns(high_ns as f64)),
            None => format!(">= {}: {share}", format_duration_ns(of.low_ns as f64)),
        }
    };
    account.latency_ranges.iter().map(class).collect()
}

fn disk_words(disk: &DiskUse) -> Vec<String> {
    let mut words = vec![
        clean(&disk.name),
        format!("{} reads, {} writes", disk.read_ios, disk.write_ios),
        format!("{} and {} merged", disk.read_merges, disk.write_merges),
        format!("{} ms and {} ms", disk.read_ticks_ms, disk.write_ticks_ms),
        format!("{} ms in queue", disk.in_queue_ms),
        format!("busy {}", percent(disk.util_percent() / 100.0)),
    ];
    if disk.read_sectors > 0 || disk.write_sectors > 0 {
        let bytes = |sectors: u64| Bytes(sectors.saturating_mul(512)).binary();
        let moved =
            format!("{} read, {} written", bytes(disk.read_sectors), bytes(disk.write_sectors));
        words.insert(2, moved);
    }
    words
}
