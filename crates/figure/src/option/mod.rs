//! Converts a figure to an ECharts option object; no other module knows its format.
//!
//! Everything in the object is JSON. Functions are given by name (`"formatter": "scaled:1000"`,
//! `"renderItem": "whiskers"`) and bound by `assets/draw.js`, which also places titles, legend and
//! panels in the available room.

mod axes;
mod cells;
mod multiples;
mod series;
mod surface;
mod theme;
mod tree;

use serde_json::{Value, json};

use self::axes::{Orientation, unit};
use self::theme::{Theme, theme};
use crate::Kind;
use crate::figure::{Content, Figure, Form, MULTIPLES, Panel, Series};
use crate::kinds::spec;

/// Returns the ECharts option object of the figure, for `SCRIPT`'s `iodyno.draw` and `iodyno.svg`.
pub fn option(figure: &Figure, dark: bool) -> Value {
    let theme = theme(dark);
    let names = names(figure);
    // Guides come last, and take no slot among bars.
    let guides: Vec<&str> = (figure.panels.iter().flat_map(Panel::series))
        .filter(|one| one.form == Form::Guide)
        .map(|one| one.name.as_str())
        .collect();
    let count = names.iter().filter(|name| !guides.contains(name)).count();
    let is_multiples = figure.is_multiples();
    let common = is_multiples.then(|| multiples::Common::of(figure));
    let (mut x, mut y, mut all, mut colors) = (vec![], vec![], vec![], vec![]);
    for (index, panel) in figure.panels.iter().enumerate() {
        if let Content::Towers(cells) = &panel.content {
            x.push(cells::unit_axis(index));
            y.push(cells::unit_axis(index));
            all.extend(cells::towers(
                cells,
                cells::greatest(figure, &cells.name),
                (&panel.x, &panel.y),
                index,
                theme,
            ));
            continue;
        }
        if let Content::Tree(root) = &panel.content {
            x.push(cells::unit_axis(index));
            y.push(cells::unit_axis(index));
            all.push(tree::tree(root, index, theme));
            continue;
        }
        let (widest, highest) = extent(panel);
        if let Some(common) = &common {
            x.push(common.axis(&panel.x, Orientation::Horizontal, index, theme));
            y.push(common.axis(&panel.y, Orientation::Vertical, index, theme));
        } else {
            x.push(axes::axis(&panel.x, Orientation::Horizontal, index, widest, theme));
            y.push(axes::axis(&panel.y, Orientation::Vertical, index, highest, theme));
        }
        match &panel.content {
            Content::Series(lines) => {
                for one in lines {
                    let color = names.iter().position(|name| *name == one.name).unwrap_or(0);
                    all.extend(series::series(one, panel, index, (color, count), theme));
                }
            }
            Content::Cells(cells) => {
                let most = cells::greatest(figure, &cells.name);
                colors.push(cells::color_scale(cells, most, (index, all.len()), theme));
                let axes = (&panel.x, &panel.y);
                all.push(cells::heat_map(cells, most, axes, index, theme));
            }
            Content::Surface(cells) => {
                colors.push(surface::color_scale(cells, (index, all.len()), theme));
                all.extend(surface::surface(cells, (&panel.x, &panel.y), index, theme));
            }
            Content::Towers(_) | Content::Tree(_) => {}
        }
    }
    let has_predicted = figure.panels.iter().flat_map(Panel::series).any(Series::has_predicted);
    all.extend(has_predicted.then(|| series::predicted_key(theme)));
    let mut titles = vec![title(&figure.title, "title", 18, theme.text)];
    let axes = common.map(|_| multiples::Common::name_axes(&mut x, &mut y)).unwrap_or_default();
    titles.push(title(&format!("{}{axes}", figure.subtitle), "subtitle", 12, theme.faint));
    for panel in &figure.panels {
        titles.push(title(&heading(figure, panel), "panel", 13, theme.text));
    }
    titles.push(title(&figure.notes.join(" "), "notes", 12, theme.faint));
    json!({
        "iodyno": {"columns": columns(figure), "narrowest": if is_multiples { 150 } else { 340 }},
        "backgroundColor": theme.background,
        "textStyle": {"fontFamily": "sans-serif", "color": theme.text},
        "animation": false,
        "color": theme.palette,
        "title": titles,
        "legend": legend(figure, (&names, &guides), has_predicted, theme),
        "grid": figure.panels.iter().map(|_| json!({})).collect::<Vec<_>>(),
        "xAxis": x,
        "yAxis": y,
        "series": all,
        "visualMap": colors,
        "tooltip": tooltip(figure, theme),
    })
}

/// Heading of a panel: its title, and the values printed in it.
fn heading(figure: &Figure, panel: &Panel) -> String {
    let (Content::Cells(cells) | Content::Towers(cells)) = &panel.content else {
        return panel.title.clone();
    };
    let (unit, _) = unit(cells.quantity, cells::greatest(figure, &cells.name));
    let values = match unit {
        "" => cells.name.clone(),
        _ if cells.name == "IOPS" => unit.into(),
        _ => format!("{} ({unit})", cells.name),
    };
    match panel.title.is_empty() {
        true => values,
        false => format!("{}: {values}", panel.title),
    }
}

/// Names in the legend, in order of appearance, guides last.
fn names(figure: &Figure) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for guides in [false, true] {
        for one in figure.panels.iter().flat_map(Panel::series) {
            if (one.form == Form::Guide) == guides && !names.contains(&one.name.as_str()) {
                names.push(&one.name);
            }
        }
    }
    names
}

/// Panels next to each other if there is room.
fn columns(figure: &Figure) -> usize {
    match figure.kind {
        _ if figure.is_multiples() => MULTIPLES as usize,
        Kind::Compare | Kind::Ratio if figure.is_heat_map() => 1,
        kind => spec(kind).columns,
    }
}

fn title(text: &str, role: &str, size: u32, color: &str) -> Value {
    json!({
        "text": clean(text),
        "iodyno": role,
        "textStyle": {"fontSize": size, "fontWeight": "normal", "color": color},
        "padding": 0,
    })
}

fn legend(
    figure: &Figure,
    (names, guides): (&[&str], &[&str]),
    has_predicted: bool,
    theme: &Theme,
) -> Value {
    let is_line = |name: &str| {
        let is_line = |form| matches!(form, Form::Line(_) | Form::Guide | Form::Steps);
        let all = figure.panels.iter().flat_map(Panel::series);
        all.filter(|one| one.name == name).any(|one| is_line(one.form))
    };
    let first_guide = guides.first();
    let mut data: Vec<Value> = names
        .iter()
        .map(|name| {
            let icon = match first_guide {
                Some(guide) if guide == name => "path://M0 4h8v3h-8zM12 4h8v3h-8z",
                _ if guides.contains(name) => "path://M0 4h4v3h-4zM8 4h4v3h-4zM16 4h4v3h-4z",
                _ => "path://M0 4h20v3h-20z",
            };
            let line = json!({"name": clean(name), "icon": icon});
            if is_line(name) { line } else { json!({"name": clean(name)}) }
        })
        .collect();
    data.extend(has_predicted.then(|| json!({"name": series::PREDICTED})));
    json!({
        "show": data.len() > 1,
        "data": data,
        "textStyle": theme.words(12),
        "inactiveColor": theme.lines,
        "itemWidth": 20,
        "itemHeight": 10,
        "itemGap": 14,
        "padding": 0,
        "left": 16,
    })
}

fn tooltip(figure: &Figure, theme: &Theme) -> Value {
    // Each line's value at one time; otherwise the point under the pointer.
    let trigger =
        if figure.kind == Kind::Time && names(figure).len() <= 12 { "axis" } else { "item" };
    json!({
        "trigger": trigger,
        "formatter": "tooltip",
        "confine": true,
        "backgroundColor": theme.background,
        "borderColor": theme.lines,
        "textStyle": theme.words(12),
    })
}

/// Greatest horizontal and vertical values, intervals included.
fn extent(panel: &Panel) -> (f64, f64) {
    let up = panel.whisker_limits().1;
    let points = panel.series().iter().flat_map(|one| &one.points);
    points.fold((0.0, 0.0), |(x, y): (f64, f64), point| {
        let high = point.interval.map_or(0.0, |(_, high)| high.min(up));
        let (across, upwards) = if panel.is_horizontal() { (high, 0.0) } else { (0.0, high) };
        (x.max(point.x).max(across), y.max(point.y).max(upwards))
    })
}

/// Rounds to six digits, more than a picture shows, to keep pages small.
fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(if value == 0.0 { Some(0) } else { None });
    }
    let decimals = 5 - value.abs().log10().floor() as i32;
    let factor = 10f64.powi(decimals.abs());
    let rounded = match decimals >= 0 {
        true => (value * factor).round() / factor,
        false => (value / factor).round() * factor,
    };
    match rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        true => json!(rounded as i64),
        false => json!(rounded),
    }
}

/// Removes control characters, which XML does not allow, and hidden ones; writes microseconds with
/// their letter.
fn clean(text: &str) -> String {
    iodyno_model::with_micro(&iodyno_model::clean(text))
}
