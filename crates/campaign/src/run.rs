//! A run from beginning to end: record it, build a layout, apply settings, measure, and undo all of
//! it.

use iodyno_host::Depth;
use iodyno_model::{Host, Permitted, Run, RunRecord, RunState, Setting, add_missing};
use iodyno_target::{Permission, ScratchPlan, Target};

use crate::announce;
use crate::budget::Budget;
use crate::error::CampaignError;
use crate::execute::Execution;
use crate::layouts::{LayoutPlan, Stack};
use crate::other_io::without_busy;
use crate::phase::Schedule;
use crate::preparation::prepare;
use crate::schedule::{Explain, Steps};
use crate::scripts::run_script;
use crate::settings;
use crate::targets::{NamedTargets, Scratches, Targets};
use crate::tools::{Options, Tools, now_ns};
use crate::undo::{clean_up, settle_fit_files};
use crate::watch::Event;
use crate::work::{Jobs, Work};

/// Carries out `work` on `targets`, which were resolved on `host`, and returns the run's id.
/// Measurements are stored whatever happens.
///
/// # Errors
/// Nothing can be recorded, or no step can be carried out. A failure on one target is recorded as
/// such, and the others go on.
pub fn carry_out(
    tools: &mut Tools<'_>,
    work: &Work,
    host: &Host,
    targets: &[Target],
    options: &Options,
) -> Result<String, CampaignError> {
    let mut stop = work.stop;
    if let Some(max_ns) = options.max_ns.or(options.fixed_ns) {
        stop.max_ns = max_ns;
        stop.min_ns = stop.min_ns.min(max_ns / 2);
    }
    let samples = work.written_samples;
    let budget = Budget::divide(work.steps(), stop, samples, targets.len(), options.budget_ns);
    let new = || Run {
        name: options.name.clone(),
        command: options.command.clone(),
        kind: work.kind,
        plan_name: work.name.clone(),
        plan: work.text.clone(),
        rounds: work.rounds.clone(),
        origin: options.origin.clone(),
        scope: options.scope,
        targets: targets.iter().map(Target::name).map(str::to_owned).collect(),
        skipped: options.unusable.clone(),
        layout: work.layout.as_ref().map(|plan| plan.layout.to_string()),
        ..Run::new(options.id.clone(), now_ns())
    };
    let mut run = match &options.resumed {
        Some(resumed) => {
            // Undo the killed run's settings first: they are not the machine's original ones.
            tools.store.refuse_running(&resumed.run_id)?;
            clean_up(tools.store, Some(&resumed.run_id))?;
            let mut run = tools.store.reopen_run(&resumed.run_id)?;
            permit(&mut run.permitted, &options.permission);
            let measured = tools.store.measurements(&run.id)?.len();
            add_missing(&mut run.resumed_at, [measured]);
            tools.store.update_run(&run)?;
            run
        }
        None => {
            let mut run = new();
            permit(&mut run.permitted, &options.permission);
            tools.store.create_run(&run)?;
            run
        }
    };
    let is_partial = options.resumed.as_ref().is_some_and(|resumed| resumed.is_partial);
    let mut active = ActiveRun { work, targets, options, budget, failed: false, touched: false };
    let result = match &work.layout {
        Some(layout) => active.on_layout(tools, &mut run, layout),
        None => active.on_machine(tools, &mut run, host),
    };
    let ActiveRun { failed, touched, .. } = active;
    run.state = match &result {
        _ if tools.is_interrupted() => RunState::Interrupted,
        Ok(()) if !failed && is_partial => RunState::Interrupted,
        Ok(()) if !failed => RunState::Done,
        // Resuming was refused: the run is unchanged.
        Err(_) if options.resumed.is_some() && !touched => RunState::Interrupted,
        _ => RunState::Failed,
    };
    // Keep a run whose resumption was refused: it may have been stopped before its first
    // measurement.
    let is_kept = result.is_ok() || touched || options.resumed.is_some();
    end(tools, &mut run, work, is_kept)?;
    result.map(|()| run.id)
}

/// Adds the words of `permission` to those that a run was given.
fn permit(permitted: &mut Permitted, permission: &Permission) {
    add_missing(&mut permitted.allow_write, permission.allow_write.iter().cloned());
    add_missing(&mut permitted.discard_data, permission.discard_data.iter().cloned());
    add_missing(&mut permitted.assume_unused, permission.assume_unused.iter().cloned());
}

/// Work under way, and its outcome.
#[derive(Clone, Copy)]
struct ActiveRun<'a> {
    work: &'a Work,
    targets: &'a [Target],
    options: &'a Options,
    budget: Budget,
    /// A step failed.
    failed: bool,
    /// Data on its targets is lost.
    touched: bool,
}

impl ActiveRun<'_> {
    /// Builds a layout, measures on it, and takes it down even after a failure.
    fn on_layout(
        &mut self,
        tools: &mut Tools<'_>,
        run: &mut Run,
        layout: &LayoutPlan,
    ) -> Result<(), CampaignError> {
        let stack = Stack::build(tools, &run.id, layout, &self.options.permission)?;
        self.touched = true;
        let host = iodyno_host::snapshot(tools.source, Depth::Full);
        let result = stack.top_permission(&host).and_then(|permission| {
            let options = &Options { permission, ..self.options.clone() };
            let mut on_top = ActiveRun { options, ..*self };
            let result = on_top.on_machine(tools, run, &host);
            self.failed = on_top.failed;
            result
        });
        stack.take_down(tools)?;
        result
    }

    /// Applies the plan's settings, measures, and restores them.
    fn on_machine(
        &mut self,
        tools: &mut Tools<'_>,
        run: &mut Run,
        host: &Host,
    ) -> Result<(), CampaignError> {
        let Self { work, options, .. } = *self;
        if !work.settings.is_empty() {
            // A target that is refused has no other scheduler for a moment either.
            let is_new = options.resumed.is_none();
            let all_words = work.preparation.is_none() && !options.standing;
            for script in work.scripts() {
                let first = script.phases.first().filter(|_| is_new);
                Targets::checked(tools, host, script, &options.permission, all_words, first)
                    .map_err(|error| error.placed(script))?;
            }
        }
        let mut applied = settings::apply(tools, &work.settings, work.scripts(), host, &run.id)?;
        // Measure against the host as it is with the settings applied.
        let set_host = (!applied.conditions.is_empty())
            .then(|| iodyno_host::snapshot(tools.source, Depth::Full));
        let host = set_host.as_ref().unwrap_or(host);
        let result = self.measured(tools, run, host, applied.conditions.clone());
        let restored = applied.restore(tools.source, tools.store, &run.id);
        self.touched |= restored.is_err();
        restored?.iter().for_each(|warning| tools.watcher.event(&Event::Warning(warning)));
        result
    }

    /// Measures on the host as it is.
    fn measured(
        &mut self,
        tools: &mut Tools<'_>,
        run: &mut Run,
        host: &Host,
        settings: Vec<Setting>,
    ) -> Result<(), CampaignError> {
        let Self { work, options, budget, .. } = *self;
        run.skipped.clone_from(&options.unusable);
        let measurements = tools.store.measurements(&run.id)?;
        let record = RunRecord { run: run.clone(), snapshots: Vec::new(), measurements };
        let ends = (budget.stop, work.written_samples);
        let mut execution = Execution::begin(tools, host, options, record, settings, ends)?;
        let result = match options.no_load {
            true => Ok(()),
            false => self.jobs(&mut execution),
        };
        self.failed |= execution.failed;
        *run = execution.record.run;
        result
    }

    /// Carries out its jobs.
    fn jobs(&mut self, execution: &mut Execution<'_, '_>) -> Result<(), CampaignError> {
        let (stop, budget_ns) = (self.budget.stop, self.options.budget_ns);
        let claims = execution.tools.claims;
        match &self.work.jobs {
            Jobs::Script(jobs) => {
                let mut is_prepared = false;
                if let Some(preparing) = &self.work.preparation {
                    let result = prepare(execution, preparing, self.targets, &mut is_prepared);
                    self.touched |= is_prepared;
                    result?;
                    let is_over = execution.failed || execution.tools.is_interrupted();
                    if is_over || jobs.script.phases.is_empty() {
                        return Ok(());
                    }
                }
                // A preparation may write targets that the jobs after it only read.
                let result = run_script(execution, jobs, !is_prepared);
                let run_id = execution.record.run.id.clone();
                result.and(settle_fit_files(execution.tools.store, &run_id))
            }
            Jobs::Steps(steps) => self.on_targets(execution, &mut Steps::new(steps, self.budget)),
            Jobs::Question(asked) => {
                let mut explain = Explain::new(&asked.job, claims, stop.max_ns, budget_ns);
                self.on_targets(execution, &mut explain)
            }
        }
    }

    /// Clears the targets, and runs `schedule` on them.
    fn on_targets(
        &self,
        execution: &mut Execution<'_, '_>,
        schedule: &mut dyn Schedule,
    ) -> Result<(), CampaignError> {
        let Execution { tools, host, options, record, .. } = execution;
        let is_question = matches!(self.work.jobs, Jobs::Question(_));
        let steps = self.work.steps().iter();
        let writes = steps.clone().any(|step| step.job.writes());
        // What is refused is not announced first.
        let written = self.targets.iter().filter(|_| is_question && writes);
        for target in written.filter(|target| !matches!(target, Target::Directory(_))) {
            target.clear_for_writing(host, &options.permission)?;
        }
        let is_named = |target: &&Target| target.is_allowed_by(host, &options.permission);
        let neighbours: Vec<&Target> = match is_question && !writes {
            true => options.neighbours.iter().filter(is_named).collect(),
            false => Vec::new(),
        };
        // As much as a measurement reads again, or all experiments together.
        let scratch_ns = if is_question { options.budget_ns } else { self.budget.stop.max_ns };
        let scratch_ns = scratch_ns.min(ScratchPlan::LONGEST_NS);
        let sentences = match is_question {
            true => {
                announce::question(self.targets, writes, &neighbours, scratch_ns, options.budget_ns)
            }
            false => announce::steps(self.targets, writes, scratch_ns, &self.budget),
        };
        if !sentences.is_empty() {
            tools.watcher.event(&Event::Expect(&sentences));
        }
        let named = NamedTargets {
            targets: match options.busy {
                true => self.targets.iter().collect(),
                false => without_busy(tools, host, &mut record.run, self.targets),
            },
            neighbours,
            all_or_none: is_question,
            writes,
            block_bytes: steps.map(|step| step.job.largest_block()).max().unwrap_or(0),
            scratch_ns,
        };
        let mut scratches = Scratches::default();
        let cleared = named.clear(tools, host, &mut record.run, options, &mut scratches);
        let result = cleared.and_then(|mut targets| execution.carry_out(schedule, &mut targets));
        scratches.remove(execution.tools, &execution.record.run.id)?;
        result
    }
}

/// Ends a run; removes one that was refused before anything was done, so that a mistyped word does
/// not become the last run.
fn end(
    tools: &mut Tools<'_>,
    run: &mut Run,
    work: &Work,
    is_worth_keeping: bool,
) -> Result<(), CampaignError> {
    run.ended_ns = Some(now_ns());
    if run.state == RunState::Running {
        run.state = RunState::Failed;
    }
    tools.store.update_run(run)?;
    if !is_worth_keeping
        && !matches!(work.jobs, Jobs::Steps(_))
        && tools.store.measurements(&run.id)?.is_empty()
        && tools.store.journal_pending(Some(&run.id))?.is_empty()
    {
        tools.store.remove(&run.id)?;
    }
    Ok(())
}
