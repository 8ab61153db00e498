//! One module for each command.

pub(crate) mod accept;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod clean_up;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod fleet;
mod headroom;
pub(crate) mod import;
pub(crate) mod layouts;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod model;
mod model_options;
pub(crate) mod plot;
pub(crate) mod prepare;
mod present;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod top;
pub(crate) mod traced;
pub(crate) mod unstored;

use iodyno_judge::{ClaimBook, Question, assess};
use iodyno_model::{Assessment, RunRecord};
use iodyno_report::Judged;

/// Judges a run by today's rules and these claims.
pub(crate) fn rejudge(record: &RunRecord, claims: &ClaimBook) -> Assessment {
    assess(&Question { record, claims, baseline: None, expect: None })
}

/// Pairs runs with their assessments, for output.
pub(crate) fn judged(runs: &[(RunRecord, Assessment)]) -> Vec<Judged<'_>> {
    runs.iter().map(|(record, assessment)| Judged { record, assessment }).collect()
}

/// Makes a default name unique by a number, since a clash is not the user's mistake.
pub(crate) fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2_u64..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}
