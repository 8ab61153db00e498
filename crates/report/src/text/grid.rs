//! Tables that drop columns, by priority, instead of wrapping.

use std::borrow::Cow;

use comfy_table::{Cell as TableCell, CellAlignment, ContentArrangement, Table, presets};
use iodyno_model::Verdict;

use super::Style;
use super::ink::Ink;
use super::words::{cut, display_width};

/// Spaces between columns.
const GAP: usize = 2;

/// Table column.
#[derive(Debug, Clone)]
pub(crate) struct GridColumn<'a> {
    pub(crate) heading: Cow<'a, str>,
    /// 0 always stays; the highest is dropped first.
    pub(crate) priority: u8,
    /// True for numbers, which are right-aligned.
    pub(crate) right: bool,
}

/// Table cell.
#[derive(Debug, Clone)]
pub(crate) struct GridCell {
    /// Cleaned text.
    pub(crate) text: String,
    /// Colour.
    pub(crate) ink: Ink,
    /// Verdict that the text names.
    pub(crate) verdict: Option<Verdict>,
}

impl<'a> GridColumn<'a> {
    pub(crate) fn new(heading: impl Into<Cow<'a, str>>, priority: u8, right: bool) -> Self {
        Self { heading: heading.into(), priority, right }
    }
}

impl GridCell {
    pub(crate) fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink, verdict: None }
    }

    pub(crate) fn verdict(of: Verdict) -> Self {
        Self { verdict: Some(of), ..Self::new(of.label(), Ink::of_verdict(of)) }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Ink::Plain)
    }

    /// `-` for an empty text.
    pub(super) fn or_dash(text: String) -> Self {
        Self::plain(if text.is_empty() { "-".into() } else { text })
    }
}

/// Table fitted to a width.
pub(super) struct Grid {
    /// Text, each line with a line break.
    pub(super) text: String,
    /// Indices of the columns that did not fit.
    pub(super) dropped: Vec<usize>,
}

/// Renders `rows` in at most `style.width` columns; with `everything`, all columns at any width.
pub(super) fn grid(
    columns: &[GridColumn<'_>],
    rows: &[Vec<GridCell>],
    style: &Style,
    everything: bool,
) -> Grid {
    let mut widths = widths(columns, rows);
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    if !everything {
        while total(&shown, &widths) > style.width {
            let weakest = shown.iter().copied().max_by_key(|i| columns[*i].priority);
            match weakest.filter(|i| columns[*i].priority > 0) {
                Some(weakest) => shown.retain(|i| *i != weakest),
                None => break,
            }
        }
        // A dropped column may fit after a wider one was dropped.
        let mut rest: Vec<usize> = (0..columns.len()).filter(|i| !shown.contains(i)).collect();
        rest.sort_by_key(|i| columns[*i].priority);
        for i in rest {
            if total(&shown, &widths) + GAP + widths[i] <= style.width {
                shown.push(i);
            }
        }
        shown.sort_unstable();
        // Only priority 0 is left and still too wide: narrow the widest.
        while total(&shown, &widths) > style.width {
            match shown.iter().copied().max_by_key(|i| widths[*i]) {
                Some(widest) if widths[widest] > 4 => widths[widest] -= 1,
                _ => break,
            }
        }
    }
    Grid {
        dropped: (0..columns.len()).filter(|i| !shown.contains(i)).collect(),
        text: render(columns, rows, &shown, &widths, style.color),
    }
}

/// Width of the columns of priority 0.
pub(super) fn least_width(columns: &[GridColumn<'_>], rows: &[Vec<GridCell>]) -> usize {
    let stay: Vec<usize> = (0..columns.len()).filter(|i| columns[*i].priority == 0).collect();
    total(&stay, &widths(columns, rows))
}

fn widths(columns: &[GridColumn<'_>], rows: &[Vec<GridCell>]) -> Vec<usize> {
    let width = |(i, column): (usize, &GridColumn<'_>)| {
        let cells = rows.iter().map(|row| display_width(&row[i].text));
        cells.max().unwrap_or(0).max(display_width(&column.heading))
    };
    columns.iter().enumerate().map(width).collect()
}

fn total(shown: &[usize], widths: &[usize]) -> usize {
    shown.iter().map(|i| widths[*i]).sum::<usize>() + GAP * shown.len().saturating_sub(1)
}

fn render(
    columns: &[GridColumn<'_>],
    rows: &[Vec<GridCell>],
    shown: &[usize],
    widths: &[usize],
    color: bool,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.force_no_tty();
    if color {
        table.enforce_styling();
        table.style_text_only();
    }
    let heading = |i: &usize| TableCell::new(cut(&columns[*i].heading, widths[*i]));
    table.set_header(shown.iter().map(heading).collect::<Vec<_>>());
    for row in rows {
        let cells = shown.iter().map(|i| {
            let cell = TableCell::new(cut(&row[*i].text, widths[*i]));
            match row[*i].ink.color().filter(|_| color) {
                Some(ink) => cell.fg(ink),
                None => cell,
            }
        });
        table.add_row(cells.collect::<Vec<_>>());
    }
    for (at, i) in shown.iter().enumerate() {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, if at + 1 < shown.len() { GAP as u16 } else { 0 }));
            if columns[*i].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table.lines().fold(String::new(), |mut text, line| {
        text.push_str(line.trim_end());
        text.push('\n');
        text
    })
}
