//! What every page has around what it shows: title, tools, scripts and what they may do.

use iodyno_figure::{SCRIPT, echarts};

use super::data::Data;
use super::policy::policy;

pub(super) const STYLE: &str = include_str!("../../templates/page.css");
const PAGE_SCRIPT: &str = include_str!("../../templates/page.js");

/// The fields of `templates/frame.html`.
pub(super) struct Frame {
    pub(super) version: &'static str,
    pub(super) policy: String,
    pub(super) title: String,
    /// All of it, unless that is too long.
    pub(super) document: Option<Data>,
    pub(super) style: String,
    /// Before the first figure, so that its room is kept.
    pub(super) early: [String; 2],
    /// What draws, which is long: behind all that is read.
    pub(super) library: &'static str,
}

impl Frame {
    pub(super) fn new(title: String, document: Option<Data>) -> Self {
        let (early, style) = ([SCRIPT, PAGE_SCRIPT].map(lean), lean(STYLE));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            policy: policy(&[&early[0], &early[1], echarts()], &[&style]),
            title,
            document,
            style,
            early,
            library: echarts(),
        }
    }
}

/// A script or a style sheet without its comments and its indentation: each page carries it.
fn lean(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n")
}
