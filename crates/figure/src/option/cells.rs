//! Values over a table: a heat map, or 3D bars.

use serde_json::{Value, json};

use super::series::hollow;
use super::theme::{Theme, heat};
use super::{axes, clean, rounded};
use crate::figure::{Axis, Cell, Cells, Content, Figure};
use crate::projection::{Place, Projection};
use crate::units::round_step;

/// Maximum number of cells with printed values.
const MOST_LABELLED: usize = 400;
/// Maximum number of cells side by side with printed values: of more, one covers the next.
const MOST_LABELLED_ACROSS: usize = 20;

/// Series of the heat map, with its values printed.
pub(super) fn heat_map(
    cells: &Cells,
    most: f64,
    (x, y): (&Axis, &Axis),
    index: usize,
    theme: &Theme,
) -> Value {
    let (_, divisor) = axes::unit(cells.quantity, most);
    let mut data = data(cells, most, theme);
    for (datum, cell) in data.iter_mut().zip(&cells.cells) {
        // A prediction is the middle of its interval.
        if let (Some((low, high)), Some(name)) = (cell.predicted, datum["name"].as_str()) {
            let half = value_text((high - low) / 2.0 / divisor, cell.value / divisor);
            datum["name"] = format!("{name}\n± {half}").into();
        }
    }
    let (across, down) = (x.categories().len(), y.categories().len());
    let is_labelled = across <= MOST_LABELLED_ACROSS && across * down <= MOST_LABELLED;
    json!({
        "type": "heatmap",
        "name": clean(&cells.name),
        "xAxisIndex": index,
        "yAxisIndex": index,
        "data": data,
        "label": {"show": is_labelled, "formatter": "{b}", "fontSize": 13},
        "itemStyle": {"borderWidth": 1, "borderColor": "rgba(127,127,127,0.35)"},
        "emphasis": {"itemStyle": {"borderWidth": 2}},
        "iodyno": tooltip_data(&z(cells), x, y),
    })
}

/// Colour scale of a heat map from 0 to `most`, as a bar above its panel.
pub(super) fn color_scale(cells: &Cells, most: f64, of: (usize, usize), theme: &Theme) -> Value {
    let (unit, divisor) = axes::unit(cells.quantity, most);
    let end = format!("{} {unit}", value_text(most / divisor, most / divisor));
    color_bar(of, (2, rounded(most)), [end.trim_end().into(), "0".into()], theme)
}

/// Colour scale of a panel's series, from 0 to the maximum of a dimension of its data; `ends` are
/// the words at the maximum and at 0.
pub(super) fn color_bar(
    (panel, series): (usize, usize),
    (dimension, max): (u8, Value),
    ends: [String; 2],
    theme: &Theme,
) -> Value {
    let colors: Vec<String> = (0..=8).map(|n| heat(f64::from(n) / 8.0).0).collect();
    json!({
        "iodyno": panel,
        "seriesIndex": series,
        "dimension": dimension,
        "min": 0,
        "max": max,
        "inRange": {"color": colors},
        "orient": "horizontal",
        "itemWidth": 10,
        "itemHeight": 100,
        "padding": 0,
        "text": ends,
        "textStyle": theme.words(12),
    })
}

/// Series of 3D bars: the floor with the walls, and the bars.
pub(super) fn towers(
    cells: &Cells,
    most: f64,
    (x, y): (&Axis, &Axis),
    index: usize,
    theme: &Theme,
) -> [Value; 2] {
    let (bars, seen) = (cells.bars(), cells.projection(x, y));
    let mut data = data(cells, most, theme);
    for hidden in seen.hidden(&bars) {
        data[hidden]["hidden"] = json!(true);
    }
    for (datum, cell) in data.iter_mut().zip(&cells.cells) {
        let tower = seen.tower(cell.column, cell.row, cell.value);
        let face = |corners: [Place; 4]| corners.map(place);
        datum["faces"] = json!([face(tower.left), face(tower.right), face(tower.top)]);
        datum["middle"] = place(tower.middle);
        datum["distance"] = json!(seen.distance(cell.column, cell.row));
    }
    // Painter's order: the farthest first.
    let far = |datum: &Value| datum["distance"].as_f64().unwrap_or(0.0);
    data.sort_by(|a, b| far(b).total_cmp(&far(a)));
    let scene = scene(&seen, axes::unit(cells.quantity, most).1, x, y);
    let common = |mut value: Value| {
        value["type"] = json!("custom");
        value["xAxisIndex"] = json!(index);
        value["yAxisIndex"] = json!(index);
        value["clip"] = json!(false);
        value["encode"] = json!({"x": [], "y": []});
        value
    };
    [
        common(json!({
            "name": "scene",
            "renderItem": "scene",
            "silent": true,
            "data": scene,
            "itemStyle": {"color": theme.text, "borderColor": theme.lines},
        })),
        common(json!({
            "name": clean(&cells.name),
            "renderItem": "tower",
            "data": data,
            "iodyno": tooltip_data(&z(cells), x, y),
            "z": 3,
        })),
    ]
}

/// Hidden axes of the unit square.
pub(super) fn unit_axis(index: usize) -> Value {
    json!({"type": "value", "gridIndex": index, "min": 0, "max": 1, "show": false})
}

/// Quantity of the cells, as `assets` know it.
fn z(cells: &Cells) -> String {
    format!("{:?}", cells.quantity).to_lowercase()
}

/// Data for tooltips over a table of the quantity `z`.
pub(super) fn tooltip_data(z: &str, x: &Axis, y: &Axis) -> Value {
    let axis = |axis: &Axis| {
        let names: Vec<String> = axis.categories().iter().map(|name| clean(name)).collect();
        json!({"name": clean(&axis.name), "values": names})
    };
    json!({"z": z, "table": [axis(x), axis(y)]})
}

/// Greatest value of all panels of the same name, which share a scale.
pub(super) fn greatest(figure: &Figure, name: &str) -> f64 {
    let all = figure.panels.iter().filter_map(|panel| match &panel.content {
        Content::Cells(cells) | Content::Towers(cells) if cells.name == name => Some(&cells.cells),
        _ => None,
    });
    all.flatten().map(|cell| cell.value).fold(0.0, f64::max)
}

/// Each value with its colour and printed text; predictions are hollow.
fn data(cells: &Cells, most: f64, theme: &Theme) -> Vec<Value> {
    let (_, divisor) = axes::unit(cells.quantity, most);
    let datum = |cell: &Cell| {
        let share = if most > 0.0 { cell.value / most } else { 0.0 };
        let (color, ink) = heat(share);
        let name = value_text(cell.value / divisor, most / divisor);
        let (name, style, ink) = match cell.predicted {
            Some(_) => (format!("~ {name}"), hollow(theme.faint, theme), theme.text),
            None => (name, json!({"color": color}), ink),
        };
        let mut datum = json!({
            "value": [cell.column, cell.row, rounded(cell.value)],
            "name": name,
            "itemStyle": style,
            "label": {"color": ink},
        });
        if let Some((low, high)) = cell.predicted {
            datum["predicted"] = json!([rounded(low), rounded(high)]);
        }
        datum
    };
    cells.cells.iter().map(datum).collect()
}

fn place((x, y): Place) -> Value {
    let short = |value: f64| (value * 1e4).round() / 1e4;
    json!([short(x), short(y)])
}

/// Lines of floor and walls, and the text along them: values in units of `divisor`.
fn scene(seen: &Projection, divisor: f64, x: &Axis, y: &Axis) -> Vec<Value> {
    let mut scene = Vec::new();
    let mut line = |points: &[Place]| {
        let points: Vec<Value> = points.iter().copied().map(place).collect();
        scene.push(json!({"value": 0, "line": points}));
    };
    for (column, row) in [(0.0, 1.0), (1.0, 1.0), (1.0, 0.0)] {
        line(&[seen.edge(column, row, 0.0), seen.edge(column, row, seen.greatest)]);
    }
    let step = round_step(seen.greatest / divisor) * divisor;
    let steps = if step > 0.0 { (seen.greatest / step) as usize } else { 0 };
    let ticks: Vec<f64> = (0..=steps).map(|n| step * n as f64).collect();
    for tick in &ticks {
        line(&[seen.edge(1.0, 0.0, *tick), seen.edge(1.0, 1.0, *tick), seen.edge(0.0, 1.0, *tick)]);
    }
    line(&[seen.edge(1.0, 0.0, 0.0), seen.edge(0.0, 0.0, 0.0), seen.edge(0.0, 1.0, 0.0)]);
    let mut word = |text: String, at: Place, align: &str, size: u32, (dx, dy): (i32, i32)| {
        scene.push(json!({
            "value": 0, "text": clean(&text), "at": place(at), "align": align, "size": size,
            "shift": [dx, dy],
        }));
    };
    for tick in &ticks {
        let text = iodyno_model::format_count(tick / divisor);
        word(text, seen.edge(1.0, 0.0, *tick), "right", 12, (-8, 0));
    }
    let front = |flip: bool, count: usize| if flip { count as f64 } else { 0.0 };
    let (front_column, front_row) =
        (front(seen.flip_columns, seen.columns), front(seen.flip_rows, seen.rows));
    for (n, name) in x.categories().iter().enumerate() {
        word(name.clone(), seen.at(n as f64 + 0.5, front_row, 0.0), "right", 12, (-6, 12));
    }
    for (n, name) in y.categories().iter().enumerate() {
        word(name.clone(), seen.at(front_column, n as f64 + 0.5, 0.0), "left", 12, (6, 12));
    }
    word(x.name.clone(), seen.edge(0.5, 0.0, 0.0), "right", 13, (-44, 34));
    word(y.name.clone(), seen.edge(0.0, 0.5, 0.0), "left", 13, (44, 34));
    scene
}

/// Formats a value with the decimals that give `greatest` three digits, so that all values of a
/// table match; small values get two digits of their own.
fn value_text(value: f64, greatest: f64) -> String {
    let decimals = |value: f64, digits: i32| digits - 1 - value.log10().floor() as i32;
    if !(value > 0.0 && greatest > 0.0 && greatest.is_finite()) {
        return "0".into();
    }
    match decimals(greatest, 3).max(decimals(value, 2)) {
        5.. => format!("{value:.1e}"),
        _ if value >= 1e5 => format!("{value:.1e}"),
        decimals => format!("{value:.*}", decimals.max(0) as usize),
    }
}
