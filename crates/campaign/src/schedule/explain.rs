//! Investigation of what limits a workload: runs the experiments that the judge asks for until it
//! names a limit or the time is over.

use std::collections::VecDeque;

use iodyno_job::Job;
use iodyno_judge::ClaimBook;
use iodyno_judge::limiter::{Answer, Evidence, explain};
use iodyno_model::{Experiment, Purpose};

use super::experiment_job::{ExperimentContext, ExperimentJob};
use crate::phase::{Measured, Phase, PhaseJob, RunView, Schedule};
use crate::targets::PreparedTarget;
use crate::watch::{Event, Watcher};

/// Name of the measurement under investigation.
pub(crate) const ASKED: &str = "asked";
/// Longest rest of drives, ns.
const LONGEST_REST_NS: u64 = 20_000_000_000;

/// An investigation in progress.
pub(crate) struct Explain<'a> {
    /// Job under investigation.
    asked: &'a Job,
    claims: &'a ClaimBook,
    /// Longest duration of a measurement, ns.
    max_ns: u64,
    /// Longest duration of the whole investigation, ns.
    budget_ns: u64,
    begun: bool,
    made: Vec<Experiment>,
    /// Experiments decided on and not run yet, with name and purpose.
    ahead: VecDeque<(String, Purpose, ExperimentJob)>,
    round: u32,
    /// Time of the last decision, ns.
    spent_ns: u64,
}

impl<'a> Explain<'a> {
    pub(crate) const fn new(
        asked: &'a Job,
        claims: &'a ClaimBook,
        max_ns: u64,
        budget_ns: u64,
    ) -> Self {
        Self {
            asked,
            claims,
            max_ns,
            budget_ns,
            begun: false,
            made: Vec::new(),
            ahead: VecDeque::new(),
            round: 1,
            spent_ns: 0,
        }
    }

    /// Queues the next experiment, judging by all measurements so far.
    fn decide(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) {
        let left_ns = self.budget_ns.saturating_sub(view.spent_ns);
        // Time has to pass between two decisions, so that this ends.
        if left_ns < self.max_ns || view.spent_ns <= self.spent_ns {
            return;
        }
        self.spent_ns = view.spent_ns;
        let context = ExperimentContext {
            host: view.host,
            asked: self.asked,
            targets: view.targets,
            record: view.record,
            spare_ns: left_ns - self.max_ns,
        };
        let (possible, mut jobs): (Vec<Experiment>, Vec<ExperimentJob>) = Experiment::all()
            .filter(|one| !self.made.contains(one))
            .filter_map(|one| Some((one, context.job(one)?)))
            .unzip();
        let evidence = Evidence {
            records: &[view.record],
            claims: self.claims,
            possible: &possible,
            repeats: (left_ns / self.max_ns) as usize,
        };
        let Some(answer) = explain(&evidence, (0, 0)) else { return };
        match answer.answer {
            Answer::Experiment(experiment) => {
                self.made.push(experiment);
                let Some(chosen) = possible.iter().position(|one| *one == experiment) else {
                    return;
                };
                let sentence = format!("{}; next, {}", answer.case.figure(), experiment.what());
                watcher.event(&Event::Warning(&sentence));
                let purpose = Purpose::Experiment(experiment);
                let mut job = jobs.swap_remove(chosen);
                job.rest_ns = job.rest_ns.min(LONGEST_REST_NS);
                self.ahead.push_back((name(purpose, 1), purpose, job));
            }
            Answer::Repetition(experiments) => {
                self.round += 1;
                watcher.event(&Event::Warning(&answer.sentence));
                self.repeat(&context, &experiments);
            }
            Answer::Named { .. } | Answer::Undecided { .. } | Answer::Unlike { .. } => {}
        }
    }

    /// Repeats the original measurement and `experiments`. Every other round runs in reverse order,
    /// so that drift does not favour one of them.
    fn repeat(&mut self, context: &ExperimentContext<'_>, experiments: &[Experiment]) {
        let varied = experiments
            .iter()
            .filter_map(|one| Some((Purpose::Experiment(*one), context.job(*one)?)));
        let mut all: Vec<(Purpose, ExperimentJob)> =
            std::iter::once((Purpose::Asked, context.unchanged())).chain(varied).collect();
        if self.round.is_multiple_of(2) {
            all.reverse();
        }
        // Drives rest only the first time.
        let again = |(purpose, job)| {
            (name(purpose, self.round), purpose, ExperimentJob { rest_ns: 0, ..job })
        };
        self.ahead.extend(all.into_iter().map(again));
    }
}

impl Schedule for Explain<'_> {
    fn next(&mut self, view: &RunView<'_>, watcher: &mut dyn Watcher) -> Option<Phase> {
        let is_first = !std::mem::replace(&mut self.begun, true);
        let (name, purpose, one) = if is_first {
            let measured = view.targets.iter().filter(|target| !target.is_neighbour);
            let (job, on) = (self.asked.clone(), measured.cloned().collect());
            let one = ExperimentJob { job, on, background: Vec::new(), rest_ns: 0 };
            (name(Purpose::Asked, 1), Purpose::Asked, one)
        } else {
            if self.ahead.is_empty() {
                self.decide(view, watcher);
            }
            self.ahead.pop_front()?
        };
        let ExperimentJob { mut job, on, background, rest_ns } = one;
        job.name = name;
        let reads_temperature = job.depth.iodepth > 1;
        let fitted =
            |job: &Job, on: PreparedTarget| PhaseJob { job: job.clone(), section: 0, on: Some(on) };
        let mut jobs: Vec<PhaseJob> = on.into_iter().map(|on| fitted(&job, on)).collect();
        let count = jobs.len();
        jobs.extend(background.into_iter().map(|(on, job)| fitted(&job, on)));
        Some(Phase {
            purpose,
            left_ns: self.budget_ns.saturating_sub(view.spent_ns),
            rest_ns,
            reads_links: is_first,
            traces_blocks: is_first,
            reads_temperature,
            // A failed experiment says nothing about the others.
            gives_up: is_first,
            ..Phase::fitted(jobs, Measured::Targets(count), self.max_ns)
        })
    }

    fn reads_hosts(&self) -> bool {
        true
    }
}

/// Name of the `nth` measurement for this purpose, from 1: `asked-2`.
fn name(purpose: Purpose, nth: u32) -> String {
    let first = match purpose {
        Purpose::Experiment(experiment) => experiment.name(),
        _ => ASKED,
    };
    if nth > 1 { format!("{first}-{nth}") } else { first.into() }
}
