//! The I/Os in flight of one thread.

use crate::io::Descriptor;

/// One I/O from submission to completion.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    /// Ticks just before it was submitted.
    pub(crate) begun: u64,
    /// Offset, bytes.
    pub(crate) offset: u64,
    /// Length, bytes.
    pub(crate) length: u32,
}

/// What is in flight, by slot, and which slots are free.
///
/// The stamp is kept with the slot and not with the batch: a table of batches
/// would have to be as large as the slowest I/O is slow, or the stamps of
/// exactly the outliers would be overwritten.
#[derive(Debug)]
pub(crate) struct Flights {
    flights: Box<[Flight]>,
    /// Last in, first out: the buffer used last is the one in the cache.
    free: Vec<u16>,
}

impl Flights {
    /// `depth` free slots.
    pub(crate) fn new(depth: u16) -> Self {
        Self {
            flights: vec![Flight::default(); depth.into()].into(),
            free: (0..depth).rev().collect(),
        }
    }

    /// Takes up to `most` free slots.
    #[inline]
    pub(crate) fn take(&mut self, most: usize) -> impl ExactSizeIterator<Item = u16> {
        self.free.drain(self.free.len().saturating_sub(most)..)
    }

    /// Stamps a batch that is about to be submitted.
    #[inline]
    pub(crate) fn begin(&mut self, batch: &[Descriptor], begun: u64) {
        for &Descriptor { offset, length, slot } in batch {
            self.flights[usize::from(slot)] = Flight { begun, offset, length };
        }
    }

    /// Frees a slot whose I/O is done, and says what it was.
    #[inline]
    pub(crate) fn end(&mut self, slot: u16) -> Flight {
        self.free.push(slot);
        self.flights[usize::from(slot)]
    }

    /// Nothing is in flight.
    pub(crate) const fn is_empty(&self) -> bool {
        self.free.len() == self.flights.len()
    }

    /// As much is in flight as may be.
    pub(crate) const fn is_full(&self) -> bool {
        self.free.is_empty()
    }
}
