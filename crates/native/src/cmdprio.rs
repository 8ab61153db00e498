//! Priorities of single I/Os (`cmdprio_*`): choice at submission, latencies by priority.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use iodyno_job::{CommandPriority, Job, ioprio};
use iodyno_model::{Direction, PerDirection, PriorityLatencies};

use crate::contents::mix;
use crate::engines::IoUnit;
use crate::job_control::JobControl;

/// The priority of each slot's I/O.
pub(crate) type SlotPriorities = Arc<[AtomicU16]>;

/// Chooses the priority of each I/O.
#[derive(Debug)]
pub(crate) struct CmdPrio {
    /// For reads and for writes: block size (`None`: any), percent, priority.
    shares: [Vec<(Option<u64>, u32, u16)>; 2],
    /// The job's priority.
    default: u16,
    random: u64,
    slot_priorities: SlotPriorities,
}

impl CmdPrio {
    /// The priorities of `job`, if it has any; `seed` selects the I/Os.
    pub(crate) fn new(job: &Job, depth: u16, seed: u64) -> Option<Self> {
        let options = &job.engine.command_priority;
        options.is_on().then(|| Self {
            shares: [shares(options, Direction::Read), shares(options, Direction::Write)],
            default: job.threads.priority.ioprio(),
            random: seed,
            slot_priorities: (0..depth).map(|_| AtomicU16::new(0)).collect(),
        })
    }

    /// Shares the choices with the latency statistics.
    pub(crate) fn slot_priorities(&self) -> SlotPriorities {
        Arc::clone(&self.slot_priorities)
    }

    /// Chooses the priority of a read or a write; 0: its thread's.
    pub(crate) fn choose(&mut self, io: &IoUnit) -> u16 {
        self.random = mix(self.random, io.offset);
        let mut drawn = (((self.random >> 32) * 100) >> 32) as u32;
        let mut chosen = None;
        for &(bytes, percent, priority) in &self.shares[io.operation as usize] {
            if bytes.is_some_and(|bytes| bytes != u64::from(io.length)) {
                continue;
            }
            if drawn < percent {
                chosen = Some(priority);
                break;
            }
            drawn -= percent;
        }
        self.slot_priorities[usize::from(io.slot)].store(chosen.unwrap_or(self.default), Relaxed);
        chosen.unwrap_or(0)
    }
}

/// The shares of a direction.
fn shares(options: &CommandPriority, direction: Direction) -> Vec<(Option<u64>, u32, u16)> {
    let default = [&options.class, &options.level, &options.hint].map(|one| *one.of(direction));
    let all = (None, *options.percent.of(direction), ioprio(default));
    let sized = options
        .by_size
        .of(direction)
        .iter()
        .map(|size| (Some(size.bytes), size.percent, ioprio(size.priority.unwrap_or(default))));
    std::iter::once(all).chain(sized).collect()
}

/// Latencies by priority.
#[derive(Debug)]
pub(crate) struct LatenciesByPriority {
    slot_priorities: SlotPriorities,
    /// Total latencies instead of completion latencies.
    totals: bool,
    latencies: PerDirection<PriorityLatencies>,
    counting: bool,
}

impl LatenciesByPriority {
    /// Latencies of `job`, whose I/Os have the priorities `slot_priorities`.
    pub(crate) fn new(job: &Job, slot_priorities: SlotPriorities) -> Self {
        let totals = job.report.percentiles.lat;
        Self { slot_priorities, totals, latencies: PerDirection::default(), counting: false }
    }

    /// The priority of a slot's I/O.
    pub(crate) fn priority(&self, slot: u16) -> u16 {
        self.slot_priorities[usize::from(slot)].load(Relaxed)
    }

    /// Records an I/O, `completion_ns` of whose latency followed its submission.
    pub(crate) fn record(
        &mut self,
        slot: u16,
        direction: Direction,
        latency_ns: u64,
        completion_ns: u64,
        shared: &JobControl,
    ) {
        if !self.counting && shared.is_counting() {
            self.counting = true;
            self.latencies = PerDirection::default();
        }
        let ns = if self.totals { latency_ns } else { completion_ns };
        let priority = self.priority(slot);
        self.latencies.of_mut(direction).record(priority, ns);
    }

    /// Takes the latencies.
    pub(crate) fn finish(&mut self) -> PerDirection<PriorityLatencies> {
        std::mem::take(&mut self.latencies)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engines::Operation;

    fn cmdprio(options: &[(&str, &str)]) -> CmdPrio {
        let mut job = Job::default();
        for (name, value) in options {
            iodyno_job::apply(&mut job, name, value).unwrap();
        }
        CmdPrio::new(&job, 4, 7).unwrap()
    }

    fn counts(priorities: &mut CmdPrio, operation: Operation, length: u32) -> BTreeMap<u16, u32> {
        let mut counts = BTreeMap::new();
        for offset in 0..10_000 {
            let io = IoUnit { offset, length, slot: 3, operation, ..IoUnit::default() };
            *counts.entry(priorities.choose(&io)).or_default() += 1;
        }
        counts
    }

    #[test]
    fn a_percentage_is_of_its_direction() {
        let mut priorities = cmdprio(&[("cmdprio_percentage", "20,0"), ("cmdprio_class", "1")]);
        let reads = counts(&mut priorities, Operation::Read, 4096);
        assert!(reads.keys().eq([&0, &0x2000]) && reads[&0x2000].abs_diff(2000) < 250, "{reads:?}");
        let writes = counts(&mut priorities, Operation::Write, 4096);
        assert!(writes.keys().eq([&0]), "{writes:?}");
    }

    #[test]
    fn each_block_size_has_its_own_percentages() {
        let split = "64k/25/1/1:64k/75/3/2:1m/10/2/0/3";
        let mut priorities =
            cmdprio(&[("cmdprio_bssplit", split), ("prioclass", "2"), ("prio", "7")]);
        let small = counts(&mut priorities, Operation::Read, 65_536);
        assert!(small.keys().eq([&0x2001, &0x6002]), "{small:?}");
        assert!(small[&0x2001].abs_diff(2500) < 250, "{small:?}");
        let large = counts(&mut priorities, Operation::Write, 1 << 20);
        assert!(large.keys().eq([&0, &0x4018]) && large[&0x4018].abs_diff(1000) < 200, "{large:?}");
        let other = counts(&mut priorities, Operation::Read, 4096);
        assert!(other.keys().eq([&0]), "{other:?}");
        // Without a priority of its own, an I/O counts under its job's.
        assert_eq!(priorities.slot_priorities()[3].load(Relaxed), 0x4007);
    }
}
