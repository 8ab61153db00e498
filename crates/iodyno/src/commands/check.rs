//! `iodyno check`: resolves targets, runs the plan, judges and prints.

use anyhow::{Context as _, Result};
use iodyno_campaign::{Options, Study, Work};
use iodyno_judge::Expectation;
use iodyno_load::{LoadGenerator, SimulatedGenerator};
use iodyno_model::{Host, Origin, RunRecord, Scope, SkipReason, Skipped, shell_word};
use iodyno_native::NativeGenerator;
use iodyno_target::{Permission, Target, TargetError};

use crate::arguments::{Check, Generator};
use crate::commands::present;
use crate::commands::setup::Setup;
use crate::context::{Context, bail_usage, read};
use crate::terminal;

/// Default plan.
const CHECK: &str = "check";

pub(crate) fn run(context: &Context, arguments: &Check) -> Result<u8> {
    if context.is_captured() && !arguments.no_load {
        bail_usage!("a captured machine cannot be measured: add --no-load");
    }
    // A wrong column is reported before anything is measured.
    let table = arguments.table.table();
    terminal::style(context, &table).check()?;
    arguments.streaming.refuse_beside(arguments.format.is_some(), "--format")?;
    let study = Study::preset(&arguments.plan).context("the plan")?;
    let work = Work::of_study(&study, &[], &[])?;
    let expect = match &arguments.expect {
        Some(file) => Some(Expectation::parse(&read(file)?, &file.display().to_string())?),
        None => None,
    };
    let mut setup =
        Setup::new(context, &arguments.sheets)?.streaming(context, &arguments.streaming)?;
    let (targets, unusable) = targets(context, &setup.host, arguments)?;
    let baseline = arguments.baseline.as_deref().map(|run| load(&setup.store, run)).transpose()?;
    let mut generator: Box<dyn LoadGenerator> = match arguments.generator {
        Generator::Native => Box::new(NativeGenerator::new()),
        Generator::Simulated => Box::new(SimulatedGenerator::new(1)),
    };
    let options = Options {
        budget_ns: arguments.budget,
        fixed_ns: arguments.time,
        max_ns: arguments.max_time,
        busy: arguments.busy || arguments.generator == Generator::Simulated,
        no_load: arguments.no_load,
        scope: if arguments.targets.is_empty() { Scope::Machine } else { Scope::Targets },
        unusable,
        origin: match arguments.generator {
            Generator::Native => Origin::Measured,
            Generator::Simulated => Origin::Simulated,
        },
        ..Options::of_jobs(arguments.naming.name(), Permission::default())
    };
    let record = setup.measure(context, &work, &targets, &options, generator.as_mut())?;
    let status = present::judge_and_print(
        context,
        &mut setup.store,
        &record,
        &present::JudgeOptions {
            claims: &setup.claims,
            baseline: baseline.as_ref(),
            expect: expect.as_ref(),
            require_verdict: arguments.require_verdict,
            run: &shell_word(arguments.naming.run_name.as_deref().unwrap_or("last")),
            table: &table,
            shape: present::OutputForm::of(arguments.format, arguments.verbose),
        },
    )?;
    terminal::advise_root(context, &setup.host);
    Ok(status)
}

/// Targets to check: the named ones, else every NVMe drive, else the current directory. Defective
/// drives that cannot be measured are reported and left to the rules: they are findings, not usage
/// errors.
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
            terminal::print_next_step(error);
        }
    }
    if !arguments.targets.is_empty() {
        let skipped = unusable.into_iter().map(|(target, error)| Skipped {
            target,
            step: None,
            why: SkipReason::Failed { why: error.to_string() },
            next: error.next_step(),
        });
        return Ok((found, skipped.collect()));
    }
    // An NVMe function without a controller counts as a drive, though an unusable one.
    let nothing = host.drives.is_empty() && host.nvme_functions.is_empty();
    // `--no-load` must not create a file; nor must `accept`, which nobody started here.
    if !nothing || arguments.no_load || context.is_step || arguments.plan != CHECK {
        return Ok((found, Vec::new()));
    }
    if !context.quiet {
        terminal::note("No NVMe drive found: iodyno checks the current directory.");
    }
    Ok((iodyno_target::resolve_all(host, &[".".to_owned()])?, Vec::new()))
}

/// Names of drives that cannot be measured, with the reason.
type Unusable = Vec<(String, TargetError)>;

/// Resolves named targets; returns the usable ones and the unusable drives among them.
fn named(host: &Host, names: &[String]) -> Result<(Vec<Target>, Unusable)> {
    let mut unusable = Vec::new();
    let mut usable = Vec::new();
    for name in names {
        match iodyno_target::resolve(host, name) {
            Ok(_) => usable.push(name.clone()),
            Err(error) if error.is_drive_fault() => unusable.push((name.clone(), error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok((iodyno_target::resolve_all(host, &usable)?, unusable))
}

/// Loads a stored run by id, name or `last`.
pub(crate) fn load(store: &iodyno_store::Store, run: &str) -> Result<RunRecord> {
    Ok(store.load(&store.find(run)?.id)?)
}
