//! Parses fio's terse output (`--minimal`), versions 2 to 5.

use std::collections::BTreeMap;
use std::ops::Range;

use iodyno_model::{
    CpuUse, Direction, DirectionResult, EndReason, Estimate, Failure, JobStats, LatencySummary,
    Measurement, RateSamples, SampledRates, Spread, StatedLatencies,
};

use crate::read::findings::{TOO_MANY, most_jobs};
use crate::read::json::{drop_sum, source, version_of};
use crate::read::latency::Unit;
use crate::read::members::{CLASSES, ranges};
use crate::read::rate::{intersect, per_runtime};
use crate::read::same_run::is_later_report;

/// Number of percentiles of a direction; unused ones are `0%=0`.
const PERCENTILES: usize = 20;
/// Fields of a direction before its percentiles.
const BEFORE: usize = 12;
/// Fields of a direction after its percentiles: latencies and bandwidth samples.
const BEHIND: usize = 9;
/// Fields of IOPS samples, since version 5.
const SAMPLES: usize = 6;

/// Longest terse line, bytes: a description can be as long as a job file's line.
const LONGEST: usize = 256 << 10;

/// Terse lines found in a text.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// One job per line.
    pub(super) measurements: Vec<Measurement>,
    /// Unreadable lines, by number.
    pub(super) problems: Vec<(usize, String)>,
    /// Byte ranges of the lines.
    pub(super) taken: Vec<Range<usize>>,
}

/// Parses the terse lines in `text`, whatever is between them. Of several reports of the same run
/// (`--status-interval`) the last one counts.
pub(super) fn terse(text: &str) -> Lines {
    let mut lines = Lines::default();
    let (mut at, mut number) = (0, 1);
    // Index of the last line of each job.
    let mut last = BTreeMap::new();
    for line in text.split_inclusive(['\n', '\r']) {
        let (start, here) = (at, number);
        at += line.len();
        number += usize::from(line.ends_with('\n'));
        let Some(fields) = fields(line) else { continue };
        if lines.measurements.len() >= most_jobs(text.len()) {
            lines.problems.push((here, TOO_MANY.into()));
            break;
        }
        lines.taken.push(start..at);
        match job(&fields) {
            Some((job, whole)) => {
                if !whole {
                    let what = format!("the line of job `{}` is cut off or damaged", job.name);
                    lines.problems.push((here, what));
                }
                let key = (job.name.clone(), job.group, job.source.clone());
                match last.get(&key) {
                    Some(earlier) if is_later_report(&lines.measurements[*earlier], &job) => {
                        lines.measurements[*earlier] = job;
                    }
                    _ => {
                        last.insert(key, lines.measurements.len());
                        lines.measurements.push(job);
                    }
                }
            }
            None => lines.problems.push((here, "a terse line without any figures".into())),
        }
    }
    drop_sum(&mut lines.measurements, |job| &job.name);
    // Lines of several runs are appended to one file, without marking which are of one run.
    (0..).zip(&mut lines.measurements).for_each(|(line, of)| of.phase = line);
    lines
}

/// Splits a terse line into fields; a client prefixes the server's name.
fn fields(line: &str) -> Option<Vec<&str>> {
    let line = line.trim_matches(|c: char| c.is_whitespace() || "'\"`".contains(c));
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once("> ")) {
        Some((_, line)) => line,
        None => line,
    };
    let version = line.split_once(';')?.0.parse().ok().filter(|version| (2..=5).contains(version));
    if line.len() > LONGEST {
        return None;
    }
    let fields: Vec<&str> = line.split(';').collect();
    let named = match version? {
        2 => fields.len() > 50,
        _ => fields.len() > 4 && version_of(fields[1]).is_some(),
    };
    named.then_some(fields)
}

/// Parses the job of a line; also returns whether the line is complete. `None` without figures.
fn job(fields: &[&str]) -> Option<(Measurement, bool)> {
    let version: u32 = fields[0].parse().ok()?;
    let len = BEFORE + PERCENTILES + BEHIND + if version >= 5 { SAMPLES } else { 0 };
    // Names may contain `;`, so directions are found by their percentiles.
    let starts = directions(fields);
    let first = *starts.first()?;
    let whole = |start: &usize| start + len <= fields.len();
    let in_line = starts.windows(2).all(|pair| pair[1] - pair[0] == len);
    let behind = starts.last()? + len;
    let (program, name) = match version {
        2 => ("", 1),
        _ => (fields[1], 2),
    };
    let unit = match version_of(program) {
        // 2.99 and later.
        Some(version) if version >= (2, 99) => Unit::NsInUs,
        _ => Unit::Us,
    };
    let (group, error) = (first.checked_sub(2)?, first.checked_sub(1)?);
    // The shares of CPU time follow.
    let cpu = fields.get(behind..behind + 2).unwrap_or_default();
    let cut = cpu.is_empty() || !cpu.iter().all(|share| share.trim().ends_with('%'));
    let sides = sides(version, starts.len(), cut);
    let complete = starts.iter().filter(|start| whole(start));
    let mut runtime_ns = None;
    let mut total: Vec<DirectionResult> = complete
        .zip(sides)
        .filter_map(|(start, side)| {
            let (result, ms) = direction(&fields[*start..start + len], *side, unit)?;
            runtime_ns = runtime_ns.max(Some(ms.saturating_mul(1_000_000)));
            Some(result)
        })
        .collect();
    // With unified_rw_reporting=both the directions are listed in addition to their sum.
    if total.iter().any(|one| one.direction != Direction::Mixed) {
        total.retain(|one| one.direction != Direction::Mixed);
    }
    let account = account(fields.get(behind..).unwrap_or_default(), runtime_ns.unwrap_or(0));
    let errno: i32 = fields[error].trim().parse().unwrap_or(0);
    let failure = (errno != 0).then(|| std::io::Error::from_raw_os_error(errno).to_string());
    let group = fields[group].trim().parse().unwrap_or(0);
    let measurement = Measurement {
        phase: group,
        group,
        source: source(program),
        duration_ns: runtime_ns,
        total,
        cpu: account.as_ref().map(|account| account.cpu),
        account: account.map(|account| JobStats {
            error: errno,
            failure: failure.clone(),
            ..account
        }),
        end: failure.map_or(EndReason::Done, |text| EndReason::Failed(Failure::of(errno, text))),
        ..Measurement::unknown(fields.get(name..first - 2).unwrap_or_default().join(";"))
    };
    Some((measurement, in_line && !cut))
}

/// Index of the first field of each direction.
fn directions(fields: &[&str]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut run = 0;
    for (at, field) in fields.iter().enumerate() {
        run = if field.contains("%=") { run + 1 } else { 0 };
        let before = (at + 1).checked_sub(PERCENTILES + BEFORE);
        if let (PERCENTILES, Some(start @ 3..)) = (run, before) {
            starts.push(start);
        }
    }
    starts
}

/// Directions of a line. With unified reporting read and write are one (mixed) since fio 3.27;
/// before, their sum was called read. A truncated line has the first ones.
fn sides(version: u32, count: usize, cut: bool) -> &'static [Direction] {
    use Direction::{Mixed, Read, Trim, Write};
    match (version, count) {
        _ if cut => &[Read, Write, Trim],
        (3, 1) => &[Mixed],
        (3, 3) => &[Read, Write, Mixed],
        (3, _) => &[Read, Write],
        (_, 1 | 2) => &[Mixed, Trim],
        _ => &[Read, Write, Trim, Mixed],
    }
}

/// Parses a direction and its run time in ms; `None` if it did nothing.
fn direction(fields: &[&str], side: Direction, unit: Unit) -> Option<(DirectionResult, u64)> {
    let whole = |at: usize| fields[at].trim().parse::<u64>().ok();
    let (kib, runtime_ms) = (whole(0)?, whole(3)?);
    let printed = |at: usize, unit: f64| {
        let low = whole(at)? as f64 * unit;
        Some(Estimate { value: low, spread: Spread::Rounding { low, high: low + unit } })
    };
    let (bandwidth, iops) = (printed(1, 1024.0), printed(2, 1.0));
    if kib == 0 && runtime_ms == 0 && iops.is_none_or(|iops| iops.value == 0.0) {
        return None;
    }
    let bytes = kib.saturating_mul(1024);
    let summary = |at: usize| {
        let extreme = |at| whole(at).map(|value| unit.extreme(value));
        let decimal =
            |at: usize| fields[at].trim().parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0);
        let any = whole(at + 1) > Some(0) || decimal(at + 2) > Some(0.0);
        if !any {
            return LatencySummary::default();
        }
        LatencySummary {
            min_ns: extreme(at),
            max_ns: extreme(at + 1),
            mean_ns: decimal(at + 2).map(|mean| unit.mean(mean)),
            stdev_ns: decimal(at + 3).map(|deviation| unit.deviation(deviation)),
            percentiles: Vec::new(),
        }
    };
    let mut stated = StatedLatencies {
        submission: summary(4),
        completion: summary(8),
        total: summary(BEFORE + PERCENTILES),
    };
    if !stated.completion.is_empty() {
        let max_ns = stated.completion.max_ns.map(|max| max.value);
        let listed = fields[BEFORE..BEFORE + PERCENTILES].iter();
        let percentiles = listed.filter_map(|field| {
            let (percent, value) = field.split_once("%=")?;
            let percent = percent.trim().parse().ok().filter(|p| *p > 0.0 && *p <= 100.0)?;
            Some((percent, unit.percentile(value.trim().parse().ok()?, max_ns)))
        });
        stated.completion.percentiles = percentiles.collect();
        stated.completion.percentiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    let over_time = per_runtime(bytes, runtime_ms).map(|rate| {
        // Bytes were truncated to KiB.
        let more = per_runtime(bytes.saturating_add(1023), runtime_ms);
        let high = more.map_or(rate.high(), |more| more.high());
        Estimate { value: rate.value, spread: Spread::Rounding { low: rate.low(), high } }
    });
    let bandwidth = match (over_time, bandwidth) {
        (Some(rate), Some(printed)) => Some(intersect(rate, printed)),
        (rate, printed) => rate.or(printed),
    };
    let result = DirectionResult {
        bytes: Some(bytes),
        whole_bytes: Some(bytes),
        iops,
        bandwidth,
        latency_mean: stated.total.mean_ns,
        stated: (stated != StatedLatencies::default()).then(|| Box::new(stated)),
        sampled: sampled(fields),
        ..DirectionResult::unknown(side)
    };
    Some((result, runtime_ms))
}

/// Parses fio's rate samples: bandwidth in KiB/s, with its share of the group, and since version 5
/// the number of samples, and those of IOPS.
fn sampled(fields: &[&str]) -> Option<Box<SampledRates>> {
    const BANDWIDTHS: usize = BEFORE + PERCENTILES + 4;
    let number = |at: usize, unit: f64| {
        let value = fields.get(at)?.trim().parse().ok().filter(|v: &f64| v.is_finite());
        Some(Estimate::bare(value? * unit))
    };
    let samples = |[min, max, mean, stdev, count]: [usize; 5], unit| {
        let of = RateSamples {
            min: number(min, unit),
            max: number(max, unit),
            mean: number(mean, unit),
            stdev: number(stdev, unit),
            count: fields.get(count).and_then(|count| count.trim().parse().ok()),
        };
        let any = of.max.is_some_and(|max| max.value > 0.0);
        if any { of } else { RateSamples::default() }
    };
    let at = BANDWIDTHS;
    let bandwidth = samples([at, at + 1, at + 3, at + 4, at + 5], 1024.0);
    let at = BANDWIDTHS + 6;
    let iops = samples([at, at + 1, at + 2, at + 3, at + 4], 1.0);
    let sampled = SampledRates { bandwidth, iops };
    (sampled != SampledRates::default()).then(|| Box::new(sampled))
}

/// Parses the fields after the directions: CPU, depths, latency classes.
fn account(fields: &[&str], runtime_ns: u64) -> Option<JobStats> {
    const DEPTHS: usize = 7;
    let percent = |at: usize| fields.get(at)?.trim().trim_end_matches('%').parse::<f64>().ok();
    let count = |at: usize| fields.get(at).and_then(|field| field.trim().parse().ok()).unwrap_or(0);
    let (user, system) = (percent(0)? / 100.0, percent(1)? / 100.0);
    let mut at = 5 + DEPTHS;
    let mut shares = Vec::new();
    for (_, unit_ns, ends) in &CLASSES[1..] {
        for end in *ends {
            shares.push((Some(end * unit_ns), percent(at)));
            at += 1;
        }
    }
    shares.push((None, percent(at)));
    Some(JobStats {
        elapsed_ns: runtime_ns,
        counted_ns: runtime_ns,
        cpu: CpuUse { user, system, busiest_thread: user + system, waited: None },
        switches: count(2),
        major_faults: count(3),
        minor_faults: count(4),
        latency_ranges: ranges(shares),
        ..JobStats::default()
    })
}
