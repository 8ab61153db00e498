//! What a run works with, and how it is to be carried out.

use std::sync::atomic::{AtomicBool, Ordering};

use iodyno_host::Source;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Origin, Run, Scope, SkipReason, Skipped};
use iodyno_store::Store;
use iodyno_target::{Permission, Target, typed_words};

use crate::watch::{Event, Watcher};

/// How a plan is to be carried out.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name of the run.
    pub name: String,
    /// The command as it was typed, for the record.
    pub command: String,
    /// Longest time for all measurements, ns.
    pub budget_ns: u64,
    /// Each measurement takes exactly this, ns.
    pub fixed_ns: Option<u64>,
    /// Each measurement takes at most this, ns, instead of what the plan says.
    pub max_ns: Option<u64>,
    /// Measure drives that serve others, too.
    pub busy: bool,
    /// What may be written, and lost.
    pub permission: Permission,
    /// The permission stands for more runs than this one: words that this one has no need of are
    /// no mistake.
    pub standing: bool,
    /// Devices beside the targets, of which an investigation may write those that
    /// the permission names.
    pub neighbours: Vec<Target>,
    /// Measure nothing: links, health and inventory only.
    pub no_load: bool,
    /// Whether targets were named.
    pub scope: Scope,
    /// What was asked for and cannot even become a target, and why.
    pub unusable: Vec<Skipped>,
    /// Where the numbers come from.
    pub origin: Origin,
    /// The run that goes on, in place of a new one.
    pub resumed: Option<Resumed>,
}

impl Options {
    /// For jobs and studies, which say themselves how long they take.
    pub fn of_jobs(name: &str, permission: Permission) -> Self {
        Self {
            name: name.to_owned(),
            command: typed_words().collect::<Vec<_>>().join(" "),
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

/// A run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumed {
    /// Its id.
    pub run_id: String,
    /// Phases that it has.
    pub phases: u32,
}

/// What a run works with.
pub struct Tools<'a> {
    /// Facts of the host.
    pub source: &'a dyn Source,
    /// Makes the I/O.
    pub generator: &'a mut dyn LoadGenerator,
    /// What data sheets state.
    pub claims: &'a ClaimBook,
    /// Keeps the results.
    pub store: &'a mut Store,
    /// Is told what happens.
    pub watcher: &'a mut dyn Watcher,
    /// Set when the user wants it to end.
    pub interrupted: &'a AtomicBool,
}

impl Tools<'_> {
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Records what is not done of what was asked for.
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

    /// Records what is not done, since it failed.
    pub(crate) fn skip_failed(
        &mut self,
        run: &mut Run,
        target: &str,
        step: Option<&str>,
        why: &str,
        next: &str,
    ) {
        // Errors begin with the target's name, which stands beside them already.
        let why = why.strip_prefix(target).and_then(|why| why.strip_prefix(": ")).unwrap_or(why);
        self.skip(run, target, step, SkipReason::Failed { why: why.into() }, next);
    }
}

/// Now, ns since 1970 UTC.
pub fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as i64)
}
