//! Axes and their units.

use serde_json::{Value, json};

use super::theme::Theme;
use super::{clean, rounded};
use crate::Quantity;
use crate::figure::{Axis, Scale};
pub(super) use crate::units::unit;

/// Ticks of percentiles: 50, 90, 99, … 99.999 %.
const NINES: [f64; 6] = [std::f64::consts::LOG10_2, 1.0, 2.0, 3.0, 4.0, 5.0];

/// Maximum number of categories that are all labelled.
const MANY: usize = 40;

/// Direction of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orientation {
    Horizontal,
    Vertical,
}

/// Axis of panel `index`, for values up to `greatest`.
pub(super) fn axis(
    axis: &Axis,
    orientation: Orientation,
    index: usize,
    greatest: f64,
    theme: &Theme,
) -> Value {
    let mut name = clean(&axis.name);
    let (kind, format) = match &axis.scale {
        Scale::Categories(_) => ("category", None),
        scale => {
            let format = match (scale, axis.quantity) {
                (_, Quantity::Size) => "size".into(),
                (_, Quantity::Nines) => "nines".into(),
                (Scale::Linear, quantity) => {
                    let (unit, divisor) = unit(quantity, axis.end.unwrap_or(greatest));
                    let unnamed = name.is_empty();
                    name = match quantity {
                        Quantity::Iops if name == "IOPS" => unit.into(),
                        _ if unit.is_empty() || unnamed => name,
                        _ => format!("{name} ({unit})"),
                    };
                    format!("scaled:{divisor}")
                }
                (_, Quantity::Latency) => "latency".into(),
                (_, Quantity::Ratio | Quantity::Count) => "scaled:1".into(),
                (_, Quantity::Bandwidth) => "bandwidth".into(),
                (_, Quantity::Iops) => "iops".into(),
                (_, Quantity::Time | Quantity::Share | Quantity::Data) => "scaled:1".into(),
            };
            let kind = if matches!(scale, Scale::Linear) { "value" } else { "log" };
            (kind, Some(format))
        }
    };
    let mut value = json!({
        "type": kind,
        "gridIndex": index,
        "name": name,
        "nameLocation": "middle",
        "nameTextStyle": theme.words(13),
        "nameGap": if orientation == Orientation::Vertical { 58 } else { 28 },
        "axisLine": {"show": orientation == Orientation::Horizontal, "lineStyle": {"color": theme.faint}},
        "axisTick": {"show": orientation == Orientation::Horizontal, "lineStyle": {"color": theme.faint}},
        "axisLabel": {"color": theme.text, "fontSize": 12, "hideOverlap": true},
        "splitLine": {"show": true, "lineStyle": {"color": theme.lines}},
    });
    if let Some(format) = format {
        value["axisLabel"]["formatter"] = format.into();
    }
    if axis.quantity == Quantity::Count {
        value["minInterval"] = json!(1);
    }
    if let Some(end) = axis.end {
        value["max"] = rounded(end);
        // An end that is not a round number gets its own tick, whose label would overlap.
        let halves = 2.0 * end / 10f64.powf(end.log10().floor());
        value["axisLabel"]["showMaxLabel"] = json!((halves - halves.round()).abs() < 1e-9);
    }
    match &axis.scale {
        Scale::Linear => {
            value["min"] = json!(0);
            value["axisLabel"]["showMinLabel"] = json!(true);
            if axis.quantity == Quantity::Nines {
                let ticks: Vec<f64> = std::iter::once(0.0).chain(NINES).collect();
                value["axisTick"]["customValues"] = json!(ticks);
                value["axisLabel"]["customValues"] = json!(ticks);
            }
        }
        Scale::Log => {}
        Scale::Doublings(measured) => {
            let ticks: Vec<Value> = measured.iter().map(|tick| rounded(*tick)).collect();
            value["logBase"] = json!(2);
            value["axisTick"]["customValues"] = json!(ticks);
            value["axisLabel"]["customValues"] = json!(ticks);
            // Centres a single point.
            let room = if ticks.len() == 1 { 2.0 } else { 1.0 };
            value["min"] = measured.first().map(|least| rounded(least / room)).unwrap_or_default();
            value["max"] = measured.last().map(|most| rounded(most * room)).unwrap_or_default();
        }
        Scale::Categories(names) => {
            value["data"] = names.iter().map(|name| clean(name)).collect();
            // Of many categories, such as times, only some are labelled.
            let is_long = orientation == Orientation::Horizontal && names.len() > MANY;
            value["axisLabel"]["hideOverlap"] = json!(is_long);
            value["splitLine"]["show"] = json!(false);
            value["axisLabel"]["interval"] = if is_long { "auto".into() } else { json!(0) };
            // For labels of several lines; browsers guess the height from a character that a font
            // may lack.
            value["axisLabel"]["lineHeight"] = json!(13);
            // Categories without an axis name are read like a table, from the top.
            value["inverse"] = json!(orientation == Orientation::Vertical && axis.name.is_empty());
        }
    }
    value
}
