//! Caveats of the comparison table, and the outcome of the limits.

use std::collections::HashMap;

use iodyno_judge::comparison::{
    Cell, Comparison, Difference, Order, Outcome, REPETITIONS, Reality, Row, Ruling, Subject,
};
use iodyno_model::{Reason, distinct, own_command};

use super::table::{percent, shown};
use super::{Style, hanging, subject_title, workload_title};
use crate::text::host::counted;
use crate::text::ink::Ink;
use crate::text::words::{clean, cut, display_width};

/// Variants of one condition listed before the rest is counted.
const MOST_ALIKE: usize = 3;

fn cells(comparison: &Comparison) -> impl Iterator<Item = (&Row, usize, &Cell)> {
    comparison.rows.iter().flat_map(|row| {
        let cells = row.cells.iter().enumerate();
        cells.filter_map(move |(side, cell)| Some((row, side, cell.as_ref()?)))
    })
}

/// Caveats of the table, each printed once.
pub(super) fn notes(comparison: &Comparison, names: &[String], style: &Style) -> String {
    let say = |ink, text| hanging("", 0, ink, style).lines(&[text]);
    let mut out = caveats(comparison, names, style);
    out.extend(rounds_notes(comparison, names).into_iter().map(|text| say(Ink::Dim, text)));
    out.extend(legend(comparison).into_iter().map(|text| say(Ink::Dim, text)));
    for (side, name) in names.iter().enumerate() {
        let has = |order| {
            let mut of_side = comparison.rows.iter().filter_map(|row| row.cells[side].as_ref());
            of_side.any(|cell| cell.order == Some(order))
        };
        if has(Order::OneAfterTheOther) {
            let text = format!(
                "{name}: not interleaved with {}, so other changes meanwhile (heat, \
                 fill, other load) may be the difference.",
                names[0]
            );
            out.push_str(&say(Ink::Doubt, text));
        } else if has(Order::Unknown) {
            let with = &names[0];
            let text = format!("{name}: unknown whether it was interleaved with {with}.");
            out.push_str(&say(Ink::Dim, text));
        }
    }
    out.extend(not_compared(comparison).into_iter().map(|text| say(Ink::Dim, text)));
    out
}

/// Why figures are not compared.
pub(super) fn not_compared(comparison: &Comparison) -> Vec<String> {
    let figures = comparison.rows.iter().flat_map(|row| &row.figures);
    let why_not = distinct(figures.filter_map(|one| one.why_not.as_ref()));
    why_not.into_iter().map(|why| format!("Not compared: {why}.")).collect()
}

/// Explains how runs in rounds are compared.
fn rounds_notes(comparison: &Comparison, names: &[String]) -> Vec<String> {
    let without: Vec<Option<usize>> =
        comparison.sides.iter().map(|side| side.without_window).collect();
    let mut texts = Vec::new();
    if without.iter().any(Option::is_some) {
        texts.push(
            "Of a run in rounds the averages over its measurement window are compared, as one \
             repetition: rounds follow each other on one drive in one state, and say nothing of \
             how far two runs are apart by chance."
                .to_owned(),
        );
    }
    for (name, without) in names.iter().zip(without) {
        let Some(count) = without.filter(|count| *count > 0) else { continue };
        let runs = counted(count, "run");
        texts.push(format!("{name}: {runs} with too few rounds, not compared."));
    }
    texts
}

/// Caveats of each side.
pub(super) fn caveats(comparison: &Comparison, names: &[String], style: &Style) -> String {
    let lines = caveat_lines(comparison, names).into_iter();
    lines.map(|line| hanging("*", 2, Ink::Doubt, style).lines(&[line])).collect()
}

/// Sentences of the caveats of each side; of one rule, the first stands for all.
pub(crate) fn caveat_lines(comparison: &Comparison, names: &[String]) -> Vec<String> {
    let mut found: Vec<(usize, String, usize)> = Vec::new();
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    for (_, side, cell) in cells(comparison) {
        for CellCaveat { kind, text } in caveats_of(cell) {
            let at = *known.entry((side, kind)).or_insert(found.len());
            match found.get_mut(at) {
                Some((.., count)) => *count += 1,
                None => found.push((side, text, 1)),
            }
        }
    }
    let sentence = |(side, text, count): (usize, String, usize)| {
        let more = match count {
            1 => String::new(),
            several => format!("; {} more like this", several - 1),
        };
        format!("{}: {text}{more}.", names[side])
    };
    found.into_iter().map(sentence).collect()
}

/// Legend of the words that appear in the last column.
fn legend(comparison: &Comparison) -> Vec<String> {
    let figures = || comparison.rows.iter().flat_map(shown);
    let any = |is: &dyn Fn(&Difference) -> bool| {
        figures().flat_map(|figure| figure.differences.iter().flatten()).any(is)
    };
    let mut words = Vec::new();
    if any(&|one| one.p_value.is_some()) {
        words.push(
            "Real: yes or no. Whether repetitions differ as much by chance: Welch's test on \
             logarithms at 5 %, with Holm's correction for the number of rows and quantities. \
             Intervals are 95 % ones of the repetitions."
                .to_owned(),
        );
    }
    if any(&|one| one.reality == Reality::NotInTurns) {
        words.push(
            "Real: probably. It is more than repetitions differ by chance, but they were not \
             measured in turns, or when is not known: what changed meanwhile may be all of it."
                .to_owned(),
        );
    }
    if any(&|one| one.reality == Reality::SpreadUnknown) {
        let side = |n| (1..=REPETITIONS).map(|i| format!("{n}{i}")).collect::<Vec<_>>().join(",");
        words.push(format!(
            "Real: unknown. The run-to-run spread is not known; it takes {REPETITIONS} \
             repetitions of each side: {}",
            own_command(&format!("compare {} {}", side("A"), side("B")))
        ));
    }
    let unlike = comparison.rows.iter().position(|row| row.unlike.is_some());
    if let Some(row) = unlike {
        let of_row = comparison.differing.iter().filter(|one| one.rows.contains(&row));
        let of_both = of_row.filter(|one| one.values.iter().all(|values| !values.is_empty()));
        let names = of_both.map(|one| clean(&one.what));
        let what: Vec<String> = names.filter(|what| what != "job").collect();
        words.push(format!(
            "Real: unlike. These are two workloads, not one measured twice: no difference \
             between them is a regression. They differ in {}.",
            what.join(", ")
        ));
    }
    if any(&|one| one.reality == Reality::WithinRounding) {
        words.push(
            "Real: rounding. The difference is no more than the figures were rounded by, or \
             than a histogram's bins are wide."
                .to_owned(),
        );
    }
    words
}

struct CellCaveat {
    /// Rule that raised it, or another fixed key.
    kind: String,
    text: String,
}

fn caveats_of(cell: &Cell) -> Vec<CellCaveat> {
    let mut all = Vec::new();
    let mut push = |kind: &str, text| all.push(CellCaveat { kind: kind.to_owned(), text });
    for Reason { rule, validity, why } in &cell.reasons {
        let (why, label) = (clean(why), validity.label());
        push(rule, format!("{label}, {} [{}]", why.trim_end_matches('.'), clean(rule)));
    }
    if let Some(how) = cell.failure.as_ref().filter(|_| cell.reasons.is_empty()) {
        push("failure", format!("failed, {}", clean(how)));
    }
    if cell.left_out > 0 && cell.repetitions > 0 {
        push("left out", format!("{} left out", counted(cell.left_out, "repetition")));
    }
    if cell.copies > 0 {
        push("copies", "repeated names count once".into());
    }
    all
}

pub(super) fn differing(comparison: &Comparison, names: &[String], style: &Style) -> String {
    let mut out = String::new();
    if !comparison.differing.is_empty() {
        out.push_str(&hanging("", 0, Ink::Bold, style).lines(&["What differs".to_owned()]));
    }
    let leads = comparison.differing.iter().map(|one| display_width(&clean(&one.what)));
    let indent = leads.max().unwrap_or(0).min(24) + 4;
    let mut ways: HashMap<&str, usize> = HashMap::new();
    comparison.differing.iter().for_each(|one| *ways.entry(&one.what).or_default() += 1);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for one in &comparison.differing {
        let before = seen.entry(&one.what).or_default();
        *before += 1;
        match *before - 1 {
            0..MOST_ALIKE => {}
            MOST_ALIKE => {
                let more = ways[one.what.as_str()] - MOST_ALIKE;
                let lead = format!("  {}", cut(&clean(&one.what), 24));
                let more = format!("and in {more} other ways");
                out.push_str(&hanging(&lead, indent, Ink::Dim, style).lines(&[more]));
                continue;
            }
            _ => continue,
        }
        let mut items: Vec<String> = names
            .iter()
            .zip(&one.values)
            .map(|(name, values)| match values.as_slice() {
                [] => format!("{name}: not stated"),
                values => {
                    let shown: Vec<String> = values.iter().take(4).map(|v| clean(v)).collect();
                    let more = values.len() - shown.len();
                    let more = if more > 0 { format!(", +{more}") } else { String::new() };
                    format!("{name}: {}{more}", shown.join(", "))
                }
            })
            .collect();
        if one.rows.len() < comparison.rows.len() {
            items.push(match one.rows.as_slice() {
                [row] => format!("({})", workload_title(&comparison.rows[*row].point)),
                rows => format!("({} of {} workloads)", rows.len(), comparison.rows.len()),
            });
        }
        let lead = format!("  {}", cut(&clean(&one.what), 24));
        out.push_str(&hanging(&lead, indent, Ink::Plain, style).lines(&items));
    }
    let mut plain = |text: String| {
        out.push_str(&hanging("", 0, Ink::Dim, style).lines(&[text]));
    };
    for one in &comparison.not_known {
        let what: Vec<String> = one.what.iter().map(|what| clean(what)).collect();
        plain(format!("Unknown for {}: {}.", names[one.side], what.join(", ")));
    }
    only_in(comparison, names).into_iter().for_each(&mut plain);
    out
}

/// Workloads of one side only, a sentence for each side.
pub(crate) fn only_in(comparison: &Comparison, names: &[String]) -> Vec<String> {
    let of_side = |(side, name): (usize, &String)| {
        let alone = comparison.alone.iter().filter(|alone| alone.side == side);
        let titles: Vec<String> = alone.map(|alone| workload_title(&alone.point)).collect();
        let (first, rest) = titles.split_first()?;
        let more =
            if rest.is_empty() { String::new() } else { format!("; and {} more", rest.len()) };
        Some(format!("Only in {name}: {first}{more}."))
    };
    names.iter().enumerate().filter_map(of_side).collect()
}

/// Broken and unjudged limits: a paragraph per limit and side, or per reason.
pub(super) fn limits(
    comparison: &Comparison,
    names: &[String],
    rulings: &[Ruling],
    style: &Style,
) -> String {
    let mut texts: Vec<(&str, Ink, String, Vec<String>)> = Vec::new();
    for ruling in rulings {
        let title = subject_title(comparison, ruling.subject);
        let figures = match ruling.subject {
            Subject::Row(row) => comparison.rows[row].figures.as_slice(),
            Subject::Alone(_) => &[],
        };
        let figure = figures.iter().find(|one| one.quantity == ruling.limit.quantity);
        let by = figure.and_then(|figure| figure.differences[ruling.side].as_ref());
        let by = by.map(percent).unwrap_or_default();
        let (label, ink, what, subject) = match &ruling.outcome {
            Outcome::Kept => continue,
            Outcome::Broken => ("FAIL", Ink::Bad, String::new(), format!("{by}  {title}")),
            Outcome::NotShown => {
                let what = ": possible, but not certain".to_owned();
                ("OPEN", Ink::Doubt, what, format!("{by}  {title}"))
            }
            Outcome::CannotTell(why) => ("UNJUDGED", Ink::Open, format!(": {why}"), title),
        };
        let heading = format!("{}, {}{what}", ruling.limit, names[ruling.side]);
        match texts.iter_mut().find(|(known, _, other, _)| *known == label && *other == heading) {
            Some((.., subjects)) => subjects.push(subject),
            None => texts.push((label, ink, heading, vec![subject])),
        }
    }
    let mut out = String::new();
    for (label, ink, heading, subjects) in texts {
        out.push_str(&hanging(label, label.len() + 2, ink, style).lines(&[heading]));
        for subject in subjects {
            out.push_str(&hanging("", label.len() + 2, Ink::Plain, style).lines(&[subject]));
        }
    }
    out
}
