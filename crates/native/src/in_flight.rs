//! The I/Os in flight of one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iodyno_job::{Operation, Request};

use crate::descriptor::{Descriptor, What};

/// One I/O from submission to completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// Ticks just before it was submitted, or when it was due.
    pub(crate) begun: u64,
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) length: u32,
    /// Index of its file.
    pub(crate) file: u16,
    /// What it does.
    pub(crate) operation: Operation,
}

/// An I/O that is done: what its count and its latency are made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Completed {
    /// As in [`InFlight`].
    pub(crate) begun: u64,
    /// Its length, file and operation.
    pub(crate) what: What,
}

/// A flight as the control thread may see it at any time. The worker alone
/// writes, plain stores on every CPU that we know.
#[derive(Debug, Default)]
#[repr(align(32))] // Each in one cache line.
struct Slot {
    /// 0: nothing is in flight.
    begun: AtomicU64,
    offset: AtomicU64,
    /// A [`What`].
    what: AtomicU64,
}

/// Looks at the flights of another thread.
#[derive(Debug, Clone)]
pub(crate) struct InFlightView(Arc<[Slot]>);

/// What is in flight, by slot, and which slots are free.
///
/// The stamp is kept with the slot and not with the batch: a table of batches
/// would have to be as large as the slowest I/O is slow, or the stamps of
/// exactly the outliers would be overwritten.
#[derive(Debug)]
pub(crate) struct InFlights {
    slots: Arc<[Slot]>,
    /// The free slots, `free` of them. Last in, first out: the buffer used
    /// last is the one in the cache.
    stack: Box<[u16]>,
    free: usize,
}

/// I/Os that are about to be submitted, each with its slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch<'a> {
    requests: &'a [Request],
    pub(crate) slots: &'a [u16],
    all: &'a [Slot],
}

impl Batch<'_> {
    /// They, as engines take them.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Descriptor> + Clone {
        self.requests.iter().zip(self.slots).map(|(request, &slot)| {
            let &Request { offset, length, file, operation } = request;
            Descriptor { offset, length, slot, file, operation }
        })
    }

    /// They are in flight from now on.
    #[inline]
    pub(crate) fn begin(&self, begun: u64) {
        for (request, slot) in self.requests.iter().zip(self.slots) {
            let slot = &self.all[usize::from(*slot)];
            slot.offset.store(request.offset, Relaxed);
            let &Request { length, file, operation, .. } = request;
            slot.what.store(What::of(length, file, operation).bits(), Relaxed);
            slot.begun.store(begun, Relaxed);
        }
    }
}

/// Frees slots one after the other: what is the same for all is looked up once.
#[derive(Debug)]
pub(crate) struct Landings<'a> {
    slots: &'a [Slot],
    stack: &'a mut [u16],
    free: usize,
    freed: &'a mut usize,
}

impl Landings<'_> {
    /// Frees a slot whose I/O is done, and says what nearly all want to know of it.
    #[inline]
    pub(crate) fn release(&mut self, slot: u16) -> Completed {
        self.stack[self.free] = slot;
        self.free += 1;
        let slot = &self.slots[usize::from(slot)];
        let begun = slot.begun.load(Relaxed);
        slot.begun.store(0, Relaxed);
        Completed { begun, what: What::from_bits(slot.what.load(Relaxed)) }
    }

    /// Slots that are free.
    #[inline]
    pub(crate) const fn free(&self) -> usize {
        self.free
    }

    /// What was in flight in this slot, but for when it was begun.
    pub(crate) fn latest(&self, slot: u16) -> InFlight {
        self.slots[usize::from(slot)].flight()
    }
}

impl Drop for Landings<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.freed = self.free;
    }
}

impl Slot {
    #[inline]
    fn flight(&self) -> InFlight {
        let what = What::from_bits(self.what.load(Relaxed));
        InFlight {
            begun: self.begun.load(Relaxed),
            offset: self.offset.load(Relaxed),
            length: what.length(),
            file: what.file(),
            operation: what.operation(),
        }
    }
}

impl InFlightView {
    /// The flight that was begun first.
    pub(crate) fn oldest(&self) -> Option<InFlight> {
        let flights = self.0.iter().map(Slot::flight).filter(|flight| flight.begun != 0);
        flights.min_by_key(|flight| flight.begun)
    }
}

impl InFlights {
    /// `depth` free slots.
    pub(crate) fn new(depth: u16) -> Self {
        Self {
            slots: (0..depth).map(|_| Slot::default()).collect(),
            stack: (0..depth).rev().collect(),
            free: depth.into(),
        }
    }

    /// For the control thread.
    pub(crate) fn outlook(&self) -> InFlightView {
        InFlightView(Arc::clone(&self.slots))
    }

    /// Gives each of `requests` a slot: no more of them than are free.
    #[inline]
    pub(crate) fn reserve<'a>(&'a mut self, requests: &'a [Request]) -> Batch<'a> {
        let end = self.free;
        self.free -= requests.len();
        Batch { requests, slots: &self.stack[self.free..end], all: &self.slots }
    }

    /// For the I/Os that are done.
    #[inline]
    pub(crate) fn landings(&mut self) -> Landings<'_> {
        let Self { slots, stack, free } = self;
        Landings { slots, stack, free: *free, freed: free }
    }

    /// Frees a slot whose I/O is done, and says what it was.
    pub(crate) fn end(&mut self, slot: u16) -> InFlight {
        let mut landings = self.landings();
        let begun = landings.release(slot).begun;
        InFlight { begun, ..landings.latest(slot) }
    }

    /// Whether what is in flight and may write touches these bytes, or the
    /// other way round.
    pub(crate) fn overlaps(&self, request: &Request) -> bool {
        let writes = request.operation != Operation::Read;
        let end = request.offset + u64::from(request.length);
        self.slots.iter().map(Slot::flight).any(|flight| {
            flight.begun != 0
                && flight.file == request.file
                && (writes || flight.operation != Operation::Read)
                && flight.offset < end
                && request.offset < flight.offset + u64::from(flight.length)
        })
    }

    /// Free slots.
    #[inline]
    pub(crate) const fn free(&self) -> usize {
        self.free
    }

    /// I/Os in flight.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.slots.len() - self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_seen_from_outside() {
        let mut flights = InFlights::new(4);
        let outlook = flights.outlook();
        assert_eq!(outlook.oldest(), None);
        let request = |offset| {
            let operation = Operation::Write;
            Request { offset, length: 4096, file: 3, operation }
        };
        let mut begin = |offset, begun| {
            let requests = [request(offset)];
            let batch = flights.reserve(&requests);
            batch.begin(begun);
            batch.slots[0]
        };
        let (_, slot) = (begin(8192, 20), begin(0, 10));
        assert_eq!((flights.count(), flights.free()), (2, 2));
        assert_eq!(outlook.oldest().map(|flight| flight.offset), Some(0));
        assert!(flights.overlaps(&request(8192 + 4095)));
        assert!(!flights.overlaps(&request(8192 + 4096)));
        let ended = flights.end(slot);
        assert_eq!((ended.begun, ended.length, ended.file), (10, 4096, 3));
        assert_eq!(ended.operation, Operation::Write);
        assert_eq!(outlook.oldest().map(|flight| flight.begun), Some(20));
    }
}
