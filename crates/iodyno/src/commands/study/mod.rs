//! Runs studies: the common part of `sweep`, `resume` and `prepare`.

mod outline;

use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{LayoutPlan, MadeBy, Options, Point, Preparing, Resumed, Study, Work};
use iodyno_fio::FioGenerator;
use iodyno_load::LoadGenerator;
use iodyno_model::{Measurement, RunRecord};
use iodyno_native::NativeGenerator;
use iodyno_target::{Permission, Target, resolve_all};

use crate::arguments::{RunOptions, Table};
use crate::commands::present::{JudgeOptions, judge_and_print};
use crate::commands::setup::Setup;
use crate::context::{Context, Usage, bail_usage};
use crate::grid::Grid;
use crate::progress::Display;

pub(crate) use outline::{outline, skipped_note};

/// The points that may be measured, and the number of those left out because they write: targets
/// are only read without --allow-write, except files that iodyno made.
pub(crate) fn permitted_points(
    points: Vec<Point>,
    run_options: &RunOptions,
) -> (Vec<Point>, usize) {
    let count = points.len();
    let may_write = |point: &Point| {
        let is_ours = |target: &String| {
            let path = Path::new(target);
            !path.exists() || iodyno_target::is_laid_out(path)
        };
        point.own_file
            || !run_options.load_options.permissions.allow_write.is_empty()
            || point.targets.iter().all(is_ours)
    };
    let points: Vec<Point> =
        points.into_iter().filter(|point| !point.writes() || may_write(point)).collect();
    let left_out = count - points.len();
    (points, left_out)
}

/// Refuses rounds and headroom plans with points left out: that would be another test.
pub(crate) fn refuse_partial_rounds(study: &Study, left_out: usize) -> Result<()> {
    if (study.rounds.is_some() || study.headroom.is_some()) && left_out > 0 {
        let targets = study.targets.join(", ");
        let what = if study.rounds.is_some() { "its rounds write" } else { "it writes" };
        bail_usage!(
            "{what} {targets}, which iodyno did not leave in this state: --allow-write names what may \
             be written"
        );
    }
    Ok(())
}

/// Targets that a study prepares or applies steps to; otherwise jobs name their own.
pub(crate) fn study_targets(study: &Study, setup: &Setup) -> Result<Vec<Target>> {
    Ok(match study.preparation.is_some() || study.is_of_steps() {
        true => resolve_all(&setup.host, &study.targets)?,
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
    let options =
        Options { resumed: start.resumed, ..Options::of_jobs(start.name, start.permission) };
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
