//! Writes submission queue entries and reads completion queue entries.
#![allow(unsafe_code)] // Memory shared with the kernel.

use std::sync::atomic::Ordering;

use super::{Entry, Ring};

/// Entries being filled, invisible to the kernel until published.
pub(in crate::io) struct Entries<'a, E: Entry> {
    first: *mut E,
    mask: u32,
    tail: u32,
    ring: &'a mut Ring<E>,
}

impl<'a, E: Entry> Entries<'a, E> {
    #[inline]
    pub(super) fn of(ring: &'a mut Ring<E>) -> Self {
        let (first, mask, tail) = (ring.first_entry, ring.submission_mask, ring.tail);
        Self { first, mask, tail, ring }
    }

    /// The next entry to fill; it still holds its previous contents.
    ///
    /// There are at least as many entries as I/Os in flight, a limit that the caller keeps: so the
    /// kernel has taken the previous contents.
    #[inline]
    pub(in crate::io) fn next(&mut self) -> &mut E {
        let index = (self.tail & self.mask) as usize;
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: below the number of entries, in the mapping, page-aligned base, and valid for any
        // bytes. The kernel reads it only between `publish` and taking it.
        unsafe { &mut *self.first.add(index) }
    }

    /// Publishes the filled entries to the kernel.
    #[inline]
    pub(in crate::io) fn publish(self) {
        self.ring.tail = self.tail;
        // SAFETY: in the mapping, which lives as long as the ring.
        unsafe { (*self.ring.submission_tail).store(self.tail, Ordering::Release) };
    }
}

/// The completions between head and tail at its creation; returns them to the kernel on drop.
pub(in crate::io) struct Completed<'a, E: Entry> {
    first: *const u8,
    mask: u32,
    head: u32,
    tail: u32,
    ring: &'a Ring<E>,
}

impl<'a, E: Entry> Completed<'a, E> {
    #[inline]
    pub(super) fn of(ring: &'a Ring<E>) -> Self {
        // SAFETY: in the mapping, which lives as long as the ring.
        let head = unsafe { (*ring.completion_head).load(Ordering::Relaxed) };
        let tail = head.wrapping_add(ring.completed());
        Self { first: ring.completions, mask: ring.completion_mask, head, tail, ring }
    }
}

impl<E: Entry> Iterator for Completed<'_, E> {
    type Item = (u64, i32);

    #[inline]
    fn next(&mut self) -> Option<(u64, i32)> {
        if self.head == self.tail {
            return None;
        }
        let index = (self.head & self.mask) as usize;
        let address = self.first.wrapping_add(index << (4 + u32::from(Ring::<E>::WIDE)));
        self.head = self.head.wrapping_add(1);
        // SAFETY: an entry in the mapping, before the tail, which was loaded with acquire: the
        // kernel wrote it and does not touch it until the head passes it. It starts with a u64 and
        // an i32, and is aligned to its size's lowest power of two.
        unsafe { Some((address.cast::<u64>().read(), address.add(8).cast::<i32>().read())) }
    }
}

impl<E: Entry> Drop for Completed<'_, E> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: in the mapping, which lives as long as the ring.
        unsafe { (*self.ring.completion_head).store(self.head, Ordering::Release) };
    }
}
