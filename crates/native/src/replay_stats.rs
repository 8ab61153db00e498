//! Recorded and measured latencies of a replayed trace, side by side.

use iodyno_job::Operation;
use iodyno_job::traced::TracedIo;
use iodyno_model::{
    Histogram, Replayed, ReplayedLatency, ReplayedSize, ReplayedSlot, ReplayedTrace,
};

/// Number of size classes: powers of two.
const SIZES: usize = 33;
/// Names of the operations, in display order.
const OPERATIONS: [&str; 4] = ["read", "write", "discard", "flush"];
/// Largest number of time slots; beyond it, their length doubles.
const MAX_SLOTS: usize = 4096;
const SECOND_NS: u64 = 1_000_000_000;

/// Statistics of a trace's I/Os.
#[derive(Debug)]
pub(crate) struct ReplayStats {
    trace: ReplayedTrace,
    /// I/Os in flight, by engine slot.
    in_flight: Box<[TracedIo]>,
    /// By operation and size.
    sizes: [Option<Box<SizeStats>>; 4 * SIZES],
    issue_error: Histogram,
    waited: u64,
    aligned: u64,
    pub(crate) discards_left_out: u64,
    recorded_ns: u64,
    measured_ns: u64,
    slot_ns: u64,
    slots: Vec<ReplayedSlot>,
}

#[derive(Debug, Default)]
struct SizeStats {
    bytes: u64,
    recorded: Histogram,
    replayed: Histogram,
}

impl ReplayStats {
    pub(crate) fn new(trace: ReplayedTrace, depth: u32) -> Self {
        Self {
            trace,
            in_flight: vec![TracedIo::default(); depth as usize].into(),
            sizes: [const { None }; 4 * SIZES],
            issue_error: Histogram::default(),
            waited: 0,
            aligned: 0,
            discards_left_out: 0,
            recorded_ns: 0,
            measured_ns: 0,
            slot_ns: SECOND_NS,
            slots: Vec::new(),
        }
    }

    /// Records the submission of `io`, `late_ns` after its due time. Returns its recorded
    /// completion, ns after the start of the trace; `u64::MAX`: unknown.
    pub(crate) fn submitted(
        &mut self,
        slot: u16,
        io: &TracedIo,
        late_ns: u64,
        waited: bool,
    ) -> u64 {
        self.in_flight[usize::from(slot)] = *io;
        match waited {
            true => self.waited += 1,
            false => self.issue_error.record(late_ns),
        }
        self.aligned += u64::from(io.request.length > io.length);
        let end_ns = io.at_ns.saturating_add(io.latency_ns);
        let is_known = io.latency_ns != u64::MAX;
        let recorded_ns = if is_known { end_ns } else { io.at_ns };
        self.recorded_ns = self.recorded_ns.max(recorded_ns);
        self.slot(recorded_ns).recorded += 1;
        if is_known { end_ns } else { u64::MAX }
    }

    /// Records a completion, `after_ns` after the start; latency `None`: it failed.
    pub(crate) fn completed(&mut self, slot: u16, after_ns: u64, latency_ns: Option<u64>) {
        self.measured_ns = self.measured_ns.max(after_ns);
        let TracedIo { request, latency_ns: recorded_ns, length, .. } =
            self.in_flight[usize::from(slot)];
        let Some(latency_ns) = latency_ns else { return };
        self.slot(after_ns).replayed += 1;
        let stats = self.sizes[index(request.operation, length)].get_or_insert_default();
        stats.bytes += u64::from(request.length);
        stats.replayed.record(latency_ns);
        if recorded_ns != u64::MAX {
            stats.recorded.record(recorded_ns);
        }
    }

    fn slot(&mut self, at_ns: u64) -> &mut ReplayedSlot {
        while at_ns / self.slot_ns >= MAX_SLOTS as u64 {
            self.slot_ns *= 2;
            let sum = |pair: &[ReplayedSlot]| ReplayedSlot {
                recorded: pair.iter().map(|slot| slot.recorded).sum(),
                replayed: pair.iter().map(|slot| slot.replayed).sum(),
            };
            self.slots = self.slots.chunks(2).map(sum).collect();
        }
        let slot = (at_ns / self.slot_ns) as usize;
        self.slots.resize(self.slots.len().max(slot + 1), ReplayedSlot::default());
        &mut self.slots[slot]
    }

    pub(crate) fn summary(&self) -> Replayed {
        let sizes = self.sizes.iter().enumerate().filter_map(|(index, stats)| {
            let stats = stats.as_ref()?;
            Some(ReplayedSize {
                operation: OPERATIONS[index / SIZES].into(),
                up_to_bytes: if index / SIZES == 3 { 0 } else { 1 << (index % SIZES) },
                ios: stats.replayed.count(),
                bytes: stats.bytes,
                recorded: ReplayedLatency::of(&stats.recorded),
                replayed: ReplayedLatency::of(&stats.replayed)?,
            })
        });
        let mut replayed = Replayed {
            trace: self.trace.clone(),
            depth: self.in_flight.len() as u32,
            took_ns: self.measured_ns,
            recorded_ns: self.recorded_ns,
            issue_error: ReplayedLatency::of(&self.issue_error).unwrap_or_default(),
            waited: self.waited,
            aligned: self.aligned,
            discards_left_out: self.discards_left_out,
            sizes: sizes.collect(),
            slot_ns: self.slot_ns,
            slots: self.slots.clone(),
            ..Replayed::default()
        };
        replayed.pace = replayed.judge();
        replayed
    }
}

/// Index of an I/O's size class.
const fn index(operation: Operation, length: u32) -> usize {
    let operation = match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Trim => 2,
        Operation::Sync | Operation::DataSync => 3,
    };
    let power = if length <= 1 { 0 } else { 32 - (length - 1).leading_zeros() };
    operation * SIZES + power as usize
}
