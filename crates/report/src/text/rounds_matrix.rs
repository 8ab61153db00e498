//! Matrices of round averages as in the specification: read/write mix by block size, threads by
//! depth.

use iodyno_judge::Convergence;
use iodyno_model::{Measurement, Metric, Rounds, distinct};

use super::grid::{GridCell, GridColumn};
use super::rounds_tables::{RoundsTable, cell, mean, name, of_window};
use super::words::clean;

/// A matrix of window averages per tracked metric: a row per value of the option in which the
/// points differ, a column per part of the plan. Empty if they do not differ like that.
pub(super) fn matrices(
    asked: &Rounds,
    found: &Convergence,
    all: &[&Measurement],
) -> Vec<RoundsTable> {
    let Some(window) = found.window(asked) else { return Vec::new() };
    let in_window = |of: &Measurement| of.round.is_some_and(|round| window.contains(&round));
    let within = all.iter().filter(|of| in_window(of));
    let names: Vec<(&str, &str, &str)> = within.filter_map(|of| split_name(&of.name)).collect();
    let options = distinct(names.iter().map(|(_, option, _)| *option));
    let parts = distinct(names.iter().map(|(part, ..)| *part));
    let values = distinct(names.iter().map(|(.., value)| *value));
    let ([option], true) = (options.as_slice(), parts.len() > 1 && values.len() > 1) else {
        return Vec::new();
    };
    let metrics = distinct(asked.track.iter().map(|tracked| tracked.metric));
    let table = |metric: Metric| {
        let columns =
            [option].into_iter().chain(&parts).map(|name| GridColumn::new(clean(name), 0, true));
        let row = |value: &&str| -> Vec<GridCell> {
            let figure = |part: &&str| {
                let is_it = |of: &&&Measurement| {
                    in_window(of)
                        && split_name(&of.name).is_some_and(|of| of.0 == *part && of.2 == *value)
                };
                let of: Vec<&Measurement> = all.iter().filter(is_it).copied().collect();
                let whole = of.len() == window.clone().count();
                cell(metric, mean(metric, &of).filter(|_| whole))
            };
            [clean(value)]
                .into_iter()
                .chain(parts.iter().map(figure))
                .map(GridCell::plain)
                .collect()
        };
        let (what, of) = (name(&metric), of_window(found, &window));
        RoundsTable {
            heading: format!("Average {what} over {of}"),
            columns: columns.collect(),
            rows: values.iter().map(row).collect(),
        }
    };
    metrics.into_iter().map(table).collect()
}

/// Splits a name like `65/35 bs=4k` into part, option and value.
fn split_name(name: &str) -> Option<(&str, &str, &str)> {
    let (part, word) = name.rsplit_once(' ')?;
    let (option, value) = word.split_once('=')?;
    (!part.contains('=')).then_some((part, option, value))
}
