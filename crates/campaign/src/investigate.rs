//! What limits a workload: the experiments that the limiter asks for, carried
//! out one after the other until it names something or the time is over.

use iodyno_host::Depth;
use iodyno_job::{Amount, Job};
use iodyno_judge::limiter::{ASKED, Answer, Evidence, Experiment, explain, repetition_name};
use iodyno_model::{Direction, format_duration_ns};

use crate::bench::Ready;
use crate::error::CampaignError;
use crate::execute::Campaign;
use crate::plan::{Plan, Step, Stop};
use crate::variant::{Laboratory, Variant};
use crate::watch::Event;

/// Measurements that an investigation takes at most, which divide its time.
const MEASUREMENTS: u64 = 10;
/// Each takes between these, ns.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 30_000_000_000;
/// Width of an interval that suffices: effects below 5 % are none.
const PRECISION: f64 = 0.015;
/// A drive that is cooler by this, °C, has rested.
const COOLER_C: f32 = 5.0;
/// It rests no longer than this, ns.
const LONGEST_REST_NS: u64 = 20_000_000_000;
/// How often its temperature is looked at meanwhile, ns.
const LOOK_NS: u64 = 1_000_000_000;

impl Plan {
    /// The plan that asks what limits `job`, within `budget_ns` in all; `text`
    /// says so in the record.
    pub fn of_question(job: Job, text: String, budget_ns: u64) -> Self {
        let max_ns = (budget_ns / MEASUREMENTS).clamp(SHORTEST_NS, LONGEST_NS);
        let (precision, level, min_ns) = (PRECISION, 0.95, max_ns / 3);
        let stop = Stop { precision, level, p99: Some(0.0), min_ns, max_ns, round_ns: max_ns };
        Self {
            about: "what limits a workload".into(),
            steps: vec![step(ASKED, job)],
            investigates: true,
            ..Self::empty("explain", stop, text)
        }
    }
}

fn step(name: &str, mut job: Job) -> Step {
    name.clone_into(&mut job.name);
    Step { name: name.to_owned(), each: true, together: true, job, outstanding: None }
}

impl Campaign<'_, '_> {
    /// What is going to happen, in sentences.
    pub(crate) fn what_is_asked(
        &self,
        targets: &[String],
        directories: &[String],
        writes: bool,
        neighbours: &[String],
    ) -> Vec<String> {
        let mut sentences: Vec<String> = directories
            .iter()
            .map(|directory| {
                format!(
                    "In {directory} a scratch file is written for about 10 s, then read; it is \
                     removed afterwards."
                )
            })
            .collect();
        let does = if writes { "Writes, and destroys what is there" } else { "Only reads" };
        sentences.push(format!("{does}, at full speed: {}.", targets.join(", ")));
        if !neighbours.is_empty() {
            sentences.push(format!(
                "For one experiment it writes beside that, and destroys what is there: {}.",
                neighbours.join(", ")
            ));
        }
        sentences.push(format!(
            "One thing is changed at a time; that takes at most {}. Ctrl-C stops it and keeps \
             what was measured.",
            format_duration_ns(self.options.budget_ns as f64)
        ));
        sentences
    }

    /// Measures what is asked about on all targets at once, then what the
    /// limiter asks for; `neighbours` may be written beside them.
    pub(crate) fn investigate(
        &mut self,
        bench: &mut [Ready<'_>],
        neighbours: &[Ready<'_>],
    ) -> Result<(), CampaignError> {
        let Some(asked) = self.plan.steps.first().cloned() else { return Ok(()) };
        self.budget.total_ns = self.options.budget_ns;
        for ready in bench.iter_mut() {
            if self.is_interrupted() {
                return Ok(());
            }
            self.sample(ready)?;
            let space = &asked.job.space;
            let is_part = space.size.is_some() || space.offset != Amount::Bytes(0);
            if is_part && asked.job.pattern.rw.has(Direction::Read) {
                let mut whole = ready.clone();
                whole.written.iter_mut().for_each(|written| written.extents.clear());
                let job = whole.cleared(&asked.job, None, 0);
                *ready = self.with_read_blocks(&[job], &[whole])?.remove(0);
            }
        }
        self.step(&asked, bench, true)?;
        let mut made: Vec<Experiment> = Vec::new();
        let mut round = 1;
        let mut spent_ns = 0;
        // Each turn takes of its time, so that this ends.
        while !self.is_interrupted()
            && self.left_ns() >= self.budget.stop.max_ns
            && self.spent_ns > spent_ns
        {
            spent_ns = self.spent_ns;
            let record = self.tools.store.load(&self.run_id)?;
            let laboratory = Laboratory {
                host: self.host,
                asked: &asked.job,
                bench: &*bench,
                neighbours,
                record: &record,
                spare_ns: self.left_ns() - self.budget.stop.max_ns,
            };
            let (possible, mut variants): (Vec<Experiment>, Vec<Variant<'_>>) = Experiment::ALL
                .into_iter()
                .filter(|one| !made.contains(one))
                .filter_map(|one| Some((one, laboratory.variant(one)?)))
                .unzip();
            let evidence = Evidence {
                records: &[&record],
                claims: self.tools.claims,
                possible: &possible,
                repeats: (self.left_ns() / self.budget.stop.max_ns) as usize,
            };
            let Some(answer) = explain(&evidence, (0, 0)) else { break };
            match answer.answer {
                Answer::Experiment(experiment) => {
                    made.push(experiment);
                    let chosen = possible.iter().position(|one| *one == experiment);
                    let Some(chosen) = chosen else { break };
                    let sentence = format!("{}; next, {}", answer.case.figure(), experiment.what());
                    self.tools.watcher.event(&Event::Warning(&sentence));
                    let variant = variants.swap_remove(chosen);
                    if variant.rests {
                        self.rest(bench, laboratory.spare_ns.min(LONGEST_REST_NS))?;
                    }
                    self.vary(experiment.name(), variant)?;
                }
                Answer::Repetition(experiments) => {
                    round += 1;
                    self.tools.watcher.event(&Event::Warning(&answer.sentence));
                    self.repeat(&laboratory, &experiments, round)?;
                }
                Answer::Named { .. } | Answer::Undecided { .. } | Answer::Unlike { .. } => break,
            }
        }
        Ok(())
    }

    fn vary(&mut self, name: &str, variant: Variant<'_>) -> Result<(), CampaignError> {
        let Variant { job, mut on, beside, .. } = variant;
        self.step_beside(&step(name, job), &mut on, &beside, false)
    }

    /// Measures what was asked about and `experiments` again. Every other round
    /// goes backwards, so that what drifts does not favour one of them.
    fn repeat(
        &mut self,
        laboratory: &Laboratory<'_, '_>,
        experiments: &[Experiment],
        round: u32,
    ) -> Result<(), CampaignError> {
        let varied =
            experiments.iter().filter_map(|one| Some((one.name(), laboratory.variant(*one)?)));
        let mut all: Vec<(&str, Variant<'_>)> =
            std::iter::once((ASKED, laboratory.unchanged())).chain(varied).collect();
        if round.is_multiple_of(2) {
            all.reverse();
        }
        for (name, variant) in all {
            self.vary(&repetition_name(name, round), variant)?;
        }
        Ok(())
    }

    fn left_ns(&self) -> u64 {
        self.options.budget_ns.saturating_sub(self.spent_ns)
    }

    /// Makes no I/O until the hottest drive is cooler by [`COOLER_C`], or for
    /// `most_ns`. The host as it is then is the one before the next measurement.
    fn rest(&mut self, bench: &[Ready<'_>], most_ns: u64) -> Result<(), CampaignError> {
        let source = self.tools.source;
        let hottest_c = || {
            let drives = bench.iter().filter_map(|ready| ready.drive.as_deref());
            drives.filter_map(|drive| iodyno_host::temperature_c(source, drive)).reduce(f32::max)
        };
        let from_c = hottest_c();
        let mut rested_ns = 0;
        while rested_ns < most_ns && !self.is_interrupted() {
            let now_c = hottest_c();
            if from_c.zip(now_c).is_some_and(|(from_c, now_c)| from_c - now_c >= COOLER_C) {
                break;
            }
            let event = Event::Resting { elapsed_ns: rested_ns, most_ns, temperature_c: now_c };
            self.tools.watcher.event(&event);
            let next_ns = LOOK_NS.min(most_ns - rested_ns);
            self.tools.generator.rest(next_ns);
            rested_ns += next_ns;
        }
        self.spent_ns += rested_ns;
        let host = iodyno_host::snapshot(source, Depth::Full);
        self.last_snapshot = self.tools.store.add_snapshot(&self.run_id, &host)?;
        Ok(())
    }
}
