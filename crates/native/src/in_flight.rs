//! The I/Os of one thread in flight, by slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iodyno_job::{Operation, Request};

use crate::io_unit::{IoShape, IoUnit};

/// One I/O from submission to completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// Time stamp just before submission, or the due time of a paced I/O; ticks.
    pub(crate) start_ticks: u64,
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) length: u32,
    /// Index of its file.
    pub(crate) file: u16,
    /// Kind of I/O.
    pub(crate) operation: Operation,
}

impl InFlight {
    const fn is_pending(&self) -> bool {
        self.start_ticks != 0
    }

    const fn request(&self) -> Request {
        let &Self { offset, length, file, operation, .. } = self;
        Request { offset, length, file, operation }
    }
}

/// A completed I/O, as far as counts and latencies need it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Completed {
    /// As in [`InFlight`].
    pub(crate) start_ticks: u64,
    /// Length, file and operation.
    pub(crate) shape: IoShape,
}

/// An I/O in flight, readable by the control thread at any time. Only the worker writes, with plain
/// stores on every supported CPU.
#[derive(Debug, Default)]
#[repr(align(32))] // Never straddles a cache line.
struct Slot {
    /// Time stamp, ticks; 0: free.
    start_ticks: AtomicU64,
    offset: AtomicU64,
    /// A [`IoShape`].
    shape: AtomicU64,
}

/// A view of another thread's I/Os in flight.
#[derive(Debug, Clone)]
pub(crate) struct InFlightView(Arc<[Slot]>);

/// The I/Os in flight, by slot, and the free slots.
///
/// Time stamps are kept per slot, not per batch: a table of batches would have to span the slowest
/// I/O, or the stamps of exactly the outliers would be overwritten.
#[derive(Debug)]
pub(crate) struct SlotTable {
    slots: Arc<[Slot]>,
    /// The free slots, `free` of them. Last in, first out: the most recently used buffer is still
    /// cached.
    stack: Box<[u16]>,
    free: usize,
}

/// I/Os about to be submitted, with their slots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    requests: &'a [Request],
    pub(crate) slots: &'a [u16],
    table: &'a [Slot],
}

impl Batch<'_> {
    /// The I/Os as engines take them.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = IoUnit> + Clone {
        self.requests.iter().zip(self.slots).map(|(request, &slot)| {
            let &Request { offset, length, file, operation } = request;
            IoUnit { offset, length, slot, file, operation }
        })
    }

    /// True if write `n` of the batch touches bytes of another write in flight or before it in the
    /// batch: either may reach the medium last.
    pub(crate) fn overlaps_a_write(&self, n: usize) -> bool {
        let (earlier, request) = (&self.requests[..n], &self.requests[n]);
        let is_write = |other: &Request| other.operation == Operation::Write;
        let in_flight = self.table.iter().map(Slot::load).filter(InFlight::is_pending);
        let others = earlier.iter().copied().chain(in_flight.map(|io| io.request()));
        others.filter(is_write).any(|other| other.overlaps(request))
    }

    /// Marks the I/Os as in flight since `start_ticks`.
    #[inline]
    pub(crate) fn mark_submitted(&self, start_ticks: u64) {
        for (request, slot) in self.requests.iter().zip(self.slots) {
            let slot = &self.table[usize::from(*slot)];
            slot.offset.store(request.offset, Relaxed);
            let &Request { length, file, operation, .. } = request;
            slot.shape.store(IoShape::new(length, file, operation).bits(), Relaxed);
            slot.start_ticks.store(start_ticks, Relaxed);
        }
    }
}

/// Frees slots one by one; loads the common fields once.
#[derive(Debug)]
pub(crate) struct SlotReleaser<'a> {
    slots: &'a [Slot],
    stack: &'a mut [u16],
    free: usize,
    freed: &'a mut usize,
}

impl SlotReleaser<'_> {
    /// Frees the slot of a completed I/O and returns the fields that nearly every caller needs.
    #[inline]
    pub(crate) fn release(&mut self, slot: u16) -> Completed {
        self.stack[self.free] = slot;
        self.free += 1;
        let slot = &self.slots[usize::from(slot)];
        let start_ticks = slot.start_ticks.load(Relaxed);
        slot.start_ticks.store(0, Relaxed);
        Completed { start_ticks, shape: IoShape::from_bits(slot.shape.load(Relaxed)) }
    }

    /// Number of free slots.
    #[inline]
    pub(crate) const fn free(&self) -> usize {
        self.free
    }

    /// Takes back the slot released last, whose I/O goes on.
    pub(crate) fn keep(&mut self, start_ticks: u64) {
        self.free -= 1;
        let slot = self.stack[self.free];
        self.slots[usize::from(slot)].start_ticks.store(start_ticks, Relaxed);
    }

    /// The last I/O of a slot, without its time stamp.
    pub(crate) fn latest(&self, slot: u16) -> InFlight {
        self.slots[usize::from(slot)].load()
    }
}

impl Drop for SlotReleaser<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.freed = self.free;
    }
}

impl Slot {
    #[inline]
    fn load(&self) -> InFlight {
        let shape = IoShape::from_bits(self.shape.load(Relaxed));
        InFlight {
            start_ticks: self.start_ticks.load(Relaxed),
            offset: self.offset.load(Relaxed),
            length: shape.length(),
            file: shape.file(),
            operation: shape.operation(),
        }
    }
}

impl InFlightView {
    /// The oldest I/O in flight.
    pub(crate) fn oldest(&self) -> Option<InFlight> {
        let in_flight = self.0.iter().map(Slot::load).filter(InFlight::is_pending);
        in_flight.min_by_key(|io| io.start_ticks)
    }
}

impl SlotTable {
    /// A table of `depth` free slots.
    pub(crate) fn new(depth: u16) -> Self {
        Self {
            slots: (0..depth).map(|_| Slot::default()).collect(),
            stack: (0..depth).rev().collect(),
            free: depth.into(),
        }
    }

    /// A view for the control thread.
    pub(crate) fn view(&self) -> InFlightView {
        InFlightView(Arc::clone(&self.slots))
    }

    /// Reserves a slot for each of `requests`, which must not exceed the free slots.
    #[inline]
    pub(crate) fn reserve<'a>(&'a mut self, requests: &'a [Request]) -> Batch<'a> {
        let end = self.free;
        self.free -= requests.len();
        Batch { requests, slots: &self.stack[self.free..end], table: &self.slots }
    }

    /// Prepares to free the slots of completed I/Os.
    #[inline]
    pub(crate) fn releaser(&mut self) -> SlotReleaser<'_> {
        let Self { slots, stack, free } = self;
        SlotReleaser { slots, stack, free: *free, freed: free }
    }

    /// Frees the slot of a completed I/O and returns the I/O.
    pub(crate) fn complete(&mut self, slot: u16) -> InFlight {
        let mut releaser = self.releaser();
        let start_ticks = releaser.release(slot).start_ticks;
        InFlight { start_ticks, ..releaser.latest(slot) }
    }

    /// True if `request` touches bytes of an I/O in flight and either of the two writes or trims.
    pub(crate) fn overlaps(&self, request: &Request) -> bool {
        let writes = request.operation != Operation::Read;
        let mut in_flight = self.slots.iter().map(Slot::load).filter(InFlight::is_pending);
        in_flight
            .any(|io| (writes || io.operation != Operation::Read) && io.request().overlaps(request))
    }

    /// Number of free slots.
    #[inline]
    pub(crate) const fn free(&self) -> usize {
        self.free
    }

    /// Number of I/Os in flight.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len() - self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_shows_ios_in_flight() {
        let mut slots = SlotTable::new(4);
        let view = slots.view();
        assert_eq!(view.oldest(), None);
        let request = |offset| {
            let operation = Operation::Write;
            Request { offset, length: 4096, file: 3, operation }
        };
        let mut submit = |offset, start_ticks| {
            let requests = [request(offset)];
            let batch = slots.reserve(&requests);
            batch.mark_submitted(start_ticks);
            batch.slots[0]
        };
        let (_, slot) = (submit(8192, 20), submit(0, 10));
        assert_eq!((slots.count(), slots.free()), (2, 2));
        assert_eq!(view.oldest().map(|io| io.offset), Some(0));
        assert!(slots.overlaps(&request(8192 + 4095)));
        assert!(!slots.overlaps(&request(8192 + 4096)));
        let both = [request(16384), request(16384 + 512)];
        let batch = slots.reserve(&both);
        assert!(!batch.overlaps_a_write(0) && batch.overlaps_a_write(1), "within the batch");
        slots.free += 2;
        let (beside, above) = ([request(4096)], [request(4095)]);
        assert!(!slots.reserve(&beside).overlaps_a_write(0));
        slots.free += 1;
        assert!(slots.reserve(&above).overlaps_a_write(0));
        slots.free += 1;
        let ended = slots.complete(slot);
        assert_eq!((ended.start_ticks, ended.length, ended.file), (10, 4096, 3));
        assert_eq!(ended.operation, Operation::Write);
        assert_eq!(view.oldest().map(|io| io.start_ticks), Some(20));
    }
}
