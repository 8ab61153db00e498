//! Work of a run, made of a plan, of job files, or of an investigation.

use std::path::Path;

use iodyno_job::Job;
use iodyno_job::script::Script;
use iodyno_model::{Profile, RoundsPlan, RunKind};

use crate::layouts::LayoutPlan;
use crate::plan::{PlanError, Point, Settings, Step, Stop, Study, USUAL_SAMPLES};
use crate::preparation::Preparing;
use crate::profiles::profile_script;
use crate::schedule::{ASKED, ScriptJobs};

/// Typical number of measurements of an investigation, by which its time is divided.
const MEASUREMENTS: u64 = 10;
/// Shortest and longest measurement of an investigation, ns.
const SHORTEST_NS: u64 = 1_000_000_000;
const LONGEST_NS: u64 = 30_000_000_000;
/// Sufficient width of an interval: effects below 5 % do not count.
const PRECISION: f64 = 0.015;

/// Work of a run.
#[derive(Debug, Clone)]
pub struct Work {
    /// Kind of run.
    pub kind: RunKind,
    /// Name of the plan.
    pub name: String,
    /// Text that it was read from.
    pub text: String,
    /// Its rounds.
    pub rounds: Option<RoundsPlan>,
    /// End of a measurement.
    pub stop: Stop,
    /// Number of blocks to sample for whether they were ever written; 0 = none.
    pub written_samples: u32,
    /// Jobs to measure.
    pub jobs: Jobs,
    /// Preparation of the drives.
    pub preparation: Option<Preparing>,
    /// Layout to measure on, built before and taken down after.
    pub layout: Option<LayoutPlan>,
    /// Settings of the machine, restored after the run.
    pub settings: Settings,
}

/// Jobs to measure.
#[derive(Debug, Clone)]
pub enum Jobs {
    /// Phases of a script, on the targets that its jobs name.
    Script(Box<ScriptJobs>),
    /// Steps, on targets given separately.
    Steps(Vec<Step>),
    /// Investigation of what limits this job, on targets given separately: as many experiments as
    /// it takes.
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

    /// Work of a script read from `text`; `name` is the job file.
    pub fn of_script(name: &str, script: Script, text: String) -> Self {
        Self::new(
            RunKind::Run,
            name,
            text,
            Stop::NEVER,
            Jobs::Script(Box::new(ScriptJobs::once(script, &[]))),
        )
    }

    /// Work of a profile read from `text`, on `target`, in rounds.
    ///
    /// # Errors
    /// A mistake in its jobs.
    pub fn of_profile(profile: Profile, target: &str, text: String) -> Result<Self, PlanError> {
        let name = profile.name.clone();
        let script = profile_script(&profile, target)?;
        let jobs = ScriptJobs::of_profile(profile, target.to_owned(), script);
        Ok(Self::new(RunKind::Fit, &name, text, Stop::NEVER, Jobs::Script(Box::new(jobs))))
    }

    /// Work of a study: of `all` its points those that are `left`, or its steps on targets given
    /// separately.
    ///
    /// # Errors
    /// A mistake in their options.
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

    /// Investigation of what limits `job`, within `budget_ns` in total; `text` describes it in the
    /// record.
    pub fn of_question(mut job: Job, text: String, budget_ns: u64) -> Self {
        let max_ns = (budget_ns / MEASUREMENTS).clamp(SHORTEST_NS, LONGEST_NS);
        let (precision, level, min_ns) = (PRECISION, 0.95, max_ns / 3);
        let stop = Stop { precision, level, p99: Some(0.0), min_ns, max_ns, round_ns: max_ns };
        ASKED.clone_into(&mut job.name);
        let asked = Step { name: ASKED.into(), each: true, together: true, job, outstanding: None };
        Self::new(RunKind::Explain, "explain", text, stop, Jobs::Question(Box::new(asked)))
    }

    /// Steps to measure on targets given separately.
    pub(crate) fn steps(&self) -> &[Step] {
        match &self.jobs {
            Jobs::Script(_) => &[],
            Jobs::Steps(steps) => steps,
            Jobs::Question(asked) => std::slice::from_ref(asked),
        }
    }

    /// Files that its scripts name, by path.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.scripts().flat_map(Script::files).map(Path::new)
    }

    pub(crate) fn scripts(&self) -> impl Iterator<Item = &Script> {
        let own = match &self.jobs {
            Jobs::Script(jobs) => Some(&jobs.script),
            Jobs::Steps(_) | Jobs::Question(_) => None,
        };
        own.into_iter().chain(self.preparation.iter().map(|one| &one.jobs.script))
    }
}
