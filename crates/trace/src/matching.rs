//! Makes I/Os of events: of each request its first attempt, its issue and its completion.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use crate::event::{Event, SECTOR_BYTES, Step};
use crate::{Flags, Io, Latency, Operation};

/// I/Os that wait for an older one to complete; beyond these, it is taken for lost.
const MOST_WAITING: usize = 1 << 17;
/// Attempts that were never issued, of which there are no more.
const MOST_QUEUED: usize = 1 << 16;

/// Device, operation, sector, and a number where several have these in common.
type Key = (u16, Operation, u64, u64);

/// What was queued and not yet issued.
#[derive(Debug, Clone, Copy)]
struct Queued {
    at_ns: u64,
    sectors: u32,
    flags: Flags,
    actor: Option<u32>,
}

/// What was issued and is not yet completed.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    io: Io,
    issued_ns: u64,
    /// It is not known when it was queued.
    is_orphan: bool,
    /// What has not been completed yet.
    sectors: u32,
}

/// A finished I/O, by its time.
#[derive(Debug)]
struct Finished(Io, u64);

impl PartialEq for Finished {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Finished {}

impl PartialOrd for Finished {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Finished {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.at_ns, self.1).cmp(&(other.0.at_ns, other.1))
    }
}

/// Matches events, which come in the order of their times, and gives I/Os in the order in which
/// they were queued. Its memory is that of the I/Os under way, and bounded.
#[derive(Debug, Default)]
pub struct Matcher {
    queued: BTreeMap<Key, Queued>,
    in_flight: BTreeMap<Key, InFlight>,
    finished: BinaryHeap<Reverse<Finished>>,
    number: u64,
    now_ns: u64,
    unmatched: u64,
    any_issued: bool,
}

impl Matcher {
    /// The next event.
    pub fn event(&mut self, event: &Event) {
        self.now_ns = self.now_ns.max(event.at_ns);
        self.number += 1;
        let mut event = *event;
        // A flush that somebody asks for is a write of nothing with a flush in front; the
        // request is another one, and neither that nor a passthrough command has an address.
        if event.sectors == 0 && event.flags.has(Flags::PREFLUSH) && event.step == Step::Queued {
            event.operation = Operation::Flush;
        }
        if matches!(event.operation, Operation::Flush | Operation::Other) {
            event.sector = 0;
        }
        match event.step {
            Step::Queued => self.queue(&event),
            Step::Issued => self.issue(&event),
            Step::Requeued => self.requeue(&event),
            Step::Completed => self.complete(&event),
        }
    }

    /// I/Os whose completion was not seen so far, and completions of unknown I/Os.
    pub const fn unmatched(&self) -> u64 {
        self.unmatched
    }

    fn queue(&mut self, event: &Event) {
        let Event { device, operation, sector, .. } = *event;
        let again = (device, operation, sector, 0)..=(device, operation, sector, u64::MAX);
        let has_address = event.sectors > 0;
        // A failed attempt is repeated: the first counts.
        if has_address && self.queued.range(again).next().is_some() {
            return;
        }
        let Event { at_ns, sectors, flags, actor, .. } = *event;
        let queued = Queued { at_ns, sectors, flags, actor };
        self.queued.insert((device, operation, sector, self.number), queued);
    }

    fn issue(&mut self, event: &Event) {
        self.any_issued = true;
        let Event { device, operation, sector, sectors, .. } = *event;
        let end = sector.saturating_add(sectors.max(1).into());
        let first = (device, operation, sector, 0);
        let mut found: Option<Queued> = None;
        // All that was merged into it; of a flush or a command, the oldest.
        while let Some((key, queued)) = self.queued.range(first..(device, operation, end, 0)).next()
        {
            let (key, queued) = (*key, *queued);
            self.queued.remove(&key);
            let rest = key.2.saturating_add(queued.sectors.into()).saturating_sub(end);
            if rest > 0 {
                // It was split: the rest was queued when this was.
                let rest = Queued { sectors: rest as u32, ..queued };
                self.queued.insert((device, operation, end, key.3), rest);
            }
            if found.is_none_or(|found| queued.at_ns < found.at_ns) {
                found = Some(queued);
            }
            if sectors == 0 {
                break;
            }
        }
        let at_ns = found.map_or(event.at_ns, |found| found.at_ns);
        let has_place = !matches!(operation, Operation::Flush | Operation::Other);
        let io = Io {
            at_ns,
            device,
            operation,
            flags: event.flags,
            offset: if has_place { sector.saturating_mul(SECTOR_BYTES) } else { 0 },
            length: u32::try_from(u64::from(sectors) * SECTOR_BYTES).unwrap_or(u32::MAX),
            latency: Latency::Unknown,
            actor: found.map_or(event.actor, |found| found.actor),
        };
        let is_orphan = found.is_none();
        let in_flight = InFlight { io, issued_ns: event.at_ns, is_orphan, sectors };
        self.in_flight.insert((device, operation, sector, self.number), in_flight);
    }

    fn oldest_in_flight(&self, event: &Event) -> Option<Key> {
        let Event { device, operation, sector, .. } = *event;
        let same = (device, operation, sector, 0)..=(device, operation, sector, u64::MAX);
        self.in_flight.range(same).next().map(|(key, _)| *key)
    }

    fn requeue(&mut self, event: &Event) {
        let Some(key) = self.oldest_in_flight(event) else { return };
        if let Some(InFlight { io, sectors, .. }) = self.in_flight.remove(&key) {
            let queued = Queued { at_ns: io.at_ns, sectors, flags: io.flags, actor: io.actor };
            self.queued.insert(key, queued);
        }
    }

    fn complete(&mut self, event: &Event) {
        let Some(key) = self.oldest_in_flight(event) else {
            // A flush is completed twice: as the request, and as the write that asked for it.
            self.unmatched += u64::from(event.sectors > 0);
            return;
        };
        let Some(mut done) = self.in_flight.remove(&key) else { return };
        if event.sectors > 0 && event.sectors < done.sectors {
            done.sectors -= event.sectors;
            let rest = key.2 + u64::from(event.sectors);
            self.in_flight.insert((key.0, key.1, rest, key.3), done);
            return;
        }
        let device = event.at_ns.saturating_sub(done.issued_ns);
        let latency = match done.is_orphan {
            true => Latency::Device(device),
            false => Latency::Split { queue: done.issued_ns.saturating_sub(done.io.at_ns), device },
        };
        self.finish(Io { latency, ..done.io });
    }

    fn finish(&mut self, io: Io) {
        self.number += 1;
        self.finished.push(Reverse(Finished(io, self.number)));
    }

    /// Gives what no older I/O can precede any more.
    pub fn take(&mut self, mut give: impl FnMut(Io)) {
        while self.queued.len() > MOST_QUEUED {
            self.give_up_queued();
        }
        loop {
            let queued = self.queued.values().map(|one| one.at_ns).min();
            let in_flight = self.in_flight.values().map(|one| one.io.at_ns).min();
            let oldest = queued.into_iter().chain(in_flight).min();
            let horizon_ns = oldest.map_or(self.now_ns, |oldest| oldest.min(self.now_ns));
            while let Some(Reverse(Finished(io, _))) = self.finished.peek()
                && io.at_ns <= horizon_ns
            {
                give(*io);
                self.finished.pop();
            }
            if self.finished.len() <= MOST_WAITING {
                return;
            }
            match (queued, in_flight) {
                (Some(queued), in_flight) if in_flight.is_none_or(|one| queued <= one) => {
                    self.give_up_queued();
                }
                _ => self.give_up_in_flight(),
            }
        }
    }

    /// Gives the rest: what is still under way has no latency.
    pub fn end(&mut self, give: impl FnMut(Io)) {
        while !self.in_flight.is_empty() {
            self.give_up_in_flight();
        }
        while !self.queued.is_empty() {
            self.give_up_queued();
        }
        self.now_ns = u64::MAX;
        self.take(give);
    }

    fn give_up_in_flight(&mut self) {
        let oldest = self.in_flight.iter().min_by_key(|(_, one)| one.io.at_ns);
        if let Some((key, one)) = oldest.map(|(key, one)| (*key, *one)) {
            self.in_flight.remove(&key);
            self.unmatched += 1;
            self.finish(one.io);
        }
    }

    /// An attempt without issue is no I/O, unless the trace has attempts alone.
    fn give_up_queued(&mut self) {
        let oldest = self.queued.iter().min_by_key(|(_, one)| one.at_ns);
        let Some((key, one)) = oldest.map(|(key, one)| (*key, *one)) else { return };
        self.queued.remove(&key);
        if !self.any_issued {
            let (device, operation, sector, _) = key;
            self.finish(Io {
                at_ns: one.at_ns,
                device,
                operation,
                flags: one.flags,
                offset: sector.saturating_mul(SECTOR_BYTES),
                length: u32::try_from(u64::from(one.sectors) * SECTOR_BYTES).unwrap_or(u32::MAX),
                latency: Latency::Unknown,
                actor: one.actor,
            });
        }
    }
}

#[cfg(test)]
mod tests;
