//! Common frame of every page: title, tools, scripts and their permissions.

use iodyno_figure::{SCRIPT, echarts};

use super::data::Data;
use super::policy::policy;

pub(super) const STYLE: &str = include_str!("../../templates/page.css");
const PAGE_SCRIPT: &str = include_str!("../../templates/page.js");

/// Fields of `templates/frame.html`.
pub(super) struct Frame {
    pub(super) version: &'static str,
    pub(super) policy: String,
    pub(super) title: String,
    /// Whole document, unless it is too long.
    pub(super) document: Option<Data>,
    pub(super) style: String,
    /// Scripts before the first figure, so that its space is reserved.
    pub(super) early: [String; 2],
    /// Drawing library; it is long, and therefore comes after the text.
    pub(super) library: &'static str,
}

impl Frame {
    pub(super) fn new(title: String, document: Option<Data>) -> Self {
        let (early, style) = ([SCRIPT, PAGE_SCRIPT].map(without_comments), without_comments(STYLE));
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

/// Strips comments and indentation from a script or style sheet, because each page includes it.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    lines.filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n")
}
