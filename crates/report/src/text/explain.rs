//! What limits a measurement: the answer in sentences, then the figures.

use iodyno_judge::limiter::Explanation;

use super::Style;
use super::findings::labelled;
use super::ink::Ink;
use super::words::{Hanging, clean, display_width};
use crate::explained::{ceilings, changes, formulas, heading, suspects};

/// Column at which everything below the heading starts.
const INDENT: usize = 2;
/// Column at most at which the second column of a table starts.
const WIDEST: usize = 34;

/// The measurement and its rate, what limits it and what to do, then the
/// ceilings, what was changed and what came of it, and who else was suspected.
/// Lines are at most `style.width` long.
pub fn explain_text(explained: &Explanation<'_>, style: &Style) -> String {
    let bold = Hanging { ink: Ink::Bold, separator: " ", ..Hanging::of(style) };
    let mut out = bold.lines(&[clean(&heading(explained))]);
    let body = Hanging { indent: INDENT, separator: " ", ..Hanging::of(style) };
    out.push_str(&body.lines(&[clean(&explained.sentence)]));
    out.push_str(&labelled(style, INDENT, "next", &explained.advice));
    for reason in explained.reasons.iter().take(4) {
        out.push_str(&labelled(style, INDENT, "mark", &reason.why));
    }
    for note in &explained.notes {
        out.push_str(&labelled(style, INDENT, "note", note));
    }
    out.push_str(&table("What it cannot exceed", ceilings(explained), style));
    for formula in formulas(explained) {
        let dim =
            Hanging { indent: INDENT + 2, separator: " ", ink: Ink::Dim, ..Hanging::of(style) };
        out.push_str(&dim.lines(&[clean(formula)]));
    }
    out.push_str(&table("One thing changed", changes(explained), style));
    out.push_str(&table("Who was suspected", suspects(explained), style));
    out
}

/// A table of two columns below its heading; nothing where it has no rows.
fn table(heading: &str, rows: Vec<(String, String)>, style: &Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<(String, String)> =
        rows.into_iter().map(|(name, what)| (clean(&name), clean(&what))).collect();
    let widest = rows.iter().map(|(name, _)| display_width(name)).max().unwrap_or(0);
    let start = (INDENT + 2 + widest + 2).min(WIDEST.min(style.width / 2));
    let mut out = format!("\n{}{}\n", " ".repeat(INDENT), Ink::Dim.paint(heading, style.color));
    for (name, what) in rows {
        let lead = format!("{}{name}", " ".repeat(INDENT + 2));
        let lead_width = display_width(&lead);
        let mut hanging = Hanging { indent: start, separator: " ", ..Hanging::of(style) };
        // A long name has its line alone.
        if lead_width + 2 > start {
            let alone = Hanging { indent: INDENT + 2, separator: " ", ..Hanging::of(style) };
            out.push_str(&alone.lines(&[name]));
        } else {
            (hanging.lead, hanging.lead_width) = (lead, lead_width);
        }
        out.push_str(&hanging.lines(&[what]));
    }
    out
}
