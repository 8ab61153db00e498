//! Latencies over a table: colours by their logarithm, and the line where a bound is crossed.

use iodyno_model::format_duration_ns;
use serde_json::{Value, json};

use super::theme::{Theme, heat};
use super::{clean, rounded};
use crate::figure::{Axis, Surface};

/// Smallest and greatest latency, ns.
fn ends(surface: &Surface) -> (f64, f64) {
    let values = || surface.cells.iter().map(|cell| cell.ns);
    (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
}

/// The cells, with measured values printed, and the line over them.
pub(super) fn surface(
    surface: &Surface,
    (x, y): (&Axis, &Axis),
    index: usize,
    theme: &Theme,
) -> [Value; 2] {
    let (least, most) = ends(surface);
    let share = |ns: f64| if most > least { (ns / least).ln() / (most / least).ln() } else { 0.0 };
    let data = surface.cells.iter().map(|cell| {
        let (color, ink) = heat(share(cell.ns));
        let name = if cell.is_measured { format_duration_ns(cell.ns) } else { String::new() };
        json!({
            "value": [cell.column, cell.row, rounded(cell.ns), rounded(share(cell.ns))],
            "name": name,
            "itemStyle": {"color": color},
            "label": {"color": ink},
        })
    });
    let axis = |axis: &Axis| {
        let names: Vec<String> = axis.categories().iter().map(|name| clean(name)).collect();
        json!({"name": clean(&axis.name), "values": names})
    };
    let line = surface
        .line
        .iter()
        .map(|[from, to]| json!({"value": [0, 0], "line": [[from.0, from.1], [to.0, to.1]]}));
    [
        json!({
            "type": "heatmap",
            "name": clean(&surface.name),
            "xAxisIndex": index,
            "yAxisIndex": index,
            "data": data.collect::<Vec<_>>(),
            "label": {"show": true, "formatter": "{b}", "fontSize": 9},
            "emphasis": {"itemStyle": {"borderWidth": 2}},
            "iodyno": {"z": "latency", "table": [axis(x), axis(y)]},
        }),
        json!({
            "type": "custom",
            "name": "bound",
            "renderItem": "crossing",
            "silent": true,
            "xAxisIndex": index,
            "yAxisIndex": index,
            "data": line.collect::<Vec<_>>(),
            "itemStyle": {"color": theme.text, "borderColor": theme.background},
            "z": 4,
        }),
    ]
}

/// Colour scale, as a bar above its panel.
pub(super) fn color_scale(
    surface: &Surface,
    (panel, series): (usize, usize),
    theme: &Theme,
) -> Value {
    let colors: Vec<String> = (0..=8).map(|n| heat(f64::from(n) / 8.0).0).collect();
    let (least, most) = ends(surface);
    json!({
        "iodyno": panel,
        "seriesIndex": series,
        "dimension": 3,
        "min": 0,
        "max": 1,
        "inRange": {"color": colors},
        "orient": "horizontal",
        "itemWidth": 10,
        "itemHeight": 100,
        "padding": 0,
        "text": [format_duration_ns(most), format_duration_ns(least)],
        "textStyle": theme.words(12),
    })
}
