//! What limits a measurement: the answer in sentences, then the figures.

use iodyno_judge::Bound;
use iodyno_judge::limiter::{Answer, Contrast, Explanation, Standing, figure, range};
use iodyno_model::{Validity, format_width};

use super::Style;
use super::findings::labelled;
use super::ink::Ink;
use super::words::{Hanging, clean, display_width};

/// Column at which everything below the heading starts.
const INDENT: usize = 2;
/// Column at most at which the second column of a table starts.
const WIDEST: usize = 34;

/// The measurement and its rate, what limits it and what to do, then the
/// ceilings, what was changed and what came of it, and who else was suspected.
/// Lines are at most `style.width` long.
pub fn explain_text(explained: &Explanation<'_>, style: &Style) -> String {
    let case = &explained.case;
    let mut out = heading(explained, style);
    let body = Hanging { indent: INDENT, separator: " ", ..Hanging::of(style) };
    out.push_str(&body.lines(&[clean(&explained.sentence)]));
    out.push_str(&labelled(style, INDENT, "next", &explained.advice));
    for reason in explained.reasons.iter().take(4) {
        out.push_str(&labelled(style, INDENT, "mark", &reason.why));
    }
    for note in &explained.notes {
        out.push_str(&labelled(style, INDENT, "note", note));
    }
    let ceilings = explained.ceilings.iter().map(|ceiling| {
        let bounds = match ceiling.low < ceiling.high {
            true => range(case.metric, ceiling.low, ceiling.high),
            false => figure(case.metric, ceiling.value),
        };
        let share = case.rate.value / ceiling.value * 100.0;
        (bounds, format!("{}; {share:.0} % of it", ceiling.what))
    });
    out.push_str(&table("What it cannot exceed", ceilings.collect(), style));
    let mut formulas: Vec<&str> = Vec::new();
    for ceiling in explained.ceilings.iter().filter(|ceiling| ceiling.bound != Bound::Claim) {
        if !formulas.contains(&ceiling.formula.as_str()) {
            formulas.push(&ceiling.formula);
        }
    }
    for formula in formulas {
        let dim =
            Hanging { indent: INDENT + 2, separator: " ", ink: Ink::Dim, ..Hanging::of(style) };
        out.push_str(&dim.lines(&[clean(formula)]));
    }
    let contrasts = explained.contrasts.iter().map(|contrast| {
        let latency = contrast.other.latency_text();
        let ratio = contrast.ratio_text();
        (contrast.title(), format!("{}{latency}, {ratio}", contrast.other.figure()))
    });
    out.push_str(&table("One thing changed", contrasts.collect(), style));
    let suspects = explained.suspects.iter().map(|suspect| {
        let (word, why) = match &suspect.standing {
            Standing::Confirmed(why) => ("limits", why.clone()),
            Standing::Cleared(why) => ("does not limit", why.clone()),
            Standing::Open(experiment) => {
                let of_it = |of: &&Contrast<'_>| of.other.of_run().name == experiment.name();
                match explained.contrasts.iter().find(of_it) {
                    Some(made) => {
                        ("not decided", format!("{}: {}", made.title(), made.ratio_text()))
                    }
                    None => ("untested", experiment.what().to_owned()),
                }
            }
        };
        (suspect.limiter.short(case).to_owned(), format!("{word}: {why}"))
    });
    out.push_str(&table("Who was suspected", suspects.collect(), style));
    out
}

fn heading(explained: &Explanation<'_>, style: &Style) -> String {
    let case = &explained.case;
    let width = case.rate.relative_half_width().filter(|width| *width >= 0.0005);
    let width = width.map_or_else(String::new, |width| format!(" {}", format_width(width)));
    let validity = match explained.validity {
        Validity::Valid => String::new(),
        other => format!("  {}", other.label()),
    };
    let limiter = match &explained.answer {
        Answer::Named { limiter, .. } => format!("  limited by {}", limiter.title(case)),
        _ => "  undecided".into(),
    };
    let title = format!("{} on {}", case.workload(), case.place());
    let line = format!("{}: {}{width}{limiter}{validity}", clean(&title), case.figure());
    let hanging = Hanging { ink: Ink::Bold, separator: " ", ..Hanging::of(style) };
    hanging.lines(&[clean(&line)])
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
