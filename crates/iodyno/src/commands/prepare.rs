//! `iodyno prepare`: purges and fills drives.

use anyhow::Result;
use iodyno_campaign::{Preparation, Preparing, Refusal, Study, When, stopped};
use iodyno_native::NativeGenerator;
use iodyno_target::{Target, resolve_all, uses};

use crate::arguments::Prepare;
use crate::commands::setup::Setup;
use crate::commands::study::{StudyRun, measure, print};
use crate::context::{Context, Usage};
use crate::terminal;

pub(crate) fn run(context: &Context, arguments: &Prepare) -> Result<u8> {
    context.refuse_captured("cannot be prepared")?;
    let how = Preparation {
        purge: arguments.purge.method(),
        fill: arguments.fill,
        condition: arguments.condition.clone(),
        round: arguments.round.clone(),
        when: When::Always,
    };
    // A dry run reports drives in use before wrong options.
    if !arguments.dry_run {
        check(&how)?;
    }
    let mut setup = Setup::of(context, &arguments.load_options)?;
    let targets = resolve_all(&setup.host, &arguments.targets)?;
    if arguments.dry_run {
        let refused = refusals(&setup, &targets, "skipped");
        if !refused.is_empty() {
            terminal::print(&format!("{}\n", refused.join("\n")))?;
            return Ok(2);
        }
        check(&how)?;
    }
    let preparing = how.of(&targets)?;
    let mut study = Study::named("prepare");
    study.targets = targets.iter().map(|target| target.path().display().to_string()).collect();
    study.preparation = Some(how);
    study.check()?;
    let begun = match arguments.anew {
        true => None,
        false => stopped(&study, &targets, &setup.store)?,
    };
    let goes_on = begun.map(|run| {
        format!(
            "run {} of this preparation was stopped: `{}` continues it, --anew starts over",
            run.id,
            run.resume_command(&run.id)
        )
    });
    if arguments.dry_run {
        let mut lines = outlook(&setup, &preparing, &targets)?;
        lines.extend(goes_on);
        terminal::print(&format!("{}\n", lines.join("\n")))?;
        return Ok(0);
    }
    if let Some(what) = goes_on {
        return Err(Usage(what).into());
    }
    let start = StudyRun {
        study: &study,
        points: &[],
        preparing: Some(preparing),
        targets: &targets,
        name: arguments.naming.name(),
        resumed: None,
        permission: arguments.load_options.permissions.permission(),
        layout: None,
        all: &[],
        measured: &[],
        skipped: Vec::new(),
    };
    let record = measure(context, &mut setup, start, &mut NativeGenerator::new())?;
    print(context, &mut setup, &record, &arguments.load_options.table)
}

/// Refuses contradictory or missing options.
fn check(how: &Preparation) -> Result<()> {
    if how.is_empty() {
        return Err(Usage("name a step: --purge, --fill or --condition".into()).into());
    }
    Ok(how.check().map_err(|Refusal(what)| Usage(what))?)
}

/// Uses of the targets, for which they would be `skipped` or `refused`.
pub(crate) fn refusals(setup: &Setup, targets: &[Target], fate: &str) -> Vec<String> {
    let of = |target: &Target| {
        let name = target.name().to_owned();
        uses(&setup.host, &name).into_iter().map(move |(on, by)| {
            let on = if on == name { String::new() } else { format!("{on}, ") };
            format!("{name} is in use and would be {fate}: {on}{}", by.label())
        })
    };
    targets.iter().flat_map(of).collect()
}

/// Describes what would be done and destroyed.
pub(crate) fn outlook(
    setup: &Setup,
    preparing: &Preparing,
    targets: &[Target],
) -> Result<Vec<String>> {
    let mut lines = preparing.outline(targets, &setup.host, &setup.claims, &setup.store)?;
    lines.extend(losses(setup, targets));
    Ok(lines)
}

/// Data on the targets that a write would destroy.
pub(crate) fn losses(setup: &Setup, targets: &[Target]) -> Vec<String> {
    let of = |target: &Target| {
        let (name, lost) = (target.name().to_owned(), target.data_at_risk(&setup.host));
        let line = move |line| format!("{name} holds data that would be lost: {line}");
        lost.into_iter().map(line)
    };
    targets.iter().flat_map(of).collect()
}
