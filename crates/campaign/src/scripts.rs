//! Runs scripts: clears the targets of their jobs, samples them and carries out the jobs.

use iodyno_job::script::Script;
use iodyno_model::add_missing;
use iodyno_target::Permission;

use crate::announce;
use crate::error::CampaignError;
use crate::execute::Execution;
use crate::schedule::ScriptJobs;
use crate::targets::Targets;
use crate::watch::Event;

/// Clears the targets of `jobs`, and runs them. With `all_words` each word of the permission has to
/// name something that is worked on.
///
/// # Errors
/// A target cannot be cleared, or nothing can be recorded.
pub(crate) fn run_script(
    execution: &mut Execution<'_, '_>,
    jobs: &ScriptJobs,
    all_words: bool,
) -> Result<(), CampaignError> {
    let permission = &execution.options.permission;
    let mut targets = clear_script(execution, &jobs.script, permission, all_words)?;
    let (host, tools) = (execution.host, &mut *execution.tools);
    let sentences = announce::script(&jobs.script, &targets.prepared, host, tools.claims);
    if !sentences.is_empty() {
        tools.watcher.event(&Event::Expect(&sentences));
    }
    run_on(execution, jobs, &mut targets)
}

/// Clears the targets of `script`.
///
/// # Errors
/// A target cannot be cleared; names the line of its job.
pub(crate) fn clear_script(
    execution: &mut Execution<'_, '_>,
    script: &Script,
    permission: &Permission,
    all_words: bool,
) -> Result<Targets, CampaignError> {
    // Checks the first phase in advance, as it would be refused when run; a resumed run had this
    // check before.
    let first = script.phases.first().filter(|_| execution.is_first());
    let all_words = all_words && !execution.options.standing;
    let (tools, host) = (&mut *execution.tools, execution.host);
    let place = (host, execution.record.run.id.as_str());
    Targets::of_script(tools, place, script, permission, all_words, first)
        .map_err(|error| error.placed(script))
}

/// Runs `jobs` on the targets cleared for them.
///
/// # Errors
/// Nothing can be recorded any more, or the very first job cannot be run.
pub(crate) fn run_on(
    execution: &mut Execution<'_, '_>,
    jobs: &ScriptJobs,
    targets: &mut Targets,
) -> Result<(), CampaignError> {
    let names = targets.prepared.iter().map(|target| target.name.clone());
    let run = &mut execution.record.run;
    add_missing(&mut run.targets, names);
    // A run in progress, or killed, is listed with its targets.
    execution.tools.store.update_run(run)?;
    execution.sample(targets, targets.read_by(&jobs.script));
    let mut schedule = jobs.schedule();
    execution.carry_out(&mut *schedule, targets).map_err(|error| error.placed(&jobs.script))
}
