//! What a figure means. Values are in base units (per second, bytes, ns).

use std::collections::BTreeSet;

use iodyno_model::Node;

use crate::projection::Projection;
use crate::units::unit;
use crate::{Kind, Quantity};

/// Series of a figure, each with its colour and its shape.
pub(crate) const MOST_SERIES: usize = 8;

/// Panels of one series each that stand side by side.
pub(crate) const MULTIPLES: u32 = 4;

/// A whisker that is longer than the second longest by this factor does not set the axis.
const LONE: f64 = 1.5;

/// Height of a leaf of a tree, with its words, pixels.
const ROW: u32 = 58;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub kind: Kind,
    /// What stands above it.
    pub title: String,
    /// What all that it shows has in common: workload, targets, generator.
    pub subtitle: String,
    /// Its parts, in reading order.
    pub panels: Vec<Panel>,
    /// What a reader has to know, a sentence each.
    pub notes: Vec<String>,
}

impl Figure {
    /// How wide a figure is unless told otherwise, pixels.
    pub const WIDTH: u32 = 1200;

    /// The size that it wants, pixels: 1200 wide, and as high as its panels take.
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
            (Kind::Topology, _) => return self.tree_size(),
            _ => 560.max(150 + 26 * self.most_rows()),
        };
        (Self::WIDTH, height + 24 * self.legend_rows().saturating_sub(1))
    }

    /// Whether each series has a panel of its own, all with the same axes.
    pub(crate) fn is_multiples(&self) -> bool {
        let is_split =
            matches!(self.kind, Kind::Time | Kind::Course | Kind::Latency | Kind::Scaling);
        is_split && self.panels.len() > MOST_SERIES
    }

    /// Whether its panels are tables of colours.
    pub(crate) fn is_heat_map(&self) -> bool {
        self.panels.iter().all(|panel| matches!(panel.content, Content::Cells(_)))
    }

    /// The most categories that stand above each other.
    fn most_rows(&self) -> u32 {
        let rows = self.panels.iter().map(|panel| panel.y.categories().len() as u32);
        rows.max().unwrap_or(0)
    }

    /// Room for the words at each node of a tree.
    fn tree_size(&self) -> (u32, u32) {
        let trees = self.panels.iter().filter_map(|panel| match &panel.content {
            Content::Tree(root) => Some((levels(root), leaves(root))),
            _ => None,
        });
        let (levels, leaves) =
            trees.fold((0, 0), |(a, b), (levels, leaves)| (a.max(levels), b.max(leaves)));
        ((levels * 190).clamp(Self::WIDTH, 2400), (120 + leaves * ROW).clamp(320, 8000))
    }

    /// Rows of names in the legend, roughly.
    fn legend_rows(&self) -> u32 {
        let all = self.panels.iter().flat_map(Panel::series).map(|one| one.name.as_str());
        let names: BTreeSet<&str> = all.collect();
        let width: usize = names.iter().map(|name| 45 + 8 * name.chars().count()).sum();
        (width as u32).div_ceil(Self::WIDTH)
    }

    /// Room that the categories of the first panel take, pixels.
    fn rows(&self) -> u32 {
        let Some(panel) = self.panels.first() else { return 0 };
        80 + panel.y.categories().len() as u32 * (14 + 20 * panel.series().len() as u32)
    }
}

/// Nodes on the longest way from a root.
pub(crate) fn levels(node: &Node) -> u32 {
    1 + node.children.iter().map(levels).max().unwrap_or(0)
}

/// Nodes that have nothing behind them.
pub(crate) fn leaves(node: &Node) -> u32 {
    node.children.iter().map(leaves).sum::<u32>().max(1)
}

/// One coordinate system.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What stands above it; may be empty.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn in it.
    pub content: Content,
}

impl Panel {
    /// Its series; empty where it shows a table.
    pub fn series(&self) -> &[Series] {
        match &self.content {
            Content::Series(series) => series,
            Content::Cells(_) | Content::Towers(_) | Content::Tree(_) => &[],
        }
    }

    /// Whether values lie across and categories stand upwards.
    pub(crate) const fn is_lying(&self) -> bool {
        matches!(self.y.scale, Scale::Categories(_))
    }

    /// As far as whiskers stretch the measured axis, (down, up): a single one that is much
    /// longer than all others would leave no room for what was measured.
    pub(crate) fn reach(&self) -> (f64, f64) {
        let points = || self.series().iter().flat_map(|one| &one.points);
        let value = |point: &Point| if self.is_lying() { point.x } else { point.y };
        // The longest, and what all else takes: the values and the second longest.
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
        let down = if is_log && least * 2.0 * LONE < next { next / LONE } else { 0.0 };
        let up = if longest > LONE * second { second * (1.0 + LONE) / 2.0 } else { f64::INFINITY };
        (down, up)
    }

    const fn measured_axis(&self) -> &Axis {
        if self.is_lying() { &self.x } else { &self.y }
    }

    /// Where whiskers that leave the panel end, in words; empty: none does.
    pub(crate) fn cut_whiskers(&self) -> String {
        let (down, up) = self.reach();
        let ends =
            self.series().iter().flat_map(|one| &one.points).filter_map(|point| point.interval);
        let cut = ends.flat_map(|(low, high)| {
            [(low > 0.0 && low < down).then_some(low), (high > up).then_some(high)]
        });
        let words = |end: f64| {
            let (unit, divisor) = unit(self.measured_axis().quantity, end);
            format!("{} {unit}", iodyno_model::format_count(end / divisor))
        };
        cut.flatten().map(|end| words(end).trim_end().to_owned()).collect::<Vec<_>>().join(", ")
    }
}

/// What is drawn in a panel.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Lines, bars or points.
    Series(Vec<Series>),
    /// A heat map.
    Cells(Cells),
    /// Bars in space.
    Towers(Cells),
    /// What hangs on what; its axes mean nothing.
    Tree(Node),
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Its name, without the unit.
    pub name: String,
    /// What it counts.
    pub quantity: Quantity,
    /// How values become places.
    pub scale: Scale,
    /// Where it ends, if not with the values.
    pub end: Option<f64>,
}

/// How values become places.
#[derive(Debug, Clone, PartialEq)]
pub enum Scale {
    /// Evenly, from 0.
    Linear,
    /// By their logarithm.
    Log,
    /// By the logarithm, with ticks at these values alone.
    Doublings(Vec<f64>),
    /// One place each; a value is an index.
    Categories(Vec<String>),
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; series of one name share an entry and a colour.
    pub name: String,
    /// What of it this is, where there are several: `p99`.
    pub detail: String,
    /// How it is drawn.
    pub form: Form,
    /// Its points, in order.
    pub points: Vec<Point>,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line through its points.
    Line(Stroke),
    /// A line through points that are marked.
    Marked,
    /// The area under steps: a value holds until the next point.
    Steps,
    /// Points alone.
    Points,
    /// Bars, across where the vertical axis has the categories.
    Bars,
    /// A single point that is to be noticed: a knee.
    Highlight,
    /// What nothing was measured for: an ideal, a ceiling.
    Guide,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// In one stroke.
    Solid,
    /// Dashed.
    Dashed,
    /// Dotted.
    Dotted,
}

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Lower and upper end of the interval along the measured axis.
    pub interval: Option<(f64, f64)>,
    /// What is written at it; may be empty.
    pub label: String,
    /// It was not measured: its interval is what measured ones leave.
    pub is_predicted: bool,
}

impl Point {
    /// A measured point without an interval and a label.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None, label: String::new(), is_predicted: false }
    }
}

impl Series {
    /// Whether some of its points were not measured.
    pub(crate) fn has_predicted(&self) -> bool {
        self.points.iter().any(|point| point.is_predicted)
    }
}

/// Values over a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// What is counted.
    pub name: String,
    /// In which unit.
    pub quantity: Quantity,
    /// Values by column and row, indices into the axes' categories.
    pub cells: Vec<Cell>,
}

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Index into the categories across.
    pub column: usize,
    /// Index into the categories upwards.
    pub row: usize,
    /// The value.
    pub value: f64,
    /// Lower and upper end of its interval, where it was predicted and not measured.
    pub predicted: Option<(f64, f64)>,
}

impl Cells {
    /// As (column, row, value).
    pub(crate) fn bars(&self) -> Vec<(usize, usize, f64)> {
        self.cells.iter().map(|cell| (cell.column, cell.row, cell.value)).collect()
    }

    /// How they are seen as bars in space.
    pub(crate) fn projection(&self, x: &Axis, y: &Axis) -> Projection {
        Projection::of(x.categories().len(), y.categories().len(), &self.bars())
    }
}

impl Axis {
    /// Its categories; empty where it counts.
    pub fn categories(&self) -> &[String] {
        match &self.scale {
            Scale::Categories(names) => names,
            _ => &[],
        }
    }
}
