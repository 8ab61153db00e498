//! Studies carried out: what `sweep`, `resume` and `prepare` have in common.

mod outline;

use std::path::Path;

use anyhow::Result;
use iodyno_campaign::{LayoutPlan, MadeBy, Options, Point, Preparing, Resumed, Study, Work};
use iodyno_fio::FioGenerator;
use iodyno_judge::ClaimBook;
use iodyno_load::LoadGenerator;
use iodyno_model::{Measurement, RunRecord};
use iodyno_native::NativeGenerator;
use iodyno_store::Store;
use iodyno_target::{Permission, Target, resolve_all};

use crate::arguments::{Carrying, Table};
use crate::commands::present::{Judging, judge_and_print};
use crate::commands::setup::Setup;
use crate::context::{Context, Usage};
use crate::grid::Grid;
use crate::progress::Display;

pub(crate) use outline::{not_allowed, outline};

/// The points that may be measured, and how many write where they may not:
/// what is there is only read unless --allow-write is given, and a file that
/// iodyno made is its own.
pub(crate) fn allowed(points: Vec<Point>, carrying: &Carrying) -> (Vec<Point>, usize) {
    let count = points.len();
    let may_write = |point: &Point| {
        let is_ours = |target: &String| {
            let path = Path::new(target);
            !path.exists() || iodyno_target::is_laid_out(path)
        };
        point.own_file
            || !carrying.making.allowing.allow_write.is_empty()
            || point.targets.iter().all(is_ours)
    };
    let points: Vec<Point> =
        points.into_iter().filter(|point| !point.writes() || may_write(point)).collect();
    let left_out = count - points.len();
    (points, left_out)
}

/// Refuses rounds, and loads, of which points would be left out: they are another test.
pub(crate) fn whole_rounds(study: &Study, left_out: usize) -> Result<()> {
    if (study.rounds.is_some() || study.headroom.is_some()) && left_out > 0 {
        let targets = study.targets.join(", ");
        let what = if study.rounds.is_some() { "its rounds write" } else { "it writes" };
        let why = format!(
            "{what} {targets}, and iodyno did not leave it as it is now: --allow-write says what may \
             be written"
        );
        return Err(Usage(why).into());
    }
    Ok(())
}

/// The targets that a study prepares, or takes steps on; else its jobs name their own.
pub(crate) fn prepared(study: &Study, setup: &Setup) -> Result<Vec<Target>> {
    Ok(match study.preparation.is_some() || study.is_of_steps() {
        true => resolve_all(&setup.host, &study.targets)?,
        false => Vec::new(),
    })
}

/// How a study is taken up.
pub(crate) struct Start<'a> {
    pub(crate) study: &'a Study,
    /// Those that are to be measured.
    pub(crate) points: &'a [Point],
    /// What is done to `targets` before.
    pub(crate) preparing: Option<Preparing>,
    pub(crate) targets: &'a [Target],
    /// Name of the run.
    pub(crate) name: &'a str,
    pub(crate) resumed: Option<Resumed>,
    pub(crate) permission: Permission,
    /// What is built for it before.
    pub(crate) layout: Option<LayoutPlan>,
    /// All points, also those that the run has already.
    pub(crate) all: &'a [Point],
    /// What it has already.
    pub(crate) measured: &'a [Measurement],
}

/// Measures; the run with all that was recorded of it.
pub(crate) fn measure(
    context: &Context,
    setup: &mut Setup,
    start: Start<'_>,
    generator: &mut dyn LoadGenerator,
) -> Result<RunRecord> {
    let Start { study, points, .. } = start;
    let work = Work {
        preparation: start.preparing,
        layout: start.layout,
        ..Work::of_study(study, start.all, points)?
    };
    let options =
        Options { resumed: start.resumed, ..Options::of_jobs(start.name, start.permission) };
    let has_grid = study.rounds.is_none() && study.headroom.is_none() && !study.is_of_steps();
    let grid = has_grid.then(|| Grid::new(start.all, start.measured));
    setup.carry_out(&work, start.targets, &options, generator, &mut Display::new(context, grid))
}

/// The load generator that is asked for; `fio`: which fio, if not the one in PATH.
pub(crate) fn generator(asked: MadeBy, fio: Option<&Path>) -> Result<Box<dyn LoadGenerator>> {
    Ok(match asked {
        MadeBy::Native => Box::new(NativeGenerator::new()),
        MadeBy::Fio => {
            let fio = FioGenerator::find(fio);
            Box::new(fio.map_err(|error| Usage(error.to_string()))?)
        }
    })
}

/// Judges what was measured and prints it.
pub(crate) fn print(
    context: &Context,
    store: &mut Store,
    claims: &ClaimBook,
    record: &RunRecord,
    table: &Table,
) -> Result<u8> {
    judge_and_print(context, store, record, &Judging::last(claims, table))
}
