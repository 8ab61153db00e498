//! Writes submission queue entries and reads completion queue entries.
#![allow(unsafe_code)] // Memory shared with the kernel.

use std::sync::atomic::Ordering;

use super::{Ring, SqEntry};

/// Entries being filled, invisible to the kernel until published.
pub(in crate::engines) struct SqeWriter<'a, E: SqEntry> {
    first: *mut E,
    mask: u32,
    tail: u32,
    ring: &'a mut Ring<E>,
}

impl<'a, E: SqEntry> SqeWriter<'a, E> {
    #[inline]
    pub(super) fn of(ring: &'a mut Ring<E>) -> Self {
        let (first, mask, tail) = (ring.sqes, ring.sq_mask, ring.sq_tail);
        Self { first, mask, tail, ring }
    }

    /// The next entry to fill; it still holds its previous contents.
    ///
    /// There are at least as many entries as I/Os in flight, a limit that the caller keeps: so the
    /// kernel has taken the previous contents.
    #[inline]
    pub(in crate::engines) fn next(&mut self) -> &mut E {
        let index = (self.tail & self.mask) as usize;
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: below the number of entries, in the mapping, page-aligned base, and valid for any
        // bytes. The kernel reads it only between `publish` and taking it.
        unsafe { &mut *self.first.add(index) }
    }

    /// Publishes the filled entries to the kernel.
    #[inline]
    pub(in crate::engines) fn publish(self) {
        self.ring.sq_tail = self.tail;
        // SAFETY: in the mapping, which lives as long as the ring.
        unsafe { (*self.ring.sq_ktail).store(self.tail, Ordering::Release) };
    }
}

/// The completions between head and tail at its creation; returns them to the kernel on drop.
pub(in crate::engines) struct Cqes<'a, E: SqEntry> {
    first: *const u8,
    mask: u32,
    head: u32,
    tail: u32,
    ring: &'a Ring<E>,
}

impl<'a, E: SqEntry> Cqes<'a, E> {
    #[inline]
    pub(super) fn of(ring: &'a Ring<E>) -> Self {
        // SAFETY: in the mapping, which lives as long as the ring.
        let head = unsafe { (*ring.cq_khead).load(Ordering::Relaxed) };
        let tail = head.wrapping_add(ring.cq_ready());
        Self { first: ring.cqes, mask: ring.cq_mask, head, tail, ring }
    }
}

impl<E: SqEntry> Iterator for Cqes<'_, E> {
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

impl<E: SqEntry> Drop for Cqes<'_, E> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: in the mapping, which lives as long as the ring.
        unsafe { (*self.ring.cq_khead).store(self.head, Ordering::Release) };
    }
}
