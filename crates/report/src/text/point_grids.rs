//! Grids of a plan's points: rates and p99 over the plan's two longest axes.

use std::collections::HashMap;

use iodyno_model::{
    Assessment, DirectionResult, Measurement, Metric, Prediction, RunRecord, Validity, add_missing,
    distinct, format_count, format_duration_ns, significant,
};

use super::Style;
use super::grid::{GridCell, GridColumn, grid, least_width};
use super::ink::Ink;
use super::words::{Hanging, clean};
use crate::percentiles;

/// Point of a plan: its title and coordinates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPoint {
    /// Name of its measurements.
    pub title: String,
    /// Name of its part; empty if the plan has none.
    pub part: String,
    /// Coordinates: option and value.
    pub at: Vec<(String, String)>,
}

/// Returns the indices of the first `count` measurements in the order of the planned points, those
/// of the same point next to each other, without those that were repeated.
pub(crate) fn in_order(record: &RunRecord, planned: &[PlannedPoint], count: usize) -> Vec<usize> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, point) in planned.iter().enumerate() {
        places.entry(&point.title).or_insert(at);
    }
    let mut order: Vec<usize> = (0..count).filter(|n| !record.is_repeated(*n)).collect();
    order.sort_by_key(|n| places.get(record.measurements[*n].name.as_str()));
    order
}

/// Sum over all directions.
pub(super) fn rate(metric: Metric, of: &Measurement) -> Option<f64> {
    let own = |of: &DirectionResult| match metric {
        Metric::Bandwidth => of.bandwidth,
        _ => of.iops,
    };
    of.total
        .iter()
        .map(|of| Some(own(of)?.value))
        .sum::<Option<f64>>()
        .filter(|_| !of.total.is_empty())
}

/// Quantity shown in a grid.
#[derive(Clone, Copy, PartialEq)]
enum GridQuantity {
    Rate(Metric),
    P99,
}

impl GridQuantity {
    fn unit(self) -> &'static str {
        match self {
            Self::Rate(Metric::Bandwidth) => "MB/s",
            Self::Rate(_) => "IOPS",
            Self::P99 => "p99",
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Rate(Metric::Bandwidth) => significant(value / 1e6, 3),
            Self::Rate(_) => format_count(value),
            Self::P99 => format_duration_ns(value),
        }
    }

    fn of(self, of: &Measurement) -> Option<f64> {
        match self {
            Self::Rate(metric) => rate(metric, of),
            Self::P99 => {
                let all = of.total.iter().map(|of| Some(percentiles::known(of, 99.0)?.1));
                all.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
            }
        }
    }
}

/// A grid of rates and one of p99 per part, target and value of the other axes; `None`: the points
/// have fewer than two axes, were repeated, or the grid is too wide.
pub(super) fn matrices(
    record: &RunRecord,
    assessment: &Assessment,
    planned: &[PlannedPoint],
    predictions: &[Prediction],
    style: &Style,
) -> Option<String> {
    let mut cells: HashMap<(String, String), usize> = HashMap::new();
    let mut targets: Vec<String> = Vec::new();
    for (n, of) in record.measurements.iter().enumerate() {
        let target = of.targets.join(" ");
        add_missing(&mut targets, [target.clone()]);
        if cells.insert((of.name.clone(), target), n).is_some() {
            return None;
        }
    }
    let mut groups: Vec<(Group<'_>, Vec<&PlannedPoint>)> = Vec::new();
    for point in planned {
        let group = Group::of(point, planned)?;
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, points)) => points.push(point),
            None => groups.push((group, vec![point])),
        }
    }
    let (mut out, mut marks) = (Vec::new(), Vec::new());
    for (group, points) in &groups {
        for target in &targets {
            let find =
                |point: &PlannedPoint| cells.get(&(point.title.clone(), target.clone())).copied();
            if !points.iter().any(|point| find(point).is_some()) {
                continue;
            }
            let has_sizes = [&group.rows, &group.columns].iter().any(|axis| axis.0 == "bs");
            let metric = if has_sizes { Metric::Bandwidth } else { Metric::Iops };
            for shown in [GridQuantity::Rate(metric), GridQuantity::P99] {
                let place = |point: &&PlannedPoint| match find(point) {
                    Some(n) => measured(record, assessment, n, shown),
                    None => {
                        let its = predictions.iter().find(|one| one.name == point.title);
                        predicted(record, its, shown)
                    }
                };
                let places: Vec<CellContent> = points.iter().map(place).collect();
                let title = if targets.len() > 1 { Some(target.as_str()) } else { None };
                // A grid without any value is not drawn.
                if places
                    .iter()
                    .any(|place| !matches!(place, CellContent::Open | CellContent::Unknown))
                {
                    marks.extend(places.iter().filter_map(CellContent::mark));
                    out.push(group.text(points, &places, title, shown, style)?);
                }
            }
        }
    }
    (!out.is_empty()).then(|| out.join("\n") + &legend(&marks, style))
}

/// Content of a point's cell.
enum CellContent {
    /// Neither measured nor predicted.
    Open,
    /// Measured, but without this quantity.
    Unknown,
    Failed,
    Value(String, Option<Mark>),
}

/// Caveat of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    LessPrecise,
    Predicted,
    Invalid,
}

impl CellContent {
    fn mark(&self) -> Option<Mark> {
        match self {
            Self::Value(_, mark) => *mark,
            _ => None,
        }
    }

    fn cell(&self) -> GridCell {
        let (text, ink) = match self {
            Self::Open => (".".into(), Ink::Dim),
            Self::Unknown => ("-".into(), Ink::Plain),
            Self::Failed => ("x".into(), Ink::Bad),
            Self::Value(text, None) => (text.clone(), Ink::Plain),
            Self::Value(text, Some(Mark::LessPrecise)) => (format!("{text}?"), Ink::Plain),
            Self::Value(text, Some(Mark::Predicted)) => (format!("~{text}"), Ink::Dim),
            Self::Value(text, Some(Mark::Invalid)) => (format!("({text})"), Ink::Doubt),
        };
        GridCell::new(text, ink)
    }
}

/// Option with its values in the plan's order.
type Axis<'p> = (&'p str, Vec<&'p str>);

/// Properties shared by the points of a grid.
#[derive(PartialEq)]
struct Group<'p> {
    part: &'p str,
    fixed: Vec<&'p (String, String)>,
    rows: Axis<'p>,
    columns: Axis<'p>,
}

impl<'p> Group<'p> {
    /// The grid spans the two longest axes of the point's part.
    fn of(point: &'p PlannedPoint, planned: &'p [PlannedPoint]) -> Option<Self> {
        let part = || planned.iter().filter(|other| other.part == point.part);
        let axis = |(option, _): &'p (String, String)| -> Axis<'p> {
            (option, distinct(part().filter_map(|other| value(other, option))))
        };
        let mut axes: Vec<Axis<'p>> = point.at.iter().map(axis).collect();
        axes.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
        let mut axes = axes.into_iter().filter(|(_, values)| values.len() > 1);
        let (rows, columns) = (axes.next()?, axes.next()?);
        let is_fixed = |at: &&(String, String)| at.0 != rows.0 && at.0 != columns.0;
        Some(Self {
            part: &point.part,
            fixed: point.at.iter().filter(is_fixed).collect(),
            rows,
            columns,
        })
    }

    /// Grid of `points` and their `places`, in the same order, with its heading; `None` if wider
    /// than the terminal.
    fn text(
        &self,
        points: &[&PlannedPoint],
        places: &[CellContent],
        target: Option<&str>,
        shown: GridQuantity,
        style: &Style,
    ) -> Option<String> {
        // Rows and columns without any point that was measured or predicted are left out.
        let shown_of = |(option, values): &Axis<'p>| -> Vec<&'p str> {
            let known =
                points.iter().zip(places).filter(|(_, of)| !matches!(of, CellContent::Open));
            let known: Vec<&str> = known.filter_map(|(point, _)| value(point, option)).collect();
            values.iter().copied().filter(|value| known.contains(value)).collect()
        };
        let (own_rows, own_columns) = (shown_of(&self.rows), shown_of(&self.columns));
        let corner = clean(&format!("{} \\ {}", self.rows.0, self.columns.0));
        let headings: Vec<String> = own_columns.iter().map(|value| clean(value)).collect();
        let all = [&corner].into_iter().chain(&headings);
        let columns: Vec<_> = all.map(|heading| GridColumn::new(heading, 0, true)).collect();
        let row = |at: &&str| {
            let is_at = |point: &PlannedPoint, column: &str| {
                value(point, self.rows.0) == Some(at)
                    && value(point, self.columns.0) == Some(column)
            };
            let one = |column: &&str| {
                let found = points.iter().position(|point| is_at(point, column));
                found.map_or(GridCell::plain(""), |at| places[at].cell())
            };
            let first = GridCell::plain(clean(at));
            [first].into_iter().chain(own_columns.iter().map(one)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<GridCell>> = own_rows.iter().map(row).collect();
        if least_width(&columns, &rows) > style.width {
            return None;
        }
        let mut words: Vec<String> = vec![self.part.to_owned()];
        words.extend(self.fixed.iter().map(|(option, value)| format!("{option}={value}")));
        words.extend(target.map(|target| format!("on {target}")));
        words.push(shown.unit().into());
        words.retain(|word| !word.is_empty());
        let heading = Hanging { ink: Ink::Bold, ..Hanging::of(style) };
        Some(heading.lines(&[clean(&words.join(" "))]) + &grid(&columns, &rows, style, true).text)
    }
}

fn value<'p>(point: &'p PlannedPoint, option: &str) -> Option<&'p str> {
    point.at.iter().find(|(own, _)| own == option).map(|(_, value)| value.as_str())
}

fn measured(
    record: &RunRecord,
    assessment: &Assessment,
    n: usize,
    shown: GridQuantity,
) -> CellContent {
    let of = &record.measurements[n];
    if of.failure().is_some() {
        return CellContent::Failed;
    }
    let Some(value) = shown.of(of) else { return CellContent::Unknown };
    let mark = match assessment.of(n) {
        Some(judged) if judged.validity == Validity::Invalid => Some(Mark::Invalid),
        Some(judged) if judged.reasons.iter().any(|of| of.rule == "interval-too-wide") => {
            Some(Mark::LessPrecise)
        }
        _ => None,
    };
    CellContent::Value(shown.text(value), mark)
}

fn predicted(record: &RunRecord, its: Option<&Prediction>, shown: GridQuantity) -> CellContent {
    let bytes_per_io = |one: &Prediction| {
        let beside = record.measurements.get(one.beside)?;
        Some(rate(Metric::Bandwidth, beside)? / rate(Metric::Iops, beside)?)
    };
    let value = its.and_then(|one| match shown {
        GridQuantity::Rate(Metric::Bandwidth) => Some(one.iops.value * bytes_per_io(one)?),
        GridQuantity::Rate(_) => Some(one.iops.value),
        GridQuantity::P99 => None,
    });
    value.map_or(CellContent::Open, |value| {
        CellContent::Value(shown.text(value), Some(Mark::Predicted))
    })
}

/// Legend of invalid values in a table.
pub(super) const INVALID_LEGEND: &str = "( ) not valid as a measurement";

/// Legend of the marks used.
fn legend(marks: &[Mark], style: &Style) -> String {
    let meanings = [
        (Mark::LessPrecise, "? less precise than asked"),
        (Mark::Predicted, "~ predicted"),
        (Mark::Invalid, INVALID_LEGEND),
    ];
    let used = meanings.iter().filter(|(mark, _)| marks.contains(mark));
    let used: Vec<String> = used.map(|(_, says)| (*says).to_owned()).collect();
    Hanging { ink: Ink::Dim, separator: "   ", ..Hanging::of(style) }.lines(&used)
}
