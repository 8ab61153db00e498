//! Size limits of a page. It is opened in a browser and sent by mail, so it shows only some of many
//! measurements, and says so.

use iodyno_figure::Figure;

use super::data::FigureView;
use super::table::Cell;

/// Maximum number of runs with sections of their own.
const RUNS: usize = 32;
/// Maximum number of measurements with tables and figures.
const DETAILS: usize = 256;
/// Maximum number of measurements listed in one line each.
const LINES: usize = 2048;
/// Maximum number of cells in the table of differences.
const DIFFERENCES: usize = 16_384;
/// Maximum bytes of figure data.
const FIGURE_BYTES: usize = 3 << 20;
/// Maximum bytes of the embedded document.
pub(super) const DOCUMENT_BYTES: usize = 3 << 20;

/// Remaining room.
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

    /// True if another run is shown.
    pub(super) fn run(&mut self) -> bool {
        let has = self.runs > 0;
        self.runs = self.runs.saturating_sub(1);
        has
    }

    /// Returns how many of `wanted` measurements are shown with their tables.
    pub(super) fn details(&mut self, wanted: usize) -> usize {
        let has = wanted.min(self.details);
        self.details -= has;
        has
    }

    /// Returns how many of `wanted` measurements are listed in a line.
    pub(super) fn lines(&mut self, wanted: usize) -> usize {
        let has = wanted.min(self.lines);
        self.lines -= has;
        has
    }

    /// Returns the figure, unless its data exceed the remaining bytes.
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

/// True if the run of this number, from 1, has a section.
pub(super) const fn has_section(number: usize) -> bool {
    number <= RUNS
}

/// True if a table of differences is shown.
pub(super) const fn shows_differences(rows: usize, sides: usize) -> bool {
    rows.saturating_mul(sides) <= DIFFERENCES
}
