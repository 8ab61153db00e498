//! Summary of jobs and points: one line overall, a grid or a row each, and their caveats.

use iodyno_model::{
    Assessment, Caveat, EndReason, Measurement, Metric, Predictions, Reason, RunKind, RunRecord,
    RunState, Severity, Validity, Verdict, distinct,
};

use super::Style;
use super::attention::whole;
use super::figure::stated;
use super::host::counted;
use super::ink::Ink;
use super::jobs::target_words;
use super::outlook::predictions_text;
use super::point_grids::{PlannedPoint, in_order, matrices, rate};
use super::replay::{self, replayed};
use super::results::table_of;
use super::runs::{started, state};
use super::words::{clean, listed};

/// Caveats shown before the rest is counted.
const SHOWN: usize = 4;

/// Label, ink and clause of the first line; for a replay that did not fail, whether it kept its
/// pace.
pub(crate) fn clause(
    record: &RunRecord,
    assessment: &Assessment,
    planned: &[PlannedPoint],
) -> ((&'static str, Ink), String) {
    let all = &record.measurements;
    let failed = record.failures().count();
    let noun = match planned.is_empty() {
        true if all.iter().any(|of| of.round.is_some()) => "measurement",
        true => "job",
        false => "point",
    };
    // A point that was interrupted or failed is measured once more by `iodyno resume`; the
    // preparation is none.
    let is_counted = |(n, of): &(usize, &Measurement)| {
        let is_planned = || planned.iter().any(|point| point.title == of.name);
        let is_point = planned.is_empty() || (of.end != EndReason::Interrupted && is_planned());
        is_point && !record.is_repeated(*n)
    };
    let shown: Vec<usize> = all.iter().enumerate().filter(is_counted).map(|(n, _)| n).collect();
    let is_not_valid = |n: &&usize| all[**n].failure().is_none() && is_invalid(assessment, **n);
    let invalid = shown.iter().filter(is_not_valid).count();
    let count = counted(shown.len(), noun);
    let targets = distinct(all.iter().flat_map(|of| &of.targets).cloned());
    let run = &record.run;
    let has_begun = !all.is_empty() || run.state == RunState::Done || run.command.is_empty();
    let mut text = match (failed, targets.is_empty()) {
        (0, true) if !has_begun => clean(&run.command),
        (0, true) => count,
        (0, false) if targets.len() > 1 => format!("{count} on {} targets", targets.len()),
        (0, false) => format!("{count} on {}", target_words(&targets)),
        _ => format!("{failed} of {count} failed"),
    };
    if record.run.kind == RunKind::Prepare {
        let targets = target_words(&record.run.targets);
        text = match record.run.state {
            RunState::Done => format!("{targets} prepared"),
            RunState::Interrupted => format!("{targets} not prepared"),
            _ if failed > 0 => format!("{targets} not prepared: {text}"),
            RunState::Running | RunState::Failed => format!("{targets} not prepared"),
        };
    }
    match invalid {
        0 => {}
        all if all == shown.len() => text.push_str(", not valid"),
        some => text.push_str(&format!(", {some} not valid")),
    }
    if !planned.is_empty() && failed == 0 {
        let bests = [Metric::Iops, Metric::Bandwidth];
        let bests = bests.into_iter().filter_map(|metric| best(record, assessment, metric));
        let bests: Vec<String> = bests.collect();
        if !bests.is_empty() {
            text = format!("{text}: most {}", bests.join(", "));
        }
    }
    if let Some(state) = state(run).filter(|_| run.is_alive) {
        text = format!("{text}: {state}, since {} UTC", started(run));
    }
    let label = match (assessment.verdict, record.run.state) {
        _ if failed > 0 => ("FAILED", Ink::Bad),
        (_, RunState::Interrupted) => ("STOPPED", Ink::Doubt),
        (_, RunState::Running) if run.is_alive => ("RUNNING", Ink::Open),
        (_, RunState::Running) => ("UNFINISHED", Ink::Doubt),
        (Verdict::Unjudged | Verdict::Pass, _) if invalid > 0 => ("WARN", Ink::Doubt),
        // No findings, and nothing was compared.
        (Verdict::Unjudged | Verdict::Pass, _) if !is_judged(assessment) => ("DONE", Ink::Good),
        (verdict, _) => (verdict.label(), Ink::of_verdict(verdict)),
    };
    match replayed(record).filter(|_| failed == 0) {
        Some((of, target)) => {
            let (own, pace) = replay::clause(of, &target);
            (own.filter(|_| label.0 == "DONE").unwrap_or(label), pace)
        }
        None => (label, text),
    }
}

fn is_judged(assessment: &Assessment) -> bool {
    let mut metrics = assessment.measurements.iter().flat_map(|judged| &judged.metrics);
    metrics.any(|metric| metric.verdict != Verdict::Unjudged)
}

/// `9385 IOPS at bs=4k iodepth=4`: the highest valid rate that was measured for its own sake and not
/// interrupted.
fn best(record: &RunRecord, assessment: &Assessment, metric: Metric) -> Option<String> {
    let all = record.measurements.iter().enumerate();
    let valid = all.filter(|(n, of)| {
        let is_whole = of.failure().is_none() && of.end != EndReason::Interrupted;
        of.purpose.is_measure() && is_whole && !is_invalid(assessment, *n)
    });
    let rates = valid.filter_map(|(_, of)| Some((rate(metric, of)?, of)));
    let (most, of) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!("{} at {}", stated(metric, most), clean(&of.name)))
}

fn is_invalid(assessment: &Assessment, measurement: usize) -> bool {
    assessment.of(measurement).is_some_and(|judged| judged.validity == Validity::Invalid)
}

/// The grid of a sweep if it has two dimensions and fits, else a row per point or job, in the order
/// of the plan's axes.
pub(super) fn rows(
    record: &RunRecord,
    assessment: &Assessment,
    planned: &[PlannedPoint],
    outlook: Option<&Predictions>,
    style: &Style,
) -> String {
    let predictions = outlook.map_or(&[][..], |outlook| &outlook.predictions);
    let grids = matrices(record, assessment, planned, predictions, style);
    grids.unwrap_or_else(|| {
        let order = in_order(record, planned, record.measurements.len());
        let table = table_of(record, Some(assessment), &order, style);
        match outlook.map(|outlook| predictions_text(outlook, style)) {
            Some(predicted) if !predicted.is_empty() => format!("{table}\n{predicted}"),
            _ => table,
        }
    })
}

/// Commands beside the jobs that failed.
pub(super) fn commands(record: &RunRecord, style: &Style) -> String {
    let of_one = |of: &Measurement| {
        let failed = of.conditions.shortfalls.iter();
        let failed = failed.filter(|one| matches!(one, Caveat::CommandFailed { .. }));
        let text = |one: &Caveat| format!("{}: {}", clean(&of.name), clean(&one.to_string()));
        failed.map(|one| whole("WARN", Ink::Doubt, &text(one), style)).collect::<Vec<_>>()
    };
    record.measurements.iter().flat_map(of_one).take(SHOWN).collect()
}

/// The first caveats of the rows; see [`caveats`].
pub(super) fn caveats_text(
    record: &RunRecord,
    assessment: &Assessment,
    is_wanted: impl Fn(&Reason) -> bool,
    style: &Style,
) -> String {
    let all = caveats(record, assessment, is_wanted);
    let line = |(validity, text): &(Validity, String)| match validity {
        Validity::Invalid => whole("WARN", Ink::Doubt, text, style),
        _ => whole("NOTE", Ink::Dim, text, style),
    };
    let mut out: String = all.iter().take(SHOWN).map(line).collect();
    if let Some(more) = all.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        out.push_str(&whole("", Ink::Dim, &format!("and {more} more (-v)"), style));
    }
    out
}

/// Caveats of the rows, worst first, each once with the names of which it is true; of those of the
/// same rule that say otherwise, such as other figures, only the number. Rules with a failure or
/// warning are left out.
pub(crate) fn caveats(
    record: &RunRecord,
    assessment: &Assessment,
    is_wanted: impl Fn(&Reason) -> bool,
) -> Vec<(Validity, String)> {
    let is_found = |rule: &str| {
        let mut all = assessment.findings.iter();
        all.any(|one| one.rule == rule && one.severity >= Severity::Warn)
    };
    let mut found: Vec<(&str, Validity, &str, Vec<String>, usize)> = Vec::new();
    for judged in &assessment.measurements {
        let Some(of) = record.measurements.get(judged.measurement) else { continue };
        for reason in
            judged.reasons.iter().filter(|reason| is_wanted(reason) && !is_found(&reason.rule))
        {
            let known = found
                .iter_mut()
                .find(|(rule, validity, ..)| *rule == reason.rule && *validity == reason.validity);
            match known {
                Some((.., why, names, _)) if *why == reason.why => names.push(clean(&of.name)),
                Some((.., others)) => *others += 1,
                None => {
                    let names = vec![clean(&of.name)];
                    found.push((&reason.rule, reason.validity, &reason.why, names, 0));
                }
            }
        }
    }
    found.sort_by_key(|(_, validity, ..)| std::cmp::Reverse(*validity));
    let line = |(rule, validity, why, names, others): (&str, _, &str, Vec<String>, _)| {
        let names = match names.len() {
            all if all > 1 && all == record.measurements.len() => "all".to_owned(),
            _ => listed(&names),
        };
        let not_valid = if validity == Validity::Invalid { "not valid: " } else { "" };
        let why = clean(why);
        let why = why.trim_end_matches('.');
        let more = match others {
            0 => String::new(),
            others => format!("; {others} more like this"),
        };
        (validity, format!("{names}: {not_valid}{why} [{}]{more}", clean(rule)))
    };
    found.into_iter().map(line).collect()
}
