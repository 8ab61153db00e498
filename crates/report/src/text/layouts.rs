//! Layouts by workload, the fastest first.

use iodyno_judge::layouts::{LayoutResult, LayoutWorkload};
use iodyno_model::{Estimate, Metric};

use super::Style;
use super::figure::bare;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::words::clean;

/// What has to be known of the table.
pub const OF_ONE_RUN: &str =
    "Ratios are of one run each: what differs from run to run is not known.";

/// Where no drive was measured.
pub const ON_FILES: &str = "INVALID for drives: this was measured on loop devices over files.";

/// A line for each layout of each workload; `drives` is how many there are.
pub fn layouts_text(workloads: &[LayoutWorkload], drives: usize, style: &Style) -> String {
    let of_all = of_all(drives);
    let (columns, rows) = cells(workloads, &of_all);
    grid(&columns, &rows, style, style.wide).text
}

/// The heading over the share of all drives; empty where there is but one.
pub(crate) fn of_all(drives: usize) -> String {
    if drives > 1 { format!("OF {drives}") } else { String::new() }
}

/// The table's columns and rows; `of_all` heads the share of all drives, which
/// is left out where it is empty.
pub(crate) fn cells<'a>(
    workloads: &[LayoutWorkload],
    of_all: &'a str,
) -> (Vec<GridColumn<'a>>, Vec<Vec<GridCell>>) {
    let column = |heading, priority, right| GridColumn { heading, priority, right };
    let mut columns = vec![
        column("WORKLOAD", 0, false),
        column("LAYOUT", 0, false),
        column("RATE", 0, true),
        column("OF ONE", 1, true),
        column("EXPECTED", 2, true),
        column(of_all, 1, true),
        column("LATENCY", 2, true),
        column("ADDED", 3, true),
        column("CPU/IO", 4, true),
        column("WRITE AMP", 4, true),
    ];
    let mut rows = Vec::new();
    for workload in workloads {
        for (n, result) in workload.results.iter().enumerate() {
            let name = if n == 0 { clean(&workload.name) } else { String::new() };
            let mut row = vec![plain(name), plain(clean(&result.layout))];
            row.extend(figures(workload.metric, result));
            rows.push(row);
        }
    }
    if let Some(at) = columns.iter().position(|column| column.heading.is_empty()) {
        columns.remove(at);
        rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
    (columns, rows)
}

fn plain(text: String) -> GridCell {
    GridCell { text, ink: Ink::Plain }
}

fn figures(metric: Metric, of: &LayoutResult) -> [GridCell; 8] {
    let unknown = || plain("-".into());
    let shown = |value: Option<f64>, show: &dyn Fn(f64) -> String| {
        value.map_or_else(unknown, |value| plain(show(value)))
    };
    let figure = |metric: Metric, value: f64| bare(metric, &Estimate::bare(value));
    let time = |ns: f64| figure(Metric::LatencyMean, ns);
    let added = |ns: f64| format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(ns.abs()));
    [
        match of.rate {
            Some(rate) => plain(figure(metric, rate)),
            None => GridCell { text: "FAILED".into(), ink: Ink::Bad },
        },
        shown(of.of_one, &|ratio| format!("{ratio:.2} x")),
        shown(of.expected, &|ratio| format!("{ratio:.2} x")),
        shown(of.of_all, &|ratio| format!("{:.0} %", ratio * 100.0)),
        shown(of.latency_ns, &time),
        shown(of.added_ns, &added),
        shown(of.cpu_ns, &time),
        shown(of.write_amplification, &|times| format!("{times:.2} x")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_stands_first_and_what_failed_says_so() {
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
        let text = layouts_text(&[workload], 2, &style);
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
    fn a_single_drive_is_no_share_of_all() {
        let style = Style { width: 120, color: false, wide: false, columns: None };
        assert!(layouts_text(&[], 2, &style).contains("OF 2"));
        let heading = layouts_text(&[], 1, &style);
        assert!(heading.contains("OF ONE") && !heading.contains("OF 1"), "{heading}");
    }
}
