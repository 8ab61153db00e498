//! Read p99 against background write and read rates: as a heat map with the line of the bound, and
//! as curves with their knees.

use iodyno_model::{Headroom, LoadCell, NoP99, format_count, format_duration_ns};

use crate::figure::{
    Axis, Content, Figure, Form, Panel, Point, Scale, Series, Stroke, Surface, SurfaceCell,
};
use crate::knee::knee;
use crate::{FigureError, Kind, Quantity, Request, Source};

/// A curve is drawn for every Nth write rate.
const EVERY: usize = 5;

pub(super) fn figure(request: &Request, _: &[Source<'_>]) -> Result<Figure, FigureError> {
    let known = &request.headroom;
    let Some(first) = known.first() else {
        let why = "no run measured reads under load (iodyno sweep headroom does)";
        return Err(FigureError::Nothing(why.into()));
    };
    let bound = format_duration_ns(first.p99_bound_ns as f64);
    let several = known.len() > 1;
    let panels = known.iter().flat_map(|of| {
        let title =
            |what: &str| if several { format!("{}: {what}", of.target) } else { what.into() };
        let what = if of.sync { "sync p99" } else { "p99" };
        let titles = ["writes and reads", "reads"].map(|by| title(&format!("{what} by {by}")));
        let [by_both, by_reads] = titles;
        [table(of, by_both), curves(of, by_reads)]
    });
    let cells = || known.iter().flat_map(|of| &of.cells);
    let open = match cells().any(|cell| cell.missing == Some(NoP99::NotMeasured)) {
        true => ", or they are beyond all measured loads",
        false => "",
    };
    // A flush is issued once its write is back, and not by the clock.
    let since =
        if known.iter().any(|of| of.sync) { "the issue of each flush" } else { "the due time" };
    let notes = vec![
        format!(
            "The line is a p99 of {bound}. Values that are written were measured, the others \
                 are interpolated; of white loads a rate is not reached (97 %){open}."
        ),
        format!("Latency counts from {since}. Knee: where more reads cost most (Kneedle)."),
    ];
    let panels = panels.collect();
    let targets: Vec<&str> = known.iter().map(|of| of.target.as_str()).collect();
    let subtitle = targets.join(", ");
    Ok(Figure { kind: Kind::Headroom, title: String::new(), subtitle, panels, notes })
}

/// Rates of the cells that differ in `place`, in ascending order, as text.
fn categories(
    of: &Headroom,
    place: impl Fn(&LoadCell) -> usize,
    rate: impl Fn(&LoadCell) -> f64,
) -> Vec<String> {
    let mut all: Vec<(usize, f64)> =
        of.cells.iter().map(|cell| (place(cell), rate(cell))).collect();
    all.sort_by_key(|(place, _)| *place);
    all.dedup_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, rate)| format_count(rate)).collect()
}

fn table(of: &Headroom, title: String) -> Panel {
    let cell = |cell: &LoadCell| {
        Some(SurfaceCell {
            column: cell.column,
            row: cell.row,
            ns: cell.p99_ns?.value,
            is_measured: cell.measurement.is_some(),
        })
    };
    let cells: Vec<SurfaceCell> = of.cells.iter().filter_map(cell).collect();
    let line = crossings(&cells, of.p99_bound_ns as f64);
    Panel {
        title,
        x: Axis::of_categories(
            "Writes (MB/s)",
            categories(of, |cell| cell.column, |cell| cell.write_bytes_per_s / 1e6),
        ),
        y: Axis::of_categories(
            "Reads per second",
            categories(of, |cell| cell.row, |cell| cell.read_iops),
        ),
        content: Content::Surface(Surface { name: "p99 latency".into(), cells, line }),
    }
}

/// Line where the bound is crossed between cells, in log latency: a segment within each square of
/// four (marching squares).
fn crossings(cells: &[SurfaceCell], bound: f64) -> Vec<[(f64, f64); 2]> {
    let at = |column: usize, row: usize| {
        let found = cells.iter().find(|cell| (cell.column, cell.row) == (column, row))?;
        Some((column as f64, row as f64, (found.ns / bound).ln()))
    };
    let mut pieces = Vec::new();
    for cell in cells {
        let (column, row) = (cell.column, cell.row);
        let corners = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(x, y)| at(column + x, row + y));
        let [Some(a), Some(b), Some(c), Some(d)] = corners else { continue };
        let crossed = [(a, b), (b, c), (c, d), (d, a)].into_iter().filter_map(|(from, to)| {
            let share = from.2 / (from.2 - to.2);
            ((from.2 <= 0.0) != (to.2 <= 0.0))
                .then_some((from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share))
        });
        let places: Vec<(f64, f64)> = crossed.collect();
        let pieces_here = places.chunks_exact(2).map(|pair| [pair[0], pair[1]]);
        // A corner that is only touched gives no line.
        pieces.extend(pieces_here.filter(|[from, to]| from != to));
    }
    pieces
}

/// p99 against reads, a line for every Nth write rate.
fn curves(of: &Headroom, title: String) -> Panel {
    let columns = of.cells.iter().map(|cell| cell.column).max().unwrap_or(0);
    let mut series = Vec::new();
    for column in (0..=columns).step_by(EVERY) {
        let own = || of.cells.iter().filter(move |cell| cell.column == column);
        let Some(writes) = own().next().map(|cell| cell.write_bytes_per_s) else { continue };
        let name = match writes > 0.0 {
            true => format!("{} MB/s of writes", format_count(writes / 1e6)),
            false => "no writes".into(),
        };
        let point = |cell: &LoadCell| Some(Point::new(cell.read_iops, cell.p99_ns?.value));
        let points: Vec<Point> = own().filter_map(point).collect();
        if points.len() < 2 {
            continue;
        }
        // Swapped axes: reads as a function of latency, a curve that flattens.
        let turned: Vec<(f64, f64)> = points.iter().map(|point| (point.y, point.x)).collect();
        let knee = knee(&turned).map(|at| Series {
            name: name.clone(),
            detail: "knee".into(),
            form: Form::Highlight,
            points: vec![points[at].clone()],
        });
        series.push(Series::new(name, Form::Line(Stroke::Solid), points));
        series.extend(knee);
    }
    let bound = of.p99_bound_ns as f64;
    let guide = [0.0, of.most_read_iops].map(|reads| Point::new(reads, bound));
    let name = format!("p99 of {}", format_duration_ns(bound));
    series.push(Series::new(name, Form::Guide, guide.to_vec()));
    Panel {
        title,
        x: Axis::new("Reads", Quantity::Iops, Scale::Linear),
        y: Axis::new("p99 latency", Quantity::Latency, super::latency_scale(&series)),
        content: Content::Series(series),
    }
}
