//! Figures of measurements: what they mean, and how they are drawn.
//!
//! A [`Figure`] is meaning (kind, axes, units, series). One function makes it
//! an ECharts option ([`option`]): a page draws it live, [`svg`] is the same
//! library's rendering inside the binary, [`png`] a picture of that.

mod figure;

pub use figure::{Figure, FigureError, Kind, Request, Source, figure, figures_of_run, option};

/// The library that draws, to be put into a page: sets `window.echarts`.
pub const ECHARTS: &str = include_str!("../assets/echarts.min.js");
