//! A run and what it is judged by, before anything is worked out.

use iodyno_model::RunRecord;

use crate::claims::ClaimBook;
use crate::expectation::Expectation;

/// A run, and what it is to be judged by.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// Data sheets.
    pub claims: &'a ClaimBook,
    /// An earlier run to compare with.
    pub baseline: Option<&'a RunRecord>,
    /// What the user expects of the machine.
    pub expect: Option<&'a Expectation>,
}
