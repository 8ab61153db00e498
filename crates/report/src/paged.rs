//! What pages show, and how a file is known as one: also where this build makes none.

use std::sync::Arc;

#[cfg(feature = "page")]
use iodyno_model::Prediction;
use iodyno_model::{DriveState, Measurement, Predictions, RunRecord};

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
    #[cfg(feature = "page")]
    pub(crate) fn predictions(&self) -> &'a [Prediction] {
        self.outlook.map_or(&[], |outlook| &outlook.predictions)
    }
}

/// In the head of every page, by which it is known as ours.
const MARK: &str = "<meta name=\"generator\" content=\"iodyno";

/// Bytes from the start within which the mark stands.
const MARK_WITHIN: usize = 512;

/// Whether a file that begins with `head` is a page of ours; 512 bytes suffice.
pub fn is_page(head: &[u8]) -> bool {
    let head = &head[..head.len().min(MARK_WITHIN)];
    head.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

/// What is going on.
#[derive(Debug, Clone)]
pub struct LiveView {
    /// The run with what was measured; `None`: it has not begun.
    pub run: Option<Arc<RunRecord>>,
    /// What is being measured, as far as it is known.
    pub now: Vec<Measurement>,
    /// Time that is left at most, ns.
    pub left_ns: u64,
    /// Of the hottest drive, °C.
    pub temperature_c: Option<f32>,
}
