//! Meaning of a figure, independent of its drawing. Values are in base units (per second, bytes,
//! ns).

use std::collections::BTreeSet;

use iodyno_model::Node;

use crate::projection::Projection;
use crate::units::{round_step, unit};
use crate::{Kind, Metric, Quantity};

/// Maximum number of series, each with its own colour and symbol.
pub(crate) const MOST_SERIES: usize = 8;

/// Panels of one series each per row.
pub(crate) const MULTIPLES: u32 = 4;

/// An error bar longer than the second longest by this factor does not scale the axis.
const LONE_WHISKER: f64 = 1.5;

/// Height of a leaf of a tree with its text, pixels.
const ROW: u32 = 58;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Kind of figure.
    pub kind: Kind,
    /// Title.
    pub title: String,
    /// Properties shared by everything shown: workload, targets, generator.
    pub subtitle: String,
    /// Panels, in reading order.
    pub panels: Vec<Panel>,
    /// Notes for the reader, a sentence each.
    pub notes: Vec<String>,
}

impl Figure {
    /// Default width of a figure, pixels.
    pub const WIDTH: u32 = 1200;

    /// Preferred size, pixels: 1200 wide, and as high as its panels need.
    pub fn size(&self) -> (u32, u32) {
        let height = match (self.kind, self.panels.len() as u32) {
            (_, panels) if self.is_multiples() => 130 + 170 * panels.div_ceil(MULTIPLES),
            (Kind::Time | Kind::Course, panels) => 130 + 240 * panels,
            (Kind::Convergence | Kind::Window, panels) => 180 + 340 * panels.div_ceil(3),
            (Kind::Grid | Kind::Grid3d, 1) => 760,
            (Kind::Grid | Kind::Grid3d, panels) => 120 + 480 * panels.div_ceil(2),
            (Kind::Compare | Kind::Ratio, panels) if self.is_heat_map() => {
                140 + panels * (90 + 26 * self.most_rows())
            }
            (Kind::Compare | Kind::Ratio, panels) => {
                140 + panels.div_ceil(2) * self.rows().clamp(220, 1200)
            }
            (Kind::Headroom, panels) => 130 + 560 * panels,
            (Kind::Topology, _) => return self.tree_size(),
            _ => 560.max(150 + 26 * self.most_rows()),
        };
        (Self::WIDTH, height + 24 * self.legend_rows().saturating_sub(1))
    }

    /// True if each series has its own panel, with the same axes.
    pub(crate) fn is_multiples(&self) -> bool {
        let is_split =
            matches!(self.kind, Kind::Time | Kind::Course | Kind::Latency | Kind::Scaling);
        is_split && self.panels.len() > MOST_SERIES
    }

    /// True if its panels are heat maps.
    pub(crate) fn is_heat_map(&self) -> bool {
        self.panels.iter().all(|panel| matches!(panel.content, Content::Cells(_)))
    }

    /// The most categories in one vertical axis.
    fn most_rows(&self) -> u32 {
        let rows = self.panels.iter().map(|panel| panel.y.categories().len() as u32);
        rows.max().unwrap_or(0)
    }

    /// Size for the text at each node of a tree.
    fn tree_size(&self) -> (u32, u32) {
        let trees = self.panels.iter().filter_map(|panel| match &panel.content {
            Content::Tree(root) => Some((levels(root), leaves(root))),
            _ => None,
        });
        let (levels, leaves) =
            trees.fold((0, 0), |(a, b), (levels, leaves)| (a.max(levels), b.max(leaves)));
        ((levels * 190).clamp(Self::WIDTH, 2400), (120 + leaves * ROW).clamp(320, 8000))
    }

    /// Approximate number of rows in the legend.
    fn legend_rows(&self) -> u32 {
        let all = self.panels.iter().flat_map(Panel::series).map(|one| one.name.as_str());
        let names: BTreeSet<&str> = all.collect();
        let width: usize = names.iter().map(|name| 45 + 8 * name.chars().count()).sum();
        (width as u32).div_ceil(Self::WIDTH)
    }

    /// Height of the categories of the first panel, pixels.
    fn rows(&self) -> u32 {
        let Some(panel) = self.panels.first() else { return 0 };
        80 + panel.y.categories().len() as u32 * (14 + 20 * panel.series().len() as u32)
    }
}

/// Nodes on the longest path from a root.
pub(crate) fn levels(node: &Node) -> u32 {
    1 + node.children.iter().map(levels).max().unwrap_or(0)
}

/// Nodes without children.
pub(crate) fn leaves(node: &Node) -> u32 {
    node.children.iter().map(leaves).sum::<u32>().max(1)
}

/// One coordinate system.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Title; may be empty.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Content.
    pub content: Content,
}

impl Panel {
    /// A panel of series without a title.
    pub(crate) fn of_series(x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { title: String::new(), x, y, content: Content::Series(series) }
    }

    /// Its series; empty for other content.
    pub fn series(&self) -> &[Series] {
        match &self.content {
            Content::Series(series) => series,
            Content::Cells(_) | Content::Surface(_) | Content::Towers(_) | Content::Tree(_) => &[],
        }
    }

    /// True for horizontal bars: categories are on the vertical axis.
    pub(crate) const fn is_horizontal(&self) -> bool {
        matches!(self.y.scale, Scale::Categories(_))
    }

    /// Limits of the measured axis for error bars, (down, up): a single one much longer than the
    /// others would squeeze the values.
    pub(crate) fn whisker_limits(&self) -> (f64, f64) {
        let points = || self.series().iter().flat_map(|one| &one.points);
        let value = |point: &Point| if self.is_horizontal() { point.x } else { point.y };
        // The longest, and the extent of everything else: the values and the second longest.
        let (mut longest, mut second) = (0.0, points().map(value).fold(0.0, f64::max));
        let (mut least, mut next) =
            (f64::INFINITY, points().map(value).fold(f64::INFINITY, f64::min));
        for (low, high) in points().filter_map(|point| point.interval) {
            (longest, second) = if high > longest {
                (high, second.max(longest))
            } else {
                (longest, second.max(high))
            };
            (least, next) =
                if low < least { (low, next.min(least)) } else { (least, next.min(low)) };
        }
        let is_log = !matches!(self.measured_axis().scale, Scale::Linear | Scale::Categories(_));
        let down =
            if is_log && least * 2.0 * LONE_WHISKER < next { next / LONE_WHISKER } else { 0.0 };
        let up = if longest > LONE_WHISKER * second {
            second * (1.0 + LONE_WHISKER) / 2.0
        } else {
            f64::INFINITY
        };
        (down, up)
    }

    const fn measured_axis(&self) -> &Axis {
        if self.is_horizontal() { &self.x } else { &self.y }
    }

    /// Ends the axis at a round value if an error bar leaves it. Returns the names and ends of those
    /// that do, in words; empty if none does.
    pub(crate) fn cut_whiskers(&mut self) -> String {
        let (mut down, mut up) = self.whisker_limits();
        if matches!(self.measured_axis().scale, Scale::Linear) {
            let step = round_step(up);
            if step > 0.0 {
                up = (up / step).ceil() * step;
                let axis = if self.is_horizontal() { &mut self.x } else { &mut self.y };
                axis.end.get_or_insert(up);
            }
        } else {
            (down, up) = (10f64.powf(down.log10().floor()), 10f64.powf(up.log10().ceil()));
        }
        let words = |series: &Series, point: &Point| {
            let (low, high) = point.interval?;
            let end =
                if high > up { high } else { Some(low).filter(|_| low > 0.0 && low < down)? };
            let (unit, divisor) = unit(self.measured_axis().quantity, end);
            let end = format!("{} {unit}", iodyno_model::format_count(end / divisor));
            Some(format!("{} ends at {}", self.name_of(series, point), end.trim_end()))
        };
        let all = self.series().iter().flat_map(|one| one.points.iter().map(move |of| (one, of)));
        all.filter_map(|(one, point)| words(one, point)).collect::<Vec<_>>().join(", ")
    }

    /// Name of a point: its row, or else its series.
    pub(crate) fn name_of<'a>(&'a self, series: &'a Series, point: &Point) -> &'a str {
        self.y.categories().get(point.y as usize).unwrap_or(&series.name)
    }
}

/// Content of a panel.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Lines, bars or points.
    Series(Vec<Series>),
    /// Heat map.
    Cells(Cells),
    /// Heat map of latencies by their logarithm, with the line of a bound.
    Surface(Surface),
    /// 3D bars.
    Towers(Cells),
    /// Tree; its axes are unused.
    Tree(Node),
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Name, without the unit.
    pub name: String,
    /// Quantity.
    pub quantity: Quantity,
    /// Scale.
    pub scale: Scale,
    /// End of the axis, if not that of the values.
    pub end: Option<f64>,
}

/// Scale of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Linear, from 0.
    Linear,
    /// Logarithmic.
    Log,
    /// Logarithmic, with ticks at these values only.
    Doublings(Vec<f64>),
    /// One position each; a value is an index.
    Categories(Vec<String>),
}

/// A series of points.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend; series of one name share an entry and a colour.
    pub name: String,
    /// Part of that name, if there are several: `p99`.
    pub detail: String,
    /// Form in which it is drawn.
    pub form: Form,
    /// Points, in order.
    pub points: Vec<Point>,
}

/// Form of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line through the points.
    Line(Stroke),
    /// A line with markers.
    Marked,
    /// Filled steps: a value holds until the next point.
    Steps,
    /// Points alone.
    Points,
    /// Bars, horizontal if the vertical axis has the categories.
    Bars,
    /// A single highlighted point: a knee.
    Highlight,
    /// A reference line, not measured: an ideal, a ceiling.
    Guide,
}

/// Line style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Solid.
    Solid,
    /// Dashed.
    Dashed,
    /// Dotted.
    Dotted,
}

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position; NaN: a gap in a line.
    pub y: f64,
    /// Lower and upper end of the interval along the measured axis.
    pub interval: Option<(f64, f64)>,
    /// Confidence level of the interval, 0..1; `None`: it is the range of repeated measurements.
    pub level: Option<f64>,
    /// True if its interval is too wide to be drawn.
    pub is_open: bool,
    /// Label; may be empty.
    pub label: String,
    /// True if predicted, not measured: its interval is what measured points leave.
    pub is_predicted: bool,
}

impl Point {
    /// A measured point without interval and label.
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            interval: None,
            level: None,
            is_open: false,
            label: String::new(),
            is_predicted: false,
        }
    }

    /// A place without a value, where a line is interrupted.
    pub(crate) const fn gap(x: f64) -> Self {
        Self::new(x, f64::NAN)
    }

    /// True if it has no value.
    pub const fn is_gap(&self) -> bool {
        self.y.is_nan()
    }
}

impl Series {
    /// A series without a detail.
    pub(crate) fn new(name: impl Into<String>, form: Form, points: Vec<Point>) -> Self {
        Self { name: name.into(), detail: String::new(), form, points }
    }

    /// A line through values over time, with a gap between those that are not consecutive; empty if
    /// there are none.
    pub(crate) fn line_points(values: impl Iterator<Item = (f64, Option<f64>)>) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        for (x, y) in values {
            match y.filter(|y| y.is_finite()) {
                Some(y) => points.push(Point::new(x, y)),
                None if points.last().is_some_and(|last| !last.is_gap()) => {
                    points.push(Point::gap(x));
                }
                None => {}
            }
        }
        points.pop_if(|last| last.is_gap());
        points
    }

    /// True if some of its points are predicted.
    pub(crate) fn has_predicted(&self) -> bool {
        self.points.iter().any(|point| point.is_predicted)
    }
}

/// Values over a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Name of the values.
    pub name: String,
    /// Their quantity.
    pub quantity: Quantity,
    /// Values by column and row, indices into the axes' categories.
    pub cells: Vec<Cell>,
}

/// Latencies over a table, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// Name of the values.
    pub name: String,
    /// Values by column and row, indices into the axes' categories.
    pub cells: Vec<SurfaceCell>,
    /// Line where a bound is crossed, as segments, in columns and rows from the middle of the first
    /// cell.
    pub line: Vec<[(f64, f64); 2]>,
}

/// Latency in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceCell {
    /// Index into the categories of the horizontal axis.
    pub column: usize,
    /// Index into the categories of the vertical axis.
    pub row: usize,
    /// The latency, ns.
    pub ns: f64,
    /// True if measured, in which case the value is printed.
    pub is_measured: bool,
}

/// Value in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Index into the categories of the horizontal axis.
    pub column: usize,
    /// Index into the categories of the vertical axis.
    pub row: usize,
    /// The value.
    pub value: f64,
    /// Lower and upper end of its interval, if predicted and not measured.
    pub predicted: Option<(f64, f64)>,
}

impl Cells {
    /// Bars as (column, row, value).
    pub(crate) fn bars(&self) -> Vec<(usize, usize, f64)> {
        self.cells.iter().map(|cell| (cell.column, cell.row, cell.value)).collect()
    }

    /// Projection of the values as 3D bars.
    pub(crate) fn projection(&self, x: &Axis, y: &Axis) -> Projection {
        Projection::of(x.categories().len(), y.categories().len(), &self.bars())
    }
}

impl Axis {
    /// An axis that ends with its values.
    pub(crate) fn new(name: impl Into<String>, quantity: Quantity, scale: Scale) -> Self {
        Self { name: name.into(), quantity, scale, end: None }
    }

    /// An axis of categories.
    pub(crate) fn of_categories(name: impl Into<String>, categories: Vec<String>) -> Self {
        Self::new(name, Quantity::Count, Scale::Categories(categories))
    }

    /// The linear axis of a metric.
    pub(crate) fn of_metric(metric: Metric) -> Self {
        Self::new(metric.name(), metric.quantity(), Scale::Linear)
    }

    /// Its categories; empty for other scales.
    pub fn categories(&self) -> &[String] {
        match &self.scale {
            Scale::Categories(names) => names,
            _ => &[],
        }
    }
}
