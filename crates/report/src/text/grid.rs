//! Tables that lose columns, by priority, rather than wrap.

use std::borrow::Cow;

use comfy_table::{Cell as TableCell, CellAlignment, ContentArrangement, Table, presets};

use super::Style;
use super::ink::Ink;
use super::words::{cut, display_width};

/// Columns between two columns.
const GAP: usize = 2;

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct GridColumn<'a> {
    /// Heading.
    pub(crate) heading: Cow<'a, str>,
    /// 0 stays however narrow the terminal is; the highest goes first.
    pub(crate) priority: u8,
    /// Numbers stand to the right.
    pub(crate) right: bool,
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) struct GridCell {
    /// Its text, cleaned.
    pub(crate) text: String,
    /// Its ink.
    pub(crate) ink: Ink,
}

impl<'a> GridColumn<'a> {
    pub(crate) fn new(heading: impl Into<Cow<'a, str>>, priority: u8, right: bool) -> Self {
        Self { heading: heading.into(), priority, right }
    }
}

impl GridCell {
    pub(crate) fn new(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Ink::Plain)
    }
}

/// A table that was fitted.
pub(super) struct Grid {
    /// The text, each line with a line break.
    pub(super) text: String,
    /// Numbers of the columns that found no room.
    pub(super) dropped: Vec<usize>,
}

/// The table of `rows` in at most `style.width` columns, unless `everything` is
/// to be shown however wide.
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
        // A column that was dropped for one wider than itself may still find room.
        let mut rest: Vec<usize> = (0..columns.len()).filter(|i| !shown.contains(i)).collect();
        rest.sort_by_key(|i| columns[*i].priority);
        for i in rest {
            if total(&shown, &widths) + GAP + widths[i] <= style.width {
                shown.push(i);
            }
        }
        shown.sort_unstable();
        // Only the essential ones are left and still too wide: the widest gives way.
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

/// Columns of the terminal that the columns of priority 0 take.
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
