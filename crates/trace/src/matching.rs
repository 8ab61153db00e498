//! Matches the events of each request (first attempt, issue, completion) into I/Os.

use std::collections::BTreeMap;

use crate::event::{Event, SECTOR_BYTES, Step};
use crate::{Flags, Io, Latency, Operation};

/// Maximum of completed I/Os that wait for an older one; beyond that, the older one counts as lost.
const MOST_WAITING: usize = 1 << 17;
/// Maximum of attempts that were not issued.
const MOST_QUEUED: usize = 1 << 16;
/// Maximum of I/Os in flight; no machine has more.
const MOST_IN_FLIGHT: usize = 1 << 17;

/// A position, and a number if several I/Os share it.
type Key = (u128, u64);

/// Packs device, operation and sector into one number that sorts like them: keys are compared a
/// dozen times per event.
fn sort_key(device: u16, operation: Operation, sector: u64) -> u128 {
    u128::from(device) << 72 | (operation as u128) << 64 | u128::from(sector)
}

const fn sector_of(place: u128) -> u64 {
    place as u64
}

/// A request that was queued and not yet issued.
#[derive(Debug, Clone, Copy)]
struct Queued {
    at_ns: u64,
    device: u16,
    operation: Operation,
    sectors: u32,
    flags: Flags,
    actor: Option<u32>,
}

/// A request that was issued and not yet completed.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    io: Io,
    issued_ns: u64,
    /// True if its queueing was not seen.
    is_orphan: bool,
    /// Sectors not yet completed.
    sectors: u32,
}

/// Matches events, which arrive in order of time, and returns I/Os in the order in which they were
/// queued. Its memory is bounded, and proportional to the I/Os in progress.
#[derive(Debug, Default)]
pub struct Matcher {
    queued: BTreeMap<Key, Queued>,
    in_flight: BTreeMap<Key, InFlight>,
    /// In order of completion since the last [`Self::take`].
    finished: Vec<Io>,
    number: u64,
    now_ns: u64,
    unmatched: u64,
    any_issued: bool,
}

impl Matcher {
    /// Adds the next event.
    pub fn event(&mut self, event: &Event) {
        self.now_ns = self.now_ns.max(event.at_ns);
        self.number += 1;
        let mut event = *event;
        // A flush by an application is an empty write with PREFLUSH; the resulting request is a
        // separate one, and neither that nor a passthrough command has an address.
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
        let Event { at_ns, device, operation, sector, sectors, flags, actor, .. } = *event;
        // A failed attempt is repeated: the first counts. Without an address nothing is a
        // repetition, nor is anything in a trace without issues.
        let number = if sectors > 0 && self.any_issued { 0 } else { self.number };
        let key = (sort_key(device, operation, sector), number);
        let queued = Queued { at_ns, device, operation, sectors, flags, actor };
        self.queued.entry(key).or_insert(queued);
    }

    fn issue(&mut self, event: &Event) {
        if !std::mem::replace(&mut self.any_issued, true) {
            for ((place, number), one) in std::mem::take(&mut self.queued) {
                let number = if one.sectors > 0 { 0 } else { number };
                self.queued.entry((place, number)).or_insert(one);
            }
        }
        let Event { device, operation, sector, sectors, .. } = *event;
        let end = sector.saturating_add(sectors.max(1).into());
        let first = sort_key(device, operation, sector);
        let behind = sort_key(device, operation, end);
        let mut found: Option<Queued> = None;
        // Takes everything merged into it, such as all waiters of a flush; of a command, the
        // oldest.
        while let Some((key, queued)) = self.queued.range((first, 0)..(behind, 0)).next() {
            let (key, queued) = (*key, *queued);
            self.queued.remove(&key);
            let queued_end = sector_of(key.0).saturating_add(queued.sectors.into());
            let rest = queued_end.saturating_sub(end);
            if rest > 0 {
                // It was split: the rest was queued at the same time.
                let rest = Queued { sectors: rest as u32, ..queued };
                self.queued.insert((behind, self.number), rest);
            }
            if found.is_none_or(|found| queued.at_ns < found.at_ns) {
                found = Some(queued);
            }
            if operation != Operation::Flush && (sectors == 0 || queued_end >= end) {
                break;
            }
        }
        let at_ns = found.map_or(event.at_ns, |found| found.at_ns);
        let has_address = !matches!(operation, Operation::Flush | Operation::Other);
        let io = Io {
            at_ns,
            device,
            operation,
            flags: event.flags,
            offset: if has_address { sector.saturating_mul(SECTOR_BYTES) } else { 0 },
            length: u32::try_from(u64::from(sectors) * SECTOR_BYTES).unwrap_or(u32::MAX),
            latency: Latency::Unknown,
            actor: found.map_or(event.actor, |found| found.actor),
        };
        let is_orphan = found.is_none();
        let in_flight = InFlight { io, issued_ns: event.at_ns, is_orphan, sectors };
        self.in_flight.insert((first, self.number), in_flight);
    }

    fn oldest_in_flight(&self, event: &Event) -> Option<Key> {
        let place = sort_key(event.device, event.operation, event.sector);
        self.in_flight.range((place, 0)..=(place, u64::MAX)).next().map(|(key, _)| *key)
    }

    fn requeue(&mut self, event: &Event) {
        let Some(key) = self.oldest_in_flight(event) else { return };
        if let Some(InFlight { io, sectors, .. }) = self.in_flight.remove(&key) {
            let Io { at_ns, device, operation, flags, actor, .. } = io;
            let queued = Queued { at_ns, device, operation, sectors, flags, actor };
            self.queued.insert(key, queued);
        }
    }

    fn complete(&mut self, event: &Event) {
        // A flush is completed twice: as the request, and as the empty write at sector 0 that asked
        // for it.
        let asks = event.operation == Operation::Write && event.sectors == 0;
        let found = self.oldest_in_flight(event);
        let found = found.filter(|key| !asks || self.in_flight[key].sectors == 0);
        let Some(key) = found else {
            self.unmatched += u64::from(event.sectors > 0);
            return;
        };
        let Some(mut done) = self.in_flight.remove(&key) else { return };
        if event.sectors > 0 && event.sectors < done.sectors {
            done.sectors -= event.sectors;
            let rest = event.sector.saturating_add(event.sectors.into());
            let rest = sort_key(event.device, event.operation, rest);
            self.in_flight.insert((rest, key.1), done);
            return;
        }
        let device = event.at_ns.saturating_sub(done.issued_ns);
        let latency = match done.is_orphan {
            true => Latency::Device(device),
            false => Latency::Split { queue: done.issued_ns.saturating_sub(done.io.at_ns), device },
        };
        self.finished.push(Io { latency, ..done.io });
    }

    /// Passes on all I/Os that no older one can precede any more.
    pub fn take(&mut self, mut give: impl FnMut(Io)) {
        // A trace with attempts only, or without completions.
        let alone = !self.any_issued && self.queued.len() > MOST_QUEUED;
        if alone || self.in_flight.len() > MOST_IN_FLIGHT {
            self.give_up();
        }
        while self.queued.len() > MOST_QUEUED {
            self.give_up_queued();
        }
        loop {
            let queued = self.queued.values().map(|one| one.at_ns).min();
            let in_flight = self.in_flight.values().map(|one| one.io.at_ns).min();
            let oldest = queued.into_iter().chain(in_flight).min();
            let horizon_ns = oldest.map_or(self.now_ns, |oldest| oldest.min(self.now_ns));
            // The remainder of the last call is sorted already, so that this is fast.
            self.finished.sort_by_key(|io| io.at_ns);
            let ready = self.finished.partition_point(|io| io.at_ns <= horizon_ns);
            self.finished.drain(..ready).for_each(&mut give);
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

    /// Passes on the rest: I/Os still in progress have no latency.
    pub fn end(&mut self, give: impl FnMut(Io)) {
        self.give_up();
        self.now_ns = u64::MAX;
        self.take(give);
    }

    /// Gives up on everything in progress: later events do not match it.
    fn give_up(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        self.unmatched += in_flight.len() as u64;
        self.finished.extend(in_flight.into_values().map(|one| one.io));
        for (key, one) in std::mem::take(&mut self.queued) {
            self.give_up_attempt(key, one);
        }
    }

    fn give_up_in_flight(&mut self) {
        let oldest = self.in_flight.iter().min_by_key(|(_, one)| one.io.at_ns);
        if let Some((key, one)) = oldest.map(|(key, one)| (*key, *one)) {
            self.in_flight.remove(&key);
            self.unmatched += 1;
            self.finished.push(one.io);
        }
    }

    fn give_up_queued(&mut self) {
        let oldest = self.queued.iter().min_by_key(|(_, one)| one.at_ns);
        let Some((key, one)) = oldest.map(|(key, one)| (*key, *one)) else { return };
        self.queued.remove(&key);
        self.give_up_attempt(key, one);
    }

    /// An attempt without issue is not an I/O, unless the trace has only attempts.
    fn give_up_attempt(&mut self, key: Key, one: Queued) {
        if !self.any_issued {
            let Queued { at_ns, device, operation, sectors, flags, actor } = one;
            self.finished.push(Io {
                at_ns,
                device,
                operation,
                flags,
                offset: sector_of(key.0).saturating_mul(SECTOR_BYTES),
                length: u32::try_from(u64::from(sectors) * SECTOR_BYTES).unwrap_or(u32::MAX),
                latency: Latency::Unknown,
                actor,
            });
        }
    }
}

#[cfg(test)]
mod tests;
