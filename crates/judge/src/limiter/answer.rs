//! Input and result of an explanation.

use iodyno_model::{
    Estimate, Experiment, Purpose, Reason, RunRecord, Validity, WrittenState, distinct,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::case::{Case, FEW, is_explain_run};
use super::case_context::{CaseContext, Reach};
use super::contrast::{Change, Contrast, Effect, ROUNDS};
use super::cpu::is_passthrough;
use super::notes;
use super::repetition::{basics_to_repeat, pooled, worth_repeating};
use super::sentences;
use super::suspect::{Limiter, Standing, Suspect};
use crate::assess::assess;
use crate::ceiling::{Bound, Ceiling, ceilings};
use crate::claims::ClaimBook;
use crate::measured::is_paced;
use crate::question::Question;

/// A ceiling within this factor of the rate leaves no gain.
const NO_GAIN: f64 = 1.01;
/// Rates of the same workload that differ by more than this factor show an unknown difference.
const UNLIKE: f64 = 1.10;
/// Rates within this factor are equal; of such cases the one with the fewest outstanding I/Os is
/// explained.
const AS_FAST: f64 = 0.98;

/// Input of an explanation.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Runs with measurements, including the experiments made so far.
    pub records: &'a [&'a RunRecord],
    /// Data sheets.
    pub claims: &'a ClaimBook,
    /// Experiments that can still be made; none for stored runs.
    pub possible: &'a [Experiment],
    /// Number of measurements left for repetitions; none for stored runs.
    pub repeats: usize,
}

/// Limiter of a measurement, or what is needed to find it.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The limiter was found.
    Named {
        /// The limiter.
        limiter: Limiter,
        /// The next limit behind it.
        next: Option<Next>,
        /// Based on one measurement of each, which may be noise.
        is_probable: bool,
    },
    /// This experiment has to be made first.
    Experiment(Experiment),
    /// These experiments and the measurement in question have to be repeated in turn, one more
    /// round of each, so that drift does not look like an effect.
    Repetition(Vec<Experiment>),
    /// The same workload gave different rates for an unknown reason: the limiter of one need not be
    /// that of another.
    Unlike {
        /// Rates, in the order of the measurements.
        rates: Vec<Estimate>,
    },
    /// The evidence does not decide.
    Undecided {
        /// Possible limiters.
        between: Vec<Limiter>,
        /// An experiment for each of them that would decide.
        experiments: Vec<Experiment>,
    },
}

/// The limit behind the named limiter.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Next {
    /// Short description.
    pub what: String,
    /// Gain until it limits, as a share of the rate.
    #[schemars(with = "Option<f64>")]
    pub gain: f64,
    /// The gain was measured by an experiment; else it is the most that the ceiling leaves.
    pub measured: bool,
}

/// Explanation of a measurement.
#[derive(Debug, Clone)]
pub struct Explanation<'a> {
    /// The measurement.
    pub case: Case<'a>,
    /// Validity of the measurement.
    pub validity: Validity,
    /// Reservations, the most severe first.
    pub reasons: Vec<Reason>,
    /// Answer.
    pub answer: Answer,
    /// Answer in sentences.
    pub sentence: String,
    /// Advice.
    pub advice: String,
    /// What the figure falls short of, if it fails.
    pub below: Option<String>,
    /// Every suspect and its status.
    pub suspects: Vec<Suspect>,
    /// Every known upper bound, the lowest first.
    pub ceilings: Vec<Ceiling>,
    /// Measurements with a single change.
    pub contrasts: Vec<Contrast<'a>>,
    /// Further remarks.
    pub notes: Vec<String>,
}

/// Returns the measurements to explain, as (record, measurement): for each workload in each state
/// and environment the one with the most drives, then one without a rate limit, then the fastest,
/// then the one with the fewest outstanding I/Os. For a run made by `explain`, the measurement in
/// question only.
pub fn subjects(records: &[&RunRecord]) -> Vec<(usize, usize)> {
    let mut best: Vec<(String, Case<'_>, (usize, usize))> = Vec::new();
    for (n, record) in records.iter().enumerate() {
        let asked = record.measurements.iter().position(|of| of.purpose == Purpose::Asked);
        for m in 0..record.measurements.len() {
            let is_asked = asked.is_none_or(|asked| asked == m);
            let Some(case) = Case::of(record, m).filter(|_| is_asked) else { continue };
            let key = kind(n, &case);
            let Some(known) = best.iter_mut().find(|(other, ..)| *other == key) else {
                best.push((key, case, (n, m)));
                continue;
            };
            if is_better(&case, &known.1) {
                *known = (key, case, (n, m));
            }
        }
    }
    best.into_iter().map(|(.., place)| place).collect()
}

/// Key of cases of which only one is explained.
fn kind(record: usize, case: &Case<'_>) -> String {
    let of = case.of_run();
    let link = case.own_link().map(|link| link.label());
    // Rates of single targets are specific to each target.
    let alone = if of.targets.len() == 1 { of.targets.first() } else { None };
    let alone = alone.filter(|_| case.layer.is_none() && !of.source.is_empty());
    format!(
        "{record} {:?} {:?} {:?} {:?} {link:?} {:?} {alone:?}",
        of.workload.rw, of.workload.bs, case.blocks, case.fill, case.layer
    )
}

fn is_better(case: &Case<'_>, than: &Case<'_>) -> bool {
    if case.drive_count != than.drive_count {
        return case.drive_count > than.drive_count;
    }
    // A rate-limited job has not reached its limiter.
    let is_paced = |case: &Case<'_>| is_paced(case.of_run());
    if is_paced(case) != is_paced(than) {
        return is_paced(than);
    }
    let ratio = case.rate.value / than.rate.value;
    if ratio > AS_FAST && ratio < 1.0 / AS_FAST {
        return case.outstanding() < than.outstanding();
    }
    ratio > 1.0
}

/// Explains the measurements of stored runs, without further experiments.
pub fn explain_stored<'a>(
    records: &'a [&'a RunRecord],
    claims: &'a ClaimBook,
) -> Vec<Explanation<'a>> {
    let evidence = Evidence { records, claims, possible: &[], repeats: 0 };
    subjects(records).into_iter().filter_map(|subject| explain(&evidence, subject)).collect()
}

/// Explains the measurement `subject` (record, measurement); `None` if it failed or has no rate.
pub fn explain<'a>(evidence: &Evidence<'a>, subject: (usize, usize)) -> Option<Explanation<'a>> {
    let record: &'a RunRecord = evidence.records.get(subject.0)?;
    let mut others: Vec<Case<'a>> = vec![Case::of(record, subject.1)?];
    for (n, record) in evidence.records.iter().enumerate() {
        let all = (0..record.measurements.len()).filter(|m| (n, *m) != subject);
        others.extend(all.filter_map(|m| Case::of(record, m)));
    }
    let mut others = pooled(others);
    let case = others.remove(0);
    let mut contrasts: Vec<Contrast<'a>> =
        others.iter().filter_map(|other| Contrast::of(&case, other)).collect();
    contrasts.retain(|contrast| !is_of_another_empty_drive(&case, contrast));
    if is_paced(case.of_run()) {
        // Twice the jobs run at twice the pace: that says nothing about a limit.
        contrasts.retain(|of| !matches!(of.change, Change::Depth(..) | Change::Jobs(..)));
    }
    let ceilings = ceilings(&case, &others, evidence.claims);
    let context = CaseContext {
        case: &case,
        others: &others,
        contrasts: &contrasts,
        ceilings: &ceilings,
        claims: evidence.claims,
    };
    let suspects = context.suspects();
    let rates = unlike(&case, &others);
    let answer = match rates.is_empty() {
        true => decide(&context, &suspects, evidence),
        false => Answer::Unlike { rates },
    };
    let question = Question { record, claims: evidence.claims, baseline: None, expect: None };
    let judged = assess(&question).measurements.into_iter().nth(subject.1)?;
    let mut notes = notes::notes(&context, &judged);
    notes.extend(context.untested_neighbours(&answer, &suspects));
    let sentence = sentences::sentence(&context, &answer, &suspects, &judged);
    let advice = sentences::advice(&context, &answer, &judged);
    let below = sentences::below_par(&judged);
    let mut reasons = judged.reasons;
    if case.repetitions.len() > 1 {
        reasons
            .iter_mut()
            .for_each(|reason| reason.why.insert_str(0, "of the first measurement: "));
    }
    let ceilings =
        ceilings.iter().filter(|ceiling| !context.is_exceeded(ceiling)).cloned().collect();
    Some(Explanation {
        validity: judged.validity,
        reasons,
        answer,
        sentence,
        advice,
        below,
        suspects,
        notes,
        case,
        ceilings,
        contrasts,
    })
}

/// Returns true for an empty drive other than the one in question: it shows the rate without flash
/// only of itself.
fn is_of_another_empty_drive(case: &Case<'_>, contrast: &Contrast<'_>) -> bool {
    let (ours, theirs) = (&case.of_run().targets, &contrast.other.of_run().targets);
    matches!(contrast.change, Change::Blocks(..))
        && std::ptr::eq(case.record, contrast.other.record)
        && ours != theirs
}

/// Returns the rates of `case` and of those without any known difference from it, if they are not
/// equal; else none.
fn unlike(case: &Case<'_>, others: &[Case<'_>]) -> Vec<Estimate> {
    let of = case.of_run();
    if is_explain_run(case.record) || of.round.is_some() {
        return Vec::new();
    }
    let is_same = |other: &&Case<'_>| {
        let theirs = other.of_run();
        std::ptr::eq(case.record, other.record)
            && (&theirs.workload, &theirs.targets) == (&of.workload, &of.targets)
            && theirs.conditions.written == of.conditions.written
            && (theirs.conditions.fill, &theirs.conditions.cpus)
                == (of.conditions.fill, &of.conditions.cpus)
            && (other.own_link(), other.metric) == (case.own_link(), case.metric)
            && Contrast::of(case, other).is_none()
    };
    let mut same: Vec<&Case<'_>> = others.iter().filter(is_same).chain([case]).collect();
    same.sort_by_key(|one| one.measurement);
    let rates = || same.iter().map(|one| one.rate);
    let least = rates().map(|rate| rate.high()).fold(f64::INFINITY, f64::min);
    let most = rates().map(|rate| rate.low()).fold(0.0, f64::max);
    if most > least * UNLIKE { rates().collect() } else { Vec::new() }
}

/// Names the limiter, asks for an experiment, or lists the candidates.
fn decide(context: &CaseContext<'_, '_>, suspects: &[Suspect], evidence: &Evidence<'_>) -> Answer {
    let is_possible = |experiment: Experiment| evidence.possible.contains(&experiment);
    // These are cheap, and everything else builds on them.
    let basics = [Experiment::TwiceTheDepth, Experiment::TwiceTheJobs];
    let is_paced = is_paced(context.case.of_run());
    if let Some(basic) = basics.into_iter().find(|basic| !is_paced && is_possible(*basic)) {
        return Answer::Experiment(basic);
    }
    // At least A, B and A again: one of each may be noise.
    let again = basics_to_repeat(context, evidence.repeats);
    if !again.is_empty() {
        return Answer::Repetition(again);
    }
    let confirmed =
        suspects.iter().find(|suspect| matches!(suspect.standing, Standing::Confirmed(_)));
    if let Some(suspect) = confirmed {
        let again = worth_repeating(context, &[(suspect.limiter, None)], evidence.repeats);
        if !again.is_empty() {
            return Answer::Repetition(again);
        }
        let more = follow_ups(context, suspect.limiter, suspects).iter();
        return match more.copied().find(|experiment| is_possible(*experiment)) {
            Some(experiment) => Answer::Experiment(experiment),
            None => named(context, suspect.limiter),
        };
    }
    let open: Vec<(Limiter, Experiment)> = suspects
        .iter()
        .filter_map(|suspect| match suspect.standing {
            Standing::Open(experiment) => Some((suspect.limiter, experiment)),
            _ => None,
        })
        .collect();
    if open.len() > 1
        && let Some((_, experiment)) = open.iter().find(|(_, of)| is_possible(*of))
    {
        return Answer::Experiment(*experiment);
    }
    let waiting: Vec<_> = open.iter().map(|(of, experiment)| (*of, Some(*experiment))).collect();
    let again = worth_repeating(context, &waiting, evidence.repeats);
    match open.as_slice() {
        [(limiter, experiment)] => {
            // Find out which of the drive's limits it is, and if it is the drive's own.
            let kinds: &[Experiment] = match limiter {
                Limiter::Drive => &[
                    Experiment::LargerBlocks,
                    Experiment::UnwrittenBlocks,
                    Experiment::NeighbourWrites,
                    Experiment::OnceMore,
                ],
                _ => std::slice::from_ref(experiment),
            };
            match kinds.iter().find(|kind| is_possible(**kind)) {
                Some(kind) => Answer::Experiment(*kind),
                None if !again.is_empty() => Answer::Repetition(again),
                None => named(context, *limiter),
            }
        }
        _ if !again.is_empty() => Answer::Repetition(again),
        several => Answer::Undecided {
            between: several.iter().map(|(limiter, _)| *limiter).collect(),
            experiments: distinct(several.iter().map(|(_, experiment)| *experiment)),
        },
    }
}

/// Experiments that show more about a limiter that is already named: how its time is spent.
fn follow_ups(
    context: &CaseContext<'_, '_>,
    limiter: Limiter,
    suspects: &[Suspect],
) -> &'static [Experiment] {
    let awake = Suspect::open(Limiter::PowerSaving, Experiment::KeptAwake);
    let few = context.case.outstanding().is_some_and(|count| count <= FEW);
    match limiter {
        // At low depth, I/Os also wait for devices to wake up, for the completion interrupt, and
        // for the kernel.
        Limiter::Depth if few && suspects.contains(&awake) => {
            &[Experiment::KeptAwake, Experiment::Polling, Experiment::Passthrough]
        }
        Limiter::Depth if few => &[Experiment::Polling, Experiment::Passthrough],
        Limiter::Cpu => &[Experiment::Passthrough],
        Limiter::Heat | Limiter::Burst => &[Experiment::Rest],
        _ => &[],
    }
}

fn named(context: &CaseContext<'_, '_>, limiter: Limiter) -> Answer {
    let next = next(context, limiter);
    Answer::Named { limiter, next, is_probable: is_probable(context, limiter) }
}

/// Returns true if a limiter is only supported by changes that were measured once.
fn is_probable(context: &CaseContext<'_, '_>, limiter: Limiter) -> bool {
    let is_surely = |bound: Bound| {
        let reach = context.ceiling(bound).and_then(|ceiling| context.reach(ceiling));
        reach == Some(Reach::Surely)
    };
    let speaks = |change: &Change| match limiter {
        // These are also named for lack of others, by the changes that cleared those.
        Limiter::Depth | Limiter::Cpu | Limiter::Drive | Limiter::Card | Limiter::Layer => {
            matches!(
                change,
                Change::Depth(..) | Change::Jobs(..) | Change::Fill(..) | Change::Blocks(..)
            ) || is_passthrough(change)
        }
        Limiter::Shared => matches!(change, Change::Drives(..) | Change::NeighbourWrites(..)),
        Limiter::Link => matches!(change, Change::Link(..)),
        Limiter::Placement => *change == Change::Cpus,
        Limiter::Interrupts => matches!(change, Change::OffInterrupts(_)),
        Limiter::PowerSaving => *change == Change::KeptAwake,
        // A rest compares two moments, and is not repeated.
        Limiter::Heat
        | Limiter::Burst
        | Limiter::OtherUsers
        | Limiter::Contract
        | Limiter::ControlGroup
        | Limiter::BeforeDevice => false,
    };
    let own = match limiter {
        Limiter::Link => Some(Bound::Link),
        Limiter::Shared => Some(Bound::SharedLink),
        Limiter::Drive => Some(Bound::Claim),
        _ => None,
    };
    let mut once = context.contrasts.iter().filter(|of| speaks(&of.change)).peekable();
    !own.is_some_and(is_surely)
        && once.peek().is_some()
        && once.all(|of| of.times() < ROUNDS || of.effect() == Effect::Unclear)
}

/// Returns the gain of an experiment that removed the limiter, else the lowest ceiling above the
/// rate that is not the limiter's own.
fn next(context: &CaseContext<'_, '_>, limiter: Limiter) -> Option<Next> {
    let rate = context.case.rate.value;
    let relieves = |change: &Change| match (limiter, change) {
        (Limiter::Depth, Change::Depth(from, to) | Change::Jobs(from, to))
        | (Limiter::Cpu, Change::Jobs(from, to)) => to > from,
        (Limiter::Placement, Change::Cpus)
        | (Limiter::Burst, Change::Rested { .. })
        | (Limiter::Interrupts, Change::OffInterrupts(_))
        | (Limiter::PowerSaving, Change::KeptAwake)
        | (Limiter::Heat, Change::Rested { .. })
        | (Limiter::Link, Change::Link(..))
        | (Limiter::Drive, Change::Fill(..)) => true,
        (Limiter::Cpu, change) if is_passthrough(change) => true,
        _ => false,
    };
    let relieved = context.contrasts.iter().filter(|contrast| relieves(&contrast.change));
    let best = relieved.max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
    if let Some(best) = best.filter(|best| best.ratio.value > NO_GAIN) {
        let what = format!("{}: {}", best.title(), best.outcome());
        return Some(Next { what, gain: best.ratio.value - 1.0, measured: true });
    }
    let own = |bound: Bound| match limiter {
        Limiter::Link => bound == Bound::Link,
        Limiter::Shared => bound == Bound::SharedLink,
        Limiter::Layer => bound == Bound::Layer,
        Limiter::Cpu => bound == Bound::Cpu,
        Limiter::ControlGroup => matches!(bound, Bound::ControlGroup | Bound::Cpu),
        Limiter::Depth => matches!(bound, Bound::Depth | Bound::Queue),
        Limiter::Drive => matches!(bound, Bound::Claim | Bound::Depth | Bound::Queue),
        _ => matches!(bound, Bound::Depth | Bound::Queue),
    };
    // A claim does not apply to unwritten blocks.
    let empty = context.case.blocks == WrittenState::Unwritten;
    let above = context.ceilings.iter().filter(|ceiling| {
        !own(ceiling.bound)
            && ceiling.value > rate * NO_GAIN
            && !(empty && ceiling.bound == Bound::Claim)
    });
    let ceiling = above.min_by(|a, b| a.value.total_cmp(&b.value))?;
    let what = format!("{} ({})", super::figure(context.case.metric, ceiling.value), ceiling.what);
    Some(Next { what, gain: ceiling.value / rate - 1.0, measured: false })
}
