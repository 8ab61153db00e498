//! A run with what a page shows beside it.

use iodyno_model::{DriveState, Prediction, Predictions};

use crate::Judged;

/// A run as the page shows it.
#[derive(Debug, Clone, Copy)]
pub struct PageRun<'a> {
    /// The run with what it is judged to mean.
    pub judged: Judged<'a>,
    /// What of its files could not be read, a sentence each.
    pub unread: &'a [String],
    /// The states that its drives were in when it began.
    pub prepared: &'a [DriveState],
    /// What its measurements say beyond themselves.
    pub outlook: Option<&'a Predictions>,
}

impl<'a> PageRun<'a> {
    /// The run, with nothing known beside it.
    pub const fn new(judged: Judged<'a>) -> Self {
        Self { judged, unread: &[], prepared: &[], outlook: None }
    }

    /// Points that were not measured.
    pub(super) fn predictions(&self) -> &'a [Prediction] {
        self.outlook.map_or(&[], |outlook| &outlook.predictions)
    }
}
