//! One self-contained HTML page of runs, to open, attach or print.
//!
//! It has no network and needs none. A Content-Security-Policy allows its own
//! scripts and styles by their SHA-256 and nothing else; strings of devices and
//! files are escaped where they stand in HTML, and in data for scripts.

mod conditions;
mod data;
mod latency;
mod measurement;
mod policy;
mod run;
mod summary;
mod table;

use askama::Template;
use iodyno_figure::{ECHARTS, Kind, Request, SCRIPT, Source, figure};
use iodyno_model::{Assessment, RunRecord};

use data::Data;
use run::RunView;
use table::Table;

use crate::text::words::clean;

pub use askama::Error as PageError;

/// A run as the page shows it.
#[derive(Debug, Clone, Copy)]
pub struct PageRun<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// What it is judged to mean.
    pub assessment: &'a Assessment,
    /// 0 passed … 4 something could not be judged, as commands end.
    pub exit_status: u8,
    /// What of its files could not be read, a sentence each.
    pub unread: &'a [String],
}

/// In the head of every page, by which it is known as ours.
const MARK: &str = "<meta name=\"generator\" content=\"iodyno";

/// Bytes from the start within which the mark stands.
const MARK_WITHIN: usize = 512;

/// Whether a file that begins with `head` is a page of ours; 512 bytes suffice.
pub fn is_page(head: &[u8]) -> bool {
    let head = &head[..head.len().min(MARK_WITHIN)];
    head.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

/// The page of `runs`, in their order; several stand side by side in a table first.
///
/// # Errors
///
/// A template cannot be filled, which would be a mistake in it.
pub fn page(runs: &[PageRun<'_>]) -> Result<String, PageError> {
    let titles = titles(runs);
    let several = titles.len() > 1;
    let views = runs
        .iter()
        .zip(&titles)
        .enumerate()
        .map(|(n, (run, title))| RunView::new(run, title, n + 1));
    let documents: Vec<_> = runs
        .iter()
        .map(|run| crate::document::run_document(run.record, run.assessment, run.exit_status))
        .collect();
    let document = match documents.as_slice() {
        [one] => Data::new(one),
        several => Data::new(several),
    };
    Page {
        version: env!("CARGO_PKG_VERSION"),
        policy: policy::policy(&[ECHARTS, SCRIPT, PAGE_SCRIPT], &[STYLE]),
        title: match titles.as_slice() {
            [one] => one.clone(),
            titles => format!("{} runs", titles.len()),
        },
        runs_table: several.then(|| summary::runs(runs, &titles)),
        comparison: several.then(|| comparison(runs, &titles)).flatten(),
        runs: views.collect(),
        document,
        style: STYLE,
        scripts: [ECHARTS, SCRIPT, PAGE_SCRIPT],
    }
    .render()
}

const STYLE: &str = include_str!("../../templates/page.css");
const PAGE_SCRIPT: &str = include_str!("../../templates/page.js");

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    version: &'static str,
    policy: String,
    title: String,
    runs_table: Option<Table>,
    comparison: Option<data::FigureView>,
    runs: Vec<RunView>,
    document: Data,
    style: &'static str,
    scripts: [&'static str; 3],
}

/// What each run is called; two that are called alike, with their ids.
fn titles(runs: &[PageRun<'_>]) -> Vec<String> {
    let own: Vec<String> = runs.iter().map(|run| run::title(run.record)).collect();
    let title = |(title, run): (&String, &PageRun<'_>)| match own
        .iter()
        .filter(|other| *other == title)
        .count()
    {
        1 => title.clone(),
        _ => format!("{title} ({})", clean(&run.record.run.id)),
    };
    own.iter().zip(runs).map(title).collect()
}

/// All runs in one figure, where they have something in common to draw.
fn comparison(runs: &[PageRun<'_>], titles: &[String]) -> Option<data::FigureView> {
    let sources: Vec<Source<'_>> =
        titles.iter().zip(runs).map(|(label, run)| Source { label, record: run.record }).collect();
    let judged: Vec<_> = runs.iter().flat_map(|run| &run.assessment.measurements).collect();
    let figure = figure(&Request::new(Kind::Compare), &sources).ok()?;
    Some(data::FigureView::new(&figure, measurement::not_valid(&judged)))
}
