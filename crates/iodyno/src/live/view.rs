//! Draws the full view of a run on a screen of any size.

use iodyno_model::{
    format_count, format_duration_ns, format_mb_per_s, format_percent, format_width,
};
use iodyno_report::text::clean;
use ratatui_core::layout::Rect;
use ratatui_core::style::Stylize as _;
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

use super::activity::shortened;
use super::scene::{FIRST_ROW_NS, HEAT_ROWS, KEPT_SECONDS, Row, Scene, Second};
use super::table::{Cell, Column, TerminalCaps, bar, shade, sparkline, table};

/// Minimum screen width for the heat map, columns.
const WIDE: usize = 120;
/// Maximum width of a bar, columns.
const MAX_BAR: usize = 40;
/// Smaller heights have no blank lines.
const LOW_HEIGHT: usize = 14;
/// Lines left for results on a full screen.
const RESULTS: usize = 4;
/// Maximum number of messages shown.
const MAX_MESSAGES: usize = 3;

const COLUMNS: [Column; 9] = [
    Column { heading: "TARGET", rank: 0 },
    Column { heading: "IOPS", rank: 0 },
    Column { heading: "RATE", rank: 0 },
    Column { heading: "P50", rank: 3 },
    Column { heading: "P99", rank: 2 },
    Column { heading: "LAST MINUTE", rank: 4 },
    Column { heading: "TEMP", rank: 5 },
    Column { heading: "LINK", rank: 6 },
    Column { heading: "ERRORS", rank: 1 },
];

/// Draws a run.
pub(super) fn run(scene: &Scene, caps: TerminalCaps, frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let room = height.saturating_sub(1);
    let mut lines = head(scene, width, caps);
    if height < LOW_HEIGHT {
        lines.retain(|line| line.width() > 0);
    }
    let rows = room.saturating_sub(lines.len() + RESULTS + MAX_MESSAGES).max(1);
    lines.extend(targets(scene, width, rows, caps));
    lines.extend(machine(scene, caps));
    let said = scene.said.iter().rev().take(MAX_MESSAGES).rev();
    let said: Vec<Line<'_>> = said.map(|line| Line::from(caps.alarm(line.clone()))).collect();
    let mut rest = room.saturating_sub(lines.len() + said.len());
    if width >= WIDE && rest > HEAT_ROWS + RESULTS + 2 {
        lines.extend(heat(&scene.rows, caps));
        rest = room.saturating_sub(lines.len() + said.len());
    }
    lines.extend(results(scene, width, rest));
    lines.extend(said);
    lines.truncate(room);
    let bottom = Line::from("q or Ctrl-C ends it and keeps the results".dim());
    lines.resize(room, Line::default());
    lines.push(bottom);
    paint(&lines, area, frame);
}

/// Draws lines one below the other.
pub(crate) fn paint(lines: &[Line<'_>], area: Rect, frame: &mut Frame<'_>) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        frame.buffer_mut().set_line(area.left(), y, line, area.width);
    }
}

/// Activity, purpose and progress.
fn head(scene: &Scene, width: usize, caps: TerminalCaps) -> Vec<Line<'static>> {
    let activity = &scene.activity;
    let clock = format!("{}:{:02}", scene.seconds / 60, scene.seconds % 60);
    let mut lines =
        vec![justified(cut(&format!("iodyno {}", scene.title), width).bold(), clock, width)];
    lines.push(clean(&activity.what).into());
    lines.extend((!activity.why.is_empty()).then(|| Line::from(activity.why.clone().dim())));
    lines.push(Line::default());
    let wide = (width / 3).min(MAX_BAR);
    let mut gauge = |name: &'static str, share: Option<f64>, text: String| {
        let bar = share.map(|share| bar(share, wide, caps));
        if bar.is_some() || !text.is_empty() {
            let mut spans = vec![Span::raw(format!("{name:5} "))];
            spans.extend(bar.map(|bar| [bar, Span::raw("  ")]).into_iter().flatten());
            spans.push(Span::raw(text));
            lines.push(spans.into());
        }
    };
    if let (Some(left_ns), Some(left)) = (activity.left_ns, activity.left()) {
        let elapsed = scene.seconds as f64;
        let share = elapsed / (elapsed + left_ns as f64 / 1e9).max(1.0);
        gauge("all", Some(share), format!("at most {left}"));
    }
    let mut parts = [activity.time.as_str(), &activity.figures].to_vec();
    parts.retain(|part| !part.is_empty());
    gauge("this", activity.share, parts.join("  "));
    if let (Some(goal), Some(half_width)) = (scene.goal, scene.widths.last()) {
        let so_far = sparkline(&scene.widths, wide, caps);
        let [known, asked] = [*half_width, goal.half_width].map(format_width);
        lines.push(Line::from(vec![
            Span::raw("known "),
            caps.mark(so_far),
            Span::raw(format!("  to {known}, goal {asked}")),
        ]));
    }
    lines.push(Line::default());
    lines
}

/// Start of a line, with room left for the clock.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width.saturating_sub(10)).collect()
}

/// Line with `left` and `right` at its two ends.
pub(crate) fn justified(left: Span<'static>, right: String, width: usize) -> Line<'static> {
    let gap = width.saturating_sub(left.width() + right.chars().count()).max(1);
    Line::from(vec![left, Span::raw(" ".repeat(gap)), Span::raw(right).dim()])
}

/// Table of the targets, active ones first.
fn targets(scene: &Scene, width: usize, most: usize, caps: TerminalCaps) -> Vec<Line<'static>> {
    let (active, idle): (Vec<&Row>, Vec<&Row>) = scene.rows.iter().partition(|row| row.is_active());
    let rows = active.into_iter().chain(idle);
    let cells: Vec<Vec<Cell>> = rows.take(most).map(|row| cells(row, width)).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let mut lines = table(&COLUMNS, &cells, width, caps);
    if let Some(more) = scene.rows.len().checked_sub(most).filter(|more| *more > 0) {
        lines.push(Line::from(format!("and {more} more").dim()));
    }
    lines.push(Line::default());
    lines
}

fn cells(row: &Row, width: usize) -> Vec<Cell> {
    let last = row.seconds.back().filter(|_| row.is_active());
    let figure = |of: &dyn Fn(&Second) -> Option<String>| Cell::of(last.and_then(of));
    let latency = |ns: Option<u64>| ns.map(|ns| format_duration_ns(ns as f64));
    let errors = Some(row.errors).filter(|errors| *errors > 0);
    vec![
        Cell::Left(shortened(&clean(&row.name), width / 5)),
        figure(&|second| Some(format_count(second.iops))),
        figure(&|second| Some(format_mb_per_s(second.bytes_per_s))),
        figure(&|second| latency(second.p50_ns)),
        figure(&|second| latency(second.p99_ns)),
        Cell::Spark(row.seconds.iter().map(|second| second.iops).collect()),
        Cell::of(row.temperature_c.map(|c| format!("{c:.0} °C"))),
        Cell::Left(row.link.clone().unwrap_or_default()),
        Cell::Alarm(errors.map(|errors| errors.to_string()).unwrap_or_default()),
    ]
}

/// Load of our threads, and I/O of other processes.
fn machine(scene: &Scene, caps: TerminalCaps) -> Option<Line<'static>> {
    let mut spans = Vec::new();
    if let Some(share) = scene.sample.busiest {
        let text = format!("busiest thread: {} of a CPU   ", format_percent(share));
        // A thread that never waits is the limit.
        spans.push(if share > 0.95 { caps.alarm(text) } else { Span::raw(text) });
    }
    for (device, other) in &scene.sample.others {
        let (iops, rate) = (format_count(other.iops), format_mb_per_s(other.bytes_per_s));
        spans.push(caps.alarm(format!("other processes on {device}: {iops} IOPS, {rate}   ")));
    }
    (!spans.is_empty()).then(|| spans.into())
}

/// Heat map of the latencies of all targets over the last minute: a row for each power of two, the
/// slowest on top.
fn heat(rows: &[Row], caps: TerminalCaps) -> Vec<Line<'static>> {
    let mut seconds = [[0; HEAT_ROWS]; KEPT_SECONDS];
    for row in rows {
        for (sum, second) in seconds.iter_mut().rev().zip(row.seconds.iter().rev()) {
            (0..HEAT_ROWS).for_each(|at| sum[at] += second.heat[at]);
        }
    }
    let is_used = |at: &usize| seconds.iter().any(|second| second[*at] > 0);
    let (Some(low), Some(high)) = ((0..HEAT_ROWS).find(is_used), (0..HEAT_ROWS).rfind(is_used))
    else {
        return Vec::new();
    };
    let line = |at: usize| {
        let shades = seconds.iter().map(|second| {
            let most = second.iter().copied().max().unwrap_or(0);
            shade(second[at], most, caps)
        });
        let label = format_duration_ns((FIRST_ROW_NS << at) as f64);
        Line::from(vec![Span::raw(format!("{label:>9} ")).dim(), caps.mark(shades.collect())])
    };
    let mut lines = vec![Line::default(), Line::from("  LATENCY  over the last minute".dim())];
    lines.extend((low..=high).rev().map(line));
    lines
}

/// Points of a sweep, or the last results.
fn results(scene: &Scene, width: usize, most: usize) -> Vec<Line<'static>> {
    let lines = match &scene.grid {
        Some(grid) => grid.lines(width, most.saturating_sub(1)),
        None => {
            let last = scene.done.len().saturating_sub(most.saturating_sub(1));
            scene.done[last..].to_vec()
        }
    };
    let blank = (!lines.is_empty()).then(Line::default);
    blank.into_iter().chain(lines.into_iter().map(Line::from)).collect()
}
