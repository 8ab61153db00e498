//! Section of rounds: the items that SNIA PTS requires in a report, each target's progress to
//! steady state, and the averages over the window.

use iodyno_figure::{Kind, figures_of_rounds};
use iodyno_judge::{Convergence, is_whole};
use iodyno_model::{JudgedMeasurement, Measurement, RoundsPlan, RunState};

use super::data::FigureView;
use super::measurement::invalid_counts;
use super::table::{Cell, Table};
use crate::paged::PageRun;
use crate::rounds::{drawn, tracks};
use crate::text::pts::pts_lines;
use crate::text::rounds::{verdict_words, window_words};
use crate::text::rounds_tables::{RoundsTable, convergence, name, over_window};
use crate::text::words::clean;

/// Run in rounds, for the template.
#[derive(Debug)]
pub(super) struct RoundsView {
    /// Report items of the test: (name, value).
    pub(super) report: Vec<(&'static str, String)>,
    pub(super) targets: Vec<TargetView>,
    /// Tracked figures, the window, and sweeps over it.
    pub(super) figures: Vec<FigureView>,
}

/// Rounds on a target.
#[derive(Debug)]
pub(super) struct TargetView {
    /// Steady state reached or not.
    pub(super) verdict: Cell,
    /// Window statistics of each tracked figure: (figure, text).
    pub(super) windows: Vec<(String, String)>,
    /// Tracked figures by round.
    pub(super) convergence: Table,
    /// Results over the window: (heading, table).
    pub(super) over_window: Vec<(String, Table)>,
}

impl RoundsView {
    /// `None` if the run is not in rounds.
    pub(super) fn new(run: &PageRun<'_>) -> Option<Self> {
        let record = run.judged.record;
        let plan = record.run.rounds.as_ref()?;
        let joined = |items: Vec<String>| items.join(" · ");
        let lines = pts_lines(record, plan, run.prepared);
        let (window, _) = drawn(record, Kind::Grid);
        let in_rounds = |judged: &&JudgedMeasurement| {
            record.measurements.get(judged.measurement).is_some_and(|of| of.round.is_some())
        };
        let judged: Vec<_> = run.judged.assessment.measurements.iter().filter(in_rounds).collect();
        let figures = figures_of_rounds(record, &tracks(record, 0), &window);
        Some(Self {
            report: lines.into_iter().map(|(what, items)| (what, joined(items))).collect(),
            targets: Convergence::by_target(&plan.rounds, record)
                .into_iter()
                .map(|(targets, found)| TargetView::new(run, plan, targets, &found))
                .collect(),
            figures: figures
                .iter()
                .map(|figure| FigureView::new(figure, invalid_counts(&judged)))
                .collect(),
        })
    }
}

impl TargetView {
    fn new(run: &PageRun<'_>, plan: &RoundsPlan, targets: &[String], found: &Convergence) -> Self {
        let record = run.judged.record;
        let over = record.run.state == RunState::Done;
        let (ink, words) = verdict_words(&targets.join(" "), &plan.rounds, found, over);
        let windows = found.tracks.iter().map(|track| {
            let figure = format!("{} {}", clean(&track.tracked.point), name(&track.tracked.metric));
            (figure, window_words(&plan.rounds, found, track).join(", "))
        });
        let is_of = |of: &&Measurement| of.targets == targets && is_whole(of);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_of).collect();
        let table = |of: RoundsTable| Table::of_grid(&of.columns, of.rows.clone());
        let over_window = over_window(&plan.rounds, found, &all).into_iter();
        Self {
            verdict: Cell::mark(&words.join("; "), ink),
            windows: windows.collect(),
            convergence: table(convergence(&plan.rounds, found)),
            over_window: over_window.map(|of| (of.heading.clone(), table(of))).collect(),
        }
    }
}
