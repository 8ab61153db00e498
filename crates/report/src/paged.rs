//! What pages show, and how a file is known as one: also where this build makes none.

use std::sync::Arc;

#[cfg(feature = "page")]
use iodyno_model::Prediction;
use iodyno_model::{DriveState, Measurement, Predictions, RunRecord};

use crate::Judged;
use crate::text::PlannedPoint;

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
    /// The points of its plan in the order of their axes; empty: as they were measured.
    pub planned: &'a [PlannedPoint],
}

impl<'a> PageRun<'a> {
    /// The run, with nothing known beside it.
    pub const fn new(judged: Judged<'a>) -> Self {
        Self { judged, unread: &[], prepared: &[], outlook: None, planned: &[] }
    }

    /// Its first `count` measurements, those of one point together.
    #[cfg(feature = "page")]
    pub(crate) fn in_order(&self, count: usize) -> Vec<usize> {
        let place = |n: &usize| {
            let name = &self.judged.record.measurements[*n].name;
            self.planned.iter().position(|point| point.title == *name)
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(place);
        order
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
