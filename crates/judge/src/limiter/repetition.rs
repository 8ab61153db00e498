//! Repeated measurements: their variation tells an effect from noise.

use std::cmp::Ordering;

use iodyno_model::{Estimate, Experiment, Purpose};

use super::case::{Case, NAMING_LEVEL, RunVariation};
use super::case_context::CaseContext;
use super::contrast::{Contrast, Effect, ROUNDS};
use super::suspect::Limiter;
use crate::comparison::{LEVEL, REPETITIONS, Repetitions};

/// Merges cases that repeat an earlier one with it.
pub(super) fn pooled(cases: Vec<Case<'_>>) -> Vec<Case<'_>> {
    let mut pooled: Vec<Case<'_>> = Vec::new();
    for case in cases {
        match pooled.iter_mut().find(|first| repeats(&case, first)) {
            Some(first) => first.add_repetition(&case),
            None => pooled.push(case),
        }
    }
    let variation: Vec<Option<RunVariation>> =
        pooled.iter().map(|case| RunVariation::of(&pooled, case.record)).collect();
    pooled.iter_mut().zip(variation).for_each(|(case, variation)| case.variation = variation);
    pooled
}

fn repeats(case: &Case<'_>, first: &Case<'_>) -> bool {
    let (ours, theirs) = (case.of_run(), first.of_run());
    matches!(ours.purpose, Purpose::Asked | Purpose::Experiment(_))
        && std::ptr::eq(case.record, first.record)
        && ours.purpose == theirs.purpose
        && ours.targets == theirs.targets
}

impl Case<'_> {
    /// Returns the experiment as which it was made.
    pub fn experiment(&self) -> Option<Experiment> {
        match self.of_run().purpose {
            Purpose::Experiment(experiment) => Some(experiment),
            _ => None,
        }
    }

    /// Adds a repetition. The means are geometric, so that Little's law still holds.
    fn add_repetition(&mut self, other: &Self) {
        let known = self.repetitions.len() as f64;
        let mean = |mean: Option<f64>, one: Option<f64>| {
            Some(((mean?.ln() * known + one?.ln()) / (known + 1.0)).exp())
        };
        self.iops = mean(self.iops, other.iops);
        self.latency_ns = mean(self.latency_ns, other.latency_ns);
        self.repetitions.push(other.rate);
        let pooled = Repetitions::new(self.repetitions.clone()).estimate();
        // The variation of two is not known: no narrower than both intervals together.
        let low = self.repetitions.iter().map(Estimate::low).fold(f64::INFINITY, f64::min);
        let high = self.repetitions.iter().map(Estimate::high).fold(0.0, f64::max);
        self.rate = match pooled.bounds() {
            Some(_) => pooled,
            None => Estimate::confident(pooled.value, low, high, LEVEL),
        };
    }

    /// Widens `ratio`, of another's rate to this one's, by the variation within the run, which the
    /// measurements' own intervals do not include. The latter also count if one of the two has too
    /// few repetitions.
    pub(super) fn as_repeated(&self, other: &Self, ratio: Estimate) -> Estimate {
        let variation = self.variation.filter(|_| std::ptr::eq(self.record, other.record));
        let Some(variation) = variation else { return ratio };
        let times = [self.repetitions.len(), other.repetitions.len()];
        let factor = variation.factor(times);
        let (mut low, mut high) = (ratio.value / factor, ratio.value * factor);
        if times.into_iter().any(|times| times < REPETITIONS) {
            (low, high) = (low.min(ratio.low()), high.max(ratio.high()));
        }
        Estimate::confident(ratio.value, low, high, NAMING_LEVEL)
    }
}

/// Returns the basic experiments if one of them was made only once: a limiter is not named on one
/// measurement of each if there is time for another round.
pub(super) fn basics_to_repeat(context: &CaseContext<'_, '_>, most: usize) -> Vec<Experiment> {
    let basics = [Experiment::TwiceTheDepth, Experiment::TwiceTheJobs];
    let is_made = |one: &Experiment| deciding_experiment(context, &[*one]).is_some();
    // An unclear one needs more than one round, if there is time.
    let is_once = |one: &Experiment| {
        deciding_experiment(context, &[*one])
            .is_some_and(|(_, of)| of.times() < ROUNDS && of.effect() != Effect::Unclear)
    };
    let made: Vec<Experiment> = basics.into_iter().filter(is_made).collect();
    if made.iter().any(is_once) && made.len() < most { made } else { Vec::new() }
}

/// Returns the experiments that `suspects` depend on and whose effect may be noise: as many as can
/// be repeated often enough, each in turn with the measurement in question, in `most` measurements.
pub(super) fn worth_repeating(
    context: &CaseContext<'_, '_>,
    suspects: &[(Limiter, Option<Experiment>)],
    most: usize,
) -> Vec<Experiment> {
    let mut found: Vec<Experiment> = Vec::new();
    let mut rounds = 1;
    for (limiter, experiment) in suspects {
        let candidates = match (limiter, experiment) {
            (Limiter::Depth, _) => &[Experiment::TwiceTheDepth, Experiment::TwiceTheJobs][..],
            (Limiter::Cpu, _) => &[Experiment::TwiceTheJobs, Experiment::Passthrough],
            // These compare two moments, and are not repeated.
            (_, Some(Experiment::Rest | Experiment::OnceMore)) => &[],
            (Limiter::Shared, None) => &[Experiment::HalfTheDrives, Experiment::NeighbourWrites],
            (Limiter::Placement, None) => &[Experiment::OtherCpus],
            (Limiter::Interrupts, None) => &[Experiment::OffInterrupts],
            (Limiter::PowerSaving, None) => &[Experiment::KeptAwake],
            (_, experiment) => experiment.as_slice(),
        };
        let Some((experiment, contrast)) = deciding_experiment(context, candidates) else {
            continue;
        };
        if !contrast.is_weak() || found.contains(&experiment) {
            continue;
        }
        let wanted = if contrast.effect() == Effect::Unclear { REPETITIONS } else { ROUNDS };
        let needed = rounds.max(wanted.saturating_sub(contrast.times()));
        // Each round includes the measurement in question.
        if needed * (found.len() + 2) <= most {
            found.push(experiment);
            rounds = needed;
        }
    }
    found
}

/// Of equivalent experiments, returns one that is decisive; else the one with the most repetitions,
/// then the narrowest interval.
fn deciding_experiment<'s, 'a>(
    context: &CaseContext<'a, 's>,
    candidates: &[Experiment],
) -> Option<(Experiment, &'s Contrast<'a>)> {
    let made = candidates.iter().filter_map(|one| {
        let is_of_it = |other: &Case<'_>| {
            std::ptr::eq(other.record, context.case.record) && other.experiment() == Some(*one)
        };
        Some((*one, context.contrasts.iter().find(|contrast| is_of_it(&contrast.other))?))
    });
    let far = |(_, contrast): &(Experiment, &Contrast<'_>)| match contrast.effect() {
        Effect::Unclear => {
            let width = contrast.ratio.relative_half_width().unwrap_or(f64::INFINITY);
            (-(contrast.other.repetitions.len() as f64), width)
        }
        _ => (f64::NEG_INFINITY, 0.0),
    };
    made.min_by(|a, b| far(a).partial_cmp(&far(b)).unwrap_or(Ordering::Equal))
}
