//! Loads all runs that one word names: those of an `iodyno layouts`.

use anyhow::Result;
use iodyno_judge::layouts::Layouts;
use iodyno_model::RunRecord;

use super::{Loaded, load};
use crate::context::Context;

/// Loads the runs that `word` names: one, else those that `iodyno layouts` named after it and their
/// layout, in the order in which they were made.
pub(crate) fn load_each(context: &Context, word: &str) -> Result<Vec<Loaded>> {
    match load(context, word) {
        Ok(one) => Ok(vec![one]),
        Err(error) => match find_layout_runs(context, word) {
            Some(runs) => Ok(runs.into_iter().map(|run| Loaded::new(run, Vec::new())).collect()),
            None => Err(error),
        },
    }
}

/// Runs of an `iodyno layouts`; `None`: there are none.
fn find_layout_runs(context: &Context, word: &str) -> Option<Vec<RunRecord>> {
    let store = context.store_to_read().ok()?;
    let lead = format!("{word} ");
    let runs = store.runs().ok()?;
    let named = runs.iter().rev().filter(|run| run.name.starts_with(&lead));
    let mut records: Vec<RunRecord> =
        named.map(|run| store.load(&run.id)).collect::<Result<_, _>>().ok()?;
    // Layouts that could not be built have no measurements.
    records.retain(|record| !record.measurements.is_empty());
    let held: Vec<_> = records.iter().map(|record| (record.run.name.as_str(), record)).collect();
    Layouts::among(&held)?;
    Some(records)
}
