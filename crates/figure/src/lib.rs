//! Figures of measurements: their meaning and their drawing.
//!
//! A [`Figure`] is meaning (kind, axes, units, series). [`option`] turns it into an ECharts option:
//! a page draws it live, [`svg`] is the same library's rendering inside the binary, [`png`] a
//! picture of that.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[cfg(feature = "library")]
mod assets;
#[cfg_attr(not(feature = "pictures"), path = "no_pictures.rs")]
mod draw;
mod figure;
mod kinds;
mod knee;
mod metric;
mod naming;
mod observation;
mod option;
mod predicted;
mod projection;
mod request;
mod run;
mod trace;
mod units;

#[cfg(feature = "pictures")]
pub use assets::font;
#[cfg(feature = "library")]
pub use assets::{SCRIPT, echarts};
pub use draw::{png, svg};
pub use figure::{Axis, Cell, Cells, Content, Figure, Form, Panel, Point, Scale, Series, Stroke};
pub use kinds::{figure, suggested};
pub use metric::{Metric, Quantity};
pub use option::option;
pub use request::{FigureError, Filter, Judged, Kind, Request, Source, Track, TrackWindow};
pub use run::{figures_of_rounds, figures_of_run};
pub use trace::{replay_figure, trace_figures};
