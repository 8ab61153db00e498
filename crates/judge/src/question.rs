//! Input of a judgement: a run and its yardsticks.

use iodyno_model::RunRecord;

use crate::claims::ClaimBook;
use crate::expectation::Expectation;

/// A run and its yardsticks.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// Data sheets.
    pub claims: &'a ClaimBook,
    /// Earlier run to compare with.
    pub baseline: Option<&'a RunRecord>,
    /// The user's expectation of the machine.
    pub expect: Option<&'a Expectation>,
}
