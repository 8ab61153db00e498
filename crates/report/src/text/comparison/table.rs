//! Comparison table: a group of lines per workload, a column per side.

use iodyno_judge::comparison::{Cell, Comparison, Difference, Figure, Quantity, Reality, Row};
use iodyno_model::figures::{Unit, without_interval};
use iodyno_model::{Estimate, LatencyKind, Metric, Spread, Validity, format_count};

use super::{Style, hanging, row_title};
use crate::text::figure::{bare, difference, estimated};
use crate::text::grid::{GridCell, GridColumn, grid, least_width};
use crate::text::ink::Ink;

/// Quantities shown per workload; the document has more.
const SHOWN: [Quantity; 5] = [
    Quantity::Bandwidth,
    Quantity::Iops,
    Quantity::Latency,
    Quantity::Percentile(99.0),
    Quantity::Percentile(99.9),
];

/// Ratio from which a difference is printed as a factor instead of a percentage.
const MANY_TIMES: f64 = 10.0;

/// Level of detail of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Ratios and values with intervals.
    Ratios,
    /// Values with intervals.
    Intervals,
    /// Values alone.
    Values,
}

/// Lines of cells.
pub(crate) type Lines = Vec<Vec<GridCell>>;

/// Renders the table; if not all sides fit next to each other, several tables, each starting with
/// the first side. A narrow terminal drops ratios first, then intervals.
pub(super) fn table(comparison: &Comparison, names: &[String], style: &Style) -> String {
    let others: Vec<usize> = (1..names.len()).collect();
    // The width of a side's columns does not depend on the other sides.
    let fitted = [Detail::Intervals, Detail::Ratios].map(|detail| {
        let width = |others: &[usize]| {
            let (columns, lines) = lines(comparison, names, others, detail);
            least_width(&columns, &lines)
        };
        let first = width(&[]);
        let beside: Vec<usize> = others.iter().map(|other| width(&[*other]) - first).collect();
        (detail, first, beside)
    });
    let mut parts = Vec::new();
    let mut rest = others.as_slice();
    while !rest.is_empty() {
        let counts = fitted.iter().map(|(detail, first, beside)| {
            let mut total = *first;
            let fits = |beside: &&usize| {
                total += **beside;
                style.wide || total <= style.width
            };
            (beside[others.len() - rest.len()..].iter().take_while(fits).count(), *detail)
        });
        // `max_by_key` returns the last of equal counts, which shows more.
        let most = counts.max_by_key(|(count, _)| *count).filter(|(count, _)| *count > 0);
        let (count, detail) = most.unwrap_or((1, Detail::Values));
        let (columns, lines) = lines(comparison, names, &rest[..count], detail);
        let drawn = grid(&columns, &lines, style, style.wide).text;
        parts.push(with_titles(comparison, &drawn, style));
        rest = &rest[count..];
    }
    parts.join("\n")
}

/// Table of the first side and `others`: a line per figure of each row.
fn lines<'n>(
    comparison: &Comparison,
    names: &'n [String],
    others: &[usize],
    detail: Detail,
) -> (Vec<GridColumn<'n>>, Lines) {
    let lines = comparison.rows.iter().flat_map(|row| lines_of(row, others, detail));
    let indented = lines.map(|mut line| {
        line[0].text.insert_str(0, "  ");
        line
    });
    let columns = columns(names, others, detail).into_iter().map(|(column, _)| column);
    (columns.collect(), indented.collect())
}

/// Columns, each with true if a side's name is its heading.
fn columns<'n>(
    names: &'n [String],
    others: &[usize],
    detail: Detail,
) -> Vec<(GridColumn<'n>, bool)> {
    let column = |heading: &'static str, right| (GridColumn::new(heading, 0, right), false);
    let side = |n: usize| (GridColumn::new(names[n].as_str(), 0, true), true);
    let mut columns = vec![column("", false), side(0)];
    for other in others {
        columns.push(side(*other));
        if detail == Detail::Ratios {
            columns.push(column("RATIO", true));
        }
        columns.extend([column("DIFFERENCE", true), column("REAL?", false)]);
    }
    columns
}

/// Lines of a row, one per figure.
fn lines_of(row: &Row, others: &[usize], detail: Detail) -> Lines {
    let line = |figure: &Figure| {
        let name = GridCell::plain(quantity(figure));
        let mut line = vec![name, value(row, figure, 0, detail)];
        for other in others {
            line.push(value(row, figure, *other, detail));
            let difference = figure.differences[*other].as_ref();
            line.extend(against(figure.quantity, difference, detail));
        }
        line
    };
    shown(row).map(line).collect()
}

/// The full table, for output without a width limit.
pub(crate) struct Cells {
    /// Columns: heading, and true if right-aligned.
    pub(crate) columns: Vec<(String, bool)>,
    /// Title and lines of each workload.
    pub(crate) rows: Vec<(String, Lines)>,
}

/// Builds the table with all details.
pub(crate) fn cells(comparison: &Comparison) -> Cells {
    let others: Vec<usize> = (1..comparison.sides.len()).collect();
    let names = super::names(comparison);
    let columns = columns(&names, &others, Detail::Ratios).into_iter().map(|(of, is_side)| {
        (if is_side { of.heading.into_owned() } else { of.heading.to_lowercase() }, of.right)
    });
    let row = |row: &Row| (row_title(row), lines_of(row, &others, Detail::Ratios));
    Cells { columns: columns.collect(), rows: comparison.rows.iter().map(row).collect() }
}

pub(super) fn shown(row: &Row) -> impl Iterator<Item = &Figure> {
    row.figures.iter().filter(|figure| SHOWN.contains(&figure.quantity))
}

/// Inserts each row's title before its group of drawn lines.
fn with_titles(comparison: &Comparison, drawn: &str, style: &Style) -> String {
    let mut drawn = drawn.lines();
    let mut out = String::new();
    let next = |lines: &mut std::str::Lines<'_>| format!("{}\n", lines.next().unwrap_or_default());
    out.push_str(&next(&mut drawn));
    for row in &comparison.rows {
        out.push_str(&hanging("", 0, Ink::Bold, style).lines(&[row_title(row)]));
        for _ in shown(row) {
            out.push_str(&next(&mut drawn));
        }
    }
    out
}

fn quantity(figure: &Figure) -> String {
    let name = match figure.quantity {
        Quantity::Bandwidth => return "bandwidth".into(),
        Quantity::Iops => return "IOPS".into(),
        Quantity::Latency => "latency".to_owned(),
        percentile => percentile.name(),
    };
    match figure.kind {
        Some(LatencyKind::Total) | None => name,
        Some(part) => format!("{name} {}", part.fio_name()),
    }
}

const fn metric(quantity: Quantity) -> Metric {
    match quantity {
        Quantity::Bandwidth => Metric::Bandwidth,
        Quantity::Iops => Metric::Iops,
        Quantity::Latency | Quantity::Percentile(_) => Metric::LatencyMean,
    }
}

/// Value with its interval, and `*` if it has caveats.
fn value(row: &Row, figure: &Figure, side: usize, detail: Detail) -> GridCell {
    let Some(cell) = &row.cells[side] else {
        return GridCell::new("-", Ink::Dim);
    };
    let Some(estimate) = &figure.values[side] else {
        let (text, ink) = match cell {
            Cell { repetitions: 0, failure: Some(_), .. } => ("failed", Ink::Bad),
            Cell { repetitions: 0, .. } => ("INVALID", Ink::Bad),
            _ => ("-", Ink::Dim),
        };
        return GridCell::new(text, ink);
    };
    let text = match (detail, metric(figure.quantity)) {
        // The row is already labelled IOPS.
        (Detail::Values, Metric::Iops) => {
            without_interval(estimate, Unit::iops_without_unit(estimate.value))
        }
        (Detail::Values, metric) => bare(metric, estimate),
        (_, metric) => estimated(metric, estimate),
    };
    match is_marked(cell) {
        true => GridCell::new(format!("{text} *"), Ink::Doubt),
        false => GridCell::plain(text),
    }
}

/// True if its figures have caveats.
fn is_marked(cell: &Cell) -> bool {
    cell.validity != Validity::Valid || cell.left_out > 0
}

/// Ratio, difference, and whether it is real.
fn against(quantity: Quantity, difference: Option<&Difference>, detail: Detail) -> Vec<GridCell> {
    let [ratio, percent, real] = match difference {
        None => Default::default(),
        Some(of) => {
            let word = match of.reality {
                Reality::Real => "yes",
                Reality::NotInTurns => "probably",
                Reality::NotShown => "no",
                Reality::WithinRounding => "rounding",
                Reality::SpreadUnknown => "unknown",
                Reality::Unlike => "unlike",
            };
            [format!("{:.3}", of.ratio.value), percent(of), word.to_owned()]
        }
    };
    let ink = match difference.map(|of| (of.reality, of.ratio.value > 1.0)) {
        Some((Reality::Real, more)) if more == quantity.more_is_better() => Ink::Good,
        Some((Reality::Real, _)) => Ink::Bad,
        Some((Reality::NotInTurns, _)) => Ink::Doubt,
        Some((Reality::SpreadUnknown, _)) => Ink::Open,
        _ => Ink::Plain,
    };
    let mut cells = Vec::new();
    if detail == Detail::Ratios {
        cells.push(GridCell::plain(ratio));
    }
    cells.extend([percent, real].map(|text| GridCell::new(text, ink)));
    cells
}

/// Difference in percent, or as a factor if large.
pub(super) fn percent(of: &Difference) -> String {
    if of.ratio.value >= MANY_TIMES {
        let times = |ratio: f64| format_count(ratio);
        return match of.ratio.spread {
            Spread::Confidence { low, high, .. } => {
                format!("x{} ({} to {})", times(of.ratio.value), times(low), times(high))
            }
            _ => format!("x{}", times(of.ratio.value)),
        };
    }
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let spread = match of.ratio.spread {
        Spread::Confidence { low, high, level } => {
            Spread::Confidence { low: percent(low), high: percent(high), level }
        }
        _ => Spread::Unknown,
    };
    difference(&Estimate { value: percent(of.ratio.value), spread })
}
