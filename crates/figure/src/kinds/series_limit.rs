//! Limits the number of series: with more, a figure is transposed, becomes a heat map, or gets a
//! panel per series.

use crate::Kind;
use crate::Quantity;
use crate::figure::{
    Axis, Cell, Cells, Content, Figure, Form, MOST_SERIES, Panel, Point, Scale, Series,
};
use crate::request::size_text;

/// Maximum number of panels.
const MOST_PANELS: usize = 24;

/// Reduces a figure to [`MOST_SERIES`] names per panel, and notes the change in its subtitle.
pub(super) fn limit(figure: &mut Figure) {
    let names = names(figure);
    if names.len() <= MOST_SERIES {
        return;
    }
    let rows = figure.panels.iter().map(|panel| panel.y.categories().len()).max().unwrap_or(0);
    let words = match figure.kind {
        Kind::Compare | Kind::Ratio if rows <= MOST_SERIES => {
            figure.panels.iter_mut().for_each(|panel| transpose(panel, &names));
            return;
        }
        Kind::Compare | Kind::Ratio => {
            figure.panels.iter_mut().for_each(|panel| tabulate_bars(panel, &names));
            "as a heat map, without intervals".to_owned()
        }
        Kind::Blocksize | Kind::Depth => {
            // A panel with a rate as its horizontal axis has no columns.
            figure.panels.retain(|panel| matches!(panel.x.scale, Scale::Doublings(_)));
            figure.panels.iter_mut().for_each(|panel| tabulate(panel, &names));
            format!("{} series as a heat map", names.len())
        }
        _ => {
            let shown = selected(figure, &names);
            give_each_a_panel(figure, &shown);
            match shown.len() == names.len() {
                true => format!("{} series, a panel each", names.len()),
                false => format!(
                    "{} of {} series, from the lowest to the highest, a panel each",
                    shown.len(),
                    names.len()
                ),
            }
        }
    };
    let separator = if figure.subtitle.is_empty() { "" } else { " · " };
    figure.subtitle = format!("{}{separator}{words}", figure.subtitle);
}

/// Names of the measured series, in order of appearance.
fn names(figure: &Figure) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for one in figure.panels.iter().flat_map(Panel::series) {
        if one.form != Form::Guide && !names.contains(&one.name) {
            names.push(one.name.clone());
        }
    }
    names
}

/// Selects all names, or [`MOST_PANELS`] of them in their order, evenly spaced from the lowest to
/// the highest by their means in the main panel.
fn selected(figure: &Figure, names: &[String]) -> Vec<String> {
    if names.len() <= MOST_PANELS {
        return names.to_vec();
    }
    let mean = |name: &String| {
        let of = main_panel(figure).series().iter().find(|one| one.name == *name);
        of.map_or(0.0, |of| {
            let known = || of.points.iter().filter(|point| !point.is_gap());
            known().map(|point| point.y).sum::<f64>() / known().count() as f64
        })
    };
    let mut ranked: Vec<(f64, &String)> = names.iter().map(|name| (mean(name), name)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let place = |n: usize| n * (ranked.len() - 1) / (MOST_PANELS - 1);
    let selected: Vec<&String> = (0..MOST_PANELS).map(|n| ranked[place(n)].1).collect();
    names.iter().filter(|name| selected.contains(name)).cloned().collect()
}

/// Main panel: the percentile curve, else the first.
fn main_panel(figure: &Figure) -> &Panel {
    let at = if figure.kind == Kind::Latency { figure.panels.len() - 1 } else { 0 };
    &figure.panels[at]
}

/// Gives each name a panel of its own, from the main panel.
fn give_each_a_panel(figure: &mut Figure, names: &[String]) {
    let Panel { x, y, content: Content::Series(series), .. } = main_panel(figure) else { return };
    // Of stacked panels only the lowest names the horizontal axis.
    let across = if x.name.is_empty() {
        figure.panels.last().map_or("", |panel| &panel.x.name)
    } else {
        &x.name
    };
    let x = Axis { name: across.to_owned(), ..x.clone() };
    let is_guide = |one: &Series| one.form == Form::Guide;
    // A guide belongs to the series after it; without one, to all.
    let last = series.iter().rposition(|one| !is_guide(one)).unwrap_or(0);
    let panel = |name: &String| {
        let mut of_name: Vec<Series> = Vec::new();
        for (at, one) in series.iter().enumerate() {
            let measured = series[at..].iter().find(|one| !is_guide(one));
            if at > last || measured.is_some_and(|one| one.name == *name) {
                of_name.push(one.clone());
            }
        }
        // The panel has the name, and all of them the same colour.
        of_name
            .iter_mut()
            .filter(|one| !is_guide(one))
            .for_each(|one| one.name.clone_from(&y.name));
        let (x, y, content) = (x.clone(), y.clone(), Content::Series(of_name));
        Panel { title: name.clone(), x, y, content }
    };
    figure.panels = names.iter().map(panel).filter(|panel| !panel.series().is_empty()).collect();
}

/// Swaps categories and series.
fn transpose(panel: &mut Panel, names: &[String]) {
    let Content::Series(series) = &mut panel.content else { return };
    let rows = std::mem::replace(&mut panel.y.scale, Scale::Categories(names.to_vec()));
    let Scale::Categories(rows) = rows else { return };
    let (guides, bars): (Vec<Series>, Vec<Series>) =
        series.drain(..).partition(|one| one.form == Form::Guide);
    let of_row = |(row, name): (usize, String)| {
        let bar = |one: &Series| {
            let point = one.points.iter().find(|point| point.y == row as f64)?;
            let y = names.iter().position(|name| *name == one.name)? as f64;
            Some(Point { y, ..point.clone() })
        };
        let points = bars.iter().filter_map(bar).collect();
        Series::new(name, Form::Bars, points)
    };
    *series = rows.into_iter().enumerate().map(of_row).collect();
    series.extend(guides);
}

/// Turns lines over numbers into a heat map: a row per name.
fn tabulate(panel: &mut Panel, names: &[String]) {
    let (Scale::Doublings(columns), Content::Series(series)) = (&panel.x.scale, &panel.content)
    else {
        return;
    };
    let row = |name: &String| names.iter().position(|known| known == name);
    let cells = series.iter().filter(|one| matches!(one.form, Form::Marked | Form::Points));
    let cells = cells.flat_map(|one| {
        one.points.iter().filter_map(|point| {
            Some(Cell {
                column: columns.iter().position(|x| *x == point.x)?,
                row: row(&one.name)?,
                value: point.y,
                predicted: point.interval.filter(|_| point.is_predicted),
            })
        })
    });
    let cells =
        Cells { name: panel.y.name.clone(), quantity: panel.y.quantity, cells: cells.collect() };
    let text = |value: &f64| match panel.x.quantity {
        Quantity::Size => size_text(*value as u64),
        _ => value.to_string(),
    };
    panel.x.scale = Scale::Categories(columns.iter().map(text).collect());
    panel.y = Axis::of_categories("", names.to_vec());
    panel.content = Content::Cells(cells);
}

/// Turns bars into a heat map: the shorter of names and rows becomes its columns.
fn tabulate_bars(panel: &mut Panel, names: &[String]) {
    let (Scale::Categories(rows), Content::Series(series)) = (&panel.y.scale, &panel.content)
    else {
        return;
    };
    let names_across = names.len() <= rows.len();
    let cells = series.iter().filter(|one| one.form == Form::Bars).flat_map(|one| {
        let column = names.iter().position(|name| *name == one.name).unwrap_or(0);
        one.points.iter().map(move |point| {
            let row = point.y as usize;
            let (column, row) = if names_across { (column, row) } else { (row, column) };
            let predicted = point.interval.filter(|_| point.is_predicted);
            Cell { column, row, value: point.x, predicted }
        })
    });
    let content =
        Cells { name: panel.x.name.clone(), quantity: panel.x.quantity, cells: cells.collect() };
    let across = Axis::of_categories("", names.to_vec());
    let upwards = Axis::of_categories("", rows.clone());
    panel.content = Content::Cells(content);
    (panel.x, panel.y) = if names_across { (across, upwards) } else { (upwards, across) };
}
