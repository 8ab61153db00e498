//! What of a trace would be replayed, before any of it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use iodyno_model::{Bytes, ReplayedDevice, ReplayedIos, ReplayedTrace};
use iodyno_trace::read::ReadError;
use iodyno_trace::{Flags, Traced};
use thiserror::Error;

use super::places::Touched;
use super::selection::Selection;
use super::whole_blocks;
use crate::iolog::Scanned;
use crate::job::TraceReplay;
use crate::{Job, Operation};

/// I/Os in flight at once that are counted at most.
const MOST_IN_FLIGHT: usize = 1 << 12;
/// Devices begin at multiples of this, bytes.
const DEVICE_BYTES: u64 = 1 << 20;
/// Offsets of a file end here.
const MOST_BYTES: u64 = i64::MAX as u64;

/// What of a trace would be replayed.
#[derive(Debug)]
pub struct TraceSurvey {
    /// As it will be told.
    pub trace: ReplayedTrace,
    until_ns: u64,
    skip: [bool; 4],
    align_bytes: u32,
    /// Pieces of its devices that are read or written.
    touched: Touched,
    /// I/Os that were in flight at once; 0: the trace does not tell.
    pub in_flight: usize,
    /// Lines or records of another tool's that could not be read.
    pub unread: u64,
    /// Blocks of ours that were damaged.
    pub damaged: u64,
    /// The recording was cut off; known if all of it was read.
    pub is_cut: bool,
    largest: u32,
    largest_discard: u32,
}

/// Why a trace has no place on a target.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unplaced {
    /// There is nothing to replay.
    #[error("nothing to replay: {0}")]
    Nothing(&'static str),
    /// Its addresses lie behind the target's end.
    #[error(
        "its I/Os reach {}, and the target has {}; --scale-addresses packs what they touch into \
         the target", Bytes(*.end_bytes).decimal(), Bytes(*.room_bytes).decimal()
    )]
    TooLarge {
        /// Where the last I/O would end, bytes.
        end_bytes: u64,
        /// What the target has, bytes.
        room_bytes: u64,
    },
    /// The target is smaller than one piece, or than the largest I/O.
    #[error("the target is too small: {} at least", Bytes(*.0).decimal())]
    TooSmall(u64),
}

/// Reads a trace to its end: its I/Os from `from_ns` to before `until_ns`, without those that `skip`
/// names (reads, writes, discards, flushes), on a target that takes multiples of `align_bytes`.
///
/// # Errors
/// It cannot be read.
pub fn survey(
    trace: Traced,
    [from_ns, until_ns]: [u64; 2],
    skip: [bool; 4],
    align_bytes: u32,
) -> Result<TraceSurvey, ReadError> {
    let mut selection = Selection::new(trace, from_ns, until_ns, skip);
    let (mut told, mut touched) = (ReplayedTrace::default(), Touched::default());
    let (mut largest, mut largest_discard, mut in_flight) = (0, 0, 0);
    let mut ends: Vec<u64> = Vec::new();
    let mut flights: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    while let Some((io, operation)) = selection.next_io()? {
        told.span_ns = told.span_ns.max(io.at_ns);
        let ReplayedIos { reads, writes, discards, flushes, .. } = &mut told.ios;
        let is_discard = operation == Operation::Trim;
        *match operation {
            Operation::Read => reads,
            Operation::Write => writes,
            Operation::Trim => discards,
            _ => flushes,
        } += 1;
        let durable = io.flags.has(Flags::FUA) || io.flags.has(Flags::PREFLUSH);
        told.durable += u64::from(durable && operation == Operation::Write);
        if let Some(ns) = io.latency.total() {
            told.has_latencies = true;
            while flights.peek().is_some_and(|Reverse(end)| *end <= io.at_ns) {
                flights.pop();
            }
            if flights.len() < MOST_IN_FLIGHT {
                flights.push(Reverse(io.at_ns.saturating_add(ns)));
                in_flight = in_flight.max(flights.len());
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
            Operation::Read => told.read_bytes += end - start,
            Operation::Write => told.write_bytes += end - start,
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
        told.devices.push(ReplayedDevice { name: device.name.clone(), at_bytes, end_bytes });
        let end = at_bytes.saturating_add(end_bytes).checked_next_multiple_of(DEVICE_BYTES);
        at_bytes = end.unwrap_or(u64::MAX);
    }
    let trace = ReplayedTrace {
        source: selection.trace.source().to_owned(),
        tick_ns: selection.trace.tick_ns(),
        from_ns,
        left_out: selection.left_out,
        lost: selection.trace.lost(),
        ..told
    };
    let unread = selection.trace.left_out();
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
        is_cut,
        largest,
        largest_discard,
    })
}

impl TraceSurvey {
    /// The largest read or write, bytes.
    pub const fn largest_bytes(&self) -> u32 {
        self.largest
    }

    /// Where the last I/O ends, with the recorded devices one behind the other, bytes.
    fn end_bytes(&self) -> u64 {
        let ends = self.trace.devices.iter().filter(|device| device.end_bytes > 0);
        ends.map(|one| one.at_bytes.saturating_add(one.end_bytes)).max().unwrap_or(0)
    }

    /// Makes `job` one that replays the trace on its file; a device has `room_bytes`, which a file
    /// has not. `packs`: addresses are packed.
    ///
    /// # Errors
    /// It does not fit.
    pub fn settle(
        self,
        job: &mut Job,
        room_bytes: Option<u64>,
        packs: bool,
    ) -> Result<(), Unplaced> {
        let ReplayedIos { reads, writes, discards: trims, flushes: syncs, .. } = self.trace.ios;
        if reads + writes + trims == 0 {
            let left_out = self.trace.left_out.all() > 0;
            return Err(Unplaced::Nothing(match (left_out, self.trace.from_ns) {
                (true, _) => "all of its I/Os are left out",
                (false, 0) => "it holds no I/O",
                (false, _) => "it holds no I/O in this time",
            }));
        }
        let mut end_bytes = self.end_bytes();
        let mut trace = self.trace;
        let mut places = None;
        if packs {
            let least = DEVICE_BYTES + u64::from(self.largest).next_multiple_of(DEVICE_BYTES);
            let found = self.touched.packed(room_bytes, self.largest);
            let found = found.ok_or(Unplaced::TooSmall(least))?;
            trace.packed = Some(found.summary());
            end_bytes = found.bytes();
            places = Some(Arc::new(found));
        }
        let room_bytes = room_bytes.unwrap_or(MOST_BYTES);
        if end_bytes > room_bytes {
            return Err(Unplaced::TooLarge { end_bytes, room_bytes });
        }
        let files = job.files.paths.iter().map(|path| (path.clone(), end_bytes)).collect();
        let (largest, largest_trim) = (self.largest, self.largest_discard);
        Scanned { files, largest, largest_trim, reads, writes, trims, syncs }.settle(job);
        let Self { until_ns, skip, align_bytes, .. } = self;
        let how = TraceReplay { trace, until_ns, skip, places, align_bytes };
        job.replay.trace = Some(Box::new(how));
        Ok(())
    }
}
