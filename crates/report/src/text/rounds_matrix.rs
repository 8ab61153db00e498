//! Averages of rounds as the specification has them in a table: mixes by block
//! size, threads by depth.

use iodyno_judge::Convergence;
use iodyno_model::{Measurement, Metric, Rounds};

use super::Style;
use super::grid::{GridCell, GridColumn, grid};
use super::rounds::{cell, mean, name, of_window, plain};
use super::words::clean;

/// For each kind of figure that is tracked, a table of the averages over the
/// window: a row for each value of the option that the points differ by, a
/// column for each part of the plan. Empty where they do not differ like that.
pub(super) fn matrices(
    asked: &Rounds,
    found: &Convergence,
    all: &[&Measurement],
    style: &Style,
) -> String {
    let Some(window) = found.window(asked) else { return String::new() };
    let in_window = |of: &Measurement| of.round.is_some_and(|round| window.contains(&round));
    let within = all.iter().filter(|of| in_window(of));
    let names: Vec<(&str, &str, &str)> = within.filter_map(|of| parted(&of.name)).collect();
    let options = distinct(names.iter().map(|(_, option, _)| *option));
    let parts = distinct(names.iter().map(|(part, ..)| *part));
    let values = distinct(names.iter().map(|(.., value)| *value));
    let ([option], true) = (options.as_slice(), parts.len() > 1 && values.len() > 1) else {
        return String::new();
    };
    let metrics = distinct(asked.track.iter().map(|tracked| tracked.metric));
    let table = |metric: Metric| {
        let headings: Vec<String> = parts.iter().map(|part| clean(part)).collect();
        let option = clean(option);
        let column = |heading| GridColumn { heading, priority: 0, right: true };
        let columns: Vec<GridColumn<'_>> = [option.as_str()]
            .into_iter()
            .chain(headings.iter().map(String::as_str))
            .map(column)
            .collect();
        let row = |value: &&str| -> Vec<GridCell> {
            let figure = |part: &&str| {
                let is_it = |of: &&&Measurement| {
                    in_window(of)
                        && parted(&of.name).is_some_and(|of| of.0 == *part && of.2 == *value)
                };
                let of: Vec<&Measurement> = all.iter().filter(is_it).copied().collect();
                let whole = of.len() == window.clone().count();
                cell(metric, mean(metric, &of).filter(|_| whole))
            };
            [clean(value)].into_iter().chain(parts.iter().map(figure)).map(plain).collect()
        };
        let rows: Vec<Vec<GridCell>> = values.iter().map(row).collect();
        let (what, of) = (name(&metric), of_window(found, &window));
        format!("Average {what} over {of}\n{}", grid(&columns, &rows, style, style.wide).text)
    };
    metrics.into_iter().map(table).collect::<Vec<_>>().join("\n")
}

/// Part, option and value of a point that has one of each: `65/35 bs=4k`.
fn parted(name: &str) -> Option<(&str, &str, &str)> {
    let (part, word) = name.rsplit_once(' ')?;
    let (option, value) = word.split_once('=')?;
    (!part.contains('=')).then_some((part, option, value))
}

/// Each once, in their order.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
