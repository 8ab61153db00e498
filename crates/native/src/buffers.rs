//! The memory that the kernel reads into.
#![allow(unsafe_code)] // Mapped memory, lent to the kernel by address.

use std::ffi::c_void;
use std::io;
use std::ptr;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Size of a huge page where most kernels have one; elsewhere merely an alignment.
const HUGE: usize = 2 << 20;

/// One buffer for each I/O that may be in flight, in one piece of memory that
/// is made of huge pages where the kernel grants them.
///
/// The kernel writes to a buffer from [`lend`](Self::lend) to
/// [`take_back`](Self::take_back). Dropped with one still lent (a device that
/// never answered), the memory stays mapped for good: a late completion must
/// not write to what somebody else got in its place.
#[derive(Debug)]
pub(crate) struct Buffers {
    base: *mut u8,
    stride: usize,
    length: usize,
    count: usize,
    lent: usize,
}

impl Buffers {
    /// `count` buffers of `length` bytes, each starting a page, touched so that
    /// no page fault falls into a measured read.
    ///
    /// # Errors
    /// Where the kernel has no such memory.
    pub(crate) fn new(count: u32, length: u32) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let stride = (length as usize).next_multiple_of(page);
        let (count, length) = (count as usize, length as usize);
        let size = mapped_size(count, stride).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing
        // that exists.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), size + HUGE, protection, MapFlags::PRIVATE)? };
        let skipped = start.align_offset(HUGE);
        let base = start.wrapping_byte_add(skipped);
        // SAFETY: both pieces lie in the mapping made above (skipped < HUGE), outside
        // base..base + size, and nobody knows of them. A zero length is not unmapped.
        unsafe {
            unmap(start, skipped);
            unmap(base.wrapping_byte_add(size), HUGE - skipped);
        }
        // SAFETY: base..base + size is ours alone. Huge pages are a wish: a refusal changes nothing.
        let _ = unsafe { madvise(base, size, Advice::LinuxHugepage) };
        let base = base.cast::<u8>();
        for offset in (0..size).step_by(page) {
            // SAFETY: offset < size, inside the mapping; volatile, for the sake of the fault.
            unsafe { base.add(offset).write_volatile(0) };
        }
        Ok(Self { base, stride, length, count, lent: 0 })
    }

    /// The address of buffer `slot`, for the kernel to write `length` bytes to.
    ///
    /// # Panics
    /// Where there is no such buffer or it is shorter, before any address leaves.
    #[inline]
    pub(crate) fn lend(&mut self, slot: u16, length: u32) -> *mut u8 {
        assert!(usize::from(slot) < self.count && length as usize <= self.length);
        self.lent += 1;
        self.base.wrapping_add(usize::from(slot) * self.stride)
    }

    /// The kernel has done with one of the lent buffers.
    #[inline]
    pub(crate) const fn take_back(&mut self) {
        self.lent = self.lent.saturating_sub(1);
    }

    /// How many the kernel has.
    pub(crate) const fn lent(&self) -> usize {
        self.lent
    }

    /// What buffer `slot` holds; `None` while the kernel may write to any.
    pub(crate) fn read(&self, slot: u16) -> Option<&[u8]> {
        let slot = usize::from(slot);
        // SAFETY: inside the mapping, initialised by `new`, and nothing is lent,
        // so nobody writes for as long as `self` is borrowed.
        (self.lent == 0 && slot < self.count).then(|| unsafe {
            std::slice::from_raw_parts(self.base.add(slot * self.stride), self.length)
        })
    }

    /// What buffer `slot` holds, for tests, which may look while others are lent.
    #[cfg(test)]
    pub(crate) fn snapshot(&self, slot: u16) -> Vec<u8> {
        assert!(usize::from(slot) < self.count);
        let start = self.base.wrapping_add(usize::from(slot) * self.stride);
        // SAFETY: inside the mapping; the slot was completed, so the kernel does not write to it.
        unsafe { std::slice::from_raw_parts(start, self.length).to_vec() }
    }

    /// The memory in pieces of at most `most` bytes, each of a power of two of
    /// whole buffers, and the logarithm of that number; `None` where not even
    /// one buffer fits.
    pub(crate) fn pieces(&self, most: usize) -> Option<(Vec<libc::iovec>, u32)> {
        let shift = (most / self.stride).checked_ilog2()?.min(15);
        let pieces = (0..self.count).step_by(1 << shift).map(|first| libc::iovec {
            iov_base: self.base.wrapping_add(first * self.stride).cast(),
            iov_len: self.stride * (self.count - first).min(1 << shift),
        });
        Some((pieces.collect(), shift))
    }

    /// Bytes of all buffers.
    pub(crate) const fn size(&self) -> usize {
        self.count * self.stride
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.lent == 0 {
            let size = mapped_size(self.count, self.stride).unwrap_or(0);
            // SAFETY: `new` mapped it, `self` alone knew of it, and the kernel has given it back.
            unsafe { unmap(self.base.cast(), size) };
        }
    }
}

/// Bytes mapped for `count` buffers: whole huge pages. `None` where that, with
/// the alignment, is more than an address space holds.
fn mapped_size(count: usize, stride: usize) -> Option<usize> {
    let size = count.checked_mul(stride)?.checked_next_multiple_of(HUGE)?;
    size.checked_add(HUGE).filter(|all| *all <= isize::MAX as usize).map(|_| size)
}

/// Unmaps whole pages.
///
/// # Safety
/// Nobody may use start..start + size any more.
unsafe fn unmap(start: *mut c_void, size: usize) {
    if size > 0 {
        // SAFETY: the caller's promise. It fails only for arguments that are
        // no mapping; then nothing was unmapped.
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
        let [a, b, c] = [0, 1, 2].map(|slot| buffers.lend(slot, 5000) as usize);
        assert_eq!(a % HUGE, 0);
        assert!(b >= a + 5000 && c >= b + 5000 && b.is_multiple_of(page));
        assert!(buffers.read(0).is_none(), "the kernel has them");
        (0..3).for_each(|_| buffers.take_back());
        assert_eq!(buffers.read(2).map(<[u8]>::len), Some(5000));
        assert!(buffers.read(3).is_none());
    }

    #[test]
    fn pieces_hold_whole_buffers_and_all_of_them() {
        let buffers = Buffers::new(100, 4096).unwrap();
        let (pieces, shift) = buffers.pieces(100_000).unwrap();
        assert_eq!(1 << shift, 16);
        assert!(pieces.iter().all(|piece| piece.iov_len <= 100_000));
        assert_eq!(pieces.iter().map(|piece| piece.iov_len).sum::<usize>(), buffers.size());
        assert!(buffers.pieces(1000).is_none());
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(Buffers::new(u32::MAX, u32::MAX).is_err());
    }
}
