//! Input of pages, and recognition of page files; also available in builds without pages.

use std::sync::Arc;

use iodyno_model::{DriveState, Measurement, Predictions, Rounds, RunRecord};

use crate::Judged;
use crate::text::PlannedPoint;
#[cfg(feature = "page")]
use crate::text::point_grids::in_order;

/// Run to show on a page.
#[derive(Debug, Clone, Copy)]
pub struct PageRun<'a> {
    /// Run with its assessment.
    pub judged: Judged<'a>,
    /// Unreadable parts of its files, a sentence each.
    pub unread: &'a [String],
    /// States of its drives at the start.
    pub prepared: &'a [DriveState],
    /// Predictions from its measurements.
    pub outlook: Option<&'a Predictions>,
    /// Rounds that conditioned its drives.
    pub conditioned: Option<&'a Rounds>,
    /// Points of the plan in the order of their axes; empty: in the order of measurement.
    pub planned: &'a [PlannedPoint],
}

impl<'a> PageRun<'a> {
    /// Wraps a run without further information.
    pub const fn new(judged: Judged<'a>) -> Self {
        Self { judged, unread: &[], prepared: &[], outlook: None, conditioned: None, planned: &[] }
    }

    /// Returns the first `count` measurements, those of the same point next to each other.
    #[cfg(feature = "page")]
    pub(crate) fn in_order(&self, count: usize) -> Vec<usize> {
        in_order(self.judged.record, self.planned, count)
    }
}

/// Marks a page as made by iodyno; in the head of every page.
const MARK: &str = "<meta name=\"generator\" content=\"iodyno";

/// Bytes from the start of a page within which the mark occurs.
const MARK_WITHIN: usize = 512;

/// True if a file that starts with `head` is a page made by iodyno; 512 bytes suffice.
pub fn is_page(head: &[u8]) -> bool {
    let head = &head[..head.len().min(MARK_WITHIN)];
    head.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

/// State of a running measurement.
#[derive(Debug, Clone)]
pub struct LiveView {
    /// Run with its finished measurements; `None` if it has not started.
    pub run: Option<Arc<RunRecord>>,
    /// Current measurements, as far as known.
    pub now: Vec<Measurement>,
    /// Maximum remaining time, ns.
    pub left_ns: u64,
    /// Temperature of the hottest drive, °C.
    pub temperature_c: Option<f32>,
}
