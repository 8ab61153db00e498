//! Compares runs workload by workload. Pure.

mod difference;
mod differing;
mod limit;
mod pairing;
mod point;
mod quantity;
mod sample;
mod stack;
mod table;
#[cfg(test)]
mod tests;
mod unlike;

use std::cmp::Reverse;
use std::collections::HashMap;

use iodyno_model::{LatencyKind, Reason, RunRecord, Validity};
use iodyno_stats::holm;

use crate::assess::assess;
use crate::claims::ClaimBook;
use crate::convergence::{Convergence, is_whole};
use crate::question::Question;
use crate::window::{WindowedRun, by_window};
use pairing::{Group, groups};
use sample::Sample;

pub(crate) use difference::Repetitions;
pub use difference::{Difference, LEVEL, REPETITIONS, Reality};
pub use differing::{Differing, NotKnown};
pub use limit::{Limit, LimitError, Outcome, Ruling, Subject, rulings};
pub use quantity::Quantity;
pub use table::{Alone, Cell, Comparison, Figure, Order, Point, Row, SideFacts};

/// A column: one run, or several repetitions of it.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// Label.
    pub label: String,
    /// Runs.
    pub records: Vec<&'a RunRecord>,
}

/// Compares runs. Pure and deterministic.
pub fn compare<'a>(sides: &[Side<'a>], claims: &ClaimBook) -> Comparison {
    let records = |of: &Side<'a>| of.records.iter().map(|record| by_window(record)).collect();
    let windows: Vec<Vec<WindowedRun<'_>>> = sides.iter().map(records).collect();
    let mut samples = Vec::new();
    for (side, of) in sides.iter().enumerate() {
        for (record, window) in of.records.iter().zip(&windows[side]) {
            let question = Question { record, claims, baseline: None, expect: None };
            samples.extend(Sample::all(side, window, &assess(&question)));
        }
    }
    let groups = groups(samples);
    let (mut shared, mut alone): (Vec<Group<'_>>, Vec<Group<'_>>) =
        groups.into_iter().partition(|group| group.sides() > 1);
    let unlike = unlike::joined(&mut shared, &mut alone, sides.len());
    let mut rows: Vec<Row> = match unlike {
        Some(both) => shared.iter().map(|two| unlike::row(two, &both)).collect(),
        None => shared
            .iter()
            .map(|group| row(group, sides.len(), |sample| sample.is_comparable()))
            .collect(),
    };
    adjust(&mut rows);
    let (differing, not_known) = differing::differing(&shared, sides.len());
    Comparison {
        sides: sides.iter().enumerate().map(|(at, side)| side_facts(at, side, sides)).collect(),
        rows,
        alone: alone
            .iter()
            .filter_map(|group| {
                Some(Alone { side: group.samples.first()?.side, point: point(group) })
            })
            .collect(),
        differing,
        not_known,
    }
}

fn side_facts(at: usize, side: &Side<'_>, sides: &[Side<'_>]) -> SideFacts {
    let same_runs = |other: &Side<'_>| {
        let same = |a: &RunRecord, b: &RunRecord| a.run.id == b.run.id || is_copy(a, b);
        let is_theirs = |mine: &&&RunRecord| other.records.iter().any(|other| same(mine, other));
        side.records.iter().filter(is_theirs).count()
    };
    let same_as = sides[..at].iter().position(|other| same_runs(other) > 0);
    let failed = |record: &&RunRecord| {
        let all = record.measurements.iter().enumerate();
        all.filter(|(n, of)| !is_whole(of) && !record.is_repeated(*n)).count()
    };
    let results =
        side.records.iter().flat_map(|record| &record.measurements).flat_map(|of| &of.total);
    SideFacts {
        label: side.label.clone(),
        failed: side.records.iter().map(failed).sum(),
        failed_ios: results.filter_map(|result| result.errors).sum(),
        runs: side.records.iter().map(|record| record.run.clone()).collect(),
        same_as,
        same_runs: same_as.map_or(0, |other| same_runs(&sides[other])),
        without_window: without_window(&side.records),
    }
}

/// Number of runs in rounds that have too few of them; `None`: no run is in rounds.
fn without_window(records: &[&RunRecord]) -> Option<usize> {
    let has_window = |record: &&RunRecord| {
        let plan = record.run.rounds.as_ref()?;
        let found = Convergence::by_target(&plan.rounds, record);
        Some(found.iter().any(|(_, of)| of.last.is_some()))
    };
    let have: Vec<bool> = records.iter().filter_map(has_window).collect();
    (!have.is_empty()).then(|| have.iter().filter(|has| !**has).count())
}

/// A run that was imported twice has two ids.
fn is_copy(a: &RunRecord, b: &RunRecord) -> bool {
    !a.measurements.is_empty() && a.measurements == b.measurements
}

fn point(group: &Group<'_>) -> Point {
    let mut workload = group.key.workload();
    for (name, value) in &group.variant {
        match (name.as_str(), value) {
            ("ioengine", engine) => workload.ioengine.clone_from(engine),
            ("direct", direct) => workload.direct = direct.as_deref().map(|direct| direct == "1"),
            (_, Some(value)) => {
                workload.options.insert(name.clone(), value.clone());
            }
            (_, None) => {}
        }
    }
    let mut names = group.samples.iter().map(|sample| &sample.first().name);
    let name = names.next().filter(|first| names.all(|name| name == *first));
    Point {
        name: name.filter(|name| !name.is_empty()).cloned(),
        direction: group.key.direction,
        workload,
        searched: group.key.depth == point::Depth::Searched,
        place: group.place.clone(),
    }
}

/// Builds a row; `is_comparable` selects the repetitions to compare.
fn row(group: &Group<'_>, sides: usize, is_comparable: fn(&Sample<'_>) -> bool) -> Row {
    let all: Vec<Vec<&Sample<'_>>> = (0..sides).map(|side| group.of_side(side).collect()).collect();
    let counted: Vec<Vec<&Sample<'_>>> = all
        .iter()
        .map(|samples| {
            distinct(samples).into_iter().filter(|sample| is_comparable(sample)).collect()
        })
        .collect();
    let first = counted.iter().position(|samples| !samples.is_empty());
    let cell = |side: usize| {
        let samples = &all[side];
        let distinct = distinct(samples).len();
        let earlier = first.filter(|first| *first != side);
        let is_theirs = |sample: &&&Sample<'_>| {
            earlier.is_some_and(|first| counted[first].iter().any(|other| sample.is_copy(other)))
        };
        (!samples.is_empty()).then(|| Cell {
            repetitions: counted[side].len(),
            left_out: distinct - counted[side].len(),
            copies: samples.len() - distinct,
            shared: counted[side].iter().filter(is_theirs).count(),
            failure: samples.iter().find_map(|sample| sample.failure()).map(str::to_owned),
            validity: samples.iter().map(|sample| sample.validity).max().unwrap_or(Validity::Valid),
            reasons: reasons(samples),
            order: earlier.and_then(|first| order(&counted[first], &counted[side])),
        })
    };
    Row {
        point: point(group),
        unlike: None,
        cells: (0..sides).map(cell).collect(),
        figures: Quantity::ALL
            .into_iter()
            .map(|quantity| figure(quantity, &counted))
            .filter(|figure| {
                let known = figure.values.iter().any(Option::is_some);
                known || figure.why_not.is_some() || !figure.quantity.is_latency()
            })
            .collect(),
    }
}

/// Removes copies: a run that was given twice is not a repetition.
fn distinct<'s, 'a>(samples: &[&'s Sample<'a>]) -> Vec<&'s Sample<'a>> {
    let mut distinct: Vec<&Sample<'_>> = Vec::new();
    // Candidates for equality, by some of the fields that must be equal.
    let mut alike: HashMap<_, Vec<&Sample<'_>>> = HashMap::new();
    for sample in samples {
        let of = sample.first();
        let result = of.total.first().map(|result| (result.ios, result.bytes));
        let alike = alike.entry((&of.name, of.started_ns, result)).or_default();
        let known = |other: &&Sample<'_>| {
            !std::ptr::eq(other.record, sample.record) && other.is_copy(sample)
                || std::ptr::eq(other.first(), sample.first())
        };
        if !alike.iter().any(known) {
            alike.push(sample);
            distinct.push(sample);
        }
    }
    distinct
}

fn reasons(samples: &[&Sample<'_>]) -> Vec<Reason> {
    // Repetitions share many reservations.
    let reasons = iodyno_model::distinct(samples.iter().flat_map(|sample| &sample.reasons));
    let mut reasons: Vec<Reason> = reasons.into_iter().cloned().collect();
    reasons.sort_by_key(|reason| Reverse(reason.validity));
    reasons
}

/// Largest number of turns by which one side may be ahead of the other: A B B A stays within one, a
/// lost run adds less than half of one.
const AHEAD: f64 = 1.5;

/// Two sides are interleaved if neither gets ahead of the other: at any time both have done the same
/// share of their runs, to a turn. With longer blocks, what changed between two blocks would be
/// taken for a difference (in 1 of 2 simulated A A A B B B B B B A A A, whose levels change by ten
/// times the noise).
fn order(a: &[&Sample<'_>], b: &[&Sample<'_>]) -> Option<Order> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let times = |samples: &[&Sample<'_>]| -> Option<Vec<i64>> {
        let started = samples.iter().map(|sample| sample.first().started_ns);
        let mut times = started.collect::<Option<Vec<i64>>>()?;
        times.sort_unstable();
        Some(times)
    };
    let (Some(a), Some(b)) = (times(a), times(b)) else { return Some(Order::Unknown) };
    let turn = 1.0 / a.len().min(b.len()) as f64;
    // Of runs at the same time either may have been first.
    let ahead = |one: &[i64], other: &[i64], at: i64| {
        let until = one.partition_point(|time| *time <= at) as f64 / one.len() as f64;
        until - other.partition_point(|time| *time < at) as f64 / other.len() as f64
    };
    let worst = |at: &i64| ahead(&a, &b, *at).max(ahead(&b, &a, *at));
    let in_turns = a.iter().chain(&b).all(|at| worst(at) <= AHEAD * turn);
    Some(if in_turns { Order::Interleaved } else { Order::OneAfterTheOther })
}

/// Compares one quantity. Latencies are of the first kind that the first side and another both have
/// (logs may only contain submission latencies): different kinds are not comparable.
fn figure(quantity: Quantity, sides: &[Vec<&Sample<'_>>]) -> Figure {
    let of_kind = |kind: LatencyKind| -> Vec<Option<Repetitions>> {
        sides.iter().map(|samples| Repetitions::of(samples, quantity, kind)).collect()
    };
    let known = |values: &[Option<Repetitions>]| values.iter().flatten().count();
    let (mut kind, mut values) = (LatencyKind::Total, of_kind(LatencyKind::Total));
    let mut why_not = None;
    if quantity.is_latency() && known(&values) < 2 {
        let completion = of_kind(LatencyKind::Completion);
        let measured = sides.iter().filter(|samples| !samples.is_empty()).count();
        let (total, of_completion) = (known(&values), known(&completion));
        if total == 1 && of_completion == 1 && measured > 1 {
            why_not = Some(
                "one side has total latencies (fio's lat), the other completion latencies (clat)"
                    .to_owned(),
            );
        } else if of_completion > total {
            (kind, values) = (LatencyKind::Completion, completion);
        } else if known(&of_kind(LatencyKind::Submission)) > total {
            (kind, values) = (LatencyKind::Submission, of_kind(LatencyKind::Submission));
        }
    }
    let first = values.iter().flatten().next().cloned();
    let mut seen_first = false;
    let differences = values.iter().map(|value| {
        let (first, value) = (first.as_ref()?, value.as_ref()?);
        if !std::mem::replace(&mut seen_first, true) {
            return None;
        }
        let stopped = || value.stopped(first).filter(|_| quantity.more_is_better());
        value.against(first).or_else(stopped)
    });
    let differences: Vec<Option<Difference>> = differences.collect();
    if known(&values) > differences.iter().flatten().count() + 1 {
        why_not = Some("0 on a side: no ratio".to_owned());
    }
    Figure {
        quantity,
        kind: quantity.is_latency().then_some(kind),
        differences,
        values: values.iter().map(|value| value.as_ref()?.estimate().finite()).collect(),
        why_not,
    }
}

/// Relative difference up to which p-values are the same: those of IOPS and bandwidth with one
/// block size are.
const SAME_P: f64 = 1e-6;

/// Applies Holm's correction to all quantities, rows and sides together. Equal p-values of
/// quantities of one row and side count as one test.
fn adjust(rows: &mut [Row]) {
    let mut p_values: Vec<f64> = Vec::new();
    let mut asked: Vec<(&mut Difference, usize, bool)> = Vec::new();
    for row in rows {
        let mut of_sides: HashMap<usize, Vec<usize>> = HashMap::new();
        for figure in &mut row.figures {
            for (side, difference) in figure.differences.iter_mut().enumerate() {
                let Some(difference) = difference else { continue };
                let Some(p) = difference.p_value else { continue };
                let of_side = of_sides.entry(side).or_default();
                let same = |index: &usize| (p_values[*index] - p).abs() <= SAME_P * p;
                let index = of_side.iter().copied().find(same).unwrap_or(p_values.len());
                if index == p_values.len() {
                    p_values.push(p);
                    of_side.push(index);
                }
                let order = row.cells[side].as_ref().and_then(|cell| cell.order);
                asked.push((difference, index, order == Some(Order::Interleaved)));
            }
        }
    }
    let adjusted = holm(&p_values);
    for (difference, index, in_turns) in asked {
        difference.adjust(adjusted[index], in_turns);
    }
}
