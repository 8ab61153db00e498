//! Matches the events of each request (first attempt, issue, completion) into I/Os.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use foldhash::HashMap;

use crate::event::{Event, SECTOR_BYTES, Step};
use crate::{Flags, Io, Latency, Operation};

/// Maximum of completed I/Os that wait for an older one; beyond that, the older one counts as lost.
const MOST_WAITING: usize = 1 << 17;
/// Maximum of attempts that were not issued.
const MOST_QUEUED: usize = 1 << 16;
/// Maximum of I/Os in flight; no machine has more.
const MOST_IN_FLIGHT: usize = 1 << 17;

/// Device, operation and sector in one number that sorts like them, so that a comparison takes one
/// instruction, and in its low bits a number if several I/Os share them.
type Key = u128;

/// Bits of a number: 35 * 10^12 events.
const NUMBER_BITS: u32 = 45;

fn key(device: u16, operation: Operation, sector: u64, number: u64) -> Key {
    let place = u128::from(device) << 67 | (operation as u128) << 64 | u128::from(sector);
    place << NUMBER_BITS | u128::from(number)
}

const fn place_of(key: Key) -> Key {
    key >> NUMBER_BITS << NUMBER_BITS
}

const fn sector_of(key: Key) -> u64 {
    (key >> NUMBER_BITS) as u64
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

/// I/Os in flight by their place, of several at the same place the oldest first.
#[derive(Debug, Default)]
struct Flight {
    oldest: HashMap<Key, InFlight>,
    /// The others, of which there are few.
    further: BTreeMap<Key, InFlight>,
}

impl Flight {
    fn insert(&mut self, place: Key, number: u64, one: InFlight) {
        match self.oldest.entry(place) {
            Entry::Vacant(free) => drop(free.insert(one)),
            Entry::Occupied(_) => drop(self.further.insert(place | u128::from(number), one)),
        }
    }

    fn get(&self, place: Key) -> Option<&InFlight> {
        self.oldest.get(&place)
    }

    /// Takes the oldest at the place of a key.
    fn remove(&mut self, key: Key) -> Option<InFlight> {
        let place = place_of(key);
        let next = self.further.range(place..).next().map(|(key, _)| *key);
        let next = next.filter(|key| place_of(*key) == place);
        match next.and_then(|key| self.further.remove(&key)) {
            Some(next) => self.oldest.insert(place, next),
            None => self.oldest.remove(&place),
        }
    }

    fn len(&self) -> usize {
        self.oldest.len() + self.further.len()
    }

    fn iter(&self) -> impl Iterator<Item = (Key, &InFlight)> {
        self.oldest.iter().chain(&self.further).map(|(key, one)| (*key, one))
    }
}

/// Matches events, which arrive in order of time, and returns I/Os in the order in which they were
/// queued. Its memory is bounded, and proportional to the I/Os in progress.
#[derive(Debug, Default)]
pub struct Matcher {
    queued: BTreeMap<Key, Queued>,
    in_flight: Flight,
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
        let queued = Queued { at_ns, device, operation, sectors, flags, actor };
        self.queued.entry(key(device, operation, sector, number)).or_insert(queued);
    }

    fn issue(&mut self, event: &Event) {
        if !std::mem::replace(&mut self.any_issued, true) {
            for (key, one) in std::mem::take(&mut self.queued) {
                let key = if one.sectors > 0 { place_of(key) } else { key };
                self.queued.entry(key).or_insert(one);
            }
        }
        let Event { device, operation, sector, sectors, .. } = *event;
        let end = sector.saturating_add(sectors.max(1).into());
        let first = key(device, operation, sector, 0);
        let behind = key(device, operation, end, 0);
        let mut found: Option<Queued> = None;
        // Takes everything merged into it, such as all waiters of a flush; of a command, the
        // oldest.
        while let Some((key, queued)) = self.take_queued(first, behind) {
            let queued_end = sector_of(key).saturating_add(queued.sectors.into());
            let rest = queued_end.saturating_sub(end);
            if rest > 0 {
                // It was split: the rest was queued at the same time.
                let rest = Queued { sectors: rest as u32, ..queued };
                self.queued.insert(behind | u128::from(self.number), rest);
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
        self.in_flight.insert(first, self.number, in_flight);
    }

    /// Takes the first attempt from `first` on, before `behind`: nearly always that at `first`.
    fn take_queued(&mut self, first: Key, behind: Key) -> Option<(Key, Queued)> {
        if let Some(queued) = self.queued.remove(&first) {
            return Some((first, queued));
        }
        let key = *self.queued.range(first..behind).next()?.0;
        self.queued.remove_entry(&key)
    }

    fn requeue(&mut self, event: &Event) {
        let place = key(event.device, event.operation, event.sector, 0);
        if let Some(InFlight { io, sectors, .. }) = self.in_flight.remove(place) {
            let Io { at_ns, device, operation, flags, actor, .. } = io;
            let queued = Queued { at_ns, device, operation, sectors, flags, actor };
            self.queued.insert(place | u128::from(self.number), queued);
        }
    }

    fn complete(&mut self, event: &Event) {
        // A flush is completed twice: as the request, and as the empty write at sector 0 that asked
        // for it.
        let asks = event.operation == Operation::Write && event.sectors == 0;
        let place = key(event.device, event.operation, event.sector, 0);
        let is_other = asks && self.in_flight.get(place).is_some_and(|one| one.sectors > 0);
        let found = if is_other { None } else { self.in_flight.remove(place) };
        let Some(mut done) = found else {
            self.unmatched += u64::from(event.sectors > 0);
            return;
        };
        if event.sectors > 0 && event.sectors < done.sectors {
            done.sectors -= event.sectors;
            let rest = event.sector.saturating_add(event.sectors.into());
            let rest = key(event.device, event.operation, rest, 0);
            self.in_flight.insert(rest, self.number, done);
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
            let in_flight = self.in_flight.iter().map(|(_, one)| one.io.at_ns).min();
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
        let mut in_flight: Vec<(Key, Io)> =
            in_flight.iter().map(|(key, one)| (key, one.io)).collect();
        in_flight.sort_by_key(|(key, _)| *key);
        self.unmatched += in_flight.len() as u64;
        self.finished.extend(in_flight.into_iter().map(|(_, io)| io));
        for (key, one) in std::mem::take(&mut self.queued) {
            self.give_up_attempt(key, one);
        }
    }

    fn give_up_in_flight(&mut self) {
        let oldest = self.in_flight.iter().min_by_key(|(key, one)| (one.io.at_ns, *key));
        if let Some(one) = oldest.map(|(key, _)| key).and_then(|key| self.in_flight.remove(key)) {
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
                offset: sector_of(key).saturating_mul(SECTOR_BYTES),
                length: u32::try_from(u64::from(sectors) * SECTOR_BYTES).unwrap_or(u32::MAX),
                latency: Latency::Unknown,
                actor,
            });
        }
    }
}

#[cfg(test)]
mod tests;
