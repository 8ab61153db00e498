//! Tools and options of a run.

use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_host::Source;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Origin, Run, Scope, SkipReason, Skipped};
use iodyno_store::Store;
use iodyno_target::{Permission, Target, command_words};

use crate::watch::{Event, Watcher};

/// Options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Id of the run, if it is a new one.
    pub id: String,
    /// Name of the run.
    pub name: String,
    /// Command as typed, for the record.
    pub command: String,
    /// Longest time of all measurements, ns.
    pub budget_ns: u64,
    /// Exact duration of each measurement, ns.
    pub fixed_ns: Option<u64>,
    /// Longest duration of each measurement, ns, instead of the plan's.
    pub max_ns: Option<u64>,
    /// Measure busy drives, too.
    pub busy: bool,
    /// Targets that may be written, losing their data.
    pub permission: Permission,
    /// The permission is for several runs: words that this run does not need are no mistake.
    pub standing: bool,
    /// Other devices; an investigation may write those that the permission names.
    pub neighbours: Vec<Target>,
    /// Measure nothing: links, health and inventory only.
    pub no_load: bool,
    /// Scope of the run: named targets or all.
    pub scope: Scope,
    /// Requested targets and points that are not measured, and why.
    pub unusable: Vec<Skipped>,
    /// Origin of the numbers.
    pub origin: Origin,
    /// Run to resume, instead of a new one.
    pub resumed: Option<Resumed>,
}

impl Options {
    /// Options for jobs and studies, which set their own durations.
    pub fn of_jobs(name: &str, permission: Permission) -> Self {
        Self {
            id: iodyno_store::new_id(),
            name: name.to_owned(),
            command: command_words().collect::<Vec<_>>().join(" "),
            budget_ns: u64::MAX,
            fixed_ns: None,
            max_ns: None,
            busy: true,
            permission,
            standing: false,
            neighbours: Vec::new(),
            no_load: false,
            scope: Scope::Targets,
            unusable: Vec::new(),
            origin: Origin::Measured,
            resumed: None,
        }
    }
}

/// Run to be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Its id.
    pub run_id: String,
    /// Number of its phases so far.
    pub phases: u32,
    /// Points of it are not measured now: it stays interrupted.
    pub is_partial: bool,
}

/// Tools of a run.
pub struct Tools<'a> {
    /// Source of facts about the host.
    pub source: &'a dyn Source,
    /// Load generator.
    pub generator: &'a mut dyn LoadGenerator,
    /// Data sheet figures.
    pub claims: &'a ClaimBook,
    /// Store of the results.
    pub store: &'a mut Store,
    /// Receiver of events.
    pub watcher: &'a mut dyn Watcher,
    /// Set when the user interrupts the run.
    pub interrupted: &'a AtomicBool,
}

impl Tools<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Records something requested that is not done.
    pub(crate) fn skip(
        &mut self,
        run: &mut Run,
        target: &str,
        step: Option<&str>,
        why: SkipReason,
        next: &str,
    ) {
        let skipped =
            Skipped { target: target.into(), step: step.map(Into::into), why, next: next.into() };
        self.watcher.event(&Event::Skipped(&skipped));
        run.skipped.push(skipped);
    }

    /// Records something that is not done because it failed.
    pub(crate) fn skip_failed(
        &mut self,
        run: &mut Run,
        target: &str,
        step: Option<&str>,
        why: &str,
        next: &str,
    ) {
        // Errors begin with the target's name, which is shown beside them anyway.
        let why = why.strip_prefix(target).and_then(|why| why.strip_prefix(": ")).unwrap_or(why);
        self.skip(run, target, step, SkipReason::Failed { why: why.into() }, next);
    }
}

/// Now, ns since 1970 UTC.
pub fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as i64)
}
