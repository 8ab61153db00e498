//! Draws the part of a sweep's grid around the current point, as lines.

use std::cmp::Reverse;
use std::ops::Range;

use iodyno_campaign::Point;
use iodyno_model::{format_count, significant};
use iodyno_report::text::clean;

use super::{Cell, Entry, Grid, last_word};

/// Space between two columns, characters.
const GAP: usize = 2;

/// Minimum width of a cell, characters.
const MIN_CELL_WIDTH: usize = 7;

/// Option along a side of the table, with its values in order.
struct Axis {
    option: String,
    values: Vec<Option<String>>,
}

impl Axis {
    /// Axis along which nothing differs: one row or one column.
    fn none() -> Self {
        Self { option: String::new(), values: vec![None] }
    }

    /// Value of this option at `point`.
    fn value<'p>(&self, point: &'p Point) -> Option<&'p str> {
        let mut at = point.at.iter();
        at.find(|(option, _)| *option == self.option).map(|(_, value)| value.as_str())
    }

    /// Up to `most` of the values, including that of `point`.
    fn window(&self, most: usize, point: &Point) -> &[Option<String>] {
        let own = self.value(point);
        let at = self.values.iter().position(|value| value.as_deref() == own);
        &self.values[window(self.values.len(), most, at.unwrap_or(0))]
    }

    /// Width of the widest value, characters.
    fn width(&self) -> usize {
        let width = |value: &Option<String>| label(value).chars().count();
        self.values.iter().map(width).max().unwrap_or(0)
    }
}

impl Grid {
    /// Table of the points around `current`, in at most `height` lines.
    pub(super) fn table(&self, current: usize, width: usize, height: usize) -> Vec<String> {
        let of = &self.entries[current].point;
        let [rows, columns] = self.axes(of);
        let others = |point: &Point| -> Vec<(String, String)> {
            let at = point.at.iter();
            let is_axis = |option: &String| [&rows.option, &columns.option].contains(&option);
            at.filter(|(option, _)| !is_axis(option)).cloned().collect()
        };
        let fixed = others(of);
        let is_here = |point: &Point| {
            (&point.part, &point.targets) == (&of.part, &of.targets) && others(point) == fixed
        };
        let entries = self.entries.iter().enumerate();
        let here: Vec<(usize, &Entry)> =
            entries.filter(|(_, entry)| is_here(&entry.point)).collect();
        let cell = |row: &Option<String>, column: &Option<String>| {
            let found = here.iter().find(|(_, Entry { point, .. })| {
                rows.value(point) == row.as_deref() && columns.value(point) == column.as_deref()
            });
            found.map_or(String::new(), |(n, entry)| self.cell(*n, entry.cell))
        };
        let mut corner = vec![rows.option.as_str(), columns.option.as_str()];
        corner.retain(|option| !option.is_empty());
        let corner = corner.join(" \\ ");
        let first = rows.width().max(corner.chars().count());
        let each = columns.width().max(MIN_CELL_WIDTH);
        // The heading and the column names take two lines.
        let shown_rows = rows.window(height.saturating_sub(2), of);
        let shown_columns = columns.window(width.saturating_sub(first) / (each + GAP), of);
        let line = |label: &str, cells: Vec<String>| {
            let cells = cells.iter().map(|cell| format!("{:GAP$}{cell:>each$}", ""));
            format!("{label:>first$}{}", cells.collect::<String>())
        };
        let mut lines = vec![self.heading(of, &fixed)];
        lines.push(line(&corner, shown_columns.iter().map(label).collect()));
        for row in shown_rows {
            let cells = shown_columns.iter().map(|column| cell(row, column)).collect();
            lines.push(line(&label(row), cells));
        }
        lines
    }

    /// Heading: the options common to all shown points, and the unit.
    fn heading(&self, of: &Point, fixed: &[(String, String)]) -> String {
        let unit = if self.by_bandwidth { "MB/s" } else { "IOPS" };
        let part = Some(of.part.clone()).filter(|part| !part.is_empty());
        let options = fixed.iter().map(|(option, value)| format!("{option}={value}"));
        let targets = of.targets.iter().map(|target| last_word(target).to_owned());
        let words: Vec<String> = part.into_iter().chain(options).chain(targets).collect();
        format!("{}: {unit}", clean(&words.join(" ")))
    }

    /// The two longest axes of a point's part, the longest first.
    fn axes(&self, of: &Point) -> [Axis; 2] {
        let part = || self.entries.iter().filter(|entry| entry.point.part == of.part);
        let axis = |(option, _): &(String, String)| {
            let mut axis = Axis { option: option.clone(), values: Vec::new() };
            for entry in part() {
                let value = axis.value(&entry.point).map(str::to_owned);
                if value.is_some() && !axis.values.contains(&value) {
                    axis.values.push(value);
                }
            }
            // Points are in measuring order, not by value.
            let size = |value: &Option<String>| {
                value.as_deref().and_then(|value| iodyno_job::parse_size(value).ok()).unwrap_or(0)
            };
            axis.values.sort_by_key(size);
            axis
        };
        let mut axes: Vec<Axis> = of.at.iter().map(axis).collect();
        axes.sort_by_key(|axis| Reverse(axis.values.len()));
        let mut axes = axes.into_iter();
        [(); 2].map(|()| axes.next().unwrap_or_else(Axis::none))
    }

    fn cell(&self, n: usize, cell: Cell) -> String {
        let figure = |value: f64| match self.by_bandwidth {
            true => significant(value / 1e6, 3),
            false => format_count(value),
        };
        let is_open = matches!(cell, Cell::Open | Cell::Predicted(_));
        match cell {
            _ if self.current == Some(n) && is_open => format!("[{}]", figure(self.rate)),
            Cell::Open => ".".into(),
            Cell::Measured { value, is_wide: false } => figure(value),
            Cell::Measured { value, is_wide: true } => format!("{}?", figure(value)),
            Cell::Predicted(value) => format!("~{}", figure(value)),
            Cell::Failed => "x".into(),
        }
    }
}

fn label(value: &Option<String>) -> String {
    value.as_deref().map(clean).unwrap_or_default()
}

/// Window of up to `most` (at least one) of `count` positions that contains `at`.
fn window(count: usize, most: usize, at: usize) -> Range<usize> {
    let most = most.clamp(1, count.max(1));
    let first = at.saturating_sub(most / 2).min(count.saturating_sub(most));
    first..(first + most).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_contains_the_current_position() {
        assert_eq!(window(7, 3, 0), 0..3);
        assert_eq!(window(7, 3, 6), 4..7);
        assert_eq!(window(7, 100, 3), 0..7);
        assert_eq!(window(0, 0, 0), 0..0);
        for (count, most, at) in [(7, 1, 6), (7, 2, 6), (2, 0, 1), (9, 4, 5)] {
            assert!(window(count, most, at).contains(&at), "{count} {most} {at}");
        }
    }
}
