//! A plan from its beginning to its end: the run recorded, a layout built, the
//! machine set, and all of it undone.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use iodyno_host::Depth;
use iodyno_model::{Host, Run, RunState, Setting};
use iodyno_target::Target;

use crate::budget::Budget;
use crate::error::CampaignError;
use crate::execute::{Campaign, Options, Tools, now_ns};
use crate::layouts::{LayoutPlan, Stack};
use crate::plan::Plan;
use crate::read_blocks::BlockHistory;
use crate::settings;
use crate::undo::clean_up;
use crate::watch::Event;

/// Carries `plan` out on `targets`, which were resolved on `host`, and returns
/// the run's id. What was measured is in the store whatever happens.
///
/// # Errors
/// Where nothing can be recorded or no step carried out at all. What fails on
/// one target is recorded as such, and the others go on.
pub fn carry_out(
    tools: &mut Tools<'_>,
    plan: &Plan,
    host: &Host,
    targets: &[Target],
    options: &Options,
) -> Result<String, CampaignError> {
    let mut plan = plan.clone();
    if let Some(max_ns) = options.max_ns.or(options.fixed_ns) {
        plan.stop.max_ns = max_ns;
        plan.stop.min_ns = plan.stop.min_ns.min(max_ns / 2);
    }
    let budget = Budget::divide(&plan, targets.len(), options.budget_ns);
    let new = || Run {
        name: options.name.clone(),
        command: options.command.clone(),
        plan_name: plan.name.clone(),
        plan: plan.text.clone(),
        origin: options.origin.clone(),
        scope: options.scope,
        targets: targets.iter().map(Target::name).map(str::to_owned).collect(),
        ..Run::new(iodyno_store::new_id(), now_ns())
    };
    let mut run = match &options.resumed {
        Some(resumed) => {
            // What it set before it was killed is not what the machine had.
            tools.store.refuse_running(&resumed.run_id)?;
            clean_up(tools.store, Some(&resumed.run_id))?;
            tools.store.reopen_run(&resumed.run_id)?
        }
        None => {
            let run = new();
            tools.store.create_run(&run)?;
            run
        }
    };
    let carried = Carried { plan: &plan, targets, options, budget };
    let outcome = match &plan.layout {
        Some(layout) => carried.on_layout(tools, &mut run, layout),
        None => carried.on_machine(tools, &mut run, host),
    };
    let Outcome { result, failed, touched } = outcome;
    run.state = match &result {
        _ if tools.interrupted.load(Ordering::Relaxed) => RunState::Interrupted,
        Ok(()) if !failed => RunState::Done,
        // It was not let go on, and is as it was.
        Err(_) if options.resumed.is_some() && !touched => RunState::Interrupted,
        _ => RunState::Failed,
    };
    end(tools, &mut run, &plan, result.is_ok() || touched)?;
    result.map(|()| run.id)
}

/// What came of a plan.
struct Outcome {
    result: Result<(), CampaignError>,
    /// A step failed.
    failed: bool,
    /// What was on its targets is lost.
    touched: bool,
}

impl Outcome {
    fn refused(error: CampaignError, touched: bool) -> Self {
        Self { result: Err(error), failed: true, touched }
    }
}

/// A plan with all that does not change while it is carried out.
struct Carried<'a> {
    plan: &'a Plan,
    targets: &'a [Target],
    options: &'a Options,
    budget: Budget,
}

impl Carried<'_> {
    /// Builds a layout, measures on it, and takes it down whatever came of that.
    fn on_layout(&self, tools: &mut Tools<'_>, run: &mut Run, layout: &LayoutPlan) -> Outcome {
        let stack = match Stack::build(tools, &run.id, layout, &self.options.permission) {
            Ok(stack) => stack,
            Err(error) => return Outcome::refused(error, false),
        };
        let host = iodyno_host::snapshot(tools.source, Depth::Full);
        let outcome = match stack.top_permission(&host) {
            Ok(permission) => {
                let options = &Options { permission, ..self.options.clone() };
                Carried { options, ..*self }.on_machine(tools, run, &host)
            }
            Err(error) => Outcome::refused(error, true),
        };
        match stack.take_down(tools) {
            Ok(()) => Outcome { touched: true, ..outcome },
            Err(error) => Outcome::refused(error, true),
        }
    }

    /// Sets what the plan asks for on the machine, measures, and restores it.
    fn on_machine(&self, tools: &mut Tools<'_>, run: &mut Run, host: &Host) -> Outcome {
        let mut applied = match settings::apply(tools, self.plan, host, &run.id) {
            Ok(applied) => applied,
            Err(error) => return Outcome::refused(error, false),
        };
        // What was set is what is measured under.
        let set_host = (!applied.conditions.is_empty())
            .then(|| iodyno_host::snapshot(tools.source, Depth::Full));
        let host = set_host.as_ref().unwrap_or(host);
        let outcome = self.measured(tools, run, host, applied.conditions.clone());
        match applied.restore(tools.source, tools.store, &run.id) {
            Ok(told) => {
                told.iter().for_each(|told| tools.watcher.event(&Event::Warning(told)));
                outcome
            }
            Err(error) => Outcome::refused(error, true),
        }
    }

    /// Carries it out on what is there.
    fn measured(
        &self,
        tools: &mut Tools<'_>,
        run: &mut Run,
        host: &Host,
        settings: Vec<Setting>,
    ) -> Outcome {
        let Self { plan, targets, options, budget } = *self;
        let first_snapshot = match tools.store.add_snapshot(&run.id, host) {
            Ok(index) => index,
            Err(error) => return Outcome::refused(error.into(), false),
        };
        tools.watcher.event(&Event::Host(host));
        let mut campaign = Campaign {
            tools,
            plan,
            host,
            options,
            budget,
            run_id: run.id.clone(),
            skipped: options.unusable.clone(),
            phase: options.resumed.as_ref().map_or(0, |resumed| resumed.phases),
            failed: false,
            spent_ns: 0,
            last_snapshot: first_snapshot,
            played: Vec::new(),
            touched: false,
            round: None,
            over_in: BTreeMap::new(),
            saturated: Vec::new(),
            blocks: BlockHistory::default(),
            settings,
        };
        let result = match &plan.script {
            _ if options.no_load => Ok(()),
            Some(script) => match &plan.preparation {
                Some(preparing) => campaign.prepare(preparing, targets, script),
                None => campaign.play(script),
            },
            None => campaign.measure(targets),
        };
        for played in campaign.played {
            if !run.targets.contains(&played) {
                run.targets.push(played);
            }
        }
        run.skipped = campaign.skipped;
        Outcome { result, failed: campaign.failed, touched: campaign.touched }
    }
}

/// Ends a run; one that was refused before anything was done is none: a
/// mistyped word is not the last run.
fn end(
    tools: &mut Tools<'_>,
    run: &mut Run,
    plan: &Plan,
    is_worth_keeping: bool,
) -> Result<(), CampaignError> {
    run.ended_ns = Some(now_ns());
    if run.state == RunState::Running {
        run.state = RunState::Failed;
    }
    tools.store.update_run(run)?;
    if !is_worth_keeping
        && (plan.script.is_some() || plan.investigates)
        && tools.store.measurements(&run.id)?.is_empty()
        && tools.store.journal_pending(Some(&run.id))?.is_empty()
    {
        tools.store.remove(&run.id)?;
    }
    Ok(())
}
