//! Exports a comparison as Markdown, for CI job summaries and pull requests.

use std::fmt::Write as _;

use iodyno_judge::comparison::{Outcome, SideFacts};

use super::{ExportError, Exporter, Result, Results};
use crate::compared::{Compared, outcome_words};
use crate::text::clean;
use crate::text::comparison::{
    Cells, brief, caveat_lines, cells, conclusion, failed_ios, names, only_in,
};

/// Markdown as shown by GitHub, GitLab and Forgejo.
pub(super) struct Markdown;

impl Exporter for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn help(&self) -> &'static str {
        "Markdown, for CI job summaries and pull requests"
    }

    fn export(&self, results: Results<'_>) -> Result {
        match results {
            Results::Runs(_) => Err(ExportError::NoForm),
            Results::Comparison(of) => Ok(markdown(of).into_bytes()),
        }
    }
}

/// Formats the verdict, the limits that are not kept, the table and the sides.
fn markdown(of: Compared<'_>) -> String {
    let brief = brief(of.comparison, of.rulings);
    let (label, _, words, _) = conclusion(of.comparison, &brief, of.rulings, of.status as u8);
    let mut out = format!("**{label}** {}\n\n", escaped(&words));
    for ruling in of.rulings.iter().filter(|one| one.outcome != Outcome::Kept) {
        let (_, sentence) = outcome_words(ruling);
        let _ = writeln!(out, "- {}: {}", escaped(&of.workload(ruling)), escaped(&sentence));
    }
    for side in &of.comparison.sides {
        if let Some(failed) = failed_ios(side) {
            let _ = writeln!(out, "- {}: {failed}", escaped(&sources(side)));
        }
    }
    let Cells { columns, rows } = cells(of.comparison);
    // The first column has the quantities; each side's column is headed by its name.
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let _ = write!(out, "\n{}", line(columns.iter().map(|(name, _)| escaped(name)).collect()));
    let rule = columns.iter().map(|(_, right)| if *right { "--:" } else { "---" }.to_owned());
    out.push_str(&line(rule.collect()));
    for (title, lines) in &rows {
        let mut cells = vec![String::new(); columns.len()];
        cells[0] = format!("**{}**", escaped(title));
        out.push_str(&line(cells));
        for cells in lines {
            out.push_str(&line(cells.iter().map(|cell| escaped(&cell.text)).collect()));
        }
    }
    let names = names(of.comparison);
    for (n, caveat) in caveat_lines(of.comparison, &names).iter().enumerate() {
        out.push_str(if n == 0 { "\n" } else { "" });
        let _ = writeln!(out, "- \\* {}", escaped(caveat));
    }
    let only_in = only_in(of.comparison, &names);
    only_in.iter().for_each(|text| out.push_str(&format!("\n{}\n", escaped(text))));
    let lettered = |side: &SideFacts| !columns.iter().any(|(name, _)| *name == clean(&side.label));
    for (side, letter) in of.comparison.sides.iter().zip('A'..='Z') {
        if lettered(side) {
            let _ = writeln!(out, "\n{letter}: {}", escaped(&sources(side)));
        }
    }
    out
}

/// Returns `base-1.json to base-9.json, 9 runs`.
fn sources(side: &SideFacts) -> String {
    match (side.label.split_once(','), side.label.rsplit_once(',')) {
        (Some((first, _)), Some((_, last))) if side.runs.len() > 1 => {
            format!("{first} to {last}, {} runs", side.runs.len())
        }
        _ => side.label.clone(),
    }
}

/// Joins text into one line and escapes characters special to Markdown or HTML.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in clean(text).chars() {
        if "\\`*_[]<>#|~&!$".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
