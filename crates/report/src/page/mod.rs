//! Renders runs as one self-contained HTML page, to open, attach or print.
//!
//! The page does not use the network. A Content-Security-Policy allows only its own scripts and
//! styles, by their SHA-256; strings from devices and files are escaped, both in HTML and in script
//! data.

mod conditions;
mod data;
mod explained;
mod frame;
mod latency;
mod lead;
mod live;
mod measurement;
mod policy;
mod replay;
mod room;
mod rounds;
mod run;
mod summary;
mod table;
mod together;
mod traced;

use std::collections::BTreeMap;

use askama::Template;
use iodyno_judge::ClaimBook;
use iodyno_model::{Origin, with_micro};

use data::Data;
use frame::Frame;
use room::Room;
use run::RunView;
use together::RunsView;

use crate::Judged;
use crate::text::words::clean;

pub use crate::paged::{LiveView, PageRun, is_page};
pub use askama::Error as PageError;
pub use live::{LIVE_POLICY, live_data, live_page};
pub use traced::trace_page;

/// Renders the page of `runs`, in their order. A summary of several runs comes first; they are
/// compared using `claims`.
///
/// # Errors
///
/// A template cannot be rendered, which would be a bug in it.
pub fn page(runs: &[PageRun<'_>], claims: &ClaimBook) -> Result<String, PageError> {
    let titles = titles(runs);
    let mut room = Room::new();
    let mut views = Vec::new();
    for (n, (run, title)) in runs.iter().zip(&titles).enumerate() {
        if !room.run() {
            break;
        }
        let level = if runs.len() > 1 { 3 } else { 2 };
        views.push(RunView::new(run, title, (n + 1, level), claims, &mut room));
    }
    let left_out = match runs.len() - views.len() {
        0 => String::new(),
        _ => format!("Of {} runs, only the first {} are shown.", runs.len(), views.len()),
    };
    // With more measurements than this the document is certainly too long.
    let is_long = runs.iter().map(|run| run.judged.record.measurements.len()).sum::<usize>()
        > room::DOCUMENT_BYTES / LEAST_BYTES;
    let documents: Vec<_> = runs
        .iter()
        .filter(|_| !is_long)
        .map(|run| {
            let Judged { record, assessment } = run.judged;
            let status = run.judged.exit_status(false) as u8;
            let mut document = crate::document::run_document(record, assessment, status);
            document.outlook = run.outlook.cloned();
            document
        })
        .collect();
    let document = match documents.as_slice() {
        [] => None,
        [one] => Data::within(one, room::DOCUMENT_BYTES),
        several => Data::within(several, room::DOCUMENT_BYTES),
    };
    let title = match titles.as_slice() {
        [one] => one.clone(),
        titles => format!("{} runs", titles.len()),
    };
    Page {
        frame: Frame::new(title, document),
        together: (runs.len() > 1).then(|| RunsView::new(runs, &titles, claims)),
        runs: views,
        left_out,
    }
    .render()
    .map(|html| with_micro_outside_scripts(&html))
}

/// Uses the typographic micro sign in text; scripts and data remain unchanged.
fn with_micro_outside_scripts(html: &str) -> String {
    let mut parts = html.split("<script");
    let mut out = parts.next().map(with_micro).unwrap_or_default();
    for part in parts {
        let (script, text) = part.split_once("</script>").unwrap_or((part, ""));
        out += &["<script", script, "</script>", &with_micro(text)].concat();
    }
    out
}

/// Lower bound of a measurement's size in a document, bytes.
const LEAST_BYTES: usize = 512;

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    frame: Frame,
    together: Option<RunsView>,
    runs: Vec<RunView>,
    /// Runs that are not shown; empty if none.
    left_out: String,
}

/// Returns a title for each run; equal titles are replaced by the imported file, or get the run's
/// id appended.
fn titles(runs: &[PageRun<'_>]) -> Vec<String> {
    let own: Vec<String> = runs.iter().map(|run| run::title(run.judged.record)).collect();
    let (mut called, mut files) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    for (title, run) in own.iter().zip(runs) {
        *called.entry(title).or_default() += 1;
        if let Origin::Imported(file) = &run.judged.record.run.origin {
            *files.entry(file).or_default() += 1;
        }
    }
    let title = |(title, run): (&String, &PageRun<'_>)| match called[title.as_str()] {
        1 => title.clone(),
        _ => match &run.judged.record.run.origin {
            Origin::Imported(from) if files[from.as_str()] == 1 => clean(from),
            _ => format!("{title} ({})", clean(&run.judged.record.run.id)),
        },
    };
    own.iter().zip(runs).map(title).collect()
}
