//! Answers to the question that a run was made for (`iodyno explain`).

use iodyno_judge::ClaimBook;
use iodyno_judge::limiter::{Explanation, explain_stored, is_explain_run};
use iodyno_model::RunRecord;

use super::table::{Cell, Table};
use crate::explained::{ceilings, changes, formulas, heading, suspects};
use crate::text::words::clean;

/// Answer of `iodyno explain`, for the template.
#[derive(Debug)]
pub(super) struct ExplainedView {
    pub(super) heading: String,
    pub(super) sentence: String,
    pub(super) next: String,
    /// Caveats and further remarks.
    pub(super) notes: Vec<String>,
    /// Tables: heading, table, formulas.
    pub(super) tables: Vec<(&'static str, Table, Vec<String>)>,
}

impl ExplainedView {
    /// Returns the answers of a run made for `explain`; empty for other runs.
    pub(super) fn all(record: &RunRecord, claims: &ClaimBook) -> Vec<Self> {
        if !is_explain_run(record) {
            return Vec::new();
        }
        explain_stored(&[record], claims).iter().map(Self::new).collect()
    }

    fn new(of: &Explanation<'_>) -> Self {
        let said = of.reasons.iter().map(|reason| &reason.why).chain(&of.notes);
        let tables = [
            ("Upper limits", ["bound", "set by"], ceilings(of), formulas(of)),
            ("Single changes", ["change", "effect"], changes(of), Vec::new()),
            ("Suspects", ["suspect", "status"], suspects(of), Vec::new()),
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
