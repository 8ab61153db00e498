//! Text for a terminal. Functions return it; the binary prints it.
//!
//! Strings from devices, files and users are stripped of everything that could move the cursor.
//! Colour repeats what the words say, and no line is wider than the terminal.

pub(crate) mod attention;
mod blocks_effect;
mod columns;
pub(crate) mod comparison;
mod details;
mod drive_cells;
pub(crate) mod drives;
mod explain;
pub(crate) mod figure;
pub(crate) mod findings;
pub(crate) mod fit;
pub(crate) mod fleet;
pub(crate) mod glance_table;
pub(crate) mod grid;
pub(crate) mod headroom;
mod history;
pub(crate) mod host;
pub(crate) mod ink;
pub(crate) mod jobs;
pub(crate) mod layouts;
mod markdown;
pub(crate) mod measurements;
mod model;
pub(crate) mod outlook;
pub(crate) mod point_grids;
pub(crate) mod pts;
pub(crate) mod replay;
mod results;
pub(crate) mod rounds;
mod rounds_matrix;
mod rounds_recovery;
pub(crate) mod rounds_tables;
pub(crate) mod rows;
mod rules;
pub(crate) mod runs;
pub(crate) mod sanitize;
mod scaling;
pub(crate) mod screen;
mod style;
mod together;
pub(crate) mod totals;
pub(crate) mod trace;
mod tree;
mod verdict;
pub(crate) mod words;

use iodyno_model::{Assessment, Host, RunRecord};

pub use blocks_effect::blocks_effect_words;
pub use columns::ColumnError;
pub use comparison::{comparison_screen, comparison_text, row_title, workload_title};
pub use details::details_text;
pub use drives::drives_table;
pub use explain::{explain_screen, explain_text};
pub use fleet::fleet_text;
pub use headroom::{headroom_line, headroom_text};
pub use history::history_text;
pub use host::host_text;
pub use jobs::jobs_text;
pub use layouts::layouts_text;
pub use markdown::page_text;
pub use measurements::measurements_text;
pub use model::{model_text, options_p99_sentence};
pub use outlook::{knees, predictions_text, sentence};
pub use point_grids::PlannedPoint;
pub use pts::pts_text;
pub use replay::replay_text;
pub use results::results_table;
pub use rounds::rounds_text;
pub use rules::rules_text;
pub use runs::{run_heading, runs_table};
pub use sanitize::{harmless, json_text};
pub use scaling::scaling_words;
pub use screen::{Body, run_screen};
pub use style::Style;
pub use together::node_groups_text;
pub use trace::{Damage, damage_notes, trace_line, trace_text};
pub use tree::tree_text;
pub use verdict::verdict_text;

pub use words::{ascii, clean};

pub(crate) use figure::measured;
pub(crate) use findings::{findings_text, severity_label};
pub(crate) use model::model_differences;
pub(crate) use verdict::verdict_words;

/// Text of `list`: the number of drives with their alarms, the drive table, and the host.
///
/// # Errors
///
/// An unknown column name in `style.columns`.
pub fn list_text(host: &Host, style: &Style) -> Result<String, ColumnError> {
    let first = words::first_line(("", ink::Ink::Plain), &[drives::clause(host)], style);
    Ok(format!("{first}\n{}\n{}", drives_table(host, None, style)?, host_text(host, style)))
}

/// Text of `check`: the host and its drives, the measurements, the findings, and last the verdict
/// with `exit_status` in words.
///
/// # Errors
///
/// An unknown column name in `style.columns`.
pub fn run_text(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    style: &Style,
) -> Result<String, ColumnError> {
    let measured =
        [measurements_text(record, assessment, style), totals::totals_text(record, style)];
    full_text(record, assessment, exit_status, measured, style)
}

/// [`run_text`] with a row per measurement, for many loads, and without totals of concurrent jobs,
/// which would mean nothing.
///
/// # Errors
///
/// An unknown column name in `style.columns`.
pub fn run_text_in_rows(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    style: &Style,
) -> Result<String, ColumnError> {
    let order: Vec<usize> = (0..record.measurements.len()).collect();
    let table = results::table_with(record, Some(assessment), &order, &[], style);
    let caveats = rows::caveats_text(record, assessment, |_| true, style);
    full_text(record, assessment, exit_status, [table, caveats], style)
}

fn full_text(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    measured: [String; 2],
    style: &Style,
) -> Result<String, ColumnError> {
    let mut sections = Vec::new();
    if let Some(host) = record.host() {
        sections.push(host_text(host, style));
        sections.push(drives_table(host, Some((record, assessment)), style)?);
    }
    sections.extend(measured);
    sections.push(findings_text(assessment, style));
    sections.push(verdict_text(record, assessment, exit_status, style));
    sections.retain(|section| !section.is_empty());
    Ok(sections.join("\n"))
}
