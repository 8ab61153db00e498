//! Summary of several runs: table of runs, drives of several hosts, and differences.

use iodyno_figure::{Kind, Request, Source, figure};
use iodyno_judge::ClaimBook;
use iodyno_judge::comparison::{Comparison, Side, compare};
use iodyno_judge::layouts::Layouts;
use iodyno_model::RunRecord;

use super::data::FigureView;
use super::table::{Cell, Table};
use super::{lead, measurement, room, run};
use crate::Judged;
use crate::fleet::{are_of_several_hosts, fleet};
use crate::paged::PageRun;
use crate::text::comparison::{Cells, cells, notes_of};
use crate::text::fleet::{cells as drives_of, counts, heading};
use crate::text::host::counted;
use crate::text::layouts::{self, OF_ONE_RUN, ON_FILES};
use crate::text::runs::{origin, started};
use crate::text::words::clean;

/// Maximum number of workloads for the table of differences to be unfolded.
const UNFOLDED: usize = 12;

/// Several runs, for the template.
#[derive(Debug)]
pub(super) struct RunsView {
    /// A row for each run.
    pub(super) runs: Table,
    /// Numbers of drives and hosts; empty for a single host.
    pub(super) fleet: String,
    /// Drives by class: (class, drives).
    pub(super) classes: Vec<(String, Table)>,
    /// Layouts by workload, if the runs are of layouts.
    pub(super) layouts: Option<Table>,
    /// Notes on the layouts.
    pub(super) of_layouts: Vec<&'static str>,
    /// A line for each figure of each common workload.
    pub(super) differences: Option<Table>,
    /// Number of common workloads, in words.
    pub(super) workloads: String,
    /// True if there are few workloads.
    pub(super) unfolded: bool,
    /// Notes on the differences, and conditions that differ.
    pub(super) notes: Vec<String>,
    /// All runs in one figure.
    pub(super) figure: Option<FigureView>,
}

impl RunsView {
    pub(super) fn new(runs: &[PageRun<'_>], titles: &[String], claims: &ClaimBook) -> Self {
        let records: Vec<&RunRecord> = runs.iter().map(|run| run.judged.record).collect();
        let judged: Vec<Judged<'_>> = runs.iter().map(|run| run.judged).collect();
        let hosts = are_of_several_hosts(&records).then(|| fleet(&judged));
        let classes = hosts.iter().flat_map(|fleet| &fleet.classes).map(|class| {
            let (columns, rows) = drives_of(class);
            (heading(class), Table::of_grid(&columns, rows))
        });
        let sides = titles.iter().zip(&records);
        let sides: Vec<Side<'_>> = sides
            .map(|(title, record)| Side { label: title.clone(), records: vec![*record] })
            .collect();
        let comparison = compare(&sides, claims);
        let named: Vec<(&str, &RunRecord)> =
            titles.iter().map(String::as_str).zip(records.iter().copied()).collect();
        let layouts = Layouts::among(&named);
        let workloads = comparison.rows.len();
        let common = (workloads > 0).then_some(&comparison);
        Self {
            runs: runs_table(runs, titles),
            fleet: hosts.as_ref().map(|fleet| counts(fleet).join(" · ")).unwrap_or_default(),
            classes: classes.collect(),
            layouts: layouts.as_ref().map(layouts_table),
            of_layouts: layouts.as_ref().map(layout_notes).unwrap_or_default(),
            differences: common
                .filter(|of| room::shows_differences(of.rows.len(), of.sides.len()))
                .map(differences),
            workloads: format!("{} in common", counted(workloads, "workload")),
            unfolded: workloads <= UNFOLDED,
            notes: common.map(notes_of).unwrap_or_default(),
            figure: combined_figure(runs, titles, layouts.as_ref()),
        }
    }
}

/// Builds a row for each run.
fn runs_table(runs: &[PageRun<'_>], titles: &[String]) -> Table {
    let row = |(n, one): (usize, &PageRun<'_>)| {
        let record = one.judged.record;
        let host = record.host().and_then(|host| host.hostname.value());
        let drives = record.host().map(|host| host.drive_count().to_string());
        let (verdict, words) =
            lead::verdict(one).unwrap_or_else(|| (Cell::text(""), String::new()));
        vec![
            match room::has_section(n + 1) {
                true => Cell::link(&titles[n], &run::id(n + 1)),
                false => Cell::text(titles[n].clone()),
            },
            Cell::text(host.map(|name| clean(&name)).unwrap_or_default()),
            match record.is_undated() {
                true => Cell::text(""),
                false => Cell { class: "whole", ..Cell::text(started(&record.run)) },
            },
            Cell::text(origin(&record.run).unwrap_or_else(|| "measured".into())),
            Cell::text(drives.unwrap_or_default()),
            Cell::text(record.measurements.len().to_string()),
            verdict,
            Cell::text(words),
        ]
    };
    let columns =
        ["run", "host", "started (UTC)", "from", ">drives", ">measurements", "verdict", ""];
    Table::of(&columns, runs.iter().enumerate().map(row).collect()).without_empty(1)
}

/// Builds the table of `iodyno compare`, with the workload in front of its first line.
fn differences(comparison: &Comparison) -> Table {
    let Cells { mut columns, rows } = cells(comparison);
    columns.insert(0, ("workload".into(), false));
    let line = |(title, n, line): (&String, usize, Vec<_>)| {
        let lead = Cell { class: "words", ..Cell::default() };
        let lead = if n == 0 { Cell { text: title.clone(), ..lead } } else { lead };
        std::iter::once(lead).chain(line.into_iter().map(Cell::from)).collect()
    };
    let mut all = Vec::new();
    for (title, lines) in rows {
        all.extend(lines.into_iter().enumerate().map(|(n, of)| line((&title, n, of))));
    }
    Table { columns, rows: all }
}

/// Builds the table of `iodyno layouts`.
fn layouts_table(of: &Layouts<'_>) -> Table {
    let of_all = layouts::of_all(of.drives());
    let (columns, rows) = layouts::cells(&of.workloads(), of_all.as_deref());
    let mut table = Table::of_grid(&columns, rows);
    // The workload is in its first line only; an empty cell below it does not mean unknown.
    let workloads = table.rows.iter_mut().map(|row| &mut row[0]);
    workloads.filter(|cell| cell.text == "-").for_each(|cell| cell.text.clear());
    table
}

/// Returns the notes on the layouts table.
fn layout_notes(of: &Layouts<'_>) -> Vec<&'static str> {
    if of.are_on_files() { vec![OF_ONE_RUN, ON_FILES] } else { vec![OF_ONE_RUN] }
}

/// Draws all runs in one figure, if they have something in common; layouts relative to the single
/// drive.
fn combined_figure<'r>(
    runs: &[PageRun<'r>],
    titles: &'r [String],
    layouts: Option<&Layouts<'r>>,
) -> Option<FigureView> {
    let source = |(label, run): (&'r String, &PageRun<'r>)| Source {
        label,
        record: run.judged.record,
        outlook: run.outlook,
    };
    let of_layout = |(label, record)| Source::new(label, record);
    let (kind, sources): (_, Vec<Source<'_>>) = match layouts {
        Some(of) => (Kind::Ratio, of.ranked().map(of_layout).collect()),
        None => (Kind::Compare, titles.iter().zip(runs).map(source).collect()),
    };
    let mut request = Request::new(kind);
    request.without_fills = layouts.is_some();
    let judged: Vec<Judged<'_>> = runs.iter().map(|run| run.judged).collect();
    // The order of layouts is that of their sources.
    let of_sources = sources.iter().filter_map(|source| {
        judged.iter().find(|judged| std::ptr::eq(judged.record, source.record)).copied()
    });
    request.judged = measurement::invalid(&of_sources.collect::<Vec<_>>());
    let figure = figure(&request, &sources).ok()?;
    let shown = measurement::drawn(kind, &judged, |_| true);
    Some(FigureView::new(&figure, measurement::invalid_counts(&shown)))
}
