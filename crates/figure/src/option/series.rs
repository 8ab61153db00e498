//! Lines, bars and points.

use serde_json::{Map, Value, json};

use super::theme::Theme;
use super::{clean, rounded};
use crate::figure::{Form, MOST_SERIES, Panel, Point, Scale, Series, Stroke};

/// Number of points, more than the pixels of a picture, above which only the extremes of each pixel
/// are drawn.
const MANY_POINTS: usize = 2000;

/// Maximum number of labels without overlap.
const MOST_LABELS: usize = 4;

/// Maximum number of filled areas; more would hide each other.
const MOST_AREAS: usize = 4;

/// Name in the legend.
pub(super) const PREDICTED: &str = "hollow: predicted, not measured";

/// Symbols that distinguish series where colours do not: as many as there are colours.
const SYMBOLS: [&str; MOST_SERIES] = [
    "circle",
    "rect",
    "triangle",
    "diamond",
    "path://M0 0h10l-5 9z",
    "path://M3 0h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
    "path://M0 2l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z",
    "path://M0 2.5h10v5h-10z",
];

/// Converts a series to ECharts series; `color` is its number of `count` names.
pub(super) fn series(
    series: &Series,
    panel: &Panel,
    index: usize,
    (color, count): (usize, usize),
    theme: &Theme,
) -> Vec<Value> {
    let ink = match series.form {
        Form::Guide => theme.faint,
        _ => theme.color(color),
    };
    let mut data: Vec<Value> = series.points.iter().map(|point| datum(point, ink, theme)).collect();
    for lone in lone_points(series) {
        data[lone] = json!({"value": data[lone], "symbol": "circle"});
    }
    let mut value = json!({
        "name": clean(&series.name),
        "xAxisIndex": index,
        "yAxisIndex": index,
        "data": data,
        "itemStyle": {"color": ink},
        "emphasis": {"focus": "none"},
        "iodyno": {
            "detail": clean(&series.detail),
            "x": quantity(&panel.x),
            "y": quantity(&panel.y),
        },
    });
    let more = match (series.form, &panel.y.scale) {
        (Form::Guide, Scale::Categories(_)) => vertical_guide(series, ink),
        _ => form(series, (color, count), ink, theme),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    let mut all = vec![value];
    all.extend(whiskers(series, panel, index, (color, count), theme));
    all
}

/// Indices of points of a line that have a gap, or the line's end, on both sides.
fn lone_points(series: &Series) -> Vec<usize> {
    let points = &series.points;
    let is_gap = |at: usize| points.get(at).is_none_or(Point::is_gap);
    let is_lone =
        |at: &usize| !is_gap(*at) && is_gap(at.wrapping_sub(1)) && is_gap(at.wrapping_add(1));
    match series.form {
        Form::Line(_) => (0..points.len()).filter(is_lone).collect(),
        _ => Vec::new(),
    }
}

/// Format of an axis's values in tooltips.
fn quantity(axis: &crate::figure::Axis) -> String {
    match axis.scale {
        Scale::Categories(_) => "category".into(),
        _ => format!("{:?}", axis.quantity).to_lowercase(),
    }
}

fn datum(point: &Point, ink: &str, theme: &Theme) -> Value {
    let place = json!([rounded(point.x), rounded(point.y)]);
    if point.label.is_empty() && !point.is_predicted {
        return place;
    }
    let mut datum = json!({"value": place, "name": clean(&point.label)});
    if point.is_predicted {
        datum["itemStyle"] = hollow(ink, theme);
    }
    datum
}

/// Style of predicted points: an outline only.
pub(super) fn hollow(ink: &str, theme: &Theme) -> Value {
    json!({
        "color": theme.background,
        "borderColor": ink,
        "borderWidth": 1.6,
    })
}

/// Legend entry of everything hollow: a series without points.
pub(super) fn predicted_key(theme: &Theme) -> Value {
    json!({
        "type": "scatter",
        "name": PREDICTED,
        "symbol": "circle",
        "data": [],
        "itemStyle": hollow(theme.text, theme),
    })
}

fn form(series: &Series, (color, count): (usize, usize), ink: &str, theme: &Theme) -> Value {
    let line = |dashes: &str, width: f64| json!({"color": ink, "width": width, "type": dashes});
    match series.form {
        Form::Line(stroke) => {
            let dashes = match stroke {
                Stroke::Solid => "solid",
                Stroke::Dashed => "dashed",
                Stroke::Dotted => "dotted",
            };
            let mut value = json!({
                "type": "line",
                "showSymbol": !lone_points(series).is_empty(),
                "symbol": "none",
                "symbolSize": if series.points.len() == 1 { 7 } else { 4 },
                "lineStyle": line(dashes, 1.6),
            });
            if series.points.len() > MANY_POINTS {
                value["sampling"] = json!("minmax");
            }
            value
        }
        Form::Marked => json!({
            "type": "line",
            "symbol": SYMBOLS[color % SYMBOLS.len()],
            "symbolSize": 8,
            "lineStyle": line("solid", 1.8),
        }),
        Form::Steps => json!({
            "type": "line",
            "step": "end",
            "showSymbol": false,
            "lineStyle": line("solid", 1.4),
            "areaStyle": {"color": ink, "opacity": if count > MOST_AREAS { 0.0 } else { 0.14 }},
        }),
        Form::Points => json!({
            "type": "scatter",
            "symbol": SYMBOLS[color % SYMBOLS.len()],
            "symbolSize": 8,
        }),
        Form::Bars => json!({"type": "bar", "barMaxWidth": 34, "barGap": "8%"}),
        Form::Highlight => json!({
            "type": "scatter",
            "symbol": "circle",
            "symbolSize": 18,
            "itemStyle": {"color": "transparent", "borderColor": ink, "borderWidth": 2},
            "label": label(theme, count <= MOST_LABELS),
            "labelLayout": {"hideOverlap": true},
            "z": 5,
        }),
        Form::Guide => json!({
            "type": "line",
            "showSymbol": false,
            // The second guide of a figure is dotted.
            "lineStyle": line(if color > count { "dotted" } else { "dashed" }, 1.4),
            "itemStyle": {"color": theme.faint},
            "z": 1,
        }),
    }
}

/// A vertical guide across horizontal bars, over the whole height: categories have no edges to draw
/// it from.
fn vertical_guide(series: &Series, ink: &str) -> Value {
    let lines: Vec<Value> =
        series.points.iter().map(|point| json!({"xAxis": rounded(point.x)})).collect();
    json!({
        "type": "line",
        "data": [],
        "markLine": {
            "silent": true,
            "symbol": "none",
            "label": {"show": false},
            "lineStyle": {"color": ink, "width": 1.4, "type": "dashed"},
            "data": lines,
        },
    })
}

fn label(theme: &Theme, show: bool) -> Value {
    let mut label: Map<String, Value> = theme.words(12).as_object().cloned().unwrap_or_default();
    label.insert("show".into(), show.into());
    label.insert("position".into(), "top".into());
    label.insert("formatter".into(), "{b}".into());
    label.insert("textBorderColor".into(), theme.background.into());
    label.insert("textBorderWidth".into(), 3.into());
    Value::Object(label)
}

/// Intervals of a series' points, drawn over them; after bars also their values.
fn whiskers(
    series: &Series,
    panel: &Panel,
    index: usize,
    (color, count): (usize, usize),
    theme: &Theme,
) -> Option<Value> {
    let is_bars = series.form == Form::Bars;
    let whisker_limits = panel.whisker_limits();
    let datum = |point: &Point| {
        if is_bars {
            let (low, high) = point.interval.unwrap_or((point.x, point.x));
            return Some(json!([
                rounded(point.y),
                rounded(low),
                rounded(high),
                rounded(point.x),
                u8::from(point.is_predicted),
                rounded(high.min(whisker_limits.1)),
            ]));
        }
        let (low, high) = point.interval?;
        // Ends within the axis; a logarithmic one cannot show 0.
        let held = if low > 0.0 { low.max(whisker_limits.0) } else { point.y };
        Some(json!([
            rounded(point.x),
            rounded(low),
            rounded(high),
            rounded(held),
            rounded(high.min(whisker_limits.1))
        ]))
    };
    let mut data: Vec<Value> = series.points.iter().filter_map(datum).collect();
    if is_bars {
        // A row without a value is not one of 0.
        let is_known = |row: usize| series.points.iter().any(|point| point.y == row as f64);
        let missing = (0..panel.y.categories().len()).filter(|row| !is_known(*row));
        data.extend(missing.map(|row| json!([row, 0, 0, null, 0, 0])));
    }
    let (render, encode) = match is_bars {
        true => {
            let quantity = quantity(&panel.x);
            (format!("bar-end:{color}:{count}:{quantity}"), json!({"x": 5, "y": 0}))
        }
        false => ("whiskers".into(), json!({"x": 0, "y": [3, 4]})),
    };
    (!data.is_empty()).then(|| {
        json!({
            "type": "custom",
            "name": clean(&series.name),
            "xAxisIndex": index,
            "yAxisIndex": index,
            "renderItem": render,
            "encode": encode,
            "data": data,
            "itemStyle": {
                "color": if is_bars { theme.text } else { theme.color(color) },
                "borderColor": theme.background,
            },
            "tooltip": {"show": false},
            "silent": true,
            "clip": false,
            "z": 4,
        })
    })
}
