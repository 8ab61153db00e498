//! What a run does: made of a plan, of job files, or of a question.

use iodyno_job::Job;
use iodyno_job::script::Script;
use iodyno_model::{Profile, RoundsPlan, RunKind};

use crate::layouts::LayoutPlan;
use crate::plan::{PlanError, Point, Settings, Step, Stop, Study, USUAL_SAMPLES};
use crate::preparation::Preparing;
use crate::profiles::profile_script;
use crate::schedule::{ASKED, ScriptJobs};

/// Measurements that an investigation takes at most, which divide its time.
const MEASUREMENTS: u64 = 10;
/// Each takes between these, ns.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 30_000_000_000;
/// Width of an interval that suffices: effects below 5 % are none.
const PRECISION: f64 = 0.015;

/// What a run does.
#[derive(Debug, Clone)]
pub struct Work {
    /// What kind of run it makes.
    pub kind: RunKind,
    /// Name of the plan.
    pub name: String,
    /// The text that it was read from.
    pub text: String,
    /// Its rounds.
    pub rounds: Option<RoundsPlan>,
    /// When a measurement ends.
    pub stop: Stop,
    /// Blocks to be sampled to tell which were ever written; 0 = none.
    pub written_samples: u32,
    /// What is measured.
    pub jobs: Jobs,
    /// Drives are prepared before it.
    pub preparation: Option<Preparing>,
    /// It is measured on a layout, which is built before and taken down after.
    pub layout: Option<LayoutPlan>,
    /// What is set on the machine before, and restored after it.
    pub settings: Settings,
}

/// What is measured.
#[derive(Debug, Clone)]
pub enum Jobs {
    /// The phases of a script, on what its jobs name.
    Script(Box<ScriptJobs>),
    /// Steps, on targets that are given beside.
    Steps(Vec<Step>),
    /// What limits this job on targets that are given beside: experiments follow, as many as it
    /// takes.
    Question(Box<Step>),
}

impl Work {
    fn new(kind: RunKind, name: &str, text: String, stop: Stop, jobs: Jobs) -> Self {
        Self {
            kind,
            name: name.into(),
            text,
            rounds: None,
            stop,
            written_samples: USUAL_SAMPLES,
            jobs,
            preparation: None,
            layout: None,
            settings: Settings::default(),
        }
    }

    /// Carries out a script that was read from `text`; `name` is the job file.
    pub fn of_script(name: &str, script: Script, text: String) -> Self {
        Self::new(
            RunKind::Run,
            name,
            text,
            Stop::NEVER,
            Jobs::Script(Box::new(ScriptJobs::once(script, &[]))),
        )
    }

    /// Carries out the jobs of a profile that was read from `text` on `target`, in rounds.
    ///
    /// # Errors
    /// What is wrong with its jobs.
    pub fn of_profile(profile: Profile, target: &str, text: String) -> Result<Self, PlanError> {
        let name = profile.name.clone();
        let script = profile_script(&profile, target)?;
        let jobs = ScriptJobs::of_profile(profile, target.to_owned(), script);
        Ok(Self::new(RunKind::Fit, &name, text, Stop::NEVER, Jobs::Script(Box::new(jobs))))
    }

    /// Carries out a study: of all its points those that are `left`, or its steps on targets that
    /// are given beside.
    ///
    /// # Errors
    /// What is wrong with their options.
    pub fn of_study(study: &Study, all: &[Point], left: &[Point]) -> Result<Self, PlanError> {
        let stop = study.stop()?;
        let jobs = match study.is_of_steps() {
            true => Jobs::Steps(study.target_steps()?),
            false => Jobs::Script(Box::new(ScriptJobs::of_points(study, all, left)?)),
        };
        Ok(Self {
            rounds: study.rounds_plan(),
            written_samples: study.written_samples(),
            settings: study.settings.clone(),
            ..Self::new(study.kind(), &study.name, study.to_toml()?, stop, jobs)
        })
    }

    /// Asks what limits `job`, within `budget_ns` in all; `text` says so in the record.
    pub fn of_question(mut job: Job, text: String, budget_ns: u64) -> Self {
        let max_ns = (budget_ns / MEASUREMENTS).clamp(SHORTEST_NS, LONGEST_NS);
        let (precision, level, min_ns) = (PRECISION, 0.95, max_ns / 3);
        let stop = Stop { precision, level, p99: Some(0.0), min_ns, max_ns, round_ns: max_ns };
        ASKED.clone_into(&mut job.name);
        let asked = Step { name: ASKED.into(), each: true, together: true, job, outstanding: None };
        Self::new(RunKind::Explain, "explain", text, stop, Jobs::Question(Box::new(asked)))
    }

    /// What is measured on targets that are given beside.
    pub(crate) fn steps(&self) -> &[Step] {
        match &self.jobs {
            Jobs::Script(_) => &[],
            Jobs::Steps(steps) => steps,
            Jobs::Question(asked) => std::slice::from_ref(asked),
        }
    }

    /// All of its scripts.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = &Script> {
        let own = match &self.jobs {
            Jobs::Script(jobs) => Some(&jobs.script),
            Jobs::Steps(_) | Jobs::Question(_) => None,
        };
        own.into_iter().chain(self.preparation.iter().map(|one| &one.jobs.script))
    }
}
