//! `iodyno check`: resolves targets, has `campaign` carry out the plan, judges
//! and prints.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use iodyno_campaign::{Options, Plan, Tools, carry_out};
use iodyno_host::Depth;
use iodyno_judge::Expectation;
use iodyno_load::{LoadGenerator, SimulatedGenerator};
use iodyno_model::{Host, Origin, RunRecord, Skipped};
use iodyno_native::NativeGenerator;
use iodyno_target::{Permission, Target, TargetError};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::arguments::{Check, Generator};
use crate::commands::show;
use crate::context::{Context, Usage, read};
use crate::progress::Display;
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Check) -> Result<u8> {
    if context.is_captured() && !arguments.no_load {
        let text = "a captured machine cannot be measured: add --no-load";
        return Err(Usage(text.into()).into());
    }
    // A wrong column is told before anything is measured.
    terminal::style(context, &arguments.table).check()?;
    let plan = Plan::preset("check").context("the plan `check`")?;
    let claims = context.claims(&arguments.datasheet)?;
    let expect = match &arguments.expect {
        Some(file) => Some(Expectation::parse(&read(file)?, &file.display().to_string())?),
        None => None,
    };
    let source = context.source()?;
    let host = iodyno_host::snapshot(source.as_ref(), Depth::Full);
    let (targets, unusable) = targets(context, &host, arguments)?;
    let mut store = context.store()?;
    let baseline = arguments.baseline.as_deref().map(|run| load(&store, run)).transpose()?;

    let interrupted = Arc::new(AtomicBool::new(false));
    end_on_signals(&interrupted)?;
    let mut generator: Box<dyn LoadGenerator> = match arguments.generator {
        Generator::Native => Box::new(NativeGenerator::new()),
        Generator::Simulated => Box::new(SimulatedGenerator::new(1)),
    };
    let options = Options {
        name: arguments.name.clone().unwrap_or_default(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        budget_ns: arguments.budget,
        fixed_ns: arguments.time,
        max_ns: arguments.max_time,
        busy: arguments.busy || arguments.generator == Generator::Simulated,
        no_load: arguments.no_load,
        permission: Permission::default(),
        unusable,
        origin: match arguments.generator {
            Generator::Native => Origin::Measured,
            Generator::Simulated => Origin::Simulated,
        },
    };
    let mut display = Display::new(terminal::is_live(context), context.quiet);
    let outcome = carry_out(
        &mut Tools {
            source: source.as_ref(),
            generator: generator.as_mut(),
            claims: &claims,
            store: &mut store,
            watcher: &mut display,
            interrupted: &interrupted,
        },
        &plan,
        &host,
        &targets,
        &options,
    );
    display.finish();
    let record = store.load(&outcome?)?;
    let status = show::judge_and_print(
        context,
        &mut store,
        &record,
        &show::Judging {
            claims: &claims,
            baseline: baseline.as_ref(),
            expect: expect.as_ref(),
            accept_unjudged: arguments.accept_unjudged,
            table: &arguments.table,
            shape: show::Shape::of(arguments.format),
        },
    )?;
    terminal::advise_root(context, &host);
    Ok(status)
}

/// What to check: what was named, else every NVMe drive, else the current
/// directory. Drives that cannot be measured since something is wrong with
/// them are told and left to the rules: they are findings, not mistakes.
fn targets(
    context: &Context,
    host: &Host,
    arguments: &Check,
) -> Result<(Vec<Target>, Vec<Skipped>)> {
    let (found, unusable) = if arguments.targets.is_empty() {
        let (found, unusable) = iodyno_target::every_drive(host);
        (found, unusable.into_iter().map(|error| (String::new(), error)).collect())
    } else {
        named(host, &arguments.targets)?
    };
    if !context.quiet {
        for (_, error) in &unusable {
            terminal::note(&error.to_string());
            terminal::advise(error);
        }
    }
    if !arguments.targets.is_empty() {
        let skipped = unusable.into_iter().map(|(target, error)| Skipped {
            target,
            step: None,
            why: error.to_string(),
            next: error.next_step(),
        });
        return Ok((found, skipped.collect()));
    }
    let nothing = found.is_empty() && unusable.is_empty() && host.drives.is_empty();
    if !nothing || arguments.no_load {
        return Ok((found, Vec::new()));
    }
    if !context.quiet {
        terminal::note("There is no NVMe drive here, so the current directory is checked.");
    }
    Ok((iodyno_target::resolve_all(host, &[".".to_owned()])?, Vec::new()))
}

/// Names of drives that cannot be measured, with what is wrong with them.
type Unusable = Vec<(String, TargetError)>;

/// The targets of these names, and what is wrong with drives among them.
fn named(host: &Host, names: &[String]) -> Result<(Vec<Target>, Unusable)> {
    let mut unusable = Vec::new();
    let mut usable = Vec::new();
    for name in names {
        match iodyno_target::resolve(host, name) {
            Ok(_) => usable.push(name.clone()),
            Err(error) if error.is_of_the_drive() => unusable.push((name.clone(), error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((iodyno_target::resolve_all(host, &usable)?, unusable))
}

/// The signals that ask for an end set `interrupted`; the second time they end
/// us at once.
pub(crate) fn end_on_signals(interrupted: &Arc<AtomicBool>) -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(interrupted))?;
    }
    Ok(())
}

/// A stored run by id, name or `last`.
pub(crate) fn load(store: &iodyno_store::Store, run: &str) -> Result<RunRecord> {
    Ok(store.load(&store.find(run)?.id)?)
}
