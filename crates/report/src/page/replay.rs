//! A trace that was replayed: recorded and replayed side by side.

use iodyno_figure::replay_figure;
use iodyno_model::RunRecord;

use super::data::FigureView;
use super::room::Room;
use super::table::{Cell, Table};
use crate::text::ink::Ink;
use crate::text::replay::{clause, latency_rows, notes, replayed};

/// A replay as the template lays it out.
#[derive(Debug)]
pub(super) struct ReplayView {
    /// Whether the recorded pace was kept, and in words.
    pub(super) pace: (Cell, String),
    /// Rates over time.
    pub(super) figure: Option<FigureView>,
    /// Latencies by operation and size.
    pub(super) latencies: Table,
    /// What to know before comparing the two.
    pub(super) notes: Vec<String>,
}

impl ReplayView {
    /// `None` where the run replayed no trace.
    pub(super) fn new(record: &RunRecord, room: &mut Room) -> Option<Self> {
        let (of, target) = replayed(record)?;
        let (label, words) = clause(of, &target);
        let (label, ink) = label.unwrap_or(("DONE", Ink::Good));
        let (columns, rows) = latency_rows(of, true);
        Some(Self {
            pace: (Cell::mark(label, ink), words),
            figure: replay_figure(of).and_then(|figure| room.figure(&figure, Vec::new())),
            latencies: Table::of_grid(&columns, rows),
            notes: notes(of),
        })
    }
}
