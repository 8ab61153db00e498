//! Summary of a comparison: the verdict and the figures that differ.

use iodyno_judge::comparison::{
    Comparison, Difference, Figure, Outcome, REPETITIONS, Reality, Row, Ruling, Subject,
};
use iodyno_model::{distinct, own_command};

use super::table::{shown, table};
use super::{Style, hanging, names, notes, sides};
use crate::text::host::counted;
use crate::text::ink::Ink;
use crate::text::words::clean;

/// Smallest relative difference shown where the run-to-run spread is unknown.
const LARGE: f64 = 0.05;

/// Conditions named before the rest is counted.
const NAMED: usize = 6;

/// Default text of `compare`: the verdict, broken limits, the figures that differ, a count of the
/// others, and the conditions that differ. Lines are at most `style.width` long.
pub fn comparison_screen(
    comparison: &Comparison,
    rulings: &[Ruling],
    exit_status: u8,
    style: &Style,
) -> String {
    let names = names(comparison);
    let brief = brief(comparison, rulings);
    let (all, differing) = (compared(comparison), compared(&brief));
    let mut sections = vec![
        verdict(comparison, &brief, rulings, exit_status, style),
        sides(comparison, &names, style),
        notes::limits(comparison, &names, rulings, style),
    ];
    let mut table = match brief.rows.is_empty() {
        true => String::new(),
        false => table(&brief, &names, style),
    };
    let mut end: Vec<String> = Vec::new();
    if table.contains('*') {
        end.push("* with caveats".into());
    }
    if differing < all && differing > 0 {
        end.push(format!(
            "{} not shown: {}",
            counted(all - differing, "other figure"),
            why_hidden(comparison)
        ));
    }
    end.extend(notes::not_compared(&brief));
    table.push_str(&hanging("", 0, Ink::Dim, style).lines(&end));
    sections.push(table);
    if all == 0 {
        sections.push(notes::caveats(comparison, &names, style));
    }
    sections.push(conditions(comparison, style));
    let mut details = vec!["Details: -v".to_owned()];
    if exit_status != 0 {
        details.push(format!("Exit status {exit_status}"));
    }
    sections.push(hanging("", 0, Ink::Dim, style).lines(&details));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// The figures that differ, and those that a limit is about.
pub(crate) fn brief(comparison: &Comparison, rulings: &[Ruling]) -> Comparison {
    let is_ruled = |n: usize, figure: &Figure| {
        rulings.iter().any(|one| {
            one.subject == Subject::Row(n)
                && one.limit.quantity == figure.quantity
                && one.outcome != Outcome::Kept
        })
    };
    let brief_row = |(n, row): (usize, &Row)| {
        let mut row = row.clone();
        row.figures
            .retain(|figure| differs(figure) || is_ruled(n, figure) || without_ratio(figure));
        let is_any = shown(&row).next().is_some();
        is_any.then_some(row)
    };
    let rows = comparison.rows.iter().enumerate().filter_map(brief_row).collect();
    Comparison { rows, ..comparison.clone() }
}

/// Number of compared figures; those that only one side knows are not compared.
fn compared(of: &Comparison) -> usize {
    let is_compared = |figure: &&Figure| figure.differences.iter().any(Option::is_some);
    of.rows.iter().flat_map(shown).filter(is_compared).count()
}

fn differences(comparison: &Comparison) -> impl Iterator<Item = &Difference> {
    let figures = comparison.rows.iter().flat_map(shown);
    figures.flat_map(|figure| figure.differences.iter().flatten())
}

fn differs(figure: &Figure) -> bool {
    figure.differences.iter().flatten().any(|one| match one.reality {
        Reality::Real | Reality::NotInTurns | Reality::Unlike => true,
        Reality::SpreadUnknown => (one.ratio.value - 1.0).abs() >= LARGE,
        Reality::NotShown | Reality::WithinRounding => false,
    })
}

/// True if both sides have a rate, but no ratio.
fn without_ratio(figure: &Figure) -> bool {
    figure.quantity.more_is_better() && figure.why_not.is_some()
}

/// Reason why the other figures are not shown.
fn why_hidden(comparison: &Comparison) -> String {
    match differences(comparison).any(|one| one.reality == Reality::SpreadUnknown) {
        true => format!("they differ by less than {:.0} %", LARGE * 100.0),
        false => "no difference beyond chance".into(),
    }
}

/// Verdict of a comparison and its [`brief`]: label, ink, words and next step.
pub(crate) fn conclusion(
    comparison: &Comparison,
    brief: &Comparison,
    rulings: &[Ruling],
    exit_status: u8,
) -> (&'static str, Ink, String, Option<String>) {
    let (all, differing) = (compared(comparison), compared(brief));
    let any = |reality| differences(comparison).any(|one| one.reality == reality);
    let of = format!("{differing} of {}", counted(all, "figure"));
    let mut next = None;
    let (label, ink, words) = match exit_status {
        _ if exit_status != 0 || !rulings.is_empty() => super::outcome(rulings, exit_status),
        _ if any(Reality::Real) => ("DIFFERENT", Ink::Doubt, format!("{of} differ")),
        _ if any(Reality::NotInTurns) => (
            "PROBABLY DIFFERENT",
            Ink::Doubt,
            format!("{of} differ; the sides were not interleaved"),
        ),
        _ if any(Reality::Unlike) => ("UNLIKE", Ink::Open, "different workloads".into()),
        _ if any(Reality::SpreadUnknown) => {
            let side =
                |n| (1..=REPETITIONS).map(|i| format!("{n}{i}")).collect::<Vec<_>>().join(",");
            next = Some(format!(
                "-> repeat each side {REPETITIONS} times: {}",
                own_command(&format!("compare {} {}", side("A"), side("B")))
            ));
            let large = format!("{of} differ by {:.0} % or more", LARGE * 100.0);
            ("UNJUDGED", Ink::Open, format!("{large}; the run-to-run spread is unknown"))
        }
        _ if comparison.rows.iter().flat_map(shown).any(without_ratio) => (
            "UNJUDGED",
            Ink::Open,
            format!("{} compared, others have no ratio", counted(all, "figure")),
        ),
        _ if all == 0 => {
            ("UNJUDGED", Ink::Open, "no workload has valid results on two sides".into())
        }
        _ => (
            "SAME",
            Ink::Good,
            format!("no difference beyond chance in {}", counted(all, "figure")),
        ),
    };
    (label, ink, words, next)
}

fn verdict(
    comparison: &Comparison,
    brief: &Comparison,
    rulings: &[Ruling],
    exit_status: u8,
    style: &Style,
) -> String {
    let (label, ink, words, next) = conclusion(comparison, brief, rulings, exit_status);
    let after = super::Hanging::after(label, ink, label.len() + 2, style);
    let first = super::Hanging { separator: " ", ink: Ink::Bold, ..after };
    let next = next.map(|next| hanging("", label.len() + 2, Ink::Plain, style).lines(&[next]));
    first.lines(&[words]) + &next.unwrap_or_default()
}

/// Names of the conditions that differ.
fn conditions(comparison: &Comparison, style: &Style) -> String {
    let mut what = distinct(comparison.differing.iter().map(|one| clean(&one.what)));
    let more = what.len().saturating_sub(NAMED);
    what.truncate(NAMED);
    let mut items = Vec::new();
    if !what.is_empty() {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        items.push(format!("Conditions that differ: {}{more}", what.join(", ")));
    }
    if !comparison.alone.is_empty() {
        items.push(format!("{} on one side only", counted(comparison.alone.len(), "workload")));
    }
    hanging("", 0, Ink::Plain, style).lines(&items)
}
