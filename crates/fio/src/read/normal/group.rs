//! Parses `Run status group 0 (all jobs):` and the lines below it.

use iodyno_model::{Direction, DirectionResult, Estimate};

use super::direction::rate_over;
use super::scan::{after, field, numbers, up_to};
use crate::read::printed_number::{Notation, estimate, narrowest};

/// Combined results of a group's jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Group {
    pub(super) line: usize,
    pub(super) number: u32,
    pub(super) sides: Vec<GroupSide>,
}

/// `READ: bw=64.0MiB/s (67.2MB/s), …, io=409MiB (429MB), run=6385-6385msec`, up
/// to 2.16 `READ: io=1024.3MB, aggrb=258969KB/s, …, mint=4050msec, maxt=4050msec`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupSide {
    pub(super) direction: Direction,
    pub(super) runtime_ms: Option<u64>,
    bandwidths: Vec<Estimate>,
    bytes: Vec<Estimate>,
}

impl Group {
    pub(super) fn new(line: usize, text: &str) -> Self {
        let number = numbers(text).first().and_then(|number| u32::try_from(*number).ok());
        Self { line, number: number.unwrap_or(0), sides: Vec::new() }
    }
}

impl GroupSide {
    /// Parses a line; `is_decimal`: `kb_base=1000`, so `KB` of 2.16 and older is 1000 bytes.
    pub(super) fn new(
        direction: Direction,
        text: &str,
        version: Option<(u32, u32)>,
        is_decimal: bool,
    ) -> Self {
        let is_old = text.contains("aggrb=");
        let notation = Notation::of(version, is_old);
        let notation = Notation { binary: is_old && !is_decimal, ..notation };
        let pair = |key| {
            let first = field(text, key);
            let other = after(text, key).and_then(|text| text.split('(').nth(1));
            let other = other.and_then(|other| up_to(other, |c| c == ')'));
            let figures = [first, other].into_iter().flatten();
            figures.filter_map(|figure| notation.bytes(figure)).collect::<Vec<_>>()
        };
        // Up to 2.16 these were truncated to whole KB, whereas bandwidths of jobs are rounded.
        let cut = |text: Option<&str>| {
            let figure = notation.bytes(text?)?;
            estimate(figure.value, figure.low(), figure.high() + 1024.0)
        };
        let (bandwidths, bytes, longest) = if is_old {
            let figures = |key| cut(field(text, key)).into_iter().collect();
            (figures("aggrb="), figures("io="), field(text, "maxt="))
        } else {
            let run = after(text, "run=").and_then(|run| up_to(run, |c| c == 'm'));
            (pair("bw="), pair("io="), run)
        };
        let longest = longest.and_then(|times| numbers(times).into_iter().max());
        Self { direction, runtime_ms: longest, bandwidths, bytes }
    }

    /// Converts to the result of its direction.
    pub(super) fn result(&self) -> DirectionResult {
        let bytes = narrowest(&self.bytes);
        let rate = bytes.zip(self.runtime_ms).and_then(|(bytes, ms)| rate_over(bytes, ms));
        let figures: Vec<Estimate> = self.bandwidths.iter().copied().chain(rate).collect();
        DirectionResult {
            bytes: bytes.map(|bytes| bytes.value as u64),
            bandwidth: narrowest(&figures),
            ..DirectionResult::unknown(self.direction)
        }
    }
}
