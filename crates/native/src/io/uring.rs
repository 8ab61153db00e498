//! io_uring, with all that the running kernel has of what makes it fast.
#![allow(unsafe_code)] // The ring's system calls, and addresses of buffers in its entries.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use io_uring::{IoUring, opcode, types};
use rustix::process::{Resource, getrlimit};

use super::{Completion, Descriptor, Io, Opened, SetupError};
use crate::buffers::Buffers;
use crate::failure::error_name;

/// The kernel registers no larger piece of memory than this (io_uring/rsrc.c).
const LARGEST_PIECE: usize = 1 << 30;
/// The target is the first and only registered file.
const TARGET: types::Fixed = types::Fixed(0);

// linux/io_uring.h
const IORING_REGISTER_RING_FDS: u32 = 20;
const IORING_UNREGISTER_RING_FDS: u32 = 21;
const IORING_ENTER_GETEVENTS: u32 = 1 << 0;
const IORING_ENTER_REGISTERED_RING: u32 = 1 << 4;

/// A ring used by this thread alone.
pub(crate) struct Uring {
    // Dropped in this order: the ring first, then what it works on.
    gate: Gate,
    ring: IoUring,
    /// Entries that the kernel has not taken yet.
    queued: u32,
    /// Logarithm of the buffers in a registered piece; `None`: not registered.
    piece_shift: Option<u32>,
    buffers: Buffers,
    _target: OwnedFd,
}

impl Io for Uring {
    const NAME: &'static str = "io_uring";

    fn open(target: OwnedFd, depth: u16, length: u32) -> Result<Opened<Self>, SetupError> {
        let ring = new_ring(depth).map_err(SetupError::of("io_uring_setup"))?;
        ring.submitter()
            .register_files(&[target.as_raw_fd()])
            .map_err(SetupError::of("io_uring_register of the target"))?;
        let buffers =
            Buffers::new(depth.into(), length).map_err(SetupError::of("mmap of the buffers"))?;
        let mut shortfalls = Vec::new();
        let piece_shift = register(&ring, &buffers).map_err(|said| shortfalls.push(said)).ok();
        let registered_buffers = Some(piece_shift.is_some());
        let gate = Gate::new(ring.as_raw_fd());
        let io = Self { gate, ring, queued: 0, piece_shift, buffers, _target: target };
        Ok(Opened { io, depth, registered_buffers, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: &[Descriptor]) {
        let mut submissions = self.ring.submission();
        for &Descriptor { offset, length, slot } in batch {
            let buffer = self.buffers.lend(slot, length);
            let entry = match self.piece_shift {
                Some(shift) => opcode::ReadFixed::new(TARGET, buffer, length, slot >> shift)
                    .offset(offset)
                    .build(),
                None => opcode::Read::new(TARGET, buffer, length).offset(offset).build(),
            };
            // SAFETY: the buffer is `length` bytes long or more and lent until its completion
            // is seen; `Buffers` stays mapped for good if that never comes.
            let pushed = unsafe { submissions.push(&entry.user_data(slot.into())) };
            pushed.expect("the ring has an entry for each slot");
            self.queued += 1;
        }
    }

    #[inline]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        match self.gate.enter(self.queued, wait) {
            Ok(taken) => self.queued -= taken.min(self.queued),
            Err(error) => match error.raw_os_error() {
                // A signal, or no memory or room just now.
                Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                _ => return Err(error),
            },
        }
        Ok(())
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { ring, buffers, .. } = self;
        // Loads the tail once, here; stores the head once, when it is dropped.
        ring.completion().map(|entry| {
            buffers.take_back();
            Completion { slot: entry.user_data() as u16, result: entry.result().into() }
        })
    }
}

/// A ring with the best set of flags that the kernel knows; unknown ones are EINVAL.
fn new_ring(depth: u16) -> io::Result<IoUring> {
    let entries = u32::from(depth).next_power_of_two();
    let mut ring = Err(io::ErrorKind::Unsupported.into());
    // Linux 6.6, 6.1, 5.19 and 5.5 brought one each.
    for level in (0..4).rev() {
        let mut builder = IoUring::builder();
        builder.setup_cqsize(entries);
        if level >= 1 {
            builder.setup_coop_taskrun();
        }
        if level >= 2 {
            builder.setup_single_issuer().setup_defer_taskrun();
        }
        if level >= 3 {
            builder.setup_no_sqarray();
        }
        ring = builder.build(entries);
        match &ring {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            _ => return ring,
        }
    }
    ring
}

/// Registers the buffers, so that the kernel need not look up their pages for
/// every read; or says why not.
fn register(ring: &IoUring, buffers: &Buffers) -> Result<u32, String> {
    let (pieces, shift) = buffers.pieces(LARGEST_PIECE).ok_or_else(|| {
        "buffers are not registered: a block is larger than what the kernel registers".to_owned()
    })?;
    // SAFETY: the pieces are the memory of `buffers`, which outlives the ring.
    let registered = unsafe { ring.submitter().register_buffers(&pieces) };
    registered.map(|()| shift).map_err(|error| {
        let limit = getrlimit(Resource::Memlock).current;
        let limit = limit.map_or("unlimited".into(), |bytes| format!("{bytes} bytes"));
        format!(
            "buffers of {} bytes are not registered: {}; RLIMIT_MEMLOCK is {limit}, \
             raise it with `ulimit -l`",
            buffers.size(),
            error_name(&error)
        )
    })
}

/// The way into the kernel: by the ring's registered number where the kernel
/// has such (5.18), which spares it the look-up of the descriptor.
#[derive(Debug)]
struct Gate {
    ring: RawFd,
    number: Option<u32>,
}

/// `struct io_uring_rsrc_update`: a ring's descriptor and its number.
#[repr(C)]
struct RingNumber {
    number: u32,
    reserved: u32,
    descriptor: u64,
}

impl Gate {
    fn new(ring: RawFd) -> Self {
        // All ones: whichever number is free; the kernel writes it back.
        let mut update = RingNumber { number: u32::MAX, reserved: 0, descriptor: ring as u64 };
        let registered = register_ring(ring, IORING_REGISTER_RING_FDS, &mut update);
        Self { ring, number: registered.then_some(update.number) }
    }

    #[inline]
    fn enter(&self, submit: u32, wait: u32) -> io::Result<u32> {
        let (ring, flag) = match self.number {
            Some(number) => (number, IORING_ENTER_REGISTERED_RING),
            None => (self.ring as u32, 0),
        };
        // With DEFER_TASKRUN completions are made only by an enter with GETEVENTS.
        let flags = IORING_ENTER_GETEVENTS | flag;
        // SAFETY: no pointer is passed; what the entries point to, `queue` answers for.
        let result = unsafe {
            let none = std::ptr::null::<libc::c_void>();
            libc::syscall(libc::SYS_io_uring_enter, ring, submit, wait, flags, none, 0_usize)
        };
        u32::try_from(result).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            // The thread would hold the ring for as long as it lives.
            let mut update = RingNumber { number, reserved: 0, descriptor: 0 };
            register_ring(self.ring, IORING_UNREGISTER_RING_FDS, &mut update);
        }
    }
}

fn register_ring(ring: RawFd, operation: u32, update: &mut RingNumber) -> bool {
    let update = std::ptr::from_mut(update);
    // SAFETY: one valid `struct io_uring_rsrc_update`, as both operations expect, exclusively
    // borrowed for the call.
    let done = unsafe { libc::syscall(libc::SYS_io_uring_register, ring, operation, update, 1) };
    done == 1
}

#[cfg(test)]
impl crate::testing::Look for Uring {
    fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}
