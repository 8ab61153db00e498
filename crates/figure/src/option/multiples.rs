//! Panels of one series each: one scale for all, so that they can be compared; names and units of
//! the axes are in the subtitle only.

use serde_json::Value;

use super::axes::{self, Orientation};
use super::theme::Theme;
use super::{extent, rounded};
use crate::figure::{Axis, Figure, Panel, Scale};
use crate::units::round_step;

/// Range of all panels, (horizontal, vertical).
pub(super) struct Common {
    least: (f64, f64),
    most: (f64, f64),
}

impl Common {
    pub(super) fn of(figure: &Figure) -> Self {
        let points = || figure.panels.iter().flat_map(Panel::series).flat_map(|one| &one.points);
        let least = |value: fn(&crate::figure::Point) -> f64| {
            points().map(value).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min)
        };
        let greatest = figure.panels.iter().map(extent);
        Self {
            least: (least(|point| point.x), least(|point| point.y)),
            most: greatest.fold((0.0, 0.0), |(x, y): (f64, f64), to| (x.max(to.0), y.max(to.1))),
        }
    }

    /// Axis that is the same in all panels.
    pub(super) fn axis(
        &self,
        axis: &Axis,
        orientation: Orientation,
        index: usize,
        theme: &Theme,
    ) -> Value {
        let (least, most) = match orientation {
            Orientation::Horizontal => (self.least.0, self.most.0),
            Orientation::Vertical => (self.least.1, self.most.1),
        };
        let step = round_step(most);
        let end = match axis.scale {
            Scale::Linear if step > 0.0 && orientation == Orientation::Vertical => {
                Some((most / step).ceil() * step)
            }
            Scale::Log if most > 0.0 => Some(10f64.powf(most.log10().ceil())),
            Scale::Linear if most > 0.0 => Some(most),
            _ => None,
        };
        let common = Axis { end: axis.end.or(end), ..axis.clone() };
        let mut value = axes::axis(&common, orientation, index, most, theme);
        if axis.scale == Scale::Log && least.is_finite() {
            value["min"] = rounded(10f64.powf(least.log10().floor()));
        }
        value
    }

    /// Removes the names from the axes, and returns them as text for the subtitle.
    pub(super) fn name_axes(x: &mut [Value], y: &mut [Value]) -> String {
        let take = |axes: &mut [Value]| {
            let names: Vec<Value> = axes.iter_mut().map(|axis| axis["name"].take()).collect();
            let mut named = names.iter().filter_map(Value::as_str).filter(|name| !name.is_empty());
            named.next().unwrap_or_default().to_owned()
        };
        format!(" · {} against {}", take(y), take(x))
    }
}
