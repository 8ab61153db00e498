//! Table with as many columns as fit, and the symbols in its cells.

use ratatui_core::style::{Color, Style, Stylize as _};
use ratatui_core::text::{Line, Span};

use super::scene::KEPT_SECONDS;

/// Space between two columns, characters.
const GAP: usize = 2;
/// Minimum width of a sparkline, characters.
const MIN_WIDTH: usize = 8;

/// Capabilities of a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalCaps {
    /// Its locale is not UTF-8.
    pub(crate) ascii: bool,
    pub(crate) color: bool,
}

/// A column: its heading, and its rank for removal if space is short (the highest first; 0: it
/// stays).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    pub(crate) rank: u8,
}

/// Content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Left(String),
    Right(String),
    /// Text that needs attention.
    Alarm(String),
    /// Values over time, the newest last.
    Spark(Vec<f64>),
}

impl Cell {
    /// Cell of a value that may be unknown.
    pub(crate) fn of(text: Option<String>) -> Self {
        Self::Right(text.unwrap_or_default())
    }

    fn width(&self) -> usize {
        match self {
            Self::Left(text) | Self::Right(text) | Self::Alarm(text) => Span::raw(text).width(),
            Self::Spark(values) if values.iter().all(|value| *value == 0.0) => 0,
            Self::Spark(_) => MIN_WIDTH,
        }
    }

    fn span(&self, width: usize, caps: TerminalCaps) -> Span<'static> {
        match self {
            Self::Left(text) => Span::raw(format!("{text:width$}")),
            Self::Right(text) => Span::raw(format!("{text:>width$}")),
            Self::Alarm(text) => caps.alarm(format!("{text:width$}")),
            Self::Spark(values) => caps.mark(sparkline(values, width, caps)),
        }
    }
}

/// Heading and rows in at most `width` columns. Columns without any value are left out; the
/// sparkline takes the remaining width.
pub(crate) fn table(
    columns: &[Column],
    rows: &[Vec<Cell>],
    width: usize,
    caps: TerminalCaps,
) -> Vec<Line<'static>> {
    let needed = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
    let is_spark = |at: usize| rows.iter().any(|row| matches!(row[at], Cell::Spark(_)));
    let mut kept: Vec<(usize, usize)> = (0..columns.len())
        .map(|at| (at, needed(at)))
        .filter(|(_, needed)| *needed > 0)
        .map(|(at, needed)| {
            (at, if is_spark(at) { needed } else { needed.max(columns[at].heading.len()) })
        })
        .collect();
    let total = |kept: &[(usize, usize)]| kept.iter().map(|(_, width)| width + GAP).sum::<usize>();
    while total(&kept) > width + GAP {
        let last = kept.iter().enumerate().max_by_key(|(_, (at, _))| columns[*at].rank);
        let Some((last, _)) = last.filter(|(_, (at, _))| columns[*at].rank > 0) else { break };
        kept.remove(last);
    }
    let spare = (width + GAP).saturating_sub(total(&kept));
    for (at, width) in &mut kept {
        if is_spark(*at) {
            *width = (*width + spare).min(KEPT_SECONDS);
        }
    }
    let line = |cells: Vec<Span<'static>>| {
        let gap = || Span::raw(" ".repeat(GAP));
        let cells = cells.into_iter().flat_map(|cell| [cell, gap()]);
        Line::from(cells.collect::<Vec<_>>())
    };
    let heading = kept.iter().map(|(at, width)| {
        let heading = columns[*at].heading;
        let is_right = rows.iter().any(|row| matches!(row[*at], Cell::Right(_)));
        let text = if is_right {
            format!("{heading:>width$}")
        } else {
            format!("{heading:width$.width$}")
        };
        Span::raw(text).dim()
    });
    let mut lines = vec![line(heading.collect())];
    for row in rows {
        lines.push(line(kept.iter().map(|(at, width)| row[*at].span(*width, caps)).collect()));
    }
    lines
}

/// Sparkline of the last `width` values, relative to the greatest.
pub(crate) fn sparkline(values: &[f64], width: usize, caps: TerminalCaps) -> String {
    let levels = caps
        .pick(["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"], [".", ".", ":", ":", "-", "=", "+", "#"]);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let shown = &values[values.len().saturating_sub(width)..];
    let mark = |value: &f64| match *value > 0.0 {
        true => levels[((value / greatest * 8.0) as usize).min(7)],
        false => " ",
    };
    let text: String = shown.iter().map(mark).collect();
    format!("{text:>width$}")
}

/// Bar of `width` characters, filled by `share`.
pub(crate) fn bar(share: f64, width: usize, caps: TerminalCaps) -> Span<'static> {
    let [full, empty] = caps.pick(["█", "░"], ["#", "."]);
    let filled = ((share.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
    caps.mark(full.repeat(filled) + &empty.repeat(width - filled))
}

/// Shade of a count, darkest for the most.
pub(crate) fn shade(count: u64, most: u64, caps: TerminalCaps) -> &'static str {
    let shades = caps.pick(["░", "▒", "▓", "█"], [".", ":", "*", "#"]);
    match (count, most) {
        (0, _) | (_, 0) => " ",
        _ => shades[((count as f64 / most as f64).sqrt() * 3.99) as usize],
    }
}

impl TerminalCaps {
    /// Chooses between UTF-8 and ASCII.
    fn pick<T>(self, utf8: T, ascii: T) -> T {
        if self.ascii { ascii } else { utf8 }
    }

    pub(crate) fn mark(self, text: String) -> Span<'static> {
        Span::styled(text, self.color(Color::Cyan))
    }

    pub(crate) fn alarm(self, text: String) -> Span<'static> {
        Span::styled(text, self.color(Color::Yellow))
    }

    fn color(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
}
