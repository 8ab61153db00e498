//! Explains what limits a measurement: the answer in sentences, then the figures.

use iodyno_judge::limiter::{Answer, Effect, Explanation, Limiter, Standing};
use iodyno_model::Validity;

use super::Style;
use super::findings::labelled;
use super::grid::{GridCell, GridColumn, grid};
use super::ink::Ink;
use super::jobs::io;
use super::screen::lines;
use super::words::{Hanging, clean, dim, display_width};
use crate::explained::{ceilings, changes, formulas, heading, limited, rate, suspects};

/// Indent of everything below the heading.
const INDENT: usize = 2;
/// Rightmost start of the second column of a table.
const WIDEST: usize = 34;

/// Number of explanations from which each is one row.
const MANY: usize = 3;
/// Changes and caveats shown as evidence.
const SHOWN: usize = 2;

/// Default text of `explain`: the limit in a sentence, the evidence in a few lines, and what to do;
/// many explanations are one row each. `follows` are lines after them; the last line names the
/// command for details, `more`, if any. Lines are at most `style.width` long.
pub fn explain_screen(
    all: &[Explanation<'_>],
    follows: &[String],
    more: &str,
    style: &Style,
) -> String {
    let out = match all.len() {
        MANY.. => rows(all, style),
        _ => all.iter().map(|one| summary(one, style)).collect::<Vec<_>>().join("\n"),
    };
    let details = (!more.is_empty()).then(|| format!("Details: {more}"));
    out + &lines(follows, style) + &dim(details.as_slice(), style)
}

/// The limit in one clause.
fn answer(explained: &Explanation<'_>) -> String {
    match (&explained.answer, &explained.below) {
        _ if explained.validity == Validity::Invalid => {
            let why = explained.reasons.first().map_or("", |reason| reason.why.as_str());
            format!("not valid: {}", why.trim_end_matches('.'))
        }
        (Answer::Named { limiter: Limiter::Drive, .. }, Some(below)) => {
            format!("{}, slower than expected: {below}", limited(explained))
        }
        (Answer::Undecided { between, .. }, _) if !between.is_empty() => {
            let titles = between.iter().map(|one| one.title(&explained.case));
            format!("undecided: {}", titles.collect::<Vec<_>>().join(" or "))
        }
        _ => limited(explained),
    }
}

fn summary(explained: &Explanation<'_>, style: &Style) -> String {
    let case = &explained.case;
    let mut first = clean(&answer(explained));
    if let Some(letter) = first.get(..1).map(str::to_uppercase) {
        first.replace_range(..1, &letter);
    }
    let bold = Hanging { ink: Ink::Bold, separator: " ", ..Hanging::of(style) };
    let mut out = bold.lines(&[first]);
    let line = |label: &str, text: &str| labelled(style, INDENT, label, text);
    out.push_str(&line(
        "what",
        &format!("{} on {}: {}", case.workload(), case.place(), rate(explained)),
    ));
    for why in evidence(explained) {
        out.push_str(&line("why", &why));
    }
    let cleared =
        explained.suspects.iter().filter(|one| matches!(one.standing, Standing::Cleared(_)));
    let cleared: Vec<&str> = cleared.map(|one| one.limiter.short(case)).collect();
    if !cleared.is_empty() {
        out.push_str(&line("not", &cleared.join(", ")));
    }
    if let Answer::Named { next: Some(next), .. } = &explained.answer
        && explained.below.is_none()
        && !next.measured
    {
        let times = format!("at most {:.1}x", next.gain + 1.0);
        out.push_str(&line("then", &format!("{}: {times}", next.what)));
    }
    for reason in explained.reasons.iter().take(SHOWN) {
        out.push_str(&line("note", &reason.why));
    }
    out + &line("next", &explained.advice)
}

/// Evidence that confirms the limiter, else the changes with a known effect.
fn evidence(explained: &Explanation<'_>) -> Vec<String> {
    if let Answer::Named { limiter, .. } = &explained.answer {
        let own = explained.suspects.iter().find(|one| one.limiter == *limiter);
        if let Some(Standing::Confirmed(why)) = own.map(|one| &one.standing) {
            return vec![why.clone()];
        }
    }
    let clear = explained.contrasts.iter().filter(|one| one.effect() != Effect::Unclear);
    clear.take(SHOWN).map(|one| format!("{}: {}", one.title(), one.outcome())).collect()
}

fn rows(all: &[Explanation<'_>], style: &Style) -> String {
    let column = GridColumn::new;
    let columns = [
        column("TARGET", 0, false),
        column("I/O", 1, false),
        column("RATE", 0, true),
        column("LIMITED BY", 0, false),
    ];
    let row = |one: &Explanation<'_>| {
        let ink = match (&one.answer, one.validity) {
            (_, Validity::Invalid) => Ink::Dim,
            (Answer::Named { .. }, _) if one.below.is_some() => Ink::Bad,
            (Answer::Named { .. }, _) => Ink::Plain,
            _ => Ink::Open,
        };
        let answer = match (&one.answer, one.validity) {
            (
                Answer::Named { limiter, is_probable: false, .. },
                Validity::Valid | Validity::Qualified,
            ) => {
                let title = limiter.title(&one.case);
                match one.below.as_ref().filter(|_| *limiter == Limiter::Drive) {
                    Some(below) => format!("{title}: {below}"),
                    None => title,
                }
            }
            _ => answer(one),
        };
        let io = io(&one.case.of_run().workload);
        let io = io.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
        let cells = [one.case.place(), io, rate(one), answer];
        let mut cells = cells.map(|text| GridCell::plain(clean(&text))).to_vec();
        cells[3].ink = ink;
        cells
    };
    grid(&columns, &all.iter().map(row).collect::<Vec<_>>(), style, style.wide).text
}

/// The measurement and its rate, its limit and what to do, then the ceilings, the changes and their
/// effects, and the suspects. Lines are at most `style.width` long.
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
    out.push_str(&table("Upper limits", ceilings(explained), style));
    for formula in formulas(explained) {
        let dim =
            Hanging { indent: INDENT + 2, separator: " ", ink: Ink::Dim, ..Hanging::of(style) };
        out.push_str(&dim.lines(&[clean(formula)]));
    }
    out.push_str(&table("Single changes", changes(explained), style));
    out.push_str(&table("Suspects", suspects(explained), style));
    out
}

/// Table of two columns below its heading; empty without rows.
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
        // A long name gets a line of its own.
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
