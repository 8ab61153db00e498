//! What to do next.

use iodyno_job::{Flush, Job, Request};
use iodyno_model::Direction;

use crate::buffers::Buffers;
use crate::flights::Flights;
use crate::io::{BATCH, Descriptor, Operation};
use crate::pace::Pacer;
use crate::preparation::Preparation;
use crate::requests::Requests;

/// Fills batches of descriptors, with one dispatch on the pattern for each.
#[derive(Debug)]
pub(crate) struct Issuer {
    requests: Requests,
    /// It has no more.
    exhausted: bool,
    batch: Box<[Descriptor]>,
    /// I/Os in flight at most: the depth, or what `latency_target` leaves of it.
    limit: usize,
    /// Refills when as few are in flight (fio's `iodepth_low`).
    low: usize,
    refilling: bool,
    serialize_overlap: bool,
    /// Reads and writes.
    mixed: bool,
    /// A request that cannot go yet.
    held: Option<Request>,
    flushing: Option<Flushing>,
    preparation: Option<Preparation>,
    pub(crate) pacer: Option<Pacer>,
    /// When the next request is due, if none was; ticks.
    due: u64,
    /// The first I/Os that may be issued before the caller wants to see to them.
    pub(crate) allowance: u64,
}

/// fsync and fdatasync between writes.
#[derive(Debug, Clone, Copy)]
struct Flushing {
    every: u32,
    operation: Operation,
    writes: u32,
    /// That was written last.
    file: u16,
}

impl Flushing {
    fn new(flush: &Flush) -> Option<Self> {
        let (every, operation) = match (flush.fsync, flush.fdatasync) {
            (0, 0) => return None,
            (0, every) => (every, Operation::DataSync),
            (every, _) => (every, Operation::Sync),
        };
        Some(Self { every, operation, writes: 0, file: 0 })
    }
}

impl Issuer {
    /// The I/Os of `job` at `depth`.
    pub(crate) fn new(
        job: &Job,
        depth: u16,
        mut requests: Requests,
        preparation: Option<Preparation>,
        pacer: Option<Pacer>,
    ) -> Self {
        let depth = usize::from(depth);
        let most = job.depth.batch.map_or(BATCH, |batch| batch as usize).clamp(1, depth.max(1));
        requests.make_room(most, pacer.is_none());
        Self {
            requests,
            exhausted: false,
            batch: vec![Descriptor::default(); most].into(),
            limit: depth,
            low: job.depth.low.map_or(depth - 1, |low| (low as usize).min(depth - 1)),
            refilling: true,
            // A block is trimmed before it is written.
            serialize_overlap: job.depth.serialize_overlap || job.pattern.rw.trims_and_writes(),
            mixed: job.pattern.rw.has(Direction::Read) && job.writes(),
            held: None,
            flushing: Flushing::new(&job.flush).filter(|_| job.writes()),
            preparation,
            pacer,
            due: 0,
            allowance: u64::MAX,
        }
    }

    /// Takes requests from elsewhere from now on, and gives back where they
    /// came from, with the one that could not go yet.
    pub(crate) fn turn_to(
        &mut self,
        mut requests: Requests,
        held: Option<Request>,
    ) -> (Requests, Option<Request>) {
        requests.make_room(self.batch.len(), self.pacer.is_none());
        self.exhausted = false;
        let held = std::mem::replace(&mut self.held, held);
        (std::mem::replace(&mut self.requests, requests), held)
    }

    /// Changes how many are in flight at most.
    pub(crate) const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Writes go on being prepared by this.
    pub(crate) const fn preparation(&mut self) -> Option<&mut Preparation> {
        self.preparation.as_mut()
    }

    /// There is no more to do.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        (self.exhausted && self.held.is_none()) || self.allowance == 0
    }

    #[inline]
    fn flush_is_due(&self) -> bool {
        self.flushing_here().is_some_and(|flushing| flushing.writes >= flushing.every)
    }

    /// Verifying makes no syncs.
    #[inline]
    fn flushing_here(&self) -> Option<Flushing> {
        self.flushing.filter(|_| !self.requests.is_replay())
    }

    /// How many may go now.
    #[inline]
    pub(crate) fn room(&mut self, flights: &Flights) -> usize {
        let count = flights.count();
        if count >= self.limit {
            self.refilling = false;
            return 0;
        }
        if !self.refilling {
            if count > self.low {
                return 0;
            }
            self.refilling = true;
        }
        (self.limit - count).min(flights.free()).min(self.batch.len())
    }

    /// The next I/Os, as many as may go at once.
    #[inline(always)]
    pub(crate) fn fill(&mut self, flights: &mut Flights, buffers: &mut Buffers) -> &[Descriptor] {
        let mut room = self.room(flights);
        if self.exhausted || room == 0 || self.allowance != u64::MAX || self.flushing.is_some() {
            room = self.restrict(room);
            if room > 0 && self.flushes_now() {
                return self.flush(flights);
            }
        }
        if self.serialize_overlap {
            return self.fill_apart(flights, buffers, room);
        }
        if self.held.is_some() {
            return self.fill_held(flights, buffers, room);
        }
        let requests = self.requests.take(room);
        self.exhausted |= requests.len() < room;
        let count = describe(requests, flights, &mut self.batch);
        self.finish(buffers, count);
        &self.batch[..count]
    }

    /// The one that could not go before.
    #[cold]
    fn fill_held(
        &mut self,
        flights: &mut Flights,
        buffers: &mut Buffers,
        room: usize,
    ) -> &[Descriptor] {
        let Some(request) = self.next_request(room) else { return &[] };
        let count = describe(&[request], flights, &mut self.batch);
        self.finish(buffers, count);
        &self.batch[..count]
    }

    /// A sync is due, and something comes after it: as in fio, the last writes
    /// are for `end_fsync`.
    fn flushes_now(&mut self) -> bool {
        if !self.flush_is_due() {
            return false;
        }
        self.held = self.next_request(1);
        self.held.is_some()
    }

    /// How many of `room` may be asked for where something stands against it.
    #[cold]
    fn restrict(&self, room: usize) -> usize {
        let room = if self.exhausted && self.held.is_none() { 0 } else { room };
        let room = room.min(self.allowance.min(usize::MAX as u64) as usize);
        match self.flushing_here() {
            Some(flushing) => room.min((flushing.every - flushing.writes).max(1) as usize),
            None => room,
        }
    }

    /// What only some jobs need: contents, counts.
    #[inline]
    fn finish(&mut self, buffers: &mut Buffers, count: usize) {
        if self.preparation.is_some() || self.flushing.is_some() || self.allowance != u64::MAX {
            self.prepare(buffers, count);
        }
    }

    fn prepare(&mut self, buffers: &mut Buffers, count: usize) {
        if self.allowance != u64::MAX {
            self.allowance -= count as u64;
        }
        let batch = &self.batch[..count];
        if let Some(flushing) = &mut self.flushing {
            for write in batch.iter().filter(|one| one.operation == Operation::Write) {
                flushing.writes += 1;
                flushing.file = write.file;
            }
        }
        if let Some(preparation) = &mut self.preparation {
            preparation.prepare(batch, buffers);
        }
    }

    /// A sync for what was written.
    fn flush(&mut self, flights: &mut Flights) -> &[Descriptor] {
        let Some(flushing) = &mut self.flushing else { return &[] };
        flushing.writes = 0;
        for (descriptor, slot) in self.batch.iter_mut().zip(flights.take(1)) {
            let Flushing { operation, file, .. } = *flushing;
            *descriptor = Descriptor { offset: 0, length: 0, slot, file, operation };
        }
        &self.batch[..1]
    }

    /// One at a time, and none that touches what is in flight.
    fn fill_apart(
        &mut self,
        flights: &mut Flights,
        buffers: &mut Buffers,
        room: usize,
    ) -> &[Descriptor] {
        let Some(request) = self.next_request(room) else { return &[] };
        let Request { offset, length, file, direction } = request;
        let operation = Operation::of(direction);
        if flights.overlaps(&Descriptor { offset, length, slot: 0, file, operation }) {
            self.held = Some(request);
            return &[];
        }
        let count = describe(&[request], flights, &mut self.batch);
        self.finish(buffers, count);
        &self.batch[..count]
    }

    fn next_request(&mut self, room: usize) -> Option<Request> {
        if room == 0 {
            return None;
        }
        self.held.take().or_else(|| {
            let request = self.requests.take(1).first().copied();
            self.exhausted |= request.is_none();
            request
        })
    }

    /// The next I/Os that are due at `now`, which are begun when they were
    /// due; none where the next one is not, see [`Self::due`].
    pub(crate) fn fill_due(
        &mut self,
        flights: &mut Flights,
        buffers: &mut Buffers,
        now: u64,
    ) -> &[Descriptor] {
        let room = self.room(flights);
        let mut room = self.restrict(room);
        if room > 0 && self.flushes_now() {
            let flush = self.flush(flights);
            flush.iter().for_each(|descriptor| flights.begin(descriptor, now));
            return &self.batch[..1];
        }
        let Some(mut pacer) = self.pacer.take() else { return &[] };
        room = room.min(pacer.before_pause());
        let mut count = 0;
        self.due = u64::MAX;
        while count < room {
            let Some(request) = self.next_paced(&pacer, now) else { break };
            let due = pacer.due(&request);
            let Request { offset, length, file, direction } = request;
            let operation = Operation::of(direction);
            let described = Descriptor { offset, length, slot: 0, file, operation };
            let waits = self.serialize_overlap && flights.overlaps(&described);
            if due > now || waits {
                self.held = Some(request);
                self.due = due;
                break;
            }
            pacer.submitted(&request, now);
            let begun = if pacer.has_timetable(&request) { due } else { now };
            for slot in flights.take(1) {
                self.batch[count] = Descriptor { slot, ..described };
            }
            flights.begin(&self.batch[count], begun);
            count += 1;
        }
        self.pacer = Some(pacer);
        self.finish(buffers, count);
        &self.batch[..count]
    }

    /// The next request at the pace of `pacer`. In a mix a direction that is
    /// ahead of its rate leaves its turn to the other, if that is behind it, or
    /// due earlier.
    fn next_paced(&mut self, pacer: &Pacer, now: u64) -> Option<Request> {
        let mixed = self.mixed && self.held.is_none() && pacer.has_rates();
        if !mixed {
            return self.next_request(1);
        }
        let Some(stream) = self.requests.stream_mut() else { return self.next_request(1) };
        let of = |direction, other| {
            let (due, instead) = (pacer.due_in(direction), pacer.due_in(other));
            if due > now && instead < due { other } else { direction }
        };
        let read = of(Direction::Read, Direction::Write);
        let request = stream.next_with((read, of(Direction::Write, Direction::Read)));
        self.exhausted |= request.is_none();
        request
    }

    /// When the next one is due, ticks, where [`Self::fill_due`] said that
    /// none was; `u64::MAX` where there is none or no room for it.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }
}

/// Descriptors of `requests`, as many as there are, in free slots.
#[inline]
fn describe(requests: &[Request], flights: &mut Flights, batch: &mut [Descriptor]) -> usize {
    let slots = flights.take(requests.len());
    for ((request, slot), descriptor) in requests.iter().zip(slots).zip(batch) {
        let &Request { offset, length, file, direction } = request;
        let operation = Operation::of(direction);
        *descriptor = Descriptor { offset, length, slot, file, operation };
    }
    requests.len()
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Extent, Room, Stream};

    use super::*;

    fn stream(job: &Job, blocks: u64) -> Requests {
        let rooms = [Room { size_bytes: blocks * 512, block_bytes: 512 }];
        Requests::stream(Stream::new(job, &rooms, 0, 0).unwrap())
    }

    #[test]
    fn batches_take_the_free_slots_and_follow_the_order() {
        let mut job = Job::default();
        job.pattern.bs = iodyno_model::Each::all(iodyno_job::BlockSize::Fixed(512));
        job.space.extents = vec![Extent { offset: 4096, length: 40 * 512 }];
        job.depth.iodepth = 33;
        let mut buffers = Buffers::new(33, 512).unwrap();
        let mut issuer = Issuer::new(&job, 33, stream(&job, 100), None, None);
        let mut flights = Flights::new(33);
        let first = issuer.fill(&mut flights, &mut buffers).to_vec();
        assert_eq!(first.len(), BATCH);
        let second = issuer.fill(&mut flights, &mut buffers).to_vec();
        assert_eq!(second.len(), 1);
        assert!(flights.free() == 0 && issuer.fill(&mut flights, &mut buffers).is_empty());
        let all: Vec<_> = first.iter().chain(&second).collect();
        assert!(all.iter().enumerate().all(|(n, d)| d.offset == 4096 + 512 * n as u64));
        let slots: std::collections::HashSet<_> = all.iter().map(|d| d.slot).collect();
        assert_eq!(slots.len(), 33);
        assert!(!issuer.is_exhausted());
        first.iter().chain(&second).for_each(|one| {
            flights.end(one.slot);
        });
        assert_eq!(issuer.fill(&mut flights, &mut buffers).len(), 7);
        assert!(issuer.is_exhausted());
    }

    #[test]
    fn a_sync_follows_every_so_many_writes() {
        use Operation::{DataSync as S, Write as W};
        let mut job = Job::default();
        job.pattern.rw = iodyno_job::Pattern::Write;
        job.flush.fdatasync = 3;
        // None after the last write, as in fio.
        for (writes, expected) in [(8, &[W, W, W, S, W, W, W, S, W, W][..]), (3, &[W, W, W])] {
            let mut buffers = Buffers::new(16, 4096).unwrap();
            let mut issuer = Issuer::new(&job, 16, stream(&job, writes * 8), None, None);
            let mut flights = Flights::new(16);
            let mut seen = Vec::new();
            while !issuer.is_exhausted() {
                for one in issuer.fill(&mut flights, &mut buffers).to_vec() {
                    seen.push(one.operation);
                    flights.end(one.slot);
                }
            }
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn below_the_low_mark_it_refills_to_the_depth() {
        let mut job = Job::direct();
        (job.depth.iodepth, job.depth.low) = (8, Some(2));
        let mut buffers = Buffers::new(8, 4096).unwrap();
        let mut issuer = Issuer::new(&job, 8, stream(&job, 8000), None, None);
        let mut flights = Flights::new(8);
        let batch = issuer.fill(&mut flights, &mut buffers).to_vec();
        assert_eq!(batch.len(), 8);
        for (n, one) in batch.iter().enumerate() {
            let room = if n < 6 { 0 } else { n };
            assert_eq!(issuer.room(&flights), room, "{n}");
            flights.end(one.slot);
        }
    }
}
