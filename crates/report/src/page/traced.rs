//! Page of a trace.

use askama::Template;
use iodyno_figure::trace_figures;
use iodyno_model::TraceSummary;

use super::data::{Data, FigureView};
use super::frame::Frame;
use super::room::DOCUMENT_BYTES;
use super::table::Table;
use super::{PageError, with_micro_outside_scripts};
use crate::document::TraceDocument;
use crate::text::clean;
use crate::text::trace::{headline, notes, size_rows, small};

#[derive(Template)]
#[template(path = "trace.html")]
struct Page {
    frame: Frame,
    headline: Vec<String>,
    sizes: Table,
    /// Bursts, space, processes: name and description.
    facts: Vec<(String, String)>,
    notes: Vec<String>,
    figures: Vec<FigureView>,
}

/// Renders the page of a trace, with this title.
///
/// # Errors
/// The template cannot be rendered, which would be a bug in it.
pub fn trace_page(title: &str, summary: &TraceSummary) -> Result<String, PageError> {
    let course = summary.course.as_ref();
    let figures = course.map_or(Vec::new(), |course| trace_figures(course, summary.duration_ns));
    let (columns, rows) = size_rows(summary);
    let facts = small(summary).into_iter().filter_map(|words| {
        let (what, how) = words.split_first()?;
        Some((what.clone(), how.join(", ")))
    });
    let document = Data::within(&TraceDocument::new(summary.clone()), DOCUMENT_BYTES);
    Page {
        frame: Frame::new(clean(title), document),
        headline: headline(summary),
        sizes: Table::of_grid(&columns, rows).without_empty(3),
        facts: facts.collect(),
        notes: notes(summary),
        figures: figures.iter().map(|figure| FigureView::new(figure, Vec::new())).collect(),
    }
    .render()
    .map(|html| with_micro_outside_scripts(&html))
}

#[cfg(test)]
mod tests {
    use iodyno_model::{TraceCourse, TraceSlot, TracedOperation};

    use super::*;

    #[test]
    fn a_page_shows_figures_and_trusts_no_name() {
        let slot = TraceSlot { reads: vec![3], read_bytes: 9, ..TraceSlot::default() };
        let course =
            TraceCourse { slot_ns: 1, zone_bytes: 4096, end_bytes: 5, slots: vec![slot; 9] };
        let read =
            TracedOperation { operation: "read".into(), ios: 27, bytes: 9, ..Default::default() };
        let summary = TraceSummary {
            devices: vec!["<script>x".into()],
            duration_ns: 9,
            operations: vec![read],
            course: Some(course),
            ..TraceSummary::default()
        };
        let page = trace_page("a<b>", &summary).unwrap();
        assert!(crate::page::is_page(page.as_bytes()));
        assert_eq!(page.matches("<figure>").count(), 2);
        assert!(page.contains("a&#60;b&#62;") && !page.contains("<script>x"), "{:.2000}", page);
        // Without data over time there is only a table.
        let page = trace_page("a", &TraceSummary { course: None, ..summary }).unwrap();
        assert!(!page.contains("<figure>") && page.contains("<table"));
    }
}
