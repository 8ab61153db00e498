//! Places of I/Os: continuing from an earlier end, re-using an earlier address, or elsewhere.

use std::collections::HashMap;

use fastrand::Rng;

use crate::{Io, Operation};

/// Ends that are remembered for each operation on a device: of runs, and of I/Os that may begin
/// one.
const STREAMS: usize = 32;
/// I/Os that are remembered for re-use; older ones count as elsewhere.
const REMEMBERED: u64 = 1 << 19;
/// Candidates that are examined for an I/O to repeat.
const LOOKED_AT: usize = 64;
/// Distances up to this are kept exactly, since repeated patterns have a period.
const EXACT: u64 = 32;
/// Maximum number of zones of an address space.
const ZONES: u64 = 1024;

/// Codes of places: runs, I/Os that may become runs, re-use by distance, zones.
const FIRSTS: u64 = STREAMS as u64;
const AGAIN: u64 = 2 * FIRSTS;
const ELSEWHERE: u64 = 128;
/// Codes from here on: long runs, by number.
const RUN: u64 = 1 << 16;

/// The place of an I/O, as a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(pub(super) u64);

impl Place {
    /// True if it begins where an earlier one ended.
    pub(super) const fn continues(self) -> bool {
        self.0 < AGAIN
    }

    /// Makes the place of a long run.
    pub(super) const fn of_run(run: u64) -> Self {
        Self(RUN + run)
    }

    /// The long run that it belongs to.
    pub(super) const fn run(self) -> Option<u64> {
        self.0.checked_sub(RUN)
    }

    /// True if the code is valid with this number of long runs.
    pub(super) const fn is_valid(self, runs: u64) -> bool {
        match self.run() {
            Some(run) => run < runs,
            None => self.0 < ELSEWHERE + ZONES,
        }
    }

    /// Re-use distance of its block in I/Os, as a [`bin`].
    pub(super) const fn again(self) -> Option<u64> {
        if self.0 >= AGAIN && self.0 < ELSEWHERE { Some(self.0 - AGAIN) } else { None }
    }
}

/// Returns the bin of a distance: up to 32 each its own, then half octaves.
const fn bin(distance: u64) -> u64 {
    if distance <= EXACT {
        return distance - 1;
    }
    let octave = distance.ilog2();
    EXACT + 2 * (octave as u64 - EXACT.ilog2() as u64) + (distance >> (octave - 1) & 1)
}

/// Returns the distances of a bin: from, and up to less than.
pub(super) const fn distances(bin: u64) -> (u64, u64) {
    let Some(above) = bin.checked_sub(EXACT) else { return (bin + 1, bin + 2) };
    let low = EXACT << (above / 2);
    let middle = low + low / 2;
    if above % 2 == 0 { (low, middle) } else { (middle, 2 * low) }
}

/// Returns the bits of an address below its zone, if the highest address is `most`.
pub(super) const fn zone_shift(most: u64) -> u64 {
    let mut shift = 12;
    while most >> shift >= ZONES {
        shift += 1;
    }
    shift
}

/// Earlier I/Os that an I/O may refer to.
#[derive(Debug, Default)]
pub(super) struct History {
    streams: HashMap<(u16, Operation), Streams>,
    /// The last I/Os, a ring; `last`: the last one that began at an address.
    ring: Vec<(u64, u32, u16)>,
    last: HashMap<(u16, u64), u64>,
    count: u64,
}

/// Ends, latest first.
#[derive(Debug, Default)]
struct Streams {
    runs: Vec<Stream>,
    firsts: Vec<Stream>,
}

/// A run: address of its next I/O, and the number of its first.
#[derive(Debug, Clone, Copy)]
struct Stream {
    end: u64,
    began: u64,
    length: u32,
}

impl History {
    /// Returns the place of the next I/O, and the number of the I/O that began its run, from 0;
    /// zones have `shift` bits.
    pub(super) fn place(&mut self, io: &Io, shift: u64) -> (Place, u64) {
        let streams = self.streams.entry((io.device, io.operation)).or_default();
        let at = |ends: &[Stream]| ends.iter().position(|one| one.end == io.offset);
        let run = at(&streams.runs);
        let first = if run.is_none() { at(&streams.firsts) } else { None };
        let again =
            self.last.get(&(io.device, io.offset)).map(|number| AGAIN + bin(self.count - number));
        let place = match (run, first, again) {
            (Some(position), ..) => position as u64,
            (None, Some(position), _) => FIRSTS + position as u64,
            (None, None, Some(again)) => again,
            (None, None, None) => ELSEWHERE + (io.offset >> shift),
        };
        let before = match (run, first) {
            (Some(position), _) => Some(streams.runs.remove(position)),
            (None, Some(position)) => Some(streams.firsts.remove(position)),
            (None, None) => None,
        };
        let ends = match before {
            Some(_) => &mut streams.runs,
            None => &mut streams.firsts,
        };
        let began = before.map_or(self.count, |before| before.began);
        ends.insert(0, Stream { end: io.end(), began, length: io.length });
        ends.truncate(STREAMS);
        self.remember(io);
        (Place(place), began)
    }

    fn remember(&mut self, io: &Io) {
        let slot = (self.count % REMEMBERED) as usize;
        let entry = (io.offset, io.length, io.device);
        match self.ring.get_mut(slot) {
            None => self.ring.push(entry),
            Some(old) => {
                let key = (old.2, old.0);
                if self.last.get(&key) == Some(&(self.count - REMEMBERED)) {
                    self.last.remove(&key);
                }
                *old = entry;
            }
        }
        self.last.insert((io.device, io.offset), self.count);
        self.count += 1;
    }

    /// Draws an address for `io` at a place; `align` low bits of it are 0, and it ends at `most` at
    /// the latest.
    pub(super) fn address(
        &self,
        io: &Io,
        place: Place,
        shift: u64,
        align: u64,
        most: u64,
        rng: &mut Rng,
    ) -> u64 {
        let fits =
            |offset: &u64| offset.checked_add(io.length.into()).is_some_and(|end| end <= most);
        let found = match place {
            Place(code) if code < AGAIN => {
                let streams = self.streams.get(&(io.device, io.operation));
                streams.and_then(|streams| streams.end(code, io.length))
            }
            place => place.again().and_then(|bin| self.earlier(io, bin, rng)),
        };
        if let Some(offset) = found.filter(fits) {
            return offset;
        }
        let (from, to) = match place.0.checked_sub(ELSEWHERE) {
            Some(zone) if zone < ZONES => (zone << shift, (zone + 1) << shift),
            _ => (0, most),
        };
        let to = to.min(most).saturating_sub(io.length.into());
        let step = 1_u64 << align;
        let (first, last) = (from.div_ceil(step), to / step);
        if first > last {
            return last * step;
        }
        // Elsewhere means an address without earlier I/O, if possible.
        let mut drawn = || rng.u64(first..=last) * step;
        let is_new = |offset: &u64| !self.last.contains_key(&(io.device, *offset));
        let tries: [u64; 8] = std::array::from_fn(|_| drawn());
        tries.into_iter().find(is_new).unwrap_or(tries[0])
    }

    /// Returns the address of an earlier I/O at this distance, preferably of the same length and
    /// not repeated since.
    fn earlier(&self, io: &Io, bin: u64, rng: &mut Rng) -> Option<u64> {
        let (low, high) = distances(bin);
        let known = self.count.min(REMEMBERED);
        if low > known {
            return None;
        }
        let high = high.min(known + 1);
        let from = rng.u64(low..high);
        let mut best: Option<(u32, u64)> = None;
        for distance in (from..high).chain(low..from).take(LOOKED_AT) {
            let number = self.count - distance;
            let (offset, length, device) = self.ring[(number % REMEMBERED) as usize];
            if device != io.device {
                continue;
            }
            let is_last = self.last.get(&(device, offset)) == Some(&number);
            let worth = 2 * u32::from(is_last) + u32::from(length == io.length);
            if best.is_none_or(|(before, _)| worth > before) {
                best = Some((worth, offset));
            }
            if worth == 3 {
                break;
            }
        }
        best.map(|(_, offset)| offset)
    }
}

impl Streams {
    /// Returns the end at a place, or the nearest one.
    fn end(&self, code: u64, length: u32) -> Option<u64> {
        let run = self.runs.get(code as usize).or(self.runs.last());
        let alike = || self.firsts.iter().find(|one| one.length == length);
        let found = match code.checked_sub(FIRSTS) {
            None => run.or_else(alike).or(self.firsts.first()),
            Some(position) => {
                let first = self.firsts.get(position as usize);
                first.filter(|one| one.length == length).or_else(alike).or(first).or(run)
            }
        };
        found.map(|one| one.end)
    }
}
