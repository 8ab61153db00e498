//! Scripts carried out: what their jobs name is cleared, looked at and worked on.

use iodyno_job::script::Script;
use iodyno_model::add_missing;
use iodyno_target::Permission;

use crate::announce;
use crate::error::CampaignError;
use crate::execute::Execution;
use crate::schedule::ScriptJobs;
use crate::targets::Targets;
use crate::watch::Event;

/// Clears what `jobs` need, and carries them out. With `all_words` each word of the permission has
/// to name something that is worked on.
///
/// # Errors
/// What cannot be cleared or recorded.
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

/// Clears what `script` needs.
///
/// # Errors
/// What cannot be cleared, with the line of its job.
pub(crate) fn clear_script(
    execution: &mut Execution<'_, '_>,
    script: &Script,
    permission: &Permission,
    all_words: bool,
) -> Result<Targets, CampaignError> {
    // As the first phase is refused, when it is carried out; of a run that goes on it was done
    // before.
    let first = script.phases.first().filter(|_| execution.is_first());
    let all_words = all_words && !execution.options.standing;
    let (tools, host) = (&mut *execution.tools, execution.host);
    Targets::of_script(tools, host, script, permission, all_words, first)
        .map_err(|error| error.placed(script))
}

/// Carries `jobs` out, on what was cleared for them.
///
/// # Errors
/// Nothing can be recorded any more, or the first job of all cannot be run.
pub(crate) fn run_on(
    execution: &mut Execution<'_, '_>,
    jobs: &ScriptJobs,
    targets: &mut Targets,
) -> Result<(), CampaignError> {
    let names = targets.prepared.iter().map(|target| target.name.clone());
    add_missing(&mut execution.record.run.targets, names);
    execution.sample(targets, targets.read_by(&jobs.script));
    let mut schedule = jobs.schedule();
    execution.carry_out(&mut *schedule, targets).map_err(|error| error.placed(&jobs.script))
}
