//! Tables, cells and marks, for the templates.

use iodyno_model::{Estimate, Spread, Validity, Verdict};

use crate::text::grid::{GridCell, GridColumn};
use crate::text::ink::Ink;

#[derive(Debug, Default)]
pub(super) struct Table {
    /// Columns: (heading, right-aligned).
    pub(super) columns: Vec<(String, bool)>,
    /// Rows, with a cell for each column.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// Cell of a table, or a mark.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    /// CSS classes.
    pub(super) class: &'static str,
    /// Tooltip.
    pub(super) hint: &'static str,
    /// Id of the linked element; empty: none.
    pub(super) to: String,
}

impl Table {
    /// Builds a table; columns with the prefix `>` are right-aligned.
    pub(super) fn of(columns: &[&str], rows: Vec<Vec<Cell>>) -> Self {
        let column = |name: &&str| match name.strip_prefix('>') {
            Some(name) => (name.to_string(), true),
            None => (name.to_string(), false),
        };
        Self { columns: columns.iter().map(column).collect(), rows }
    }

    /// Converts a table of the terminal.
    pub(super) fn of_grid(columns: &[GridColumn<'_>], rows: Vec<Vec<GridCell>>) -> Self {
        let columns = columns.iter().map(|of| (of.heading.to_lowercase(), of.right));
        let row = |row: Vec<GridCell>| row.into_iter().map(Cell::from).collect();
        Self { columns: columns.collect(), rows: rows.into_iter().map(row).collect() }
    }

    /// True if the cell of this column names its row.
    pub(super) fn is_name(&self, column: usize, cell: &Cell) -> bool {
        column == 0 && !self.columns[0].1 && !["", "-"].contains(&cell.text.as_str())
    }

    /// Returns the tooltips of its cells, each once, because paper has no tooltips.
    pub(super) fn hints(&self) -> Vec<&'static str> {
        let mut hints: Vec<&str> = Vec::new();
        for cell in self.rows.iter().flatten() {
            if !cell.hint.is_empty() && !hints.contains(&cell.hint) {
                hints.push(cell.hint);
            }
        }
        hints
    }

    /// Removes columns without content, from column `keep` on.
    pub(super) fn without_empty(mut self, keep: usize) -> Self {
        let says = |at: usize| {
            at < keep || self.rows.iter().any(|row| !["", "-"].contains(&row[at].text.as_str()))
        };
        let says: Vec<bool> = (0..self.columns.len()).map(says).collect();
        let mut at = says.iter();
        self.columns.retain(|_| at.next() == Some(&true));
        for row in &mut self.rows {
            let mut at = says.iter();
            row.retain(|_| at.next() == Some(&true));
        }
        self
    }
}

impl Cell {
    /// Plain text; `-` if empty.
    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { text: if text.is_empty() { "-".into() } else { text }, ..Self::default() }
    }

    /// Link to the element with this id.
    pub(super) fn link(text: impl Into<String>, to: &str) -> Self {
        Self { to: to.into(), ..Self::text(text) }
    }

    /// Formats an estimate with `write`, with the kind of its interval as tooltip; `-` if unknown.
    pub(super) fn estimate(of: Option<Estimate>, write: impl Fn(&Estimate) -> String) -> Self {
        let known = of.filter(|estimate| estimate.value.is_finite());
        let Some(estimate) = known else { return Self::text("") };
        let (class, hint) = match estimate.spread {
            Spread::Confidence { level, .. } if (level - 0.95).abs() < 1e-9 => {
                ("", "Intervals are 95 % confidence intervals.")
            }
            Spread::Confidence { .. } => ("", "Intervals are confidence intervals."),
            Spread::Rounding { .. } => ("rounded", "As printed; its spread is not known."),
            Spread::Unknown => ("", ""),
        };
        Self { class, hint, ..Self::text(write(&estimate)) }
    }

    /// Mark of a verdict.
    pub(super) fn verdict(verdict: Verdict) -> Self {
        Self::mark(verdict.label(), Ink::of_verdict(verdict))
    }

    /// Mark of a validity.
    pub(super) fn validity(validity: Validity) -> Self {
        let ink = match validity {
            Validity::Valid => Ink::Good,
            Validity::Qualified => Ink::Doubt,
            Validity::Invalid => Ink::Bad,
        };
        Self::mark(validity.label(), ink)
    }

    /// Mark: a coloured word.
    pub(super) fn mark(word: &str, ink: Ink) -> Self {
        let class = match ink {
            Ink::Good => "mark good",
            Ink::Doubt => "mark doubt",
            Ink::Bad => "mark bad",
            Ink::Open | Ink::Plain | Ink::Bar | Ink::Bold | Ink::Dim => "mark open",
        };
        Self { class, ..Self::text(word) }
    }
}

impl From<GridCell> for Cell {
    fn from(cell: GridCell) -> Self {
        if let Some(verdict) = cell.verdict {
            return Self::verdict(verdict);
        }
        let class = match cell.ink {
            Ink::Bar => "whole",
            Ink::Plain | Ink::Bold => "",
            Ink::Dim => "dim",
            Ink::Good => "good",
            Ink::Doubt => "doubt",
            Ink::Bad => "bad",
            Ink::Open => "open",
        };
        Self { class, ..Self::text(cell.text) }
    }
}
