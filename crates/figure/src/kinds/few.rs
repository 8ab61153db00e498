//! No more series than can be told apart: of more a figure is turned round, becomes a table of
//! colours, or shows a choice.

use crate::Kind;
use crate::Quantity;
use crate::figure::{
    Axis, Cell, Cells, Content, Figure, Form, MOST_SERIES, Panel, Point, Scale, Series,
};
use crate::request::size_text;

/// Brings a figure down to [`MOST_SERIES`] names and says so in its subtitle.
pub(super) fn limit(figure: &mut Figure) {
    let names = names(figure);
    if names.len() <= MOST_SERIES {
        return;
    }
    let rows = figure.panels.iter().map(|panel| panel.y.categories().len()).max().unwrap_or(0);
    let words = match figure.kind {
        Kind::Compare | Kind::Ratio if rows <= MOST_SERIES => {
            figure.panels.iter_mut().for_each(|panel| turn(panel, &names));
            return;
        }
        Kind::Blocksize | Kind::Depth => {
            // What is against a rate has no columns.
            figure.panels.retain(|panel| matches!(panel.x.scale, Scale::Doublings(_)));
            figure.panels.iter_mut().for_each(|panel| tabulate(panel, &names));
            figure.notes.retain(|note| !note.starts_with("Knee:"));
            format!("{} series as a heat map", names.len())
        }
        _ => {
            let few = chosen(figure, &names);
            for panel in &mut figure.panels {
                if let Content::Series(all) = &mut panel.content {
                    all.retain(|one| one.form == Form::Guide || few.contains(&one.name));
                }
            }
            format!("{} of {} series, from the lowest to the highest", few.len(), names.len())
        }
    };
    let separator = if figure.subtitle.is_empty() { "" } else { " · " };
    figure.subtitle = format!("{}{separator}{words}", figure.subtitle);
}

/// Names of what was measured, in order of appearance.
fn names(figure: &Figure) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for one in figure.panels.iter().flat_map(Panel::series) {
        if one.form != Form::Guide && !names.contains(&one.name) {
            names.push(one.name.clone());
        }
    }
    names
}

/// Evenly from the least to the greatest, by their means in the first panel that has them.
fn chosen(figure: &Figure, names: &[String]) -> Vec<String> {
    let mean = |name: &String| {
        let of = figure.panels.iter().flat_map(Panel::series).find(|one| one.name == *name);
        of.map_or(0.0, |of| {
            of.points.iter().map(|point| point.y).sum::<f64>() / of.points.len() as f64
        })
    };
    let mut ranked: Vec<(f64, &String)> = names.iter().map(|name| (mean(name), name)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let place = |n: usize| n * (ranked.len() - 1) / (MOST_SERIES - 1);
    (0..MOST_SERIES).map(|n| ranked[place(n)].1.clone()).collect()
}

/// Makes categories of the series, and series of the categories.
fn turn(panel: &mut Panel, names: &[String]) {
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
        Series { name, detail: String::new(), form: Form::Bars, points }
    };
    *series = rows.into_iter().enumerate().map(of_row).collect();
    series.retain(|one| !one.points.is_empty());
    series.extend(guides);
}

/// Makes a heat map of lines over numbers: a row for each name.
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
    panel.y = Axis {
        name: String::new(),
        quantity: Quantity::Count,
        scale: Scale::Categories(names.to_vec()),
        end: None,
    };
    panel.content = Content::Cells(cells);
}
