//! Summarizes the I/Os of a trace before they are replayed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use iodyno_model::{Bytes, ReplayedDevice, ReplayedIos, ReplayedTrace};
use iodyno_trace::read::ReadError;
use iodyno_trace::{Flags, Traced};
use thiserror::Error;

use super::piece_map::TouchedPieces;
use super::selection::Selection;
use super::whole_blocks;
use crate::iolog::LogSummary;
use crate::job::TraceReplay;
use crate::{Job, Operation};

/// Counting of I/Os in flight stops here.
const MOST_IN_FLIGHT: usize = 1 << 12;
/// Recorded devices start at multiples of this on the target, bytes.
const DEVICE_BYTES: u64 = 1 << 20;
/// Largest offset in a file.
const MOST_BYTES: u64 = i64::MAX as u64;

/// Summary of the I/Os of a trace that would be replayed.
#[derive(Debug)]
pub struct TraceSurvey {
    /// Description for the report.
    pub trace: ReplayedTrace,
    until_ns: u64,
    skip: [bool; 4],
    align_bytes: u32,
    /// Pieces of its devices that are read or written.
    touched: TouchedPieces,
    /// Most I/Os in flight at once; 0: unknown.
    pub in_flight: usize,
    /// Unreadable lines or records of other tools' formats.
    pub unread: u64,
    /// Damaged blocks of an `.iotrace` file.
    pub damaged: u64,
    /// I/Os of other tools' formats that were too far out of order.
    pub displaced: u64,
    /// True if the recording was cut off; known only if all of it was read.
    pub is_cut: bool,
    largest: u32,
    largest_discard: u32,
}

/// Why a trace does not fit a target.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlacementError {
    /// Nothing to replay.
    #[error("nothing to replay: {0}")]
    Nothing(&'static str),
    /// The trace's addresses exceed the target.
    #[error(
        "its I/Os reach {}, and the target has {}; --scale-addresses packs what they touch into \
         the target", Bytes(*.end_bytes).decimal(), Bytes(*.room_bytes).decimal()
    )]
    TooLarge {
        /// End of the furthest I/O, bytes.
        end_bytes: u64,
        /// Size of the target, bytes.
        room_bytes: u64,
    },
    /// The target is smaller than one piece or than the largest I/O; the minimum in bytes.
    #[error("the target is too small: {} at least", Bytes(*.0).decimal())]
    TooSmall(u64),
}

/// Surveys the I/Os of a trace from `from_ns` to before `until_ns`, without those in `skip` (reads,
/// writes, discards, flushes), for a target that takes multiples of `align_bytes`.
///
/// # Errors
/// The trace is unreadable.
pub fn survey(
    trace: Traced,
    [from_ns, until_ns]: [u64; 2],
    skip: [bool; 4],
    align_bytes: u32,
) -> Result<TraceSurvey, ReadError> {
    let mut selection = Selection::new(trace, from_ns, until_ns, skip);
    let (mut summary, mut touched) = (ReplayedTrace::default(), TouchedPieces::default());
    let (mut largest, mut largest_discard, mut in_flight) = (0, 0, 0);
    let mut ends: Vec<u64> = Vec::new();
    let mut completions: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    while let Some((io, operation)) = selection.next_io()? {
        summary.span_ns = summary.span_ns.max(io.at_ns);
        let ReplayedIos { reads, writes, discards, flushes, .. } = &mut summary.ios;
        let is_discard = operation == Operation::Trim;
        *match operation {
            Operation::Read => reads,
            Operation::Write => writes,
            Operation::Trim => discards,
            _ => flushes,
        } += 1;
        let durable = io.flags.has(Flags::FUA) || io.flags.has(Flags::PREFLUSH);
        summary.durable += u64::from(durable && operation == Operation::Write);
        if let Some(ns) = io.latency.total() {
            summary.has_latencies = true;
            while completions.peek().is_some_and(|Reverse(end)| *end <= io.at_ns) {
                completions.pop();
            }
            if completions.len() < MOST_IN_FLIGHT {
                completions.push(Reverse(io.at_ns.saturating_add(ns)));
                in_flight = in_flight.max(completions.len());
            }
        }
        let device = usize::from(io.device);
        ends.resize(ends.len().max(device + 1), 0);
        if operation == Operation::Sync {
            continue;
        }
        let Some((start, end)) = whole_blocks(&io, is_discard, align_bytes.max(1).into()) else {
            continue;
        };
        ends[device] = ends[device].max(end);
        match operation {
            Operation::Read => summary.read_bytes += end - start,
            Operation::Write => summary.write_bytes += end - start,
            _ => {}
        }
        let largest = if is_discard { &mut largest_discard } else { &mut largest };
        *largest = (end - start).max((*largest).into()) as u32;
        if !is_discard {
            touched.note(io.device, start, end - start);
        }
    }
    let names = selection.trace.names().devices();
    let mut at_bytes = 0_u64;
    for (device, end_bytes) in names.iter().zip(ends.into_iter().chain(std::iter::repeat(0))) {
        summary.devices.push(ReplayedDevice { name: device.name.clone(), at_bytes, end_bytes });
        let end = at_bytes.saturating_add(end_bytes).checked_next_multiple_of(DEVICE_BYTES);
        at_bytes = end.unwrap_or(u64::MAX);
    }
    let trace = ReplayedTrace {
        source: selection.trace.source().to_owned(),
        tick_ns: selection.trace.tick_ns(),
        from_ns,
        left_out: selection.left_out,
        lost: selection.trace.lost(),
        ..summary
    };
    let unread = selection.trace.left_out();
    let displaced = selection.trace.displaced();
    let (damaged, is_cut) = (selection.trace.damaged(), selection.trace.is_cut());
    let largest = largest.max(if trace.ios.flushes > 0 { 1 } else { 0 });
    Ok(TraceSurvey {
        trace,
        until_ns,
        skip,
        align_bytes,
        touched,
        in_flight,
        unread,
        damaged,
        displaced,
        is_cut,
        largest,
        largest_discard,
    })
}

impl TraceSurvey {
    /// Largest read or write, bytes.
    pub const fn largest_bytes(&self) -> u32 {
        self.largest
    }

    /// End of the furthest I/O, with the recorded devices laid out one after the other, bytes.
    fn end_bytes(&self) -> u64 {
        let ends = self.trace.devices.iter().filter(|device| device.end_bytes > 0);
        ends.map(|device| device.at_bytes.saturating_add(device.end_bytes)).max().unwrap_or(0)
    }

    /// Makes `job` replay the trace on its file, or on its device of `room_bytes`. With `packs`,
    /// touched pieces are packed into the target.
    ///
    /// # Errors
    /// The trace does not fit the target.
    pub fn apply_to(
        self,
        job: &mut Job,
        room_bytes: Option<u64>,
        packs: bool,
    ) -> Result<(), PlacementError> {
        let ReplayedIos { reads, writes, discards: trims, flushes: syncs, .. } = self.trace.ios;
        if reads + writes + trims == 0 {
            let left_out = self.trace.left_out.all() > 0;
            return Err(PlacementError::Nothing(match (left_out, self.trace.from_ns) {
                (true, _) => "all of its I/Os are left out",
                (false, 0) => "it holds no I/O",
                (false, _) => "it holds no I/O in this time",
            }));
        }
        let mut end_bytes = self.end_bytes();
        let mut trace = self.trace;
        let mut pieces = None;
        if packs {
            let least = DEVICE_BYTES + u64::from(self.largest).next_multiple_of(DEVICE_BYTES);
            let packed = self.touched.packed(room_bytes, self.largest);
            let packed = packed.ok_or(PlacementError::TooSmall(least))?;
            trace.packed = Some(packed.summary());
            end_bytes = packed.bytes();
            pieces = Some(Arc::new(packed));
        }
        let room_bytes = room_bytes.unwrap_or(MOST_BYTES);
        if end_bytes > room_bytes {
            return Err(PlacementError::TooLarge { end_bytes, room_bytes });
        }
        let files = job.files.paths.iter().map(|path| (path.clone(), end_bytes)).collect();
        let (largest, largest_trim) = (self.largest, self.largest_discard);
        LogSummary { files, largest, largest_trim, reads, writes, trims, syncs }.apply_to(job);
        let Self { until_ns, skip, align_bytes, .. } = self;
        let replay = TraceReplay { trace, until_ns, skip, pieces, align_bytes };
        job.replay.trace = Some(Box::new(replay));
        Ok(())
    }
}
