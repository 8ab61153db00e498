//! The I/Os in flight of one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::io::{Descriptor, Operation};

/// One I/O from submission to completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flight {
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct Landed {
    /// As in [`Flight`].
    pub(crate) begun: u64,
    /// As in [`Flight`].
    pub(crate) length: u32,
    /// As in [`Flight`].
    pub(crate) operation: Operation,
}

/// A flight as the control thread may see it at any time. The worker alone
/// writes, plain stores on every CPU that we know.
#[derive(Debug, Default)]
#[repr(align(32))] // Each in one cache line.
struct Slot {
    /// 0: nothing is in flight.
    begun: AtomicU64,
    offset: AtomicU64,
    length: AtomicU32,
    file: AtomicU16,
    operation: AtomicU8,
}

/// Looks at the flights of another thread.
#[derive(Debug, Clone)]
pub(crate) struct Outlook(Arc<[Slot]>);

/// What is in flight, by slot, and which slots are free.
///
/// The stamp is kept with the slot and not with the batch: a table of batches
/// would have to be as large as the slowest I/O is slow, or the stamps of
/// exactly the outliers would be overwritten.
#[derive(Debug)]
pub(crate) struct Flights {
    slots: Arc<[Slot]>,
    /// The free slots, `free` of them. Last in, first out: the buffer used
    /// last is the one in the cache.
    stack: Box<[u16]>,
    free: usize,
}

impl Slot {
    #[inline]
    fn flight(&self) -> Flight {
        Flight {
            begun: self.begun.load(Relaxed),
            offset: self.offset.load(Relaxed),
            length: self.length.load(Relaxed),
            file: self.file.load(Relaxed),
            operation: Operation::from_index(self.operation.load(Relaxed)),
        }
    }
}

impl Outlook {
    /// The flight that was begun first.
    pub(crate) fn oldest(&self) -> Option<Flight> {
        let flights = self.0.iter().map(Slot::flight).filter(|flight| flight.begun != 0);
        flights.min_by_key(|flight| flight.begun)
    }
}

impl Flights {
    /// `depth` free slots.
    pub(crate) fn new(depth: u16) -> Self {
        Self {
            slots: (0..depth).map(|_| Slot::default()).collect(),
            stack: (0..depth).rev().collect(),
            free: depth.into(),
        }
    }

    /// For the control thread.
    pub(crate) fn outlook(&self) -> Outlook {
        Outlook(Arc::clone(&self.slots))
    }

    /// Takes up to `most` free slots.
    #[inline]
    pub(crate) fn take(&mut self, most: usize) -> impl ExactSizeIterator<Item = u16> {
        let end = self.free;
        self.free = end.saturating_sub(most);
        self.stack[self.free..end].iter().copied()
    }

    /// Stamps an I/O that is about to be submitted.
    #[inline]
    pub(crate) fn begin(&mut self, descriptor: &Descriptor, begun: u64) {
        let &Descriptor { offset, length, slot, file, operation } = descriptor;
        let slot = &self.slots[usize::from(slot)];
        slot.offset.store(offset, Relaxed);
        slot.length.store(length, Relaxed);
        slot.file.store(file, Relaxed);
        slot.operation.store(operation as u8, Relaxed);
        slot.begun.store(begun, Relaxed);
    }

    /// Frees a slot whose I/O is done, and says what it was.
    #[inline]
    pub(crate) fn end(&mut self, slot: u16) -> Flight {
        let begun = self.land(slot).begun;
        Flight { begun, ..self.latest(slot) }
    }

    /// As [`end`](Self::end), and says only what nearly all want to know.
    #[inline]
    pub(crate) fn land(&mut self, slot: u16) -> Landed {
        self.stack[self.free] = slot;
        self.free += 1;
        let slot = &self.slots[usize::from(slot)];
        let begun = slot.begun.load(Relaxed);
        slot.begun.store(0, Relaxed);
        let operation = Operation::from_index(slot.operation.load(Relaxed));
        Landed { begun, length: slot.length.load(Relaxed), operation }
    }

    /// What is or was in flight in this slot.
    pub(crate) fn latest(&self, slot: u16) -> Flight {
        self.slots[usize::from(slot)].flight()
    }

    /// Whether what is in flight and may write touches these bytes, or the
    /// other way round.
    pub(crate) fn overlaps(&self, descriptor: &Descriptor) -> bool {
        let writes = descriptor.operation != Operation::Read;
        let end = descriptor.offset + u64::from(descriptor.length);
        self.slots.iter().map(Slot::flight).any(|flight| {
            flight.begun != 0
                && flight.file == descriptor.file
                && (writes || flight.operation != Operation::Read)
                && flight.offset < end
                && descriptor.offset < flight.offset + u64::from(flight.length)
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
        let mut flights = Flights::new(4);
        let outlook = flights.outlook();
        assert_eq!(outlook.oldest(), None);
        let slots: Vec<u16> = flights.take(2).collect();
        let descriptor = |slot, offset| Descriptor {
            offset,
            length: 4096,
            slot,
            file: 3,
            operation: Operation::Write,
        };
        flights.begin(&descriptor(slots[0], 8192), 20);
        flights.begin(&descriptor(slots[1], 0), 10);
        assert_eq!((flights.count(), flights.free()), (2, 2));
        assert_eq!(outlook.oldest().map(|flight| flight.offset), Some(0));
        assert!(flights.overlaps(&descriptor(0, 8192 + 4095)));
        assert!(!flights.overlaps(&descriptor(0, 8192 + 4096)));
        let ended = flights.end(slots[1]);
        assert_eq!((ended.begun, ended.length, ended.file), (10, 4096, 3));
        assert_eq!(ended.operation, Operation::Write);
        assert_eq!(outlook.oldest().map(|flight| flight.begun), Some(20));
    }
}
