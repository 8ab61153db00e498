//! Section of a replayed trace: recorded and replayed side by side.

use iodyno_figure::replay_figure;
use iodyno_model::RunRecord;

use super::data::FigureView;
use super::room::Room;
use super::table::Table;
use crate::text::replay::{latency_rows, notes, replayed};

/// Replay, for the template.
#[derive(Debug)]
pub(super) struct ReplayView {
    /// Rates over time.
    pub(super) figure: Option<FigureView>,
    /// Latencies by operation and size.
    pub(super) latencies: Table,
    /// Notes to read before comparing the two.
    pub(super) notes: Vec<String>,
}

impl ReplayView {
    /// `None` if the run did not replay a trace.
    pub(super) fn new(record: &RunRecord, room: &mut Room) -> Option<Self> {
        let (of, _) = replayed(record)?;
        let (columns, rows) = latency_rows(of, true);
        Some(Self {
            figure: replay_figure(of).and_then(|figure| room.figure(&figure, Vec::new())),
            latencies: Table::of_grid(&columns, rows),
            notes: notes(of),
        })
    }
}
