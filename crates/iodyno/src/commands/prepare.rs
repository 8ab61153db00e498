//! `iodyno prepare`: drives emptied and filled.

use anyhow::Result;
use iodyno_campaign::{Options, Preparation};
use iodyno_model::RunState;
use iodyno_native::NativeGenerator;
use iodyno_target::{Target, resolve_all, uses};

use crate::arguments::Prepare;
use crate::commands::setup::Setup;
use crate::commands::show::{self, Judging, Shape};
use crate::context::{Context, Usage};
use crate::progress::Display;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Prepare) -> Result<u8> {
    if context.is_captured() {
        return Err(Usage("a captured machine cannot be prepared".into()).into());
    }
    let preparation = Preparation { purge: arguments.purge.method(), fill: arguments.fill };
    if preparation.purge.is_none() && preparation.fill.is_none() {
        let what = "how? --purge METHOD empties the drives, --fill 2x writes them";
        return Err(Usage(what.into()).into());
    }
    let mut setup = Setup::new(context, &arguments.datasheet)?;
    let targets = resolve_all(&setup.host, &arguments.targets)?;
    let plan = preparation.plan(&targets)?;
    if arguments.dry_run {
        return dry_run(&setup, preparation, &targets);
    }
    let name = arguments.name.as_deref().unwrap_or_default();
    let options = Options::of_jobs(name, arguments.allowing.permission());
    let mut display = Display::new(terminal::is_live(context), context.quiet);
    let mut generator = NativeGenerator::new();
    let outcome = setup.carry_out(&plan, &targets, &options, &mut generator, &mut display);
    display.finish();
    let record = outcome?;
    let judging = Judging {
        claims: &setup.claims,
        baseline: None,
        expect: None,
        accept_unjudged: true,
        table: &arguments.table,
        shape: Shape::Jobs,
    };
    let status = show::judge_and_print(context, &mut setup.store, &record, &judging)?;
    if !context.json {
        let how = match record.run.state {
            RunState::Done => "prepared",
            RunState::Interrupted => "interrupted, and not prepared",
            RunState::Running | RunState::Failed => "failed, and not prepared",
        };
        terminal::print(&format!("{}: {how}\n", record.run.targets.join(", ")))?;
    }
    Ok(status)
}

/// What would be done, and what stands against it.
fn dry_run(setup: &Setup, preparation: Preparation, targets: &[Target]) -> Result<u8> {
    let mut lines = preparation.outline(targets, &setup.host, &setup.claims, &setup.store)?;
    for target in targets {
        let name = target.name();
        for (on, by) in uses(&setup.host, name) {
            lines.push(format!("{name} is in use and would be left alone: {on}: {}", by.label()));
        }
        let lost = target.would_lose(&setup.host);
        lines.extend(
            lost.iter().map(|line| format!("{name} holds data that would be lost: {line}")),
        );
    }
    terminal::print(&format!("{}\n", lines.join("\n")))?;
    Ok(0)
}
