//! I/O buffers and their loan to the kernel.
#![allow(unsafe_code)] // Mapped memory, lent to the kernel by address.

use std::ffi::c_void;
use std::io;
use std::ptr;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Size of a huge page where most kernels have one; elsewhere merely an alignment.
const HUGE_PAGE: usize = 2 << 20;

/// Buffers smaller than this in total get ordinary pages: 64 jobs of one small block each would
/// otherwise take 128 MiB.
const HUGE_PAGE_THRESHOLD: usize = HUGE_PAGE / 2;

/// One buffer per I/O in flight, in one mapping; backed by huge pages where it is large enough and
/// the kernel grants them.
///
/// A buffer belongs to the kernel from [`lend`](Lender::lend) to [`take_back`](Self::take_back). If
/// one is still lent on drop (a device never answered), the memory stays mapped for good: a late
/// completion must not write into memory that was reused.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: *mut u8,
    stride: usize,
    length: usize,
    /// Per buffer: one more than the length that may be lent, bytes; 0 while it is lent.
    limits: Box<[u32]>,
    /// The memory belongs to another thread.
    is_borrowed: bool,
}

/// One buffer, lent to another thread. The owner lends it to nobody else meanwhile and keeps the
/// memory mapped until that thread has ended.
#[derive(Debug)]
pub(crate) struct SlotBuffer {
    base: *mut u8,
    stride: usize,
    length: usize,
}

// SAFETY: an address that one thread at a time uses, as documented above.
unsafe impl Send for SlotBuffer {}

impl Buffers {
    /// Maps `count` zeroed, page-aligned buffers of `length` bytes and touches them, so that no
    /// page fault falls into a measured I/O.
    ///
    /// # Errors
    /// If the memory cannot be mapped.
    pub(crate) fn new(count: u32, length: u32) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let stride = (length as usize).next_multiple_of(page);
        let (count, length) = (count as usize, length as usize);
        let size = mapped_size(count, stride).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing
        // that exists.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), size + HUGE_PAGE, protection, MapFlags::PRIVATE)?
        };
        let skipped = start.align_offset(HUGE_PAGE);
        let base = start.wrapping_byte_add(skipped);
        // SAFETY: both pieces lie in the mapping made above (skipped < HUGE), outside base..base +
        // size, and have no other user. A zero length is not unmapped.
        unsafe {
            unmap(start, skipped);
            unmap(base.wrapping_byte_add(size), HUGE_PAGE - skipped);
        }
        let used = count * stride;
        let advice = if used < HUGE_PAGE_THRESHOLD {
            Advice::LinuxNoHugepage
        } else {
            Advice::LinuxHugepage
        };
        // SAFETY: base..base + size is ours alone. Huge pages are a hint: a refusal changes
        // nothing.
        let _ = unsafe { madvise(base, size, advice) };
        let base = base.cast::<u8>();
        for offset in (0..used).step_by(page) {
            // SAFETY: offset < used <= size, inside the mapping; volatile, to force the page fault.
            unsafe { base.add(offset).write_volatile(0) };
        }
        let limit = lendable(length);
        Ok(Self { base, stride, length, limits: vec![limit; count].into(), is_borrowed: false })
    }

    /// Buffer `slot`, for the thread that will use it.
    pub(crate) fn slot_buffer(&self, slot: u16) -> SlotBuffer {
        let Self { base, stride, length, .. } = *self;
        SlotBuffer { base: base.wrapping_add(usize::from(slot) * stride), stride, length }
    }

    /// Wraps a buffer of another thread.
    pub(crate) fn borrowed(slot_buffer: SlotBuffer) -> Self {
        let SlotBuffer { base, stride, length } = slot_buffer;
        Self { base, stride, length, limits: [lendable(length)].into(), is_borrowed: true }
    }

    /// Lends buffers for a batch; loads the common fields once.
    #[inline]
    pub(crate) fn lender(&mut self) -> Lender<'_> {
        let Self { base, stride, length, ref mut limits, .. } = *self;
        Lender { base, stride, limit: lendable(length), limits }
    }

    /// Returns buffer `slot` from the kernel.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: u16) {
        self.lender().take_back(slot);
    }

    /// The first `length` bytes of buffer `slot`, as the last read left them.
    ///
    /// # Panics
    /// If the buffer is lent, shorter, or does not exist.
    pub(crate) fn slot(&self, slot: u16, length: u32) -> &[u8] {
        let start = self.own(slot, length);
        // SAFETY: inside the mapping (`own`), initialised by `new`; the kernel does not have it,
        // and cannot get it while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(start, length as usize) }
    }

    /// The first `length` bytes of buffer `slot`, to be filled for a write.
    ///
    /// # Panics
    /// As [`slot`](Self::slot).
    pub(crate) fn slot_mut(&mut self, slot: u16, length: u32) -> &mut [u8] {
        let start = self.own(slot, length);
        // SAFETY: as in `slot`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(start, length as usize) }
    }

    fn own(&self, slot: u16, length: u32) -> *mut u8 {
        let slot = usize::from(slot);
        assert!(self.limits[slot] > 0, "slot {slot} is in flight");
        assert!(length as usize <= self.length, "the buffers are shorter");
        self.base.wrapping_add(slot * self.stride)
    }

    /// Divides the memory into pieces of at most `max_bytes` bytes, each of a power of two of whole
    /// buffers, for registration with io_uring. Returns the pieces and log2 of the buffers per
    /// piece; `None` if a single buffer exceeds `max_bytes`.
    pub(crate) fn iovecs(&self, max_bytes: usize) -> Option<(Vec<libc::iovec>, u32)> {
        let shift = (max_bytes / self.stride).checked_ilog2()?.min(15);
        let iovecs = (0..self.limits.len()).step_by(1 << shift).map(|first| libc::iovec {
            iov_base: self.base.wrapping_add(first * self.stride).cast(),
            iov_len: self.stride * (self.limits.len() - first).min(1 << shift),
        });
        Some((iovecs.collect(), shift))
    }

    /// Total size, bytes.
    pub(crate) const fn size(&self) -> usize {
        self.limits.len() * self.stride
    }
}

/// Lends buffers to the kernel and takes them back.
pub(crate) struct Lender<'a> {
    base: *mut u8,
    stride: usize,
    limit: u32,
    limits: &'a mut [u32],
}

impl Lender<'_> {
    /// Lends buffer `slot` to the kernel, which will read or write `length` bytes of it, and
    /// returns its address.
    ///
    /// # Panics
    /// If the buffer does not exist, is shorter, or is already lent: before any address escapes.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u16, length: u32) -> *mut u8 {
        let slot = usize::from(slot);
        let limit = &mut self.limits[slot];
        assert!(length < *limit, "a slot in flight, or a longer block");
        *limit = 0;
        self.base.wrapping_add(slot * self.stride)
    }

    /// Returns buffer `slot` from the kernel.
    #[inline]
    pub(crate) fn take_back(&mut self, slot: u16) {
        self.limits[usize::from(slot)] = self.limit;
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !self.is_borrowed && !self.limits.contains(&0) {
            let size = mapped_size(self.limits.len(), self.stride).unwrap_or(0);
            // SAFETY: mapped by `new`, known to `self` alone, and no buffer is lent.
            unsafe { unmap(self.base.cast(), size) };
        }
    }
}

/// The limit of a buffer of `length` bytes.
const fn lendable(length: usize) -> u32 {
    (length as u32).saturating_add(1)
}

/// Bytes to map for `count` buffers, in whole huge pages; `None` if that and the alignment exceed
/// the address space.
fn mapped_size(count: usize, stride: usize) -> Option<usize> {
    let size = count.checked_mul(stride)?.checked_next_multiple_of(HUGE_PAGE)?;
    size.checked_add(HUGE_PAGE).filter(|all| *all <= isize::MAX as usize).map(|_| size)
}

/// Unmaps whole pages.
///
/// # Safety
/// start..start + size must no longer be in use.
unsafe fn unmap(start: *mut c_void, size: usize) {
    if size > 0 {
        // SAFETY: guaranteed by the caller. Fails only for arguments that are no mapping, and then
        // unmaps nothing.
        let _ = unsafe { munmap(start, size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_apart_and_aligned() {
        let mut buffers = Buffers::new(3, 5000).unwrap();
        let page = rustix::param::page_size();
        let [a, b, c] = [0, 1, 2].map(|slot| buffers.lender().lend(slot, 5000) as usize);
        assert_eq!(a % HUGE_PAGE, 0);
        assert!(b >= a + 5000 && c >= b + 5000 && b.is_multiple_of(page));
        (0..3).for_each(|slot| buffers.take_back(slot));
        buffers.slot_mut(1, 5000).fill(7);
        assert!(buffers.slot(1, 5000).iter().all(|byte| *byte == 7));
        assert!(buffers.slot(0, 5000).iter().chain(buffers.slot(2, 5000)).all(|byte| *byte == 0));
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn a_lent_buffer_cannot_be_read() {
        let mut buffers = Buffers::new(2, 512).unwrap();
        buffers.lender().lend(1, 512);
        assert_eq!(buffers.slot(0, 512).len(), 512);
        buffers.slot(1, 512);
    }

    #[test]
    #[should_panic(expected = "a slot in flight")]
    fn a_buffer_is_lent_once() {
        let mut buffers = Buffers::new(2, 512).unwrap();
        buffers.lender().lend(1, 512);
        buffers.lender().lend(1, 512);
    }

    #[test]
    fn iovecs_cover_all_buffers_in_whole_buffers() {
        let buffers = Buffers::new(100, 4096).unwrap();
        let (iovecs, shift) = buffers.iovecs(100_000).unwrap();
        assert_eq!(1 << shift, 16);
        assert!(iovecs.iter().all(|piece| piece.iov_len <= 100_000));
        assert_eq!(iovecs.iter().map(|piece| piece.iov_len).sum::<usize>(), buffers.size());
        assert!(buffers.iovecs(1000).is_none());
    }

    #[test]
    fn small_buffers_take_little_memory() {
        let buffers = Buffers::new(3, 4096).unwrap();
        let page = rustix::param::page_size();
        let mut entries = vec![0; HUGE_PAGE / page * 8];
        let pages = std::fs::File::open("/proc/self/pagemap").unwrap();
        let first = (buffers.base.addr() / page * 8) as u64;
        std::os::unix::fs::FileExt::read_exact_at(&pages, &mut entries, first).unwrap();
        // The highest bit of each entry: the page is in memory.
        let present = entries.chunks(8).filter(|entry| entry[7] >> 7 == 1).count();
        assert_eq!(present, buffers.size() / page);
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Buffers::new(u32::MAX, u32::MAX).is_err());
    }
}
