//! Lists the measurements: each target alone, then all at once.

use std::collections::HashMap;

use iodyno_judge::{Index, device_of, shared_drives};
use iodyno_model::{
    Assessment, DirectionResult, EndReason, JudgedMeasurement, Measurement, Metric,
    MetricJudgement, Reason, RunKind, RunRecord, Validity, WrittenState, Yardstick,
    format_duration_ns, format_mb_per_s,
};

use super::Style;
use super::figure::{distribution, estimated, latency_kind, measured, percent, stated};
use super::host::counted;
use super::ink::Ink;
use super::jobs::block_size;
use super::words::{Hanging, clean};

/// Percentiles shown; the document has all.
const SHOWN: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Widths of the verdict and the test's name in front of the figures.
const VERDICT_WIDTH: usize = 10;
const NAME_WIDTH: usize = 17;

/// Width from which figures stand next to the test's name, not below it.
const BESIDE: usize = 76;

/// Measurements of each target alone in the run's order, then of several at once; then what was
/// skipped, with the command to run. Empty if nothing was requested. Lines are at most
/// `style.width` long.
pub fn measurements_text(record: &RunRecord, assessment: &Assessment, style: &Style) -> String {
    let mut out = String::new();
    let mut heading = String::new();
    let shared = shared_notes(record, assessment);
    let (alone, together): (Vec<usize>, Vec<usize>) = (0..record.measurements.len())
        .partition(|index| record.measurements[*index].targets.len() < 2);
    // Group by target, in order of each target's first measurement.
    let mut firsts: HashMap<&[String], usize> = HashMap::new();
    let first = |n: &usize| *firsts.entry(&record.measurements[*n].targets).or_insert(*n);
    let mut order: Vec<(usize, usize)> =
        alone.iter().map(first).zip(alone.iter().copied()).collect();
    order.sort_unstable();
    let by_key = Index::of(record);
    for index in order.into_iter().map(|(_, index)| index).chain(together) {
        let measurement = &record.measurements[index];
        let title = title(measurement);
        if title != heading {
            if !heading.is_empty() {
                out.push('\n');
            }
            out.push_str(&hanging(style, 0, Ink::Bold).lines(std::slice::from_ref(&title)));
            if let Some(stack) = stack(record, measurement) {
                let line = Hanging { separator: " ", ..hanging(style, 2, Ink::Dim) };
                out.push_str(&line.lines(&stack));
            }
            heading = title;
        }
        let judged = assessment.of(index);
        out.push_str(&entry(&by_key, measurement, judged, &shared, style));
    }
    for (note, count) in shared {
        let of = format!("{count} of {} measurements", record.measurements.len());
        let everywhere = count == record.measurements.len();
        let of = if everywhere { "all measurements".into() } else { of };
        out.push_str(&hanging(style, 2, Ink::Doubt).lines(&[format!("{of}: {note}.")]));
    }
    out.push_str(&skipped(record, style, !out.is_empty()));
    out
}

/// Caveats shared by several measurements, with their number; printed once, after them all.
fn shared_notes(record: &RunRecord, assessment: &Assessment) -> Vec<(String, usize)> {
    let mut notes: Vec<(String, usize)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let all = record.measurements.iter().enumerate();
    for note in all.flat_map(|(n, of)| own_notes(of, assessment.of(n))) {
        let at = *known.entry(note.clone()).or_insert(notes.len());
        match notes.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => notes.push((note, 1)),
        }
    }
    notes.retain(|(_, count)| *count > 1);
    notes
}

/// Shortfalls and caveats of the measurement, and those of its target that no finding lists, without
/// the full stop.
fn own_notes(measurement: &Measurement, judged: Option<&JudgedMeasurement>) -> Vec<String> {
    let mut reasons = judged.iter().flat_map(|judged| &judged.reasons);
    let are_listed = reasons.any(|reason| reason.rule == "target-qualified");
    let conditions = &measurement.conditions;
    let beside = conditions.beside.iter().map(|beside| {
        let rate = format_mb_per_s(beside.bytes_per_s);
        format!("concurrent rw={} at {}, {rate}", beside.rw, beside.target)
    });
    let remarks = conditions.target_remarks.iter().filter(|_| !are_listed);
    let caveats = remarks.chain(&conditions.shortfalls);
    let texts = caveats.map(ToString::to_string).chain(beside);
    texts.map(|text| clean(&text).trim_end_matches('.').to_string()).collect()
}

fn hanging(style: &Style, indent: usize, ink: Ink) -> Hanging<'static> {
    Hanging { indent, ink, ..Hanging::of(style) }
}

pub(crate) fn title(measurement: &Measurement) -> String {
    let targets: Vec<String> = measurement.targets.iter().map(|target| clean(target)).collect();
    match targets.as_slice() {
        [] => "unknown target".into(),
        [target] => match &measurement.conditions.device {
            Some(device) => format!("{target} (on {})", clean(device)),
            None => target.clone(),
        },
        // For the many files that jobs create, the first and last suffice.
        [first, .., last] if measurement.conditions.device.is_some() => {
            let device = measurement.conditions.device.as_deref().map(clean).unwrap_or_default();
            format!("{} files at once (on {device}): {first} to {last}", targets.len())
        }
        targets => format!("{} at once: {}", targets.len(), targets.join(", ")),
    }
}

/// Storage stack of the targets down to the drives, if all have the same: `ext4, block 4 KiB,
/// rw,noatime on md raid0 of 2, chunk 512 KiB on 2 x …`.
fn stack(record: &RunRecord, of: &Measurement) -> Option<Vec<String>> {
    let host = of.before.and_then(|at| record.snapshots.get(at)).or_else(|| record.host())?;
    let mut stacks = of.targets.iter().map(|target| host.stack_under(device_of(of, target)));
    let first = stacks.next().filter(|layers| layers.len() > 1)?;
    if stacks.any(|other| other != first) {
        return None;
    }
    let word = |(n, layer): (usize, &String)| match n {
        0 => clean(layer),
        _ => format!("on {}", clean(layer)),
    };
    Some(first.iter().enumerate().map(word).collect())
}

/// One measurement: a line per metric, then its conditions and caveats.
fn entry(
    record: &Index<'_>,
    measurement: &Measurement,
    judged: Option<&JudgedMeasurement>,
    shared: &[(String, usize)],
    style: &Style,
) -> String {
    let metrics = judged.map_or(&[][..], |judged| &judged.metrics);
    let beside = style.width >= BESIDE;
    let indent = if beside { 2 + VERDICT_WIDTH + NAME_WIDTH } else { 2 + VERDICT_WIDTH };
    let name = step_name(record.run.kind, &measurement.name);
    let mut out = String::new();
    let mut lead = |(label, ink): (&str, Ink), items: Vec<String>| {
        let gap = " ".repeat(VERDICT_WIDTH.saturating_sub(label.len()));
        let lead = format!("  {}{gap}{name}", ink.paint(label, style.color));
        let lead_width = 2 + VERDICT_WIDTH + name.chars().count();
        let first = Hanging { lead, lead_width, ..hanging(style, indent, Ink::Plain) };
        if beside && lead_width < indent {
            out.push_str(&first.lines(&items));
        } else {
            out.push_str(&first.lines(&[]));
            out.push_str(&hanging(style, indent, Ink::Plain).lines(&items));
        }
    };
    if let Some(how) = measurement.failure() {
        lead(("FAILED", Ink::Bad), vec![clean(how)]);
    } else if is_of_a_job(record, measurement) {
        let result = measurement.total.first();
        let items = result.map_or_else(|| vec!["no I/O".into()], all_figures);
        lead(verdict_label(judged, metrics.first()), items);
    } else if metrics.is_empty() {
        let result = measurement.total.first();
        let items = result.map_or_else(
            || vec!["no result".into()],
            |result| figures(default_metric(measurement), result),
        );
        lead(verdict_label(judged, None), items);
    }
    let is_judged = measurement.failure().is_none() && !is_of_a_job(record, measurement);
    for judgement in metrics.iter().filter(|_| is_judged) {
        lead(verdict_label(judged, Some(judgement)), judgement_items(judgement));
    }
    let detail = |items: Vec<String>, ink: Ink| hanging(style, indent, ink).lines(&items);
    if is_of_a_job(record, measurement) {
        for (number, result) in measurement.total.iter().enumerate() {
            if number > 0 {
                out.push_str(&detail(all_figures(result), Ink::Plain));
            }
            out.push_str(&detail(distribution(result, &SHOWN), Ink::Plain));
        }
        for judgement in metrics.iter().filter(|_| measurement.failure().is_none()) {
            // The figure itself was printed above.
            let judged = judgement_items(judgement).into_iter().skip(1).collect();
            out.push_str(&detail(judged, Ink::Plain));
        }
    } else if metrics.iter().any(|judgement| judgement.metric == Metric::LatencyMean)
        || (metrics.is_empty() && default_metric(measurement) == Metric::LatencyMean)
    {
        let result = measurement.total.first();
        out.push_str(&detail(
            result.map_or_else(Vec::new, |result| distribution(result, &SHOWN)),
            Ink::Plain,
        ));
    }
    if measurement.targets.len() > 1 && measurement.conditions.device.is_none() {
        let metric = metrics.first().map_or(default_metric(measurement), |first| first.metric);
        out.push_str(&detail(parts(record, measurement, metric), Ink::Plain));
    }
    if measurement.failure().is_none() {
        out.push_str(&detail(conditions(measurement), Ink::Dim));
    }
    for note in notes(measurement, judged, shared) {
        out.push_str(&detail(vec![format!("{note}.")], Ink::Doubt));
    }
    out
}

/// Verdict label: INVALID overrides; an interrupted or unassessed measurement is UNJUDGED.
pub(crate) fn verdict_label(
    judged: Option<&JudgedMeasurement>,
    judgement: Option<&MetricJudgement>,
) -> (&'static str, Ink) {
    match (judged.map(|judged| judged.validity), judgement) {
        (Some(Validity::Invalid), _) => ("INVALID", Ink::Bad),
        (_, Some(judgement)) => (judgement.verdict.label(), Ink::of_verdict(judgement.verdict)),
        (_, None) => ("UNJUDGED", Ink::Open),
    }
}

/// Name of a measurement: steps of `check` in words, all others as the user wrote them.
pub(crate) fn step_name(kind: RunKind, name: &str) -> String {
    match (kind, name) {
        (RunKind::Check, "seq-read") => "sequential read".into(),
        (RunKind::Check, "rand-read") => "random read".into(),
        (RunKind::Check, "latency") => "read latency".into(),
        (_, other) => clean(other),
    }
}

/// Main metric of a measurement without a judgement.
pub(crate) fn default_metric(measurement: &Measurement) -> Metric {
    match (measurement.workload.bs, measurement.workload.iodepth) {
        (Some(bs), _) if bs >= 64 << 10 => Metric::Bandwidth,
        (_, Some(1)) if measurement.targets.len() < 2 => Metric::LatencyMean,
        _ => Metric::Iops,
    }
}

fn figures(metric: Metric, result: &DirectionResult) -> Vec<String> {
    let figure = match (metric, &result.latency_mean) {
        (Metric::Bandwidth, _) => result.bandwidth.map(|rate| measured(metric, &rate)),
        (Metric::LatencyMean, Some(mean)) => Some(format!("mean {}", measured(metric, mean))),
        _ => result.iops.map(|iops| measured(Metric::Iops, &iops)),
    };
    figure.into_iter().collect()
}

/// True if it comes from a job file, a command line or an imported fio run: a job shows all of its
/// figures, a step of `check` only one.
pub(super) fn is_of_a_job(record: &RunRecord, measurement: &Measurement) -> bool {
    let is_job = matches!(record.run.kind, RunKind::Run | RunKind::Import);
    is_job || !measurement.workload.options.is_empty()
}

/// All figures of one direction of a job.
fn all_figures(result: &DirectionResult) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(result.iops.map(|iops| measured(Metric::Iops, &iops)));
    items.extend(result.bandwidth.map(|rate| measured(Metric::Bandwidth, &rate)));
    if let Some(first) = items.first_mut() {
        *first = format!("{} {first}", result.direction.name());
    }
    if let Some((kind, mean)) = result.mean_latency() {
        let mean = measured(Metric::LatencyMean, &mean);
        items.push(format!("{}mean {mean}", latency_kind(kind)));
    }
    let errors = result.errors.filter(|errors| *errors > 0);
    items.extend(errors.map(|errors| counted(errors as usize, "error")));
    items
}

/// The figure with its yardsticks.
pub(crate) fn judgement_items(judgement: &MetricJudgement) -> Vec<String> {
    let metric = judgement.metric;
    let own = measured(metric, &judgement.estimate);
    let mut items = vec![if metric == Metric::LatencyMean { format!("mean {own}") } else { own }];
    let mut own_figure = None;
    let share = |of: f64| match of > 0.0 {
        true => format!(", {}", percent(judgement.estimate.value / of)),
        false => String::new(),
    };
    let mut yardsticks = Vec::new();
    // If the reason mentions the yardstick, its figure is printed there only.
    let counts = judgement.reason.share.map(|(of, _)| of);
    let mut beside = |of, figure, otherwise| match counts == Some(of) {
        true => own_figure = Some(figure),
        false => yardsticks.push(otherwise),
    };
    if let Some(claim) = &judgement.claim {
        let figure = stated(metric, claim.value);
        let otherwise = format!("claim {figure}{}", share(claim.value));
        beside(Yardstick::Claim, figure, otherwise);
    }
    if let Some((median, count)) = judgement.peers {
        let figure =
            format!("{} of {}", stated(metric, median), counted(count as usize, "equal drive"));
        let otherwise = format!("median {figure}{}", share(median));
        beside(Yardstick::Peers, figure, otherwise);
    }
    if let Some(baseline) = &judgement.baseline {
        let figure = estimated(metric, baseline);
        let otherwise = format!("baseline {figure}{}", share(baseline.value));
        beside(Yardstick::Baseline, figure, otherwise);
    }
    if let Some((value, by)) = &judgement.ceiling {
        let bound = if metric == Metric::LatencyMean { "floor" } else { "ceiling" };
        yardsticks.push(format!("{bound} {} ({})", stated(metric, *value), clean(by)));
    }
    items.push(clean(&judgement.reason.sentence(own_figure.as_deref())));
    items.extend(yardsticks);
    items
}

/// Share of each target, and the total against the sum of the targets alone.
pub(crate) fn parts(record: &Index<'_>, measurement: &Measurement, metric: Metric) -> Vec<String> {
    let value = |result: &DirectionResult| match metric {
        Metric::Bandwidth => result.bandwidth.map(|rate| rate.value),
        Metric::Iops => result.iops.map(|iops| iops.value),
        Metric::LatencyMean => result.latency_mean.map(|mean| mean.value),
    };
    let mut items = Vec::new();
    let mut sum_alone = Some(0.0);
    for target in &measurement.targets {
        let alone = record.finished_step(&measurement.name, std::slice::from_ref(target));
        let alone = alone.and_then(|alone| alone.total.first()).and_then(value);
        sum_alone = sum_alone.zip(alone).map(|(sum, alone)| sum + alone);
        let part = measurement.parts.iter().find(|part| &part.target == target);
        if let Some(here) = part.and_then(|part| part.results.first()).and_then(value) {
            items.push(format!("{} {}", clean(target), stated(metric, here)));
        }
    }
    let total = measurement.total.first().and_then(value);
    if let (Some(total), Some(sum)) = (total, sum_alone)
        && metric != Metric::LatencyMean
        && sum > 0.0
        && shared_drives(record, measurement).is_empty()
    {
        let share = percent(total / sum);
        items.insert(0, format!("{share} of the sum of each alone ({})", stated(metric, sum)));
    }
    items
}

fn conditions(measurement: &Measurement) -> Vec<String> {
    let workload = &measurement.workload;
    let conditions = &measurement.conditions;
    let mut items = Vec::new();
    items.extend(block_size(workload));
    let depth = workload.iodepth.or(conditions.depth_asked);
    items.extend(depth.map(|depth| format!("depth {depth}")));
    let jobs = workload.numjobs.filter(|jobs| *jobs > 1);
    items.extend(jobs.map(|jobs| counted(jobs as usize, "job")));
    let threads = conditions.threads.filter(|threads| Some(*threads) != jobs);
    items.extend(threads.map(|threads| counted(threads as usize, "thread")));
    let reached = conditions.depth_reached.zip(conditions.depth_asked.or(depth));
    items.extend(reached.and_then(|(reached, asked)| {
        let is_other = reached.is_finite() && (reached / f64::from(asked) - 1.0).abs() > 0.05;
        is_other.then(|| format!("reached depth {reached:.1} of {asked}"))
    }));
    items.extend(workload.ioengine.as_deref().map(clean));
    if !measurement.source.starts_with("native") {
        items.push(clean(&measurement.source));
    }
    items.extend(measurement.duration_ns.map(|ns| format_duration_ns(ns as f64)));
    if conditions.scratch {
        items.push("scratch file".into());
    }
    for written in &conditions.written {
        if written.state != WrittenState::Written {
            let share = match written.state {
                WrittenState::Unknown => "unknown whether its blocks were ever written".into(),
                _ => format!("{} of its blocks written", percent(written.share.value)),
            };
            items.push(match measurement.targets.len() {
                0 | 1 => share,
                _ => format!("{}: {share}", clean(&written.target)),
            });
        }
    }
    if !conditions.ranges.is_empty() {
        items.push("inside the written ranges".into());
    }
    let errors = measurement.total.iter().filter_map(|result| result.errors);
    let errors = errors.fold(0, u64::saturating_add);
    if errors > 0 {
        items.push(counted(errors as usize, "I/O error"));
    }
    match measurement.end {
        EndReason::Interrupted => items.push("interrupted".into()),
        EndReason::MaxTime => items.push("stopped at the time limit".into()),
        _ => {}
    }
    items
}

/// Caveats, each a sentence; of those that qualify, the rules, whose findings have the sentences.
pub(crate) fn notes(
    measurement: &Measurement,
    judged: Option<&JudgedMeasurement>,
    shared: &[(String, usize)],
) -> Vec<String> {
    let mut notes = Vec::new();
    let reasons = judged.map_or(&[][..], |judged| &judged.reasons);
    let (invalid, qualified): (Vec<&Reason>, Vec<&Reason>) =
        reasons.iter().partition(|reason| reason.validity == Validity::Invalid);
    for Reason { rule, why, .. } in invalid {
        notes.push(format!("invalid: {} [{}]", clean(why).trim_end_matches('.'), clean(rule)));
    }
    if !qualified.is_empty() {
        let rules: Vec<String> = qualified.iter().map(|reason| clean(&reason.rule)).collect();
        notes.push(format!("qualified: {}", rules.join(", ")));
    }
    let own = own_notes(measurement, judged).into_iter();
    let own = own.filter(|own| shared.iter().all(|(note, _)| note != own));
    notes.extend(own.map(|own| format!("note: {own}")));
    notes
}

/// Skipped measurements, with the reason and the command to run.
fn skipped(record: &RunRecord, style: &Style, after_something: bool) -> String {
    if record.run.skipped.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    if after_something {
        out.push('\n');
    }
    out.push_str(&hanging(style, 0, Ink::Bold).lines(&["Not measured".to_string()]));
    for skipped in &record.run.skipped {
        let what = match &skipped.step {
            Some(step) => {
                let step = step_name(record.run.kind, step);
                format!("{}, {step}", clean(&skipped.target))
            }
            None => clean(&skipped.target),
        };
        let mut why = hanging(style, 2, Ink::Plain);
        why.separator = " ";
        out.push_str(&why.lines(&[format!("{what}: {}", clean(&skipped.why.to_string()))]));
        if !skipped.next.is_empty() {
            out.push_str(&super::findings::labelled(style, 4, "next", &skipped.next));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_keep_the_names_that_users_gave_them() {
        assert_eq!(step_name(RunKind::Check, "latency"), "read latency");
        assert_eq!(step_name(RunKind::Run, "latency"), "latency");
    }
}
