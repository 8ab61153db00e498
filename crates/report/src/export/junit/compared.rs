//! Exports a comparison as JUnit XML: a suite for each side.

use std::io;

use iodyno_judge::comparison::Outcome;

use super::case;
use super::xml::{self, Case, Status, Suite};
use crate::compared::{Compared, outcome_words, words};
use crate::text::workload_title;

/// Builds the XML: a case for each compared figure, which always passes, and one for each limit,
/// which fails if the limit is broken. A failed measurement is an error.
pub(super) fn junit(of: Compared<'_>) -> io::Result<Vec<u8>> {
    let sides = &of.comparison.sides;
    let named = |label: &String| Suite { name: label.clone(), ..Suite::default() };
    let mut suites: Vec<Suite> = sides.iter().map(|side| named(&side.label)).collect();
    for entry in of.entries() {
        let Some(difference) = entry.difference else { continue };
        let passed = case(of.label(entry.side), &entry.name(), Status::Passed);
        suites[entry.side].cases.push(Case { out: words(difference), ..passed });
    }
    for row in &of.comparison.rows {
        for (side, cell) in row.cells.iter().enumerate() {
            if let Some(how) = cell.as_ref().and_then(|cell| cell.failure.clone()) {
                let name = workload_title(&row.point);
                suites[side].cases.push(case(of.label(side), &name, Status::Error(how)));
            }
        }
    }
    for ruling in of.rulings {
        let name = format!("{}: --fail-if {}", of.workload(ruling), ruling.limit);
        let (_, sentence) = outcome_words(ruling);
        let (status, out) = match &ruling.outcome {
            Outcome::Broken => {
                (Status::Failure("limit".into(), sentence, String::new()), String::new())
            }
            Outcome::CannotTell(_) => (Status::Skipped(sentence), String::new()),
            Outcome::Kept | Outcome::NotShown => (Status::Passed, sentence),
        };
        let of_limit = case(of.label(ruling.side), &name, status);
        suites[ruling.side].cases.push(Case { out, ..of_limit });
    }
    suites.retain(|suite| !suite.cases.is_empty());
    xml::document("iodyno compare", &suites)
}
