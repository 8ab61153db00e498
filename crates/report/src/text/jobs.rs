//! Text of `run`: each job in a few lines, with its caveats.

use iodyno_model::{
    Assessment, Bytes, DirectionResult, EndReason, Histogram, JudgedMeasurement, LatencyKind,
    Measurement, Metric, Reason, RunRecord, Severity, Validity, Workload, format_count,
    format_duration_ns,
};

use super::findings::finding_text;
use super::ink::Ink;
use super::totals::{total_text, totals_of};
use super::words::{Hanging, clean, display_width};
use super::{Style, figure};
use crate::percentiles::percentiles;

/// Percentiles of a job, if it has enough I/Os for them.
const PERCENTS: [f64; 5] = [50.0, 99.0, 99.9, 99.99, 99.999];
/// Column at which figures start.
const INDENT: usize = 10;

/// Text of `run`: the jobs, then warnings and failures.
pub fn jobs_text(record: &RunRecord, assessment: &Assessment, style: &Style) -> String {
    let mut out = String::new();
    let totals = totals_of(record);
    for (n, measurement) in record.measurements.iter().enumerate() {
        let judged = assessment.of(n);
        if n > 0 {
            out.push('\n');
        }
        out.push_str(&job_text(measurement, judged, style));
        for total in totals.iter().filter(|total| total.members.last() == Some(&n)) {
            out.push('\n');
            out.push_str(&total_text(total, record, style));
        }
    }
    for finding in assessment.findings.iter().filter(|one| one.severity != Severity::Info) {
        out.push('\n');
        out.push_str(&finding_text(finding, style));
    }
    out
}

fn job_text(of: &Measurement, judged: Option<&JudgedMeasurement>, style: &Style) -> String {
    let name = clean(&of.name);
    let mut lead_width = display_width(&name);
    let mut lead = Ink::Bold.paint(&name, style.color);
    let mut out = String::new();
    // A long name gets a line of its own.
    if lead_width > style.width / 2 {
        out = format!("{}\n", std::mem::take(&mut lead));
        lead_width = 0;
    }
    let indent = (lead_width + 2).max(INDENT);
    let hanging = Hanging { lead, lead_width, indent, ..Hanging::of(style) };
    out.push_str(&hanging.lines(&heading(of)));
    match &of.end {
        EndReason::Failed(why) => {
            out.push_str(&line("failed", &[clean(&why.text)], Ink::Bad, style));
        }
        EndReason::Interrupted => {
            out.push_str(&line("stopped", &["interrupted by the user".into()], Ink::Bad, style));
        }
        _ => {}
    }
    out.push_str(&results(&of.total, style));
    for (name, words) in besides(of).into_iter().filter(|(_, words)| !words.is_empty()) {
        out.push_str(&line(name, &words, Ink::Plain, style));
    }
    for reason in caveats(judged) {
        out.push_str(&line("note", &[reason], Ink::Doubt, style));
    }
    for shortfall in &of.conditions.shortfalls {
        out.push_str(&line("note", &[clean(&shortfall.to_string())], Ink::Doubt, style));
    }
    out
}

/// Lines of each direction: rates, latencies, and slat and clat.
pub(super) fn results(total: &[DirectionResult], style: &Style) -> String {
    let mut out = String::new();
    for result in total {
        out.push_str(&line(result.direction.name(), &rates(result), Ink::Plain, style));
        let mut part = |name, words: Vec<String>| {
            if !words.is_empty() {
                out.push_str(&line(name, &words, Ink::Plain, style));
            }
        };
        part("latency", latencies(result));
        // slat or clat stated alone is in the latency line.
        if let Some(split) = &result.split {
            part("slat", spread(&split.submission));
            part("clat", spread(&split.completion));
        }
    }
    out
}

/// Other activity of the jobs, by name.
pub(crate) fn besides(of: &Measurement) -> Vec<(&'static str, Vec<String>)> {
    let mut lines = Vec::new();
    if let Some(account) = &of.account {
        if account.sync.count() > 0 {
            lines.push(("sync", spread(&account.sync)));
        }
        if account.verified > 0 {
            let words = match account.mismatches {
                0 => "all as written".into(),
                wrong => format!("mismatches: {wrong}"),
            };
            let blocks = format!("{} blocks verified", format_count(account.verified as f64));
            lines.push(("verify", vec![blocks, words]));
        }
        if let Some(depth) = account.latency_target_depth {
            let found = format!("depth {depth} is the highest within the target");
            lines.push(("target", vec![found]));
        }
    }
    lines.push(("cpu", cpu(of)));
    lines
}

fn heading(of: &Measurement) -> Vec<String> {
    let mut words = io(&of.workload);
    words.push(target_words(&of.targets));
    words.extend(of.duration_ns.map(|ns| format_duration_ns(ns as f64)));
    words
}

/// Names of up to three targets.
pub(super) fn target_words(targets: &[String]) -> String {
    let names: Vec<String> = targets.iter().take(3).map(|target| clean(target)).collect();
    match targets.len() {
        0..=3 => names.join(" "),
        several => format!("{} and {} more", names[0], several - 1),
    }
}

/// Block size: `4 KiB`, `4 KiB/64 KiB` by direction, `bssplit=4k/50:64k`.
pub(crate) fn block_size(workload: &Workload) -> Option<String> {
    if let Some(bs) = workload.bs {
        return Some(Bytes(bs).binary());
    }
    let several: Vec<String> = ["bs", "bsrange", "bssplit"]
        .into_iter()
        .filter_map(|option| Some((option, workload.options.get(option)?)))
        .map(|(option, value)| {
            by_direction(workload, option, value)
                .unwrap_or_else(|| format!("{option}={}", clean(value)))
        })
        .collect();
    (!several.is_empty()).then(|| several.join(" "))
}

/// Sizes for reads, writes and trims in that order, without those of trims that a workload has not.
fn by_direction(workload: &Workload, option: &str, value: &str) -> Option<String> {
    let sizes: Vec<u64> = value.split(',').map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let trims = workload.rw.as_deref().is_some_and(|rw| rw.contains("trim"));
    let used = if trims { sizes.len() } else { sizes.len().min(2) };
    let sizes: Vec<String> = sizes[..used].iter().map(|size| Bytes(*size).binary()).collect();
    (option == "bs").then(|| sizes.join("/"))
}

/// The I/O in a few words: `randread`, `4 KiB`, `depth 16`, `io_uring`.
pub(crate) fn io(workload: &Workload) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(workload.rw.as_deref().map(clean));
    words.extend(block_size(workload));
    words.extend(workload.iodepth.map(|depth| format!("depth {depth}")));
    words.extend(workload.numjobs.filter(|jobs| *jobs > 1).map(|jobs| format!("{jobs} jobs")));
    words.extend(workload.ioengine.as_deref().map(clean));
    words.extend(
        workload.is_buffered().filter(|is_buffered| *is_buffered).map(|_| "page cache".into()),
    );
    words
}

fn rates(result: &DirectionResult) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(result.iops.map(|iops| figure::estimated(Metric::Iops, &iops)));
    words.extend(result.bandwidth.map(|rate| figure::measured(Metric::Bandwidth, &rate)));
    words.extend(result.ios.map(|ios| format!("{} I/Os", format_count(ios as f64))));
    words.extend(result.bytes.map(|bytes| Bytes(bytes).binary()));
    for (count, what) in [(result.errors, "failed"), (result.short_ios, "short")] {
        let count = count.filter(|count| *count > 0);
        words.extend(count.map(|count| format!("{} {what}", format_count(count as f64))));
    }
    words
}

fn latencies(result: &DirectionResult) -> Vec<String> {
    let mut words = Vec::new();
    if let Some((kind, mean)) = result.mean_latency() {
        let mean = figure::estimated(Metric::LatencyMean, &mean);
        words.push(format!("{}mean {mean}", figure::latency_kind(kind)));
    } else if result.split.is_none()
        && let Some(mean) = result.mean_of(LatencyKind::Submission)
    {
        // A log of mean submission latencies, which are not the latency of the I/O.
        words.push(format!("slat mean {}", figure::estimated(Metric::LatencyMean, &mean)));
    }
    words.extend(figure::distribution(result, &PERCENTS));
    words
}

/// Latency statistics; empty for an empty histogram.
fn spread(histogram: &Histogram) -> Vec<String> {
    if histogram.count() == 0 {
        return Vec::new();
    }
    let mean = histogram.mean_ns().map(|mean| format!("mean {}", format_duration_ns(mean)));
    let mut words: Vec<String> = mean.into_iter().collect();
    words.extend(percentiles(histogram, &PERCENTS).iter().map(figure::percentile));
    let max = histogram.max_ns();
    words.extend(max.map(|max| format!("max {}", format_duration_ns(max as f64))));
    words.push(format!("{} of them", format_count(histogram.count() as f64)));
    words
}

fn cpu(of: &Measurement) -> Vec<String> {
    let Some(cpu) = of.cpu else { return Vec::new() };
    let mut words = vec![
        format!("user {}", figure::percent(cpu.user)),
        format!("system {}", figure::percent(cpu.system)),
    ];
    // fio's terse output has the mean over an unknown number of threads.
    if of.workload.numjobs.is_none() && of.source.starts_with("fio") {
        words.push("mean over threads".into());
        return words;
    }
    let whole = of.total.iter().filter_map(|result| result.whole_ios).fold(0, u64::saturating_add);
    let elapsed_ns =
        of.account.as_ref().map_or(of.duration_ns.unwrap_or(0), |account| account.elapsed_ns);
    if whole > 0 && elapsed_ns > 0 {
        let per_io = (cpu.user + cpu.system) * elapsed_ns as f64 / whole as f64;
        words.push(format!("{} per I/O", format_duration_ns(per_io)));
    }
    words
}

fn caveats(judged: Option<&JudgedMeasurement>) -> Vec<String> {
    let reason = |Reason { rule, validity, why }: &Reason| {
        let label = match validity {
            Validity::Invalid => "INVALID",
            _ => "qualified",
        };
        format!("{label}: {} [{rule}]", clean(why))
    };
    judged.iter().flat_map(|judged| &judged.reasons).map(reason).collect()
}

fn line(name: &str, words: &[String], ink: Ink, style: &Style) -> String {
    let lead = if name.is_empty() { String::new() } else { format!("  {name}") };
    Hanging {
        lead_width: lead.len(),
        lead,
        indent: if name.is_empty() { 0 } else { INDENT },
        ink,
        ..Hanging::of(style)
    }
    .lines(words)
}
