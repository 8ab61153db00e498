//! Selects the next requests to submit.

use iodyno_job::{Flush, Job, Request};
use iodyno_model::{Direction, Replayed};

use crate::engines::{BATCH, Operation};
use crate::flow::FlowShare;
use crate::in_flight::SlotTable;
use crate::pace::Pacer;
use crate::page_cache::PageCache;
use crate::replay::Replay;
use crate::requests::Requests;

/// Issues requests, a batch at a time, within depth, pace and sync rules.
#[derive(Debug)]
pub(crate) struct Issuer {
    requests: Requests,
    /// `requests` has ended.
    exhausted: bool,
    /// Largest batch.
    pub(crate) max_batch: usize,
    /// Largest number of I/Os in flight: the depth, or the limit of `latency_target`.
    depth_limit: usize,
    /// Refills once this few are in flight (fio's `iodepth_low`).
    low: usize,
    refilling: bool,
    serialize_overlap: bool,
    /// Reads and writes (or trims).
    mixed: bool,
    /// A request that must wait.
    deferred: Option<Request>,
    /// Storage for a batch of one.
    single: Request,
    sync_schedule: Option<SyncSchedule>,
    pub(crate) pacer: Option<Box<Pacer>>,
    /// Share in a flow with other jobs.
    flow: Option<FlowShare>,
    /// I/Os are counted one by one, for syncs or a flow.
    counts_each: bool,
    /// Due time of the next request if none was due; ticks.
    due: u64,
    /// When a request last found no room, ticks.
    full_at: u64,
    /// I/Os that may be issued before the caller intervenes.
    pub(crate) allowance: u64,
}

/// Schedules fsync and fdatasync between writes.
#[derive(Debug, Clone, Copy)]
struct SyncSchedule {
    /// Writes between two fsyncs, and two fdatasyncs; 0: never.
    every: [(u32, Operation); 2],
    writes: u64,
    /// Value of `writes` at the last sync.
    synced: u64,
    /// Last written file.
    file: u16,
}

impl SyncSchedule {
    fn new(flush: &Flush) -> Option<Self> {
        let every = [(flush.fsync, Operation::Sync), (flush.fdatasync, Operation::DataSync)];
        let is_any = every.iter().any(|(every, _)| *every > 0);
        is_any.then_some(Self { every, writes: 0, synced: 0, file: 0 })
    }

    /// The sync that is due. If both are, fsync covers both, as in fio.
    fn due(&self) -> Option<Operation> {
        let is_due = |every: u32| every > 0 && self.writes.is_multiple_of(every.into());
        let found = self.every.iter().find(|(every, _)| is_due(*every));
        found.filter(|_| self.writes > self.synced).map(|(_, operation)| *operation)
    }

    /// Writes until a sync is due; 0: due now.
    fn writes_left(&self) -> u64 {
        if self.due().is_some() {
            return 0;
        }
        let intervals = self.every.iter().map(|(every, _)| u64::from(*every)).filter(|n| *n > 0);
        intervals.map(|every| every - self.writes % every).min().unwrap_or(u64::MAX)
    }

    fn count(&mut self, request: &Request) {
        if request.operation == Operation::Write {
            self.writes += 1;
            self.file = request.file;
        }
    }
}

impl Issuer {
    /// The I/Os of `job` at `depth`.
    pub(crate) fn new(job: &Job, depth: u16, mut requests: Requests, pacer: Option<Pacer>) -> Self {
        let depth = usize::from(depth);
        let max_batch =
            job.depth.batch.map_or(BATCH, |batch| batch as usize).clamp(1, depth.max(1));
        requests.reserve(max_batch, pacer.is_none());
        let sync_schedule = SyncSchedule::new(&job.flush).filter(|_| job.writes());
        Self {
            requests,
            exhausted: false,
            max_batch,
            depth_limit: depth,
            low: job.depth.low.map_or(depth - 1, |low| (low as usize).min(depth - 1)),
            refilling: true,
            // Blocks are trimmed before they are written.
            serialize_overlap: job.depth.serialize_overlap || job.pattern.rw.trims_and_writes(),
            mixed: job.pattern.rw.has(Direction::Read)
                && (job.pattern.rw.has(Direction::Write) || job.pattern.rw.has(Direction::Trim)),
            deferred: None,
            single: Request::default(),
            sync_schedule,
            pacer: pacer.map(Box::new),
            flow: None,
            counts_each: sync_schedule.is_some(),
            due: 0,
            full_at: 0,
            allowance: u64::MAX,
        }
    }

    /// Joins `flow`, if any.
    pub(crate) fn set_flow(&mut self, flow: Option<FlowShare>) {
        self.counts_each |= flow.is_some();
        self.flow = flow;
    }

    /// Switches to other requests. Returns the previous ones and the held request.
    pub(crate) fn switch_to(
        &mut self,
        mut requests: Requests,
        deferred: Option<Request>,
    ) -> (Requests, Option<Request>) {
        requests.reserve(self.max_batch, self.pacer.is_none());
        self.exhausted = false;
        let deferred = std::mem::replace(&mut self.deferred, deferred);
        (std::mem::replace(&mut self.requests, requests), deferred)
    }

    /// Starts another pass with `requests`.
    pub(crate) fn start_pass(&mut self, requests: Requests) {
        let (before, _) = self.switch_to(requests, None);
        self.requests.page_cache = before.page_cache.inspect(PageCache::drop_clean);
    }

    /// Why the replayed log or trace ended early.
    pub(crate) fn failure(&mut self) -> Option<String> {
        self.requests.replay_mut().and_then(|replay| replay.failure.clone())
    }

    /// Result of the replayed trace.
    pub(crate) fn replayed(&mut self) -> Option<Box<Replayed>> {
        self.requests.replay_mut().and_then(|replay| replay.summary())
    }

    /// Records the submission of the request last returned by [`Self::next_due`].
    #[inline]
    pub(crate) fn submitted(&mut self, slot: u16, due: u64) {
        if let Some(trace) = self.requests.replay_mut().and_then(Replay::trace) {
            trace.submitted(slot, due, due < self.full_at);
        }
    }

    /// Records a completion at `now` with its latency; `None`: it failed.
    pub(crate) fn completed(
        &mut self,
        slot: u16,
        operation: Operation,
        now: u64,
        latency_ns: Option<u64>,
    ) {
        let Some(pacer) = &mut self.pacer else { return };
        pacer.completed(operation, now);
        if let Some(trace) = self.requests.replay_mut().and_then(Replay::trace) {
            trace.completed(slot, now, pacer.started(), latency_ns);
        }
    }

    /// Sets the largest number of I/Os in flight.
    pub(crate) const fn set_limit(&mut self, depth_limit: usize) {
        self.depth_limit = depth_limit;
    }

    /// True if nothing more may be issued.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        (self.exhausted && self.deferred.is_none()) || self.allowance == 0
    }

    /// The sync schedule; none while verifying.
    #[inline]
    fn active_sync_schedule(&self) -> Option<SyncSchedule> {
        self.sync_schedule.filter(|_| !self.requests.is_follow_up())
    }

    /// Number of requests that may be issued now.
    #[inline]
    pub(crate) fn room(&mut self, slots: &SlotTable) -> usize {
        let count = slots.count();
        if count >= self.depth_limit {
            self.refilling = false;
            return 0;
        }
        if !self.refilling {
            if count > self.low {
                return 0;
            }
            self.refilling = true;
        }
        (self.depth_limit - count).min(slots.free()).min(self.max_batch)
    }

    /// The next batch of requests, as large as permitted.
    #[inline(always)]
    pub(crate) fn next_batch(&mut self, slots: &SlotTable) -> &[Request] {
        let room = self.room(slots);
        let counts = self.allowance != u64::MAX || self.counts_each;
        if self.exhausted || self.deferred.is_some() || self.serialize_overlap || counts {
            return self.next_batch_restricted(slots, room);
        }
        let requests = self.requests.take(room);
        self.exhausted = requests.len() < room;
        requests
    }

    /// As [`Self::next_batch`], with restrictions.
    #[inline(never)]
    fn next_batch_restricted(&mut self, slots: &SlotTable, room: usize) -> &[Request] {
        let room = self.restrict(room);
        if room == 0 || self.is_ahead(slots) {
            return &[];
        }
        if let Some(sync) = self.due_sync(None) {
            self.single = sync;
            return std::slice::from_ref(&self.single);
        }
        if self.serialize_overlap || self.deferred.is_some() || self.flow.is_some() {
            let Some(request) = self.next_request() else { return &[] };
            if self.serialize_overlap && slots.overlaps(&request) {
                self.deferred = Some(request);
                return &[];
            }
            self.count(&request);
            self.single = request;
            return std::slice::from_ref(&self.single);
        }
        let requests = self.requests.take(room);
        self.exhausted = requests.len() < room;
        self.allowance = deduct(self.allowance, requests.len() as u64);
        if let Some(sync_schedule) = &mut self.sync_schedule {
            requests.iter().for_each(|request| sync_schedule.count(request));
        }
        requests
    }

    /// Limits `room` by the allowance and the next sync.
    fn restrict(&self, room: usize) -> usize {
        let room = if self.is_exhausted() { 0 } else { room };
        let room = room.min(self.allowance.min(usize::MAX as u64) as usize);
        match self.active_sync_schedule() {
            Some(sync_schedule) => room.min(sync_schedule.writes_left().max(1) as usize),
            None => room,
        }
    }

    /// A sync if one is due and more requests follow: as in fio, the last writes are left to
    /// `end_fsync`.
    ///
    /// `pace`: the pacer, and the time.
    fn due_sync(&mut self, pace: Option<(&Pacer, u64)>) -> Option<Request> {
        let operation = self.active_sync_schedule()?.due()?;
        self.deferred = Some(match pace {
            Some((pacer, now)) => self.next_paced(pacer, now)?,
            None => self.next_request()?,
        });
        let sync_schedule = self.sync_schedule.as_mut()?;
        sync_schedule.synced = sync_schedule.writes;
        Some(Request { file: sync_schedule.file, operation, ..Request::default() })
    }

    /// True if other jobs of the flow go first; waits for them if nothing is in flight.
    fn is_ahead(&self, slots: &SlotTable) -> bool {
        let ahead =
            self.flow.as_ref().filter(|flow| !self.requests.is_follow_up() && flow.is_ahead());
        ahead.filter(|_| slots.count() == 0).into_iter().for_each(FlowShare::wait);
        ahead.is_some()
    }

    /// Counts an issued request.
    fn count(&mut self, request: &Request) {
        if !self.requests.is_follow_up() {
            self.flow.iter_mut().for_each(FlowShare::count_io);
        }
        self.allowance = deduct(self.allowance, 1);
        if let Some(sync_schedule) = &mut self.sync_schedule {
            sync_schedule.count(request);
        }
    }

    fn next_request(&mut self) -> Option<Request> {
        self.deferred.take().or_else(|| {
            let request = self.requests.take(1).first().copied();
            self.exhausted |= request.is_none();
            request
        })
    }

    /// The next request due at `now`, with its due time; `None` if none is, see [`Self::due`].
    pub(crate) fn next_due(&mut self, slots: &SlotTable, now: u64) -> Option<(Request, u64)> {
        self.due = u64::MAX;
        let room = self.room(slots);
        if self.restrict(room) == 0 {
            self.full_at = now;
            return None;
        }
        if self.is_ahead(slots) {
            self.due = now;
            return None;
        }
        let mut pacer = self.pacer.take()?;
        let next = match self.due_sync(Some((&pacer, now))) {
            Some(sync) => Some((sync, now)),
            None => self.next_paced_due(&mut pacer, slots, now),
        };
        self.pacer = Some(pacer);
        next
    }

    fn next_paced_due(
        &mut self,
        pacer: &mut Pacer,
        slots: &SlotTable,
        now: u64,
    ) -> Option<(Request, u64)> {
        if pacer.before_pause() == 0 {
            return None;
        }
        let request = self.next_paced(pacer, now)?;
        let logged = self.requests.replay_mut().map(|replay| replay.due(pacer.started()));
        let due = pacer.due(&request).max(logged.unwrap_or(0));
        if due > now || (self.serialize_overlap && slots.overlaps(&request)) {
            self.deferred = Some(request);
            self.due = due;
            return None;
        }
        pacer.submitted(&request, now);
        self.count(&request);
        let timed = pacer.has_timetable(&request) || logged.is_some();
        Some((request, if timed { due } else { now }))
    }

    /// The next request at the pace of `pacer`. In a mix, a direction ahead of its rate yields its
    /// turn to the other one if that is behind or due earlier.
    fn next_paced(&mut self, pacer: &Pacer, now: u64) -> Option<Request> {
        let mixed = self.mixed && self.deferred.is_none() && pacer.has_rates();
        if !mixed {
            return self.next_request();
        }
        let choose = |direction, other| {
            let (due, instead) = (pacer.due_in(direction), pacer.due_in(other));
            if due > now && instead < due { other } else { direction }
        };
        let read = choose(Direction::Read, Direction::Write);
        let write = choose(Direction::Write, Direction::Read);
        let Some(request) = self.requests.next_with((read, write)) else {
            return self.next_request();
        };
        self.exhausted |= request.is_none();
        request
    }

    /// Due time of the next request, ticks, after [`Self::next_due`] returned `None`; `u64::MAX` if
    /// there is none or no room for it.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }
}

/// Subtracts `count` I/Os from an allowance; `u64::MAX` is unlimited.
pub(crate) const fn deduct(allowance: u64, count: u64) -> u64 {
    if allowance == u64::MAX { allowance } else { allowance - count }
}

#[cfg(test)]
mod tests {
    use iodyno_job::{Extent, Room, Stream};

    use super::*;
    use crate::clock::Clock;
    use crate::engines::IoUnit;

    fn stream(job: &Job, blocks: u64) -> Requests {
        let rooms = [Room { size_bytes: blocks * 512, block_bytes: 512 }];
        Requests::stream(Stream::new(job, &rooms, 0, 0).unwrap())
    }

    /// Issues a batch.
    fn submit(issuer: &mut Issuer, slots: &mut SlotTable) -> Vec<IoUnit> {
        let requests = issuer.next_batch(slots);
        slots.reserve(requests).iter().collect()
    }

    #[test]
    fn batches_take_the_free_slots_and_follow_the_order() {
        let mut job = Job::default();
        job.pattern.bs = iodyno_model::PerDirection::all(iodyno_job::BlockSize::Fixed(512));
        job.space.extents = vec![Extent { offset: 4096, length: 40 * 512 }];
        job.depth.iodepth = 33;
        let mut issuer = Issuer::new(&job, 33, stream(&job, 100), None);
        let mut slots = SlotTable::new(33);
        let first = submit(&mut issuer, &mut slots);
        assert_eq!(first.len(), BATCH);
        let second = submit(&mut issuer, &mut slots);
        assert_eq!(second.len(), 1);
        assert!(slots.free() == 0 && submit(&mut issuer, &mut slots).is_empty());
        let all: Vec<_> = first.iter().chain(&second).collect();
        assert!(all.iter().enumerate().all(|(n, d)| d.offset == 4096 + 512 * n as u64));
        let distinct: std::collections::HashSet<_> = all.iter().map(|d| d.slot).collect();
        assert_eq!(distinct.len(), 33);
        assert!(!issuer.is_exhausted());
        first.iter().chain(&second).for_each(|unit| {
            slots.complete(unit.slot);
        });
        assert_eq!(submit(&mut issuer, &mut slots).len(), 7);
        assert!(issuer.is_exhausted());
    }

    #[test]
    fn a_sync_follows_every_nth_write() {
        use Operation::{DataSync as S, Write as W};
        let mut job = Job::default();
        job.pattern.rw = iodyno_job::Pattern::Write;
        job.flush.fdatasync = 3;
        // No sync after the last write, as in fio.
        for (writes, expected) in [(8, &[W, W, W, S, W, W, W, S, W, W][..]), (3, &[W, W, W])] {
            let mut issuer = Issuer::new(&job, 16, stream(&job, writes * 8), None);
            let mut slots = SlotTable::new(16);
            let mut seen = Vec::new();
            while !issuer.is_exhausted() {
                for unit in submit(&mut issuer, &mut slots) {
                    seen.push(unit.operation);
                    slots.complete(unit.slot);
                }
            }
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn a_sync_does_not_hold_back_what_is_due() {
        let clock = Clock::get();
        let mut job = Job::default();
        job.pattern.rw = iodyno_job::Pattern::RandRw;
        // Most draws are writes, of which few are due.
        job.pattern.rwmixread_percent = 10;
        (job.pace.rate_iops.read, job.pace.rate_iops.write) = (Some(1000), Some(100));
        job.flush.fdatasync = 1;
        let mut pacer = Pacer::new(&job.pace, clock, 1).unwrap();
        pacer.start(1);
        let mut issuer = Issuer::new(&job, 16, stream(&job, 80_000), Some(pacer));
        let (mut slots, mut seen) = (SlotTable::new(16), std::collections::BTreeMap::new());
        for ms in 0..1000 {
            let now = 1 + clock.ticks(ms * 1_000_000);
            while let Some((request, _)) = issuer.next_due(&slots, now) {
                *seen.entry(request.operation).or_insert(0) += 1;
                let slot = slots.reserve(&[request]).slots[0];
                slots.complete(slot);
            }
        }
        let of = |operation| seen.get(&operation).copied().unwrap_or(0);
        assert!(of(Operation::Read) >= 990, "{seen:?}");
        assert!(of(Operation::Write) >= 98 && of(Operation::DataSync) >= 97, "{seen:?}");
    }

    #[test]
    fn below_the_low_mark_it_refills_to_the_depth() {
        let mut job = Job::direct();
        (job.depth.iodepth, job.depth.low) = (8, Some(2));
        let mut issuer = Issuer::new(&job, 8, stream(&job, 8000), None);
        let mut slots = SlotTable::new(8);
        let batch = submit(&mut issuer, &mut slots);
        assert_eq!(batch.len(), 8);
        for (n, unit) in batch.iter().enumerate() {
            let room = if n < 6 { 0 } else { n };
            assert_eq!(issuer.room(&slots), room, "{n}");
            slots.complete(unit.slot);
        }
    }
}
