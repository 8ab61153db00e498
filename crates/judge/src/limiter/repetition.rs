//! The same measured again and again: what an experiment did is then told from
//! noise by what its repetitions differ by.

use std::cmp::Ordering;

use iodyno_model::{Estimate, RunRecord};

use super::answer::is_of_question;
use super::case::Case;
use super::contrast::{Contrast, Effect};
use super::experiment::Experiment;
use super::suspect::Limiter;
use super::weigh::Scene;
use crate::comparison::{LEVEL, REPETITIONS, Repetitions};

/// Name of the `nth` measurement of what is called `name`: `asked-2`.
pub fn repetition_name(name: &str, nth: u32) -> String {
    match nth {
        0 | 1 => name.to_owned(),
        nth => format!("{name}-{nth}"),
    }
}

/// The name of the first of them.
fn first_name(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((first, nth)) if nth.parse::<u32>().is_ok() => first,
        _ => name,
    }
}

/// The same cases, those that repeat an earlier one as one with it.
pub(super) fn pooled(cases: Vec<Case<'_>>) -> Vec<Case<'_>> {
    let mut pooled: Vec<Case<'_>> = Vec::new();
    for case in cases {
        match pooled.iter_mut().find(|first| repeats(&case, first)) {
            Some(first) => first.add_repetition(&case),
            None => pooled.push(case),
        }
    }
    pooled
}

fn repeats(case: &Case<'_>, first: &Case<'_>) -> bool {
    let record: &RunRecord = case.record;
    let (ours, theirs) = (case.of_run(), first.of_run());
    is_of_question(record)
        && std::ptr::eq(record, first.record)
        && first_name(&ours.name) == first_name(&theirs.name)
        && ours.targets == theirs.targets
}

impl Case<'_> {
    /// Of means the geometric ones, for which Little's law holds as for each.
    fn add_repetition(&mut self, other: &Self) {
        let known = self.repetitions.len() as f64;
        let mean = |mean: Option<f64>, one: Option<f64>| {
            Some(((mean?.ln() * known + one?.ln()) / (known + 1.0)).exp())
        };
        self.iops = mean(self.iops, other.iops);
        self.latency_ns = mean(self.latency_ns, other.latency_ns);
        self.repetitions.push(other.rate);
        let pooled = Repetitions::new(self.repetitions.clone()).estimate();
        // How much two differ by chance is not known: no narrower than both together.
        let low = self.repetitions.iter().map(Estimate::low).fold(f64::INFINITY, f64::min);
        let high = self.repetitions.iter().map(Estimate::high).fold(0.0, f64::max);
        self.rate = match pooled.bounds() {
            Some(_) => pooled,
            None => Estimate::confident(pooled.value, low, high, LEVEL),
        };
    }

    /// Its rate over that of `to` where both were repeated often enough: by
    /// Welch's test on what the repetitions of each differ by.
    pub(super) fn repeated_ratio(&self, to: &Self) -> Option<Estimate> {
        let few = |case: &Self| case.repetitions.len() < REPETITIONS;
        if self.metric != to.metric || few(self) || few(to) {
            return None;
        }
        let [ours, theirs] = [self, to].map(|case| Repetitions::new(case.repetitions.clone()));
        Some(ours.against(&theirs)?.ratio)
    }

    /// The ratio of what was measured too seldom over this: it differs by chance
    /// by no less than the repetitions of this do. Of a single one that is
    /// Student's interval for one more value, which is sqrt(n + 1) times as wide
    /// as that for the mean of n.
    pub(super) fn as_repeated(&self, ratio: Estimate) -> Estimate {
        let times = self.repetitions.len();
        if times < REPETITIONS {
            return ratio;
        }
        let spread = (self.rate.high() / self.rate.value).powf((times as f64 + 1.0).sqrt());
        let low = ratio.low().min(ratio.value / spread);
        let high = ratio.high().max(ratio.value * spread);
        Estimate::confident(ratio.value, low, high, LEVEL)
    }
}

/// The experiments on which `suspects` stand, or for which they wait though they
/// were made, where noise may be all that they show: as many as can be repeated
/// often enough, each in turn with what is asked about, in `most` measurements.
pub(super) fn worth_repeating(
    scene: &Scene<'_, '_>,
    suspects: &[(Limiter, Option<Experiment>)],
    most: usize,
) -> Vec<Experiment> {
    let mut found: Vec<Experiment> = Vec::new();
    let mut rounds = 1;
    for (limiter, experiment) in suspects {
        let candidates = match (limiter, experiment) {
            (Limiter::Depth, _) => &[Experiment::TwiceTheDepth, Experiment::TwiceTheJobs][..],
            (Limiter::Cpu, _) => &[Experiment::TwiceTheJobs],
            // These are about one moment as against another.
            (_, Some(Experiment::Rest | Experiment::OnceMore)) => &[],
            (_, experiment) => experiment.as_slice(),
        };
        let Some((experiment, contrast)) = stands_on(scene, candidates) else { continue };
        if !contrast.is_weak() || found.contains(&experiment) {
            continue;
        }
        let so_far = contrast.other.repetitions.len().min(scene.case.repetitions.len());
        let needed = rounds.max(REPETITIONS.saturating_sub(so_far));
        // One of what is asked about belongs to each round.
        if needed * (found.len() + 2) <= most {
            found.push(experiment);
            rounds = needed;
        }
    }
    found
}

/// Of experiments that were made to tell the same, the one that does; where none
/// does, the one that was repeated most, then the one that is nearest to it.
fn stands_on<'s, 'a>(
    scene: &Scene<'a, 's>,
    candidates: &[Experiment],
) -> Option<(Experiment, &'s Contrast<'a>)> {
    let made = candidates.iter().filter_map(|one| {
        let is_of_it = |other: &Case<'_>| {
            std::ptr::eq(other.record, scene.case.record) && other.of_run().name == one.name()
        };
        Some((*one, scene.contrasts.iter().find(|contrast| is_of_it(&contrast.other))?))
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
