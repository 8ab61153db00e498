//! What a page has room for: it is opened in a browser and sent by mail, so that of
//! many measurements it shows a part, and says so.

use iodyno_figure::Figure;

use super::data::FigureView;
use super::table::Cell;

/// Runs that a page shows in sections of their own.
const RUNS: usize = 32;
/// Measurements that it shows with their tables and figures.
const DETAILS: usize = 256;
/// Measurements that it shows in a line.
const LINES: usize = 2048;
/// Cells of the table of differences.
const DIFFERENCES: usize = 16_384;
/// Bytes of the data that its figures are drawn from.
const FIGURE_BYTES: usize = 3 << 20;
/// Bytes of the document that it hands out.
pub(super) const DOCUMENT_BYTES: usize = 3 << 20;

/// What is left of the room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    runs: usize,
    details: usize,
    lines: usize,
    figure_bytes: usize,
}

impl Room {
    pub(super) const fn new() -> Self {
        Self { runs: RUNS, details: DETAILS, lines: LINES, figure_bytes: FIGURE_BYTES }
    }

    /// Whether another run is shown.
    pub(super) fn run(&mut self) -> bool {
        let has = self.runs > 0;
        self.runs = self.runs.saturating_sub(1);
        has
    }

    /// How many of so many measurements are shown with their tables.
    pub(super) fn details(&mut self, wanted: usize) -> usize {
        let has = wanted.min(self.details);
        self.details -= has;
        has
    }

    /// How many of so many measurements are shown in a line.
    pub(super) fn lines(&mut self, wanted: usize) -> usize {
        let has = wanted.min(self.lines);
        self.lines -= has;
        has
    }

    /// A figure, unless its points are too many for what is left.
    pub(super) fn figure(
        &mut self,
        figure: &Figure,
        marks: Vec<(Cell, String)>,
    ) -> Option<FigureView> {
        let view = FigureView::new(figure, marks);
        self.figure_bytes = self.figure_bytes.checked_sub(view.data.len())?;
        Some(view)
    }
}

/// Whether the section of a run of this number, from 1, is shown.
pub(super) const fn has_section(number: usize) -> bool {
    number <= RUNS
}

/// Whether a table of differences is shown.
pub(super) const fn shows_differences(rows: usize, sides: usize) -> bool {
    rows.saturating_mul(sides) <= DIFFERENCES
}
