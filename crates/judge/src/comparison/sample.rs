//! One repetition of a workload: a measurement, or several made at once.

use std::collections::BTreeMap;

use iodyno_model::{
    Assessment, Direction, DirectionResult, Estimate, LatencyKind, Measurement, Reason, RunKind,
    RunRecord, Spread, Validity, distinct,
};

use super::point::{Key, directions, free_options};
use super::quantity::Quantity;
use crate::measured::searched;
use crate::window::WindowedRun;
use crate::yardsticks::identity;

/// One repetition of a workload.
#[derive(Debug, Clone)]
pub(super) struct Sample<'a> {
    pub(super) side: usize,
    pub(super) record: &'a RunRecord,
    pub(super) key: Key,
    /// Targets, or their serial numbers.
    pub(super) place: Vec<String>,
    pub(super) free_options: BTreeMap<String, String>,
    /// One measurement, or the jobs of a phase that a report lists separately (fio's clones).
    pub(super) jobs: Vec<&'a Measurement>,
    pub(super) validity: Validity,
    pub(super) reasons: Vec<Reason>,
}

impl<'a> Sample<'a> {
    /// Returns all samples of a run; rounds are averaged over their window, and preparations count
    /// only in runs that do nothing else.
    pub(super) fn all(side: usize, window: &'a WindowedRun<'_>, judged: &Assessment) -> Vec<Self> {
        let record: &RunRecord = &window.record;
        let in_rounds = window.of.iter().any(|of| of.len() > 1);
        let searched = searched(record);
        let by_index: BTreeMap<usize, _> =
            judged.measurements.iter().map(|judged| (judged.measurement, judged)).collect();
        let mut singles = Vec::new();
        let prepares = record.run.kind == RunKind::Prepare;
        let all = record.measurements.iter().enumerate();
        let all = all.filter(|(_, of)| prepares || !of.purpose.is_preparation());
        for (index, of) in all.filter(|(index, _)| in_rounds || !record.is_repeated(*index)) {
            let judged = window.of[index].iter().filter_map(|at| by_index.get(at));
            let judged: Vec<_> = judged.collect();
            let reasons = distinct(judged.iter().flat_map(|judged| judged.reasons.clone()));
            let validity = judged.iter().map(|judged| judged.validity).max();
            singles.extend(directions(of).into_iter().map(|direction| Self {
                side,
                record,
                key: Key::of(of, direction, searched.contains(of.name.as_str())),
                place: place(record, of),
                free_options: free_options(of),
                jobs: vec![of],
                validity: validity.unwrap_or(Validity::Valid),
                reasons: reasons.clone(),
            }));
        }
        // Candidates for one sample, and namesakes, have the same workload on the same target.
        let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, one) in singles.iter().enumerate() {
            let phase = (!in_rounds).then_some(one.first().phase);
            alike.entry((&one.key, &one.place, phase)).or_default().push(at);
        }
        let mut namesakes = vec![false; singles.len()];
        for those in alike.values() {
            if those.iter().all(|at| singles[*at].first().name == singles[those[0]].first().name) {
                continue;
            }
            let is_one = |at: &&usize| {
                those.iter().any(|other| singles[**at].is_namesake(&singles[*other], in_rounds))
            };
            those.iter().filter(is_one).for_each(|at| namesakes[*at] = true);
        }
        let mut samples: Vec<Self> = Vec::new();
        let mut made: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (mut single, has_namesakes) in singles.into_iter().zip(namesakes) {
            if has_namesakes {
                single.place.push(single.first().name.clone());
            }
            let phase = single.first().phase;
            let like =
                (single.key.clone(), single.place.clone(), single.free_options.clone(), phase);
            let alike = made.entry(like).or_default();
            let is_one =
                |at: &&usize| samples[**at].jobs.iter().all(|job| at_once(job, single.first()));
            match alike.iter().find(is_one) {
                Some(at) => samples[*at].join(single),
                None => {
                    alike.push(samples.len());
                    samples.push(single);
                }
            }
        }
        samples
    }

    /// Returns true for a job of another name with the same workload on the same target, at the
    /// same time or in a plan in rounds, where each has its part: the name must tell them apart.
    fn is_namesake(&self, other: &Self, in_rounds: bool) -> bool {
        let (one, two) = (self.first(), other.first());
        one.name != two.name
            && (in_rounds || at_once(one, two))
            && self.key == other.key
            && self.place == other.place
    }

    pub(super) fn first(&self) -> &'a Measurement {
        self.jobs[0]
    }

    /// Returns true if both are the same measurement, loaded or imported twice.
    pub(super) fn is_copy(&self, other: &Self) -> bool {
        self.jobs == other.jobs
    }

    fn join(&mut self, other: Self) {
        self.jobs.extend(other.jobs);
        self.validity = self.validity.max(other.validity);
        self.reasons = distinct(self.reasons.drain(..).chain(other.reasons));
    }

    /// Why it has no result.
    pub(super) fn failure(&self) -> Option<&'a str> {
        self.jobs.iter().find_map(|job| job.failure())
    }

    /// Returns true if its figures may be compared.
    pub(super) fn is_comparable(&self) -> bool {
        self.validity != Validity::Invalid && self.failure().is_none()
    }

    /// Returns the value of `quantity` over all of its jobs.
    pub(super) fn value(&self, quantity: Quantity, kind: LatencyKind) -> Option<Estimate> {
        let results: Option<Vec<&DirectionResult>> =
            self.jobs.iter().map(|job| job.result(self.key.direction)).collect();
        match results?.as_slice() {
            [] => None,
            [one] => quantity.of(one, kind),
            several => of_several(several, quantity, kind),
        }
    }
}

/// Rates add up, means are weighted by I/Os, and percentiles need the bins of all.
fn of_several(
    results: &[&DirectionResult],
    quantity: Quantity,
    kind: LatencyKind,
) -> Option<Estimate> {
    if let Quantity::Percentile(_) = quantity {
        let mut merged = DirectionResult::unknown(Direction::Mixed);
        for result in results {
            merged.latency.merge(result.bins(kind)?);
        }
        return quantity.of(&merged, LatencyKind::Total);
    }
    let values: Option<Vec<Estimate>> =
        results.iter().map(|result| quantity.of(result, kind)).collect();
    let values = values?;
    let weights: Vec<f64> = match quantity {
        Quantity::Latency => {
            let ios: Option<Vec<f64>> =
                results.iter().map(|result| result.ios.map(|ios| ios as f64)).collect();
            let ios = ios?;
            let sum: f64 = ios.iter().sum();
            ios.iter().map(|ios| ios / sum).collect()
        }
        _ => vec![1.0; results.len()],
    };
    let sum = |end: fn(&Estimate) -> f64| -> f64 {
        values.iter().zip(&weights).map(|(value, weight)| end(value) * weight).sum()
    };
    let printed = values.iter().all(|value| matches!(value.spread, Spread::Rounding { .. }));
    let spread = match printed {
        true => Spread::Rounding { low: sum(Estimate::low), high: sum(Estimate::high) },
        false => Spread::Unknown,
    };
    Some(Estimate { value: sum(|value| value.value), spread }).filter(|sum| sum.value.is_finite())
}

/// Returns true for the same phase, unless one is known to follow the other (a file may hold
/// several reports, each with phases from 0).
fn at_once(a: &Measurement, b: &Measurement) -> bool {
    let window = |of: &Measurement| Some((of.started_ns?, of.duration_ns? as i64));
    let apart = match (window(a), window(b)) {
        (Some((a, a_ns)), Some((b, b_ns))) => {
            a.saturating_add(a_ns) <= b || b.saturating_add(b_ns) <= a
        }
        _ => false,
    };
    a.phase == b.phase && !apart
}

/// Targets of a measurement. A file that fio named after the job counts as its directory, since the
/// job name would make it another target.
fn place(record: &RunRecord, of: &Measurement) -> Vec<String> {
    let mut places: Vec<String> = identity(record, of)
        .into_iter()
        .map(|target| match target.rsplit_once('/') {
            Some((directory, file)) if is_default_name(file, &of.name) => directory.to_owned(),
            None if is_default_name(&target, &of.name) => ".".to_owned(),
            _ => target,
        })
        .collect();
    places.dedup();
    places
}

/// Matches `NAME.0.0`: clone 0, file 0.
fn is_default_name(file: &str, job: &str) -> bool {
    let numbers = file.strip_prefix(job).and_then(|rest| rest.strip_prefix('.'));
    let mut numbers = numbers.into_iter().flat_map(|numbers| numbers.split('.'));
    let mut number = || numbers.next().is_some_and(|part| part.parse::<u32>().is_ok());
    number() && number() && numbers.next().is_none()
}
