//! Summary of a run: one line overall, what needs attention, a table, and commands for details.

use iodyno_model::{
    Assessment, Predictions, Profile, Reason, Rounds, Run, RunRecord, RunState, Scope, Severity,
    Validity, Verdict, format_duration_ns, own_command,
};

use super::attention::{Entry, attention_text, entries};
use super::fit;
use super::glance_table::{Glance, glance};
use super::grid::grid;
use super::host::counted;
use super::ink::Ink;
use super::point_grids::{INVALID_LEGEND, PlannedPoint};
use super::rows::{caveats_text, clause as clause_of_rows, commands, rows};
use super::runs::{shortened, state};
use super::words::{Hanging, clean, dim, display_width, first_line, listed};
use super::{Style, drives, headroom, headroom_text, replay, rounds, verdict_words};

/// Drives that need attention named before only their number is shown.
const NAMED: usize = 3;

/// Main part of the summary of a run.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// For `check`: a row per drive, then further lines.
    Drives(&'a [String]),
    /// A row per job, or the grid of the points of a plan.
    Rows {
        /// Points in the order of the plan's axes; empty for jobs.
        planned: &'a [PlannedPoint],
        /// Predictions for unmeasured points.
        outlook: Option<&'a Predictions>,
        /// Further lines.
        follows: &'a [String],
    },
    /// A row per need of an application.
    Fit(&'a Profile),
    /// Results of the rounds of a plan, or of a preparation.
    Rounds(&'a Rounds),
}

/// Default output for a run: the verdict, failures and warnings in two lines each, `body`, and
/// commands for details. `run` names the run in those; empty: it is not stored. A non-zero exit
/// status is printed. Lines are at most `style.width` long.
pub fn run_screen(
    record: &RunRecord,
    assessment: &Assessment,
    exit_status: u8,
    body: Body<'_>,
    run: &str,
    style: &Style,
) -> String {
    let mut entries = entries(record, assessment);
    let attention = attention_text(record, &entries, style);
    let mut sections = match body {
        Body::Drives(follows) => {
            let glance = glance(record, assessment);
            let (verdict, _) = verdict_words(&record.run, assessment, exit_status);
            let label = (verdict.label(), Ink::of_verdict(verdict));
            let skipped = match record.run.skipped.len() {
                0 => None,
                _ if glance.rows.len() == 1 => Some("not measured".into()),
                skipped => Some(format!("{skipped} not measured")),
            };
            let clause = clause(record, &entries, verdict, &glance);
            let table = match &glance.uncompared {
                Some(sentence) => {
                    Hanging { indent: 2, separator: " ", ..Hanging::of(style) }.lines(sentence)
                }
                None => table(record, &glance, style),
            };
            let head = headline(record, &entries, label, [Some(clause), skipped], style);
            let others = match glance.uncompared {
                Some(_) => caveats_text(record, assessment, |of| of.rule == "other-io", style),
                None => String::new(),
            };
            vec![head, attention, table, lines(follows, style), others]
        }
        Body::Rows { planned, outlook, follows } => {
            let (label, mut clause) = clause_of_rows(record, assessment, planned);
            let under_load = outlook.map_or(&[][..], |outlook| &outlook.headroom);
            let replayed = replay::replayed(record).filter(|_| label.0 != "FAILED");
            let table = match under_load {
                [] if let Some((of, _)) = replayed => replay::body(of, false, style),
                [] => rows(record, assessment, planned, outlook, style),
                found => {
                    clause = headroom::clause(found);
                    headroom_text(found, style)
                }
            };
            let head = headline(record, &entries, label, [Some(clause), None], style);
            let notes = attention
                + &commands(record, style)
                + &caveats_text(record, assessment, |_| true, style);
            vec![head, table, lines(follows, style), notes]
        }
        Body::Fit(profile) => {
            let (verdict, _) = verdict_words(&record.run, assessment, exit_status);
            let label = (verdict.label(), Ink::of_verdict(verdict));
            let clause = fit::clause(record, assessment, profile);
            // The table shows the missed bounds.
            entries.retain(|one| one.rule != fit::RULE);
            let attention = attention_text(record, &entries, style);
            let head = headline(record, &entries, label, [Some(clause), None], style);
            let mut sections = vec![head, attention];
            sections.extend(fit::body(record, assessment, profile, style));
            sections
        }
        Body::Rounds(asked) => {
            let (label, clause) = clause_of_rows(record, assessment, &[]);
            let (label, clause) = rounds::clause(record, asked, label, clause);
            let head = headline(record, &entries, label, [Some(clause), None], style);
            let is_invalid = |of: &Reason| of.validity == Validity::Invalid;
            let notes = attention + &caveats_text(record, assessment, is_invalid, style);
            vec![head, rounds::tables(record, asked, style), notes]
        }
    };
    let mut end = next_commands(record, &entries, run, style);
    if exit_status != 0 {
        let text = match exit_status {
            // The first line already says that something failed.
            1 => "Exit status 1".to_owned(),
            _ => {
                format!(
                    "Exit status {exit_status}: {}.",
                    verdict_words(&record.run, assessment, exit_status).1
                )
            }
        };
        end.push_str(&Hanging::of(style).lines(&[text]));
    }
    sections.push(end);
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// A line per sentence.
pub(super) fn lines(sentences: &[String], style: &Style) -> String {
    sentences.iter().map(|line| super::outlook::sentence(&clean(line), style)).collect()
}

fn headline(
    record: &RunRecord,
    entries: &[Entry<'_>],
    (label, ink): (&str, Ink),
    clauses: [Option<String>; 2],
    style: &Style,
) -> String {
    let [clause, skipped] = clauses;
    let clauses: Vec<String> = [clause, warnings(entries), skipped].into_iter().flatten().collect();
    let mut items = vec![clauses.join(", ")];
    items.extend(record.host().and_then(|host| host.hostname.value()).map(|name| clean(&name)));
    let took = record.run.ended_ns.map(|end| end.saturating_sub(record.run.started_ns));
    let ns = took.and_then(|ns| u64::try_from(ns).ok());
    items.extend(ns.map(duration));
    let width = |items: &[String]| items.iter().map(|item| display_width(item) + 3).sum::<usize>();
    if items.len() > 2 && label.len() + width(&items) > style.width + 1 {
        // The host name is the least important.
        items.remove(1);
    }
    first_line((label, ink), &items, style)
}

/// Number of warnings, if any.
pub(crate) fn warnings(entries: &[Entry<'_>]) -> Option<String> {
    let count = entries.iter().filter(|one| one.severity == Severity::Warn).count();
    (count > 0).then(|| counted(count, "warning"))
}

/// State of the machine, apart from warnings.
pub(crate) fn clause(
    record: &RunRecord,
    entries: &[Entry<'_>],
    verdict: Verdict,
    glance: &Glance,
) -> String {
    let is = |verdict: Verdict| {
        let of = |row: &&super::glance_table::Row| row.verdict == Some(verdict);
        glance.rows.iter().filter(of).count()
    };
    let (all, failed, open) = (glance.rows.len(), is(Verdict::Fail), is(Verdict::Unjudged));
    let subject = match glance.rows.as_slice() {
        [] => "this machine".to_owned(),
        [only] => only.name.clone(),
        _ => counted(all, if glance.are_drives { "drive" } else { "target" }),
    };
    match verdict {
        _ if matches!(record.run.state, RunState::Interrupted | RunState::Running) => {
            format!("{subject}: {}", state(&record.run).unwrap_or_default())
        }
        Verdict::Pass | Verdict::Unjudged
            if record.measurements.iter().any(|of| of.failure().is_some()) =>
        {
            format!("{subject}: a measurement failed")
        }
        Verdict::Fail if failed == 0 => {
            match entries.iter().filter(|one| one.severity == Severity::Fail).count() {
                0 => format!("{subject}: a check failed"),
                1 => format!("{subject}: 1 finding needs attention"),
                more => format!("{subject}: {more} findings need attention"),
            }
        }
        Verdict::Fail if all == 1 => format!("{subject} needs attention"),
        Verdict::Fail => {
            let need = if failed == 1 { "needs" } else { "need" };
            let names = glance.rows.iter().filter(|row| row.verdict == Some(Verdict::Fail));
            let names: Vec<String> = names.map(|row| row.name.clone()).collect();
            let which = match failed {
                1..=NAMED => listed(&names),
                _ => failed.to_string(),
            };
            format!("{which} of {subject} {need} attention")
        }
        Verdict::Warn => format!("{subject}: no failures"),
        Verdict::Pass => format!("{subject}: no problems"),
        Verdict::Unjudged if !glance.says_something() && !record.run.skipped.is_empty() => subject,
        Verdict::Unjudged if all == 0 => format!("{subject}: nothing to judge"),
        Verdict::Unjudged if glance.uncompared.is_some() => subject,
        Verdict::Unjudged if open == 0 => format!("{subject}: no failures; not all was judged"),
        Verdict::Unjudged if open < all => format!("no failures; {open} of {subject} not judged"),
        Verdict::Unjudged if record.measurements.is_empty() => format!("{subject}: not measured"),
        Verdict::Unjudged => format!("{subject}: nothing to compare with"),
    }
}

/// `3 min 05 s`.
fn duration(ns: u64) -> String {
    let seconds = (ns as f64 / 1e9).round() as u64;
    match seconds {
        0..10 => format_duration_ns(ns as f64),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn table(record: &RunRecord, glance: &Glance, style: &Style) -> String {
    let dim = |text: &str| dim(&[text.to_owned()], style);
    if !glance.says_something() {
        let is_asked = record.run.scope == Scope::Machine;
        return match record.host() {
            Some(host) if host.no_sysfs => dim(drives::NO_SYSFS),
            Some(host) if host.drives.is_empty() && is_asked => {
                dim("No NVMe drive on this machine.")
            }
            _ => String::new(),
        };
    }
    let (columns, lines) = glance.cells();
    let mut out = grid(&columns, &lines, style, false).text;
    if glance.rows.iter().any(|row| row.has_invalid) {
        out.push_str(&dim(INVALID_LEGEND));
    }
    out
}

/// Commands for details.
fn next_commands(record: &RunRecord, entries: &[Entry<'_>], run: &str, style: &Style) -> String {
    let goes_on =
        record.run.is_resumable() && record.run.state == RunState::Interrupted && !run.is_empty();
    let Run { id, name, .. } = &record.run;
    let known = if name.is_empty() { shortened(id) } else { name.clone() };
    // A command is copied whole, and never broken.
    let next = |known: &str| format!("Next: {}", clean(&record.run.resume_command(known)));
    let next = goes_on.then(|| Ink::Dim.paint(&next(&known), style.color) + "\n");
    let of_run = |what: &str, command: &str| {
        (!run.is_empty()).then(|| format!("{what}: {}", own_command(&format!("{command} {run}"))))
    };
    let why = entries.first().map(|of| format!("Why: iodyno rules {}", clean(of.rule)));
    let items = [of_run("Details", "show -v"), why, of_run("Page", "report")];
    next.unwrap_or_default() + &dim(&items.into_iter().flatten().collect::<Vec<_>>(), style)
}
