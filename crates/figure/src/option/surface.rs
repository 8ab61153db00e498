//! Latencies over a table: colours by their logarithm, and the line where a bound is crossed.

use iodyno_model::format_duration_ns;
use serde_json::{Value, json};

use super::cells::{color_bar, tooltip_data};
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
            "iodyno": tooltip_data("latency", x, y),
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
pub(super) fn color_scale(surface: &Surface, of: (usize, usize), theme: &Theme) -> Value {
    let (least, most) = ends(surface);
    let ends = [format_duration_ns(most), format_duration_ns(least)];
    color_bar(of, (3, json!(1)), ends, theme)
}
