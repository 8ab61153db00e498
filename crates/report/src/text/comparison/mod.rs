//! Compares runs side by side.

mod notes;
mod screen;
mod table;

use iodyno_judge::comparison::{Comparison, Outcome, Point, Row, Ruling, SideFacts, Subject};
use iodyno_model::{Direction, RunState};

pub(crate) use notes::{caveat_lines, only_in};
pub use screen::comparison_screen;
pub(crate) use screen::{brief, conclusion};
pub(crate) use table::{Cells, cells};

use super::Style;
use super::host::counted;
use super::ink::Ink;
use super::jobs::block_size;
use super::runs::started;
use super::words::{Hanging, clean, cut, display_width};

/// Longest label, in columns, used as a heading; if one is longer, sides get letters.
const LONGEST_HEADING: usize = 20;

/// Text of `compare -v`: the sides, a table with a group of lines per workload, caveats, conditions
/// that differ, and the outcome of the limits. Lines are at most `style.width` long.
pub fn comparison_text(
    comparison: &Comparison,
    rulings: &[Ruling],
    exit_status: u8,
    style: &Style,
) -> String {
    let names = names(comparison);
    let mut sections = vec![
        sides(comparison, &names, style),
        table::table(comparison, &names, style),
        notes::notes(comparison, &names, style),
        notes::differing(comparison, &names, style),
        notes::limits(comparison, &names, rulings, style),
    ];
    if exit_status != 0 || !rulings.is_empty() {
        sections.push(verdict(rulings, exit_status, style));
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Legend of the letters, caveats and differing conditions, one sentence each.
pub(crate) fn notes_of(comparison: &Comparison) -> Vec<String> {
    let style = Style { width: usize::MAX, color: false, wide: true, columns: None };
    let names = names(comparison);
    let are_letters =
        comparison.sides.iter().zip(&names).any(|(of, name)| clean(&of.label) != *name);
    let sections = [
        if are_letters { sides(comparison, &names, &style) } else { String::new() },
        notes::notes(comparison, &names, &style),
        notes::differing(comparison, &names, &style),
    ];
    sections.iter().flat_map(|text| text.lines()).map(|line| line.trim().to_owned()).collect()
}

fn hanging(lead: &str, indent: usize, ink: Ink, style: &Style) -> Hanging<'static> {
    Hanging {
        lead: lead.to_owned(),
        lead_width: display_width(lead),
        indent,
        ink,
        ..Hanging::of(style)
    }
}

/// Headings of the sides' columns: their labels, or letters if any is too long or repeated.
pub(crate) fn names(comparison: &Comparison) -> Vec<String> {
    let labels: Vec<String> = comparison.sides.iter().map(|side| clean(&side.label)).collect();
    let fits = |label: &String| {
        (1..=LONGEST_HEADING).contains(&display_width(label))
            && labels.iter().filter(|other| *other == label).count() == 1
    };
    if labels.iter().all(fits) {
        return labels;
    }
    let letter = |n: usize| match u8::try_from(n) {
        Ok(n @ 0..26) => char::from(b'A' + n).to_string(),
        _ => (n + 1).to_string(),
    };
    (0..labels.len()).map(letter).collect()
}

fn sides(comparison: &Comparison, names: &[String], style: &Style) -> String {
    let width = names.iter().map(|name| display_width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for (side, name) in comparison.sides.iter().zip(names) {
        let mut items = Vec::new();
        let label = clean(&side.label);
        if label != *name {
            items.push(cut(&label, style.width));
        }
        if let [run] = side.runs.as_slice() {
            let known = clean(&run.name);
            if !known.is_empty() && !label.contains(&known) {
                items.push(format!("run {known}"));
            }
        } else {
            items.push(counted(side.runs.len(), "run"));
        }
        let mut days: Vec<String> = side.runs.iter().map(started).collect();
        days.sort();
        items.extend(match days.as_slice() {
            [first, .., last] if first != last => Some(format!("{first} to {last} UTC")),
            [first, ..] => Some(format!("{first} UTC")),
            [] => None,
        });
        if side.failed > 0 {
            let failed = counted(side.failed, "measurement");
            items.push(format!("{failed} failed or interrupted"));
        }
        items.extend(failed_ios(side));
        if side.runs.iter().any(|run| run.state != RunState::Done) {
            items.push("incomplete".into());
        }
        if let Some(other) = side.same_as {
            let other = &names[other];
            items.push(match side.same_runs == side.runs.len() {
                true => format!(
                    "the same {} as {other}",
                    if side.runs.len() == 1 { "run" } else { "runs" }
                ),
                false => format!("{} {other}'s as well", counted(side.same_runs, "run")),
            });
        }
        out.push_str(&hanging(name, width + 2, Ink::Plain, style).lines(&items));
    }
    out
}

/// Returns `3 I/Os failed`, if any.
pub(crate) fn failed_ios(side: &SideFacts) -> Option<String> {
    (side.failed_ios > 0).then(|| format!("{} failed", counted(side.failed_ios as usize, "I/O")))
}

/// True if fio's `rw` has several directions, by any of its names: a document has it as written.
pub(super) fn has_several_directions(rw: &str) -> bool {
    ["rw", "readwrite", "trimwrite"].iter().any(|several| rw.contains(several))
}

/// Workload in one line: `rand-read on nvme0n1: randread 4 KiB, depth 64, 4 jobs`.
pub fn workload_title(point: &Point) -> String {
    let workload = &point.workload;
    let mut words = Vec::new();
    let size = block_size(workload);
    let pattern = [workload.rw.as_deref().map(clean), size];
    let pattern = pattern.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if !pattern.is_empty() {
        words.push(pattern);
    }
    if point.searched {
        words.push("depth as needed".into());
    }
    words.extend(workload.iodepth.map(|depth| format!("depth {depth}")));
    words.extend(
        workload.numjobs.filter(|jobs| *jobs > 1).map(|jobs| counted(jobs as usize, "job")),
    );
    words.extend(workload.ioengine.as_deref().map(clean));
    words.extend(
        workload
            .is_buffered()
            .map(|is_buffered| if is_buffered { "page cache" } else { "direct" }.into()),
    );
    let is_size = |name: &str| ["bs", "bsrange", "bssplit"].contains(&name);
    let options = workload.options.iter().filter(|(name, _)| !is_size(name));
    words.extend(options.map(|(name, value)| format!("{}={}", clean(name), clean(value))));
    if workload.rw.as_deref().is_none_or(has_several_directions)
        || point.direction == Direction::Mixed
    {
        words.push(format!("{}s", point.direction.name()).replace("mixeds", "all directions"));
    }
    // The name may be a part of the place, where nothing else tells workloads apart.
    let place = point.place.iter().flatten().filter(|of| Some(*of) != point.name.as_ref());
    let place: Vec<String> = place.map(|name| clean(name)).collect();
    let place = match place.as_slice() {
        [] => None,
        several if several.len() > 2 => Some(format!("{} targets at once", several.len())),
        few => Some(few.join(" and ")),
    };
    let name = point.name.as_deref().map(clean);
    let subject = match (name, place) {
        (Some(name), Some(place)) => format!("{name} on {place}: "),
        (Some(only), None) | (None, Some(only)) => format!("{only}: "),
        (None, None) => String::new(),
    };
    format!("{subject}{}", words.join(", "))
}

/// Title of a row; for unlike workloads, both: `randread 4 KiB against read 128 KiB`.
pub fn row_title(row: &Row) -> String {
    let first = workload_title(&row.point);
    match row.unlike.as_ref().map(workload_title) {
        Some(second) if second != first => format!("{first} against {second}"),
        _ => first,
    }
}

/// Title of the workload that a limit applies to.
pub(crate) fn subject_title(comparison: &Comparison, subject: Subject) -> String {
    match subject {
        Subject::Row(row) => row_title(&comparison.rows[row]),
        Subject::Alone(alone) => workload_title(&comparison.alone[alone].point),
    }
}

/// Outcome of the limits: label, ink and words.
fn outcome(rulings: &[Ruling], exit_status: u8) -> (&'static str, Ink, String) {
    let broken = rulings.iter().filter(|one| one.outcome == Outcome::Broken).count();
    let is_open = rulings.iter().any(|one| one.outcome == Outcome::NotShown);
    match exit_status {
        0 if is_open => ("PASS", Ink::Good, "no limit broken, some open".into()),
        0 => ("PASS", Ink::Good, "all limits kept".into()),
        1 => ("FAIL", Ink::Bad, format!("{} beyond a limit", counted(broken, "difference"))),
        3 => ("UNJUDGED", Ink::Open, "interrupted, or a measurement failed".into()),
        _ => ("UNJUDGED", Ink::Open, "some limits could not be judged".to_owned()),
    }
}

/// Last line: the outcome with the exit status.
fn verdict(rulings: &[Ruling], exit_status: u8, style: &Style) -> String {
    let (label, ink, words) = outcome(rulings, exit_status);
    let after = Hanging::after(label, ink, label.len() + 2, style);
    let items = [words, format!("(exit status {exit_status})")];
    Hanging { separator: " ", ..after }.lines(&items)
}
