//! Runs studies: the common part of `sweep`, `resume` and `prepare`.

mod outline;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{LayoutPlan, MadeBy, Options, Point, Preparing, Resumed, Study, Work};
use iodyno_fio::FioGenerator;
use iodyno_load::LoadGenerator;
use iodyno_model::{
    Host, Measurement, RunRecord, SkipReason, Skipped, distinct, own_command, shell_word,
};
use iodyno_native::NativeGenerator;
use iodyno_target::{Permission, Target, resolve_all};

use crate::arguments::{RunOptions, Table};
use crate::commands::present::{JudgeOptions, judge_and_print};
use crate::commands::setup::Setup;
use crate::context::{Context, Usage, bail_usage};
use crate::grid::Grid;
use crate::progress::Display;

pub(crate) use outline::{outline, skipped_note};

/// The points that may be measured, and those left out because they write: targets are only read
/// without --allow-write, except files that iodyno made.
pub(crate) fn permitted_points(
    points: Vec<Point>,
    run_options: &RunOptions,
) -> (Vec<Point>, Vec<Point>) {
    let may_write = |point: &Point| {
        let is_ours = |target: &String| {
            let path = Path::new(target);
            !path.exists() || iodyno_target::is_laid_out(path)
        };
        point.own_file
            || !run_options.load_options.permissions.allow_write.is_empty()
            || point.targets.iter().all(is_ours)
    };
    points.into_iter().partition(|point| !point.writes() || may_write(point))
}

/// What of a study writes and cannot be left out of `points`, since that would be another test:
/// its rounds, all of it, or a step that prepares the targets for later ones.
pub(crate) fn indispensable(study: &Study, points: &[Point]) -> Option<String> {
    let prepares = || points.iter().find(|point| !point.part.is_empty() && point.prepares());
    match points {
        [] => None,
        _ if study.rounds.is_some() => Some("its rounds write".into()),
        _ if study.headroom.is_some() => Some("it writes".into()),
        _ => prepares().map(|point| format!("its step `{}` writes", point.part)),
    }
}

/// Refuses studies that are another test without the points `left_out`.
pub(crate) fn refuse_partial(study: &Study, left_out: &[Point]) -> Result<()> {
    if let Some(what) = indispensable(study, left_out) {
        let targets = study.targets.join(", ");
        bail_usage!(
            "{what} {targets}, which iodyno did not leave in this state: --allow-write names what may \
             be written"
        );
    }
    Ok(())
}

/// Record of the points `left_out` on each target.
pub(crate) fn not_permitted(left_out: &[Point]) -> Vec<Skipped> {
    let of = |place: String| Skipped {
        why: SkipReason::NotPermitted {
            points: left_out.iter().filter(|point| point.place() == place).count(),
        },
        target: place,
        step: None,
        next: String::new(),
    };
    distinct(left_out.iter().map(Point::place)).into_iter().map(of).collect()
}

/// Names the command that measures the points that were not permitted, all at once.
fn name_resumption(options: &mut Options, host: &Host) {
    let run = match (&options.resumed, options.name.as_str()) {
        (Some(resumed), "") => &resumed.run_id,
        (None, "") => &options.id,
        (_, _) => &options.name,
    };
    let is_refused = |one: &Skipped| matches!(one.why, SkipReason::NotPermitted { .. });
    let refused = options.unusable.iter().filter(|one| is_refused(one));
    let next = resumption(host, run, refused.map(|one| one.target.clone()));
    for one in options.unusable.iter_mut().filter(|one| is_refused(one)) {
        one.next.clone_from(&next);
    }
}

/// Command that resumes `run` and permits writing `places`.
pub(crate) fn resumption(
    host: &Host,
    run: &str,
    places: impl IntoIterator<Item = String>,
) -> String {
    let mut command = format!("resume {}", shell_word(run));
    for place in distinct(places) {
        let target = resolve_all(host, std::slice::from_ref(&place)).ok();
        let word = target.and_then(|found| found.first()?.permission_word(host));
        let _ = write!(command, " --allow-write {}", shell_word(&word.unwrap_or(place)));
    }
    own_command(&command)
}

/// Targets that a study prepares or applies steps to; otherwise jobs name their own.
pub(crate) fn study_targets(study: &Study, host: &Host) -> Result<Vec<Target>> {
    Ok(match study.preparation.is_some() || study.is_of_steps() {
        true => resolve_all(host, &study.targets)?,
        false => Vec::new(),
    })
}

/// Inputs of a study's run.
pub(crate) struct StudyRun<'a> {
    pub(crate) study: &'a Study,
    /// Points to measure.
    pub(crate) points: &'a [Point],
    /// Preparation of `targets` before.
    pub(crate) preparing: Option<Preparing>,
    pub(crate) targets: &'a [Target],
    /// Name of the run.
    pub(crate) name: &'a str,
    pub(crate) resumed: Option<Resumed>,
    pub(crate) permission: Permission,
    /// Layout built before the measurements.
    pub(crate) layout: Option<LayoutPlan>,
    /// All points, including those measured already.
    pub(crate) all: &'a [Point],
    /// Results that the run has already.
    pub(crate) measured: &'a [Measurement],
    /// Points left out, as recorded.
    pub(crate) skipped: Vec<Skipped>,
}

/// Measures the points; returns the run with all its records.
pub(crate) fn measure(
    context: &Context,
    setup: &mut Setup,
    start: StudyRun<'_>,
    generator: &mut dyn LoadGenerator,
) -> Result<RunRecord> {
    let StudyRun { study, points, .. } = start;
    let work = Work {
        preparation: start.preparing,
        layout: start.layout,
        ..Work::of_study(study, start.all, points)?
    };
    let mut options = Options {
        resumed: start.resumed,
        unusable: start.skipped,
        ..Options::of_jobs(start.name, start.permission)
    };
    name_resumption(&mut options, &setup.host);
    let has_grid = study.rounds.is_none() && study.headroom.is_none() && !study.is_of_steps();
    let grid = has_grid.then(|| Grid::new(start.all, start.measured));
    setup.run_work(&work, start.targets, &options, generator, &mut Display::new(context, grid))
}

/// Creates the load generator; `fio`: path of fio, if not the one in PATH.
pub(crate) fn generator(asked: MadeBy, fio: Option<&Path>) -> Result<Box<dyn LoadGenerator>> {
    Ok(match asked {
        MadeBy::Native => Box::new(NativeGenerator::new()),
        MadeBy::Fio => {
            let fio = FioGenerator::find(fio);
            Box::new(fio.map_err(|error| Usage(error.to_string()))?)
        }
    })
}

/// Judges and prints a run.
pub(crate) fn print(
    context: &Context,
    setup: &mut Setup,
    record: &RunRecord,
    table: &Table,
) -> Result<u8> {
    let judging = JudgeOptions::latest(&setup.claims, table);
    judge_and_print(context, &mut setup.store, record, &judging)
}
