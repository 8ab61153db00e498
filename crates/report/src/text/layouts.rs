//! Compares storage layouts by workload, the fastest first.

use std::collections::BTreeSet;

use iodyno_judge::layouts::{LayoutResult, LayoutWorkload, Layouts};
use iodyno_model::{Estimate, Metric, RunState};

use super::Style;
use super::attention::whole;
use super::figure::{bare, stated};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{clean, dim, first_line};

/// Caveat of the table.
pub(crate) const OF_ONE_RUN: &str = "Ratios are from one run each: run-to-run spread unknown.";

/// Caveat if no drive was measured.
pub(crate) const ON_FILES: &str =
    "INVALID for drives: this was measured on loop devices over files.";

/// The fastest layout by workload, a line per layout of each workload, and the caveats; `further`
/// are commands for details.
pub fn layouts_text(held: &Layouts<'_>, further: &[String], style: &Style) -> String {
    let are_on_files = held.are_on_files();
    let workloads = held.workloads();
    let raw: Vec<&str> =
        held.one.into_iter().chain(held.all).map(|record| record.run.id.as_str()).collect();
    let is_stopped = held.built.iter().any(|(_, of)| of.run.state == RunState::Interrupted);
    let label = match are_on_files {
        _ if is_stopped => ("STOPPED", Ink::Doubt),
        true => ("INVALID", Ink::Doubt),
        false => ("DONE", Ink::Good),
    };
    let (label, clause) = clause(&workloads, &raw, held.drives(), label);
    let mut notes = whole("NOTE", Ink::Dim, OF_ONE_RUN, style);
    if are_on_files {
        notes += &whole("WARN", Ink::Doubt, ON_FILES, style);
    }
    let table = table(&workloads, held.drives(), style);
    let sections = [first_line(label, &[clause], style), table, notes, dim(further, style)];
    sections.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn table(workloads: &[LayoutWorkload], drives: usize, style: &Style) -> String {
    let of_all = of_all(drives);
    let (columns, rows) = cells(workloads, of_all.as_deref());
    grid(&columns, &rows, style, style.wide).text
}

/// `3 layouts of 2 drives: md0 is the fastest by rand-read (784k IOPS)`; the runs `raw` are of bare
/// drives, without a layout.
fn clause(
    workloads: &[LayoutWorkload],
    raw: &[&str],
    drives: usize,
    label: (&'static str, Ink),
) -> ((&'static str, Ink), String) {
    let is_built = |of: &&LayoutResult| !raw.contains(&of.run_id.as_str());
    let results = || workloads.iter().flat_map(|workload| &workload.results);
    let layouts: BTreeSet<&str> = results().filter(is_built).map(|of| of.layout.as_str()).collect();
    let mut text = format!("{} of {}", counted(layouts.len(), "layout"), counted(drives, "drive"));
    let failed = results().filter(|result| result.rate.is_none()).count();
    if failed > 0 {
        text = format!("{text}, {} failed", counted(failed, "measurement"));
    }
    let mut fastest: Vec<(&str, Vec<String>)> = Vec::new();
    for workload in workloads {
        let first = workload.results.iter().find(is_built);
        let Some((first, rate)) = first.and_then(|of| Some((of, of.rate?))) else { continue };
        let what = format!("{} ({})", clean(&workload.name), stated(workload.metric, rate));
        match fastest.iter_mut().find(|(layout, _)| *layout == first.layout) {
            Some((_, all)) => all.push(what),
            None => fastest.push((&first.layout, vec![what])),
        }
    }
    let fastest = fastest.iter().enumerate().map(|(n, (layout, all))| {
        let all = if all.len() > 2 { counted(all.len(), "workload") } else { all.join(", ") };
        format!("{}{} by {all}", clean(layout), if n == 0 { " is the fastest" } else { "" })
    });
    let fastest: Vec<String> = fastest.collect();
    if layouts.len() > 1 && !fastest.is_empty() {
        text = format!("{text}: {}", fastest.join(", "));
    }
    (if failed > 0 { ("FAILED", Ink::Bad) } else { label }, text)
}

/// Heading of the share of all drives; `None` for one drive.
pub(crate) fn of_all(drives: usize) -> Option<String> {
    (drives > 1).then(|| format!("OF {drives}"))
}

/// Columns and rows of the table; `of_all` is the heading of the share of all drives, omitted if
/// `None`.
pub(crate) fn cells<'a>(
    workloads: &[LayoutWorkload],
    of_all: Option<&'a str>,
) -> (Vec<GridColumn<'a>>, Vec<Vec<GridCell>>) {
    let column = GridColumn::new;
    let columns = [
        Some(column("WORKLOAD", 0, false)),
        Some(column("LAYOUT", 0, false)),
        Some(column("RATE", 0, true)),
        Some(column("OF ONE", 1, true)),
        Some(column("EXPECTED", 2, true)),
        of_all.map(|heading| column(heading, 1, true)),
        Some(column("LATENCY", 2, true)),
        Some(column("ADDED", 3, true)),
        Some(column("CPU/IO", 4, true)),
        Some(column("WRITE AMP", 4, true)),
    ];
    let mut rows = Vec::new();
    for workload in workloads {
        for (n, result) in workload.results.iter().enumerate() {
            let name = if n == 0 { clean(&workload.name) } else { String::new() };
            let mut row = vec![GridCell::plain(name), GridCell::plain(clean(&result.layout))];
            row.extend(figures(workload.metric, result, of_all.is_some()));
            rows.push(row);
        }
    }
    (columns.into_iter().flatten().collect(), rows)
}

fn figures(metric: Metric, of: &LayoutResult, with_share: bool) -> impl Iterator<Item = GridCell> {
    let unknown = || GridCell::plain("-");
    let shown = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
        value.map_or_else(unknown, |value| GridCell::plain(show(value)))
    };
    let figure = |metric: Metric, value: f64| bare(metric, &Estimate::bare(value));
    let time = |ns: f64| figure(Metric::LatencyMean, ns);
    let added = |ns: f64| format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(ns.abs()));
    let cells = [
        Some(match of.rate {
            Some(rate) => GridCell::plain(figure(metric, rate)),
            None => GridCell::new("FAILED", Ink::Bad),
        }),
        Some(shown(of.of_one, &|ratio| format!("{ratio:.2} x"))),
        Some(shown(of.expected, &|ratio| format!("{ratio:.2} x"))),
        with_share.then(|| shown(of.of_all, &|ratio| format!("{:.0} %", ratio * 100.0))),
        Some(shown(of.latency_ns, &time)),
        Some(shown(of.added_ns, &added)),
        Some(shown(of.cpu_ns, &time)),
        Some(shown(of.write_amplification, &|times| format!("{times:.2} x"))),
    ];
    cells.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_first_and_failures_are_marked() {
        let result = |layout: &str, rate: Option<f64>| LayoutResult {
            layout: layout.into(),
            run_id: String::new(),
            rate,
            of_one: rate.map(|rate| rate / 400e3),
            expected: rate.map(|_| 2.0),
            of_all: rate.map(|rate| rate / 800e3),
            latency_ns: rate.map(|_| 80_500.0),
            added_ns: rate.map(|_| 2_500.0),
            cpu_ns: rate.map(|_| 1_850.0),
            write_amplification: None,
        };
        let workload = LayoutWorkload {
            name: "rand-read".into(),
            metric: Metric::Iops,
            results: vec![result("md0:512k", Some(784e3)), result("ext4", None)],
        };
        let style = Style { width: 120, color: false, wide: false, columns: None };
        let workloads = [workload];
        let (label, words) = clause(&workloads, &["raw"], 2, ("DONE", Ink::Good));
        assert_eq!(label.0, "FAILED");
        assert_eq!(
            words,
            "2 layouts of 2 drives, 1 measurement failed: md0:512k is the fastest by rand-read \
             (784k IOPS)"
        );
        let text = table(&workloads, 2, &style);
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words(lines[0]),
            "WORKLOAD LAYOUT RATE OF ONE EXPECTED OF 2 LATENCY ADDED CPU/IO WRITE AMP"
        );
        assert_eq!(
            words(lines[1]),
            "rand-read md0:512k 784k IOPS 1.96 x 2.00 x 98 % 80.5 us +2.50 us 1.85 us -"
        );
        assert_eq!(words(lines[2]), "ext4 FAILED - - - - - - -");
    }

    #[test]
    fn a_single_drive_has_no_share_of_all() {
        let style = Style { width: 120, color: false, wide: false, columns: None };
        assert!(table(&[], 2, &style).contains("OF 2"));
        let heading = table(&[], 1, &style);
        assert!(heading.contains("OF ONE") && !heading.contains("OF 1"), "{heading}");
    }
}
