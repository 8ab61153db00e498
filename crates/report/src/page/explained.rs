//! What limits what a run was made to explain.

use iodyno_judge::ClaimBook;
use iodyno_judge::limiter::{Explanation, explain_stored, is_of_question};
use iodyno_model::RunRecord;

use super::table::{Cell, Table};
use crate::explained::{ceilings, changes, formulas, heading, suspects};
use crate::text::words::clean;

/// An answer of `iodyno explain` as the template lays it out.
#[derive(Debug)]
pub(super) struct ExplainedView {
    pub(super) heading: String,
    pub(super) sentence: String,
    pub(super) next: String,
    /// Reservations, and what else is to be known.
    pub(super) notes: Vec<String>,
    /// Each with its heading before it, and how it is reckoned behind it.
    pub(super) tables: Vec<(&'static str, Table, Vec<String>)>,
}

impl ExplainedView {
    /// What a run was made to explain; none where it was made for something else.
    pub(super) fn all(record: &RunRecord, claims: &ClaimBook) -> Vec<Self> {
        if !is_of_question(record) {
            return Vec::new();
        }
        explain_stored(&[record], claims).iter().map(Self::new).collect()
    }

    fn new(of: &Explanation<'_>) -> Self {
        let said = of.reasons.iter().map(|reason| &reason.why).chain(&of.notes);
        let tables = [
            ("What it cannot exceed", ["bound", "what bounds it"], ceilings(of), formulas(of)),
            ("One thing changed", ["change", "what came of it"], changes(of), Vec::new()),
            ("Who was suspected", ["suspect", "how it stands"], suspects(of), Vec::new()),
        ];
        let tables = tables.into_iter().filter(|(_, _, rows, _)| !rows.is_empty());
        let tables = tables.map(|(heading, columns, rows, notes)| {
            let cells = |(name, what): (String, String)| {
                [name, what].map(|text| Cell::text(clean(&text))).to_vec()
            };
            let table = Table::of(&columns, rows.into_iter().map(cells).collect());
            (heading, table, notes.into_iter().map(clean).collect())
        });
        Self {
            heading: clean(&heading(of)),
            sentence: clean(&of.sentence),
            next: clean(&of.advice),
            notes: said.map(|text| clean(text)).collect(),
            tables: tables.collect(),
        }
    }
}
