//! Lists measurements one per line, for runs with many of them.

use std::collections::HashMap;

use iodyno_model::{
    Assessment, DirectionResult, EndReason, GroupTotal, Measurement, Metric, RunRecord, Validity,
};

use super::Style;
use super::figure::{bare, iops, stated};
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::jobs::block_size;
use super::totals::{title, totals_of};
use super::words::{Hanging, clean, cut};
use crate::percentiles::percentiles_of;

const UNKNOWN: &str = "-";

const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

/// Columns that a name may repeat, with the prefix to look for.
const NAME_OPTIONS: [(usize, &str); 4] = [(2, "rw="), (3, "bs="), (4, "iodepth="), (5, "numjobs=")];

/// Maximum width of a name, unless the table may be wide.
const LONGEST_NAME: usize = 48;

/// Maximum width of a failure's reason, which takes the place of the IOPS.
const LONGEST_FAILURE: usize = 24;

/// A line per direction of the first `most` measurements, in the run's order: workload and results.
/// Columns without values are left out, as are those that every name repeats (in sweeps); others
/// are dropped by priority until it fits `style.width`.
pub fn results_table(record: &RunRecord, most: usize, style: &Style) -> String {
    let order: Vec<usize> = (0..record.measurements.len().min(most)).collect();
    table_of(record, None, &order, style)
}

/// Table in the given order, with validity if judged; totals follow the last job of a concurrent
/// group.
pub(super) fn table_of(
    record: &RunRecord,
    assessment: Option<&Assessment>,
    order: &[usize],
    style: &Style,
) -> String {
    table_with(record, assessment, order, &totals_of(record), style)
}

/// The same with the given totals.
pub(super) fn table_with(
    record: &RunRecord,
    assessment: Option<&Assessment>,
    order: &[usize],
    totals: &[GroupTotal],
    style: &Style,
) -> String {
    let column = GridColumn::new;
    // The same name on different targets.
    let mut firsts: HashMap<&str, &[String]> = HashMap::new();
    let tells_apart = record
        .measurements
        .iter()
        .any(|of| *firsts.entry(&of.name).or_insert(&of.targets) != of.targets);
    let columns = [
        column("NAME", 0, false),
        column("TARGET", if tells_apart { 1 } else { 12 }, false),
        column("RW", 8, false),
        column("BS", 6, true),
        column("DEPTH", 9, true),
        column("JOBS", 11, true),
        // Direction, or FAILED, which must stay.
        column("", 0, false),
        column("IOPS", 1, true),
        column("BANDWIDTH", 1, true),
        column("MEAN", 2, true),
        column("P50", 7, true),
        column("P99", 3, true),
        column("P99.9", 4, true),
        column("MAX", 5, true),
        column("VALIDITY", 1, false),
    ];
    let mut rows = Vec::new();
    for n in order {
        let measurement = &record.measurements[*n];
        let failure = measurement.failure();
        let judged = assessment.and_then(|all| all.of(*n));
        if let (Some(how), true) = (failure, measurement.total.is_empty()) {
            let mut cells = workload_cells(measurement, style);
            cells.push(GridCell::new("FAILED", Ink::Bad));
            cells.push(GridCell::new(cut(&clean(how), LONGEST_FAILURE), Ink::Bad));
            cells.resize(columns.len(), GridCell::plain(UNKNOWN));
            rows.push(cells);
        }
        for result in &measurement.total {
            let mut cells = workload_cells(measurement, style);
            cells.push(match failure {
                Some(_) => GridCell::new("FAILED", Ink::Bad),
                None => GridCell::or_dash(result.direction.name().into()),
            });
            cells.extend(figures(result).map(GridCell::or_dash));
            cells.push(validity(measurement, judged.map(|judged| judged.validity)));
            rows.push(cells);
        }
        for total in totals.iter().filter(|total| total.members.last() == Some(n)) {
            for result in &total.total {
                let mut cells = vec![GridCell::or_dash(title(total, record))];
                cells.resize(6, GridCell::plain(String::new()));
                cells.push(GridCell::or_dash(result.direction.name().into()));
                cells.extend(figures(result).map(GridCell::or_dash));
                cells.push(GridCell::plain(UNKNOWN));
                rows.push(cells);
            }
        }
    }
    // Jobs without I/O.
    if rows.is_empty() {
        return String::new();
    }
    let names = || record.measurements.iter().map(|measurement| measurement.name.as_str());
    let is_in_names = |at: &usize| {
        let option = NAME_OPTIONS.iter().find(|(column, _)| column == at);
        option.is_some_and(|(_, option)| names().all(|name| name.contains(option)))
    };
    let says = |row: &Vec<GridCell>, at: usize| ![UNKNOWN, ""].contains(&row[at].text.as_str());
    let is_known =
        |at: &usize| *at == 0 || (rows.iter().any(|row| says(row, *at)) && !is_in_names(at));
    let known: Vec<usize> = (0..columns.len()).filter(is_known).collect();
    let columns: Vec<GridColumn> = known.iter().map(|at| columns[*at].clone()).collect();
    let rows: Vec<Vec<GridCell>> =
        rows.iter().map(|row| known.iter().map(|at| row[*at].clone()).collect()).collect();
    grid(&columns, &rows, style, style.wide).text + &unsteady(record, style)
}

/// A line per job that did not attain its `steadystate`.
fn unsteady(record: &RunRecord, style: &Style) -> String {
    let is_unsteady = |of: &&Measurement| {
        of.account.as_ref().and_then(|of| of.steadystate_attained) == Some(false)
    };
    let line = |of: &Measurement| {
        let words = format!("{}: STEADY STATE NOT REACHED in time", clean(&of.name));
        Hanging { ink: Ink::Bad, ..Hanging::of(style) }.lines(&[words])
    };
    record.measurements.iter().filter(is_unsteady).map(line).collect()
}

/// Empty for a valid measurement.
fn validity(of: &Measurement, validity: Option<Validity>) -> GridCell {
    match validity {
        Some(Validity::Valid | Validity::Qualified) | None if of.end == EndReason::Interrupted => {
            GridCell::new("interrupted", Ink::Doubt)
        }
        Some(Validity::Invalid) => GridCell::new("INVALID", Ink::Bad),
        // The caveats of a qualified measurement are below the table.
        Some(Validity::Qualified | Validity::Valid) | None => GridCell::plain(UNKNOWN),
    }
}

fn workload_cells(of: &Measurement, style: &Style) -> Vec<GridCell> {
    let workload = &of.workload;
    let number = |number: Option<u32>| number.map(|n| n.to_string()).unwrap_or_default();
    let words = [
        cut(&clean(&of.name), if style.wide { usize::MAX } else { LONGEST_NAME }),
        match of.targets.len() {
            0..=2 => of.targets.iter().map(|one| clean(one)).collect::<Vec<_>>().join(" "),
            several if !style.wide => format!("{several} targets"),
            _ => of.targets.iter().map(|one| clean(one)).collect::<Vec<_>>().join(" "),
        },
        workload.rw.as_deref().map(clean).unwrap_or_default(),
        block_size(workload).unwrap_or_default(),
        number(workload.iodepth),
        number(workload.numjobs),
    ];
    words.into_iter().map(GridCell::or_dash).collect()
}

/// Only the IOPS have an interval: bandwidth and mean latency follow from them.
fn figures(of: &DirectionResult) -> [String; 7] {
    let rate = of.iops.as_ref().map(iops);
    let mean = of.mean_latency();
    let (kind, shown) = percentiles_of(of, &PERCENTS);
    // fio reports percentiles of clat, but the mean of lat.
    let same = mean.is_none_or(|(of, _)| of == kind);
    let time = |ns: f64| {
        let figure = stated(Metric::LatencyMean, ns);
        if same { figure } else { format!("{figure} ({})", kind.fio_name()) }
    };
    let at = |percent: f64| {
        let found = shown.iter().find(|one| one.percent == percent);
        found.map(|one| time(one.value_ns as f64)).unwrap_or_default()
    };
    [
        rate.unwrap_or_default(),
        of.bandwidth.map(|rate| bare(Metric::Bandwidth, &rate)).unwrap_or_default(),
        mean.map(|(_, ns)| bare(Metric::LatencyMean, &ns)).unwrap_or_default(),
        at(50.0),
        at(99.0),
        at(99.9),
        of.max_of(kind).map(|max| time(max.value)).unwrap_or_default(),
    ]
}
