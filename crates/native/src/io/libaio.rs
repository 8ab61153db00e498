//! libaio: Linux's older asynchronous I/O, without its library.
#![allow(unsafe_code)] // System calls without a wrapper, and the completion ring that they map.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{BATCH, Completion, Descriptor, Io, Opened, SetupError};
use crate::buffers::Buffers;

/// A context of this thread alone.
#[derive(Debug)]
pub(crate) struct Libaio {
    context: Context,
    /// A control block for each slot, filled once but for the offset.
    blocks: Box<[ControlBlock]>,
    /// What the kernel has not taken yet: `waiting[first..]`, addresses in `blocks`.
    waiting: Vec<usize>,
    first: usize,
    /// What the last call of io_getevents fetched.
    events: [Event; BATCH],
    fetched: usize,
    /// A read that the kernel refused to begin.
    refused: Option<Completion>,
    buffers: Buffers,
    target: OwnedFd,
}

/// `struct iocb` of linux/aio_abi.h, little endian.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key_and_flags: u64,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

const IOCB_CMD_PREAD: u16 = 0;

/// `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    result2: i64,
}

impl Io for Libaio {
    const NAME: &'static str = "libaio";

    fn open(target: OwnedFd, depth: u16, length: u32) -> Result<Opened<Self>, SetupError> {
        let (context, possible) = Context::with_room_for(depth)?;
        let mut shortfalls = Vec::new();
        if possible < depth {
            shortfalls.push(format!(
                "iodepth={possible} instead of {depth}: fs.aio-max-nr is used up; raise it with \
                 `sysctl fs.aio-max-nr`"
            ));
        }
        let depth = possible;
        let buffers =
            Buffers::new(depth.into(), length).map_err(SetupError::of("mmap of the buffers"))?;
        let io = Self {
            context,
            blocks: vec![ControlBlock::default(); depth.into()].into(),
            waiting: Vec::with_capacity(usize::from(depth)),
            first: 0,
            events: [Event::default(); BATCH],
            fetched: 0,
            refused: None,
            buffers,
            target,
        };
        Ok(Opened { io, depth, registered_buffers: None, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: &[Descriptor]) {
        if self.first > 0 {
            self.waiting.drain(..self.first);
            self.first = 0;
        }
        for &Descriptor { offset, length, slot } in batch {
            let block = &mut self.blocks[usize::from(slot)];
            *block = ControlBlock {
                data: slot.into(),
                opcode: IOCB_CMD_PREAD,
                descriptor: self.target.as_raw_fd() as u32,
                buffer: self.buffers.lend(slot, length) as u64,
                length: length.into(),
                offset: offset as i64,
                ..ControlBlock::default()
            };
            self.waiting.push(ptr::from_mut(block).expose_provenance());
        }
    }

    #[inline]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        let waiting = &self.waiting[self.first..];
        if !waiting.is_empty() {
            match self.context.submit(waiting) {
                Ok(taken) => self.first += taken,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::EAGAIN) => {}
                    // The others are about the first read: it fails, the rest goes on.
                    errno => {
                        let into = waiting[0] - self.blocks.as_ptr().addr();
                        let slot = (into / size_of::<ControlBlock>()) as u16;
                        let result = -i64::from(errno.unwrap_or(libc::EIO));
                        self.refused = Some(Completion { slot, result });
                        self.first += 1;
                        return Ok(());
                    }
                },
            }
        }
        let begun = self.buffers.lent() > self.waiting.len() - self.first;
        if wait > 0 && begun && self.context.ring().is_none_or(|ring| ring.is_empty()) {
            self.fetched = self.context.wait(&mut self.events)?;
        }
        Ok(())
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { context, events, fetched, refused, buffers, .. } = self;
        let fetched = events[..std::mem::take(fetched)].iter().copied();
        fetched
            .chain(context.ring().into_iter().flatten())
            .map(|event| Completion { slot: event.data as u16, result: event.result })
            .chain(refused.take())
            .inspect(|_| buffers.take_back())
    }
}

/// An `aio_context_t`: the address where the kernel maps the completion ring.
#[derive(Debug)]
struct Context(u64);

impl Context {
    /// A context for `depth` reads, or for as many as `fs.aio-max-nr` leaves:
    /// EAGAIN says that it does not leave so many.
    fn with_room_for(depth: u16) -> Result<(Self, u16), SetupError> {
        let mut possible = depth.max(1);
        loop {
            let mut context = 0_u64;
            // SAFETY: `context` is a writable aio_context_t and zero, as io_setup(2) asks.
            let failed = unsafe {
                libc::syscall(libc::SYS_io_setup, u32::from(possible), &raw mut context) != 0
            };
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                _ if !failed => return Ok((Self(context), possible)),
                Some(libc::EAGAIN) if possible > 1 => possible /= 2,
                _ => return Err(SetupError::of("io_setup")(error)),
            }
        }
    }

    #[inline]
    fn submit(&self, blocks: &[usize]) -> io::Result<usize> {
        // SAFETY: addresses of control blocks that their owner keeps until the kernel has copied
        // them, in this call; their buffers are lent until their completion is seen.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_submit, self.0, blocks.len(), blocks.as_ptr()) };
        usize::try_from(taken).map_err(|_| io::Error::last_os_error())
    }

    /// Waits for one event at least and fetches what is there.
    fn wait(&self, events: &mut [Event]) -> io::Result<usize> {
        let forever = ptr::null::<libc::timespec>();
        // SAFETY: `events` is writable for as many events as it is said to hold.
        let fetched = unsafe {
            let (room, to) = (events.len(), events.as_mut_ptr());
            libc::syscall(libc::SYS_io_getevents, self.0, 1_usize, room, to, forever)
        };
        match usize::try_from(fetched) {
            Ok(fetched) => Ok(fetched),
            Err(_) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => Ok(0),
                error => Err(error),
            },
        }
    }

    /// The completion ring, if it is of the kind that may be read in user space.
    #[inline]
    fn ring(&mut self) -> Option<Completed<'_>> {
        let ring = ptr::with_exposed_provenance::<RingHeader>(self.0 as usize);
        // SAFETY: the kernel maps the ring at the context's address until io_destroy, and its
        // header has had these fields since Linux 2.5 (fs/aio.c, struct aio_ring).
        let header = unsafe { &*ring };
        if header.magic != RING_MAGIC || header.incompatible != 0 {
            return None;
        }
        let head = header.head.load(Ordering::Relaxed);
        let tail = header.tail.load(Ordering::Acquire);
        Some(Completed { header, events: ring.wrapping_add(1).cast(), head, tail })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: ours; no ring of it is borrowed. It waits for what is in
        // flight, so the worker does not drop a context that is not answered.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

const RING_MAGIC: u32 = 0xa10a_10a1;

/// `struct aio_ring`, events following.
#[repr(C)]
#[derive(Debug)]
struct RingHeader {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

/// The events between head and tail, as they were when it was made; gives
/// them back to the kernel when it is dropped.
struct Completed<'a> {
    header: &'a RingHeader,
    events: *const Event,
    head: u32,
    tail: u32,
}

impl Completed<'_> {
    const fn is_empty(&self) -> bool {
        self.head == self.tail
    }
}

impl Iterator for Completed<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        if self.is_empty() || self.head >= self.header.entries {
            return None;
        }
        // SAFETY: head is below the ring's entries and before the tail, which was loaded with
        // acquire: the kernel wrote this event and does not touch it until the head passes it.
        let event = unsafe { self.events.wrapping_add(self.head as usize).read() };
        self.head = if self.head + 1 == self.header.entries { 0 } else { self.head + 1 };
        Some(event)
    }
}

impl Drop for Completed<'_> {
    #[inline]
    fn drop(&mut self) {
        self.header.head.store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
impl crate::testing::Look for Libaio {
    fn buffers(&self) -> &Buffers {
        &self.buffers
    }
}
