//! The table of a study's points.

use iodyno_model::{
    Assessment, Direction, Estimate, Measurement, Metric, RunRecord, Validity, format_duration_ns,
};

use super::Style;
use super::figure::estimated;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::words::clean;

/// Every measurement in a line (a direction each), in the order of its name's
/// first appearance; validity and failures stand beside the figures.
pub fn points_table(record: &RunRecord, assessment: &Assessment, style: &Style) -> String {
    let column = |heading, priority, right| GridColumn { heading, priority, right };
    let several = record.run.targets.len() > 1;
    let mut columns = vec![
        column("POINT", 0, false),
        column("IOPS", 1, true),
        column("MB/s", 2, true),
        column("MEAN", 3, true),
        column("99 %", 4, true),
        column("TOOK", 6, true),
        column("", 1, false),
    ];
    if several {
        columns.insert(1, column("TARGET", 5, false));
    }
    let judged = |n: usize| assessment.measurements.iter().find(|one| one.measurement == n);
    let rows: Vec<Vec<GridCell>> = record
        .measurements
        .iter()
        .enumerate()
        .flat_map(|(n, of)| {
            let mark = mark(of, judged(n).map(|one| one.validity));
            rows(of, &mark, several)
        })
        .collect();
    grid(&columns, &rows, style, style.wide).text
}

fn rows(of: &Measurement, mark: &GridCell, several: bool) -> Vec<Vec<GridCell>> {
    let cell = |text: Option<String>| GridCell {
        text: text.unwrap_or_else(|| "-".into()),
        ink: Ink::Plain,
    };
    let name = clean(&of.name);
    let took = of.duration_ns.map(|ns| format_duration_ns(ns as f64));
    let row = |name: String, cells: [Option<String>; 4]| {
        let mut row = vec![cell(Some(name))];
        row.extend(several.then(|| cell(Some(clean(&of.targets.join(", "))))));
        row.extend(cells.map(cell));
        row.push(cell(took.clone()));
        row.push(mark.clone());
        row
    };
    if of.total.is_empty() {
        return vec![row(name, [None, None, None, None])];
    }
    let directions = of.total.iter().map(|result| {
        let name = match result.direction {
            _ if of.total.len() == 1 => name.clone(),
            Direction::Mixed => format!("{name} (mixed)"),
            direction => format!("{name} ({}s)", direction.name()),
        };
        let latency = |value: Estimate| format_duration_ns(value.value);
        row(
            name,
            [
                result.iops.map(|iops| figure(Metric::Iops, &iops)),
                result.bandwidth.map(|rate| figure(Metric::Bandwidth, &rate)),
                result.mean_latency().map(|(_, mean)| latency(mean)),
                result.percentile(99.0).map(|(_, p99)| latency(p99)),
            ],
        )
    });
    directions.collect()
}

/// With its interval, without the unit that the heading has.
fn figure(metric: Metric, estimate: &Estimate) -> String {
    let unit = if metric == Metric::Iops { " IOPS" } else { " MB/s" };
    estimated(metric, estimate).replacen(unit, "", 1)
}

fn mark(of: &Measurement, validity: Option<Validity>) -> GridCell {
    let (text, ink) = match (of.failure(), validity) {
        (Some(why), _) => (format!("failed: {}", clean(why)), Ink::Bad),
        (None, Some(Validity::Invalid)) => ("INVALID".into(), Ink::Bad),
        (None, Some(Validity::Qualified)) => ("qualified".into(), Ink::Doubt),
        (None, _) => (String::new(), Ink::Plain),
    };
    GridCell { text, ink }
}
