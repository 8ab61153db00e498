//! What people read at a terminal. Functions return text; the binary prints it.
//!
//! Strings that a device, a file or a user supplied are stripped of everything
//! that could move the cursor. Colour repeats what words say, and no line is
//! longer than the terminal is wide.

pub(crate) mod attention;
mod blocks_effect;
mod columns;
pub(crate) mod comparison;
mod details;
pub(crate) mod drives;
mod explain;
pub(crate) mod figure;
pub(crate) mod findings;
mod fit;
pub(crate) mod fleet;
pub(crate) mod glance_table;
pub(crate) mod grid;
mod harmless;
mod history;
pub(crate) mod host;
pub(crate) mod ink;
pub(crate) mod jobs;
pub(crate) mod layouts;
pub(crate) mod measurements;
pub(crate) mod outlook;
mod page;
pub(crate) mod pts;
mod results;
pub(crate) mod rounds;
mod rounds_matrix;
mod rounds_recovery;
pub(crate) mod rounds_tables;
mod rows;
mod rules;
pub(crate) mod runs;
mod scaling;
pub(crate) mod screen;
pub(crate) mod totals;
mod tree;
pub(crate) mod words;

use iodyno_model::{Assessment, Host, RunRecord, Severity, Verdict};

pub use blocks_effect::blocks_effect_words;
pub use columns::ColumnError;
pub use comparison::{comparison_screen, comparison_text, row_title, workload_title};
pub use details::details_text;
pub use drives::drives_table;
pub use explain::{explain_screen, explain_text};
pub use findings::findings_text;
pub use fit::{NotKnown, settings_text};
pub use fleet::fleet_text;
pub use harmless::{harmless, json_text};
pub use history::history_text;
pub use host::host_text;
pub use jobs::jobs_text;
pub use layouts::{OF_ONE_RUN, ON_FILES, layouts_text};
pub use measurements::measurements_text;
pub use outlook::{knees, predictions_text, sentence};
pub use page::page_text;
pub use pts::pts_text;
pub use results::results_table;
pub use rounds::rounds_text;
pub use rows::PlannedPoint;
pub use rules::rules_text;
pub use runs::{run_heading, runs_table};
pub use scaling::scaling_words;
pub use screen::{Body, screen};
pub use tree::tree_text;

pub use words::{ascii, clean};

pub(crate) use figure::measured;
pub(crate) use findings::severity_label;
use ink::Ink;
use words::Hanging;

/// How text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below 40 lines may be longer than that.
    pub width: usize,
    /// Colour by ANSI codes.
    pub color: bool,
    /// Every column of a table, however wide.
    pub wide: bool,
    /// The columns of the table of drives, by name, however wide; `None`: as many as fit.
    pub columns: Option<Vec<String>>,
}

impl Style {
    /// Checks the names of `columns`, which is better done before measuring.
    ///
    /// # Errors
    ///
    /// A name that is no column.
    pub fn check(&self) -> Result<(), ColumnError> {
        self.columns.as_deref().map_or(Ok(()), |names| columns::parse(names).map(|_| ()))
    }
}

/// What `list` prints: the host and its drives.
///
/// # Errors
///
/// A name in `style.columns` that is no column.
pub fn list_text(host: &Host, style: &Style) -> Result<String, ColumnError> {
    Ok(format!("{}\n{}", host_text(host, style), drives_table(host, None, style)?))
}

/// What `check` prints of a run: the host and its drives, what was measured,
/// the findings, and as the last line the verdict with `exit_status` in words.
///
/// # Errors
///
/// A name in `style.columns` that is no column.
pub fn run_text(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    style: &Style,
) -> Result<String, ColumnError> {
    let mut sections = Vec::new();
    if let Some(host) = record.host() {
        sections.push(host_text(host, style));
        sections.push(drives_table(host, Some((record, assessment)), style)?);
    }
    sections.push(measurements_text(record, assessment, style));
    sections.push(totals::totals_text(record, style));
    sections.push(findings_text(assessment, style));
    sections.push(verdict_text(assessment, exit_status, style));
    sections.retain(|section| !section.is_empty());
    Ok(sections.join("\n"))
}

/// The verdict on the whole, and the exit status in words: the last line that
/// a command prints (more than one on a narrow terminal).
pub fn verdict_text(assessment: &Assessment, exit_status: u8, style: &Style) -> String {
    let (verdict, words) = verdict_words(assessment, exit_status);
    let label = verdict.label();
    let hanging = Hanging {
        lead: Ink::of_verdict(verdict).paint(label, style.color),
        lead_width: label.len(),
        indent: label.len() + 2,
        separator: " ",
        ..Hanging::of(style)
    };
    hanging.lines(&[words, format!("(exit status {exit_status})")])
}

/// The verdict on the whole, and what `exit_status` says, in words.
pub(crate) fn verdict_words(assessment: &Assessment, exit_status: u8) -> (Verdict, String) {
    let of = |severity| assessment.findings.iter().filter(|f| f.severity == severity).count();
    let words = match exit_status {
        0 => match (assessment.verdict, of(Severity::Warn)) {
            (Verdict::Warn, 0) => "nothing failed, something is doubtful".into(),
            (Verdict::Warn, warnings) => {
                format!("nothing failed, {}", host::counted(warnings, "warning"))
            }
            (Verdict::Unjudged, _) => "nothing failed; there is nothing to compare with".into(),
            _ => "all that was asked is as it should be".into(),
        },
        1 => match of(Severity::Fail) {
            0 => "something is not as it should be".into(),
            1 => "1 finding needs attention".to_string(),
            findings => format!("{findings} findings need attention"),
        },
        2 => "the command or a target cannot be used".into(),
        3 => "interrupted, or a measurement failed".into(),
        4 => "nothing failed; something asked could not be judged".into(),
        _ => "ended in an unknown way".to_string(),
    };
    // What was interrupted passed nothing.
    let verdict = match (exit_status, assessment.verdict) {
        (3, Verdict::Pass) => Verdict::Unjudged,
        (_, verdict) => verdict,
    };
    (verdict, words)
}
