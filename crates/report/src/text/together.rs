//! Combined results of nodes that started together.

use iodyno_model::{Metric, format_count, format_duration_ns, rfc3339};

use super::Style;
use super::comparison::has_several_directions;
use super::figure::{percentile_value, stated};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{clean, first_line, listed};
use crate::fleet::{GroupLoad, Rates, Together};
use crate::percentiles::percentiles;

/// Percentiles over all nodes.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];
/// Missing ranks named.
const MOST_MISSING: usize = 8;

/// For each agreed start: the nodes, their start spread, and a table of loads: rates while all
/// nodes were measuring, rates up to the last end, and percentiles of all latencies. Lines are at
/// most `style.width` long.
pub fn node_groups_text(all: &[Together], style: &Style) -> String {
    if all.is_empty() {
        return "No run had an agreed start: iodyno accept --start-at TIME sets one.\n".into();
    }
    let texts: Vec<String> = all.iter().map(|one| of_moment(one, style)).collect();
    texts.join("\n")
}

fn of_moment(of: &Together, style: &Style) -> String {
    let first = first_line(("", Ink::Plain), &heading(of), style);
    let column = GridColumn::new;
    let columns = [
        column("STEP", 0, false),
        column("NODES", 0, true),
        column("START SPREAD", 3, true),
        column("COMMON", 1, true),
        column("IOPS", 0, true),
        column("BANDWIDTH", 1, true),
        column("TO LAST END", 2, true),
        column("IOPS", 2, true),
        column("BANDWIDTH", 4, true),
        column("p50", 1, true),
        column("p99", 0, true),
        column("p99.9", 1, true),
    ];
    let rows: Vec<Vec<GridCell>> = of.loads.iter().map(|load| row(of, load)).collect();
    match rows.is_empty() {
        true => first,
        false => first + &grid(&columns, &rows, style, style.wide).text,
    }
}

/// `check, step 1 at 2026-11-23T16:00:00Z`, the nodes, and their start spread.
fn heading(of: &Together) -> Vec<String> {
    let moment = &of.moment;
    let mut items = vec![
        format!("{}, step {} at {}", clean(&moment.profile), moment.step, rfc3339(moment.at_ns)),
        counted(of.nodes, "node"),
    ];
    if !of.missing.is_empty() {
        let mut names: Vec<String> =
            of.missing.iter().take(MOST_MISSING).map(ToString::to_string).collect();
        if of.missing.len() > MOST_MISSING {
            names.push("…".into());
        }
        items.push(format!("missing: rank {}", listed(&names)));
    }
    let clocks = match of.clock_error_ns {
        Some(ns) => format!("clocks within {}", format_duration_ns(ns as f64)),
        None => "clock errors unknown".into(),
    };
    items.push(format!("started within {}", format_duration_ns(of.start_spread_ns as f64)));
    items.push(clocks);
    items
}

fn row(of: &Together, load: &GroupLoad) -> Vec<GridCell> {
    let duration = |ns: u64| format_duration_ns(ns as f64);
    let rates = |rates: Option<Rates>| match rates {
        Some(of) => [
            duration(of.duration_ns),
            format_count(of.iops),
            stated(Metric::Bandwidth, of.bandwidth),
        ],
        None => ["-"; 3].map(str::to_owned),
    };
    let nodes = match load.nodes == of.nodes {
        true => load.nodes.to_string(),
        false => format!("{} of {}", load.nodes, of.nodes),
    };
    let mut cells = vec![name(load), nodes, duration(load.start_spread_ns)];
    cells.extend(rates(load.common));
    cells.extend(rates(Some(load.whole)));
    let shown = percentiles(&load.latency, &PERCENTS);
    cells.extend(PERCENTS.iter().map(|percent| {
        let known = shown.iter().find(|one| one.percent == *percent);
        known.map_or_else(|| "-".to_owned(), percentile_value)
    }));
    cells.into_iter().map(GridCell::plain).collect()
}

/// `rand-read nvme0n1`, and the direction if its `rw` has several.
fn name(load: &GroupLoad) -> String {
    let direction = load
        .of
        .rw
        .as_deref()
        .is_some_and(has_several_directions)
        .then_some(load.of.direction.name());
    let target = load.target.as_deref();
    let words = [Some(load.of.measurement.as_str()), target, direction];
    words.into_iter().flatten().map(clean).collect::<Vec<_>>().join(" ")
}
