//! Engine `libaio`: Linux's older asynchronous I/O, by direct system calls.
#![allow(unsafe_code)] // System calls without a wrapper, and the ring that the kernel maps.

use std::io;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use iodyno_model::{Caveat, DepthLimit, NotPolled};

use super::files::Files;
use super::per_io_options::{IoOptions, PerIoOptions};
use super::sync_ops::SyncOps;
use super::syscall::{syscall, timespec, to_result};
use super::{Completion, Engine, IoUnit, Opened, Operation, Rights, Setup, SetupError};
use crate::buffers::Buffers;

/// An AIO context, private to this thread.
#[derive(Debug)]
pub(crate) struct Libaio {
    context: Context,
    /// One control block per slot.
    iocbs: Box<[Iocb]>,
    /// Queued but not yet submitted: `waiting[first..]`, addresses in `iocbs`.
    waiting: Vec<usize>,
    first: usize,
    /// Queued or submitted.
    in_flight: usize,
    /// Events of the last io_getevents.
    events: Box<[IoEvent]>,
    fetched: usize,
    batch: usize,
    rights: Rights,
    /// `RWF_*` of reads, and of writes.
    flags: [u32; 2],
    fds: Box<[RawFd]>,
    buffers: Buffers,
    sync_ops: SyncOps,
    files: Files,
}

/// `struct iocb` of linux/aio_abi.h, little endian.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// The `IOCB_CMD_*` of an operation; `None` if there is none.
const fn iocb_cmd(operation: Operation) -> Option<u16> {
    match operation {
        Operation::Read => Some(0),
        Operation::Write => Some(1),
        Operation::Sync => Some(2),
        Operation::DataSync => Some(3),
        Operation::Trim => None,
    }
}

/// `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

impl Engine for Libaio {
    const NAME: &'static str = "libaio";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let (context, possible) = Context::with_depth(setup.depth)?;
        let buffers = setup.buffers(possible)?;
        let Setup { files, claims, depth, options, writable, .. } = setup;
        let files = Files::new(files, claims)?;
        let mut shortfalls = Vec::new();
        if possible < depth {
            let (asked, possible) = (depth.into(), possible.into());
            let limit = DepthLimit::AioMaxNr;
            shortfalls.push(Caveat::DepthReduced { asked, possible, limit });
        }
        if options.polled {
            shortfalls.push(Caveat::NotPolled { why: NotPolled::Libaio });
        }
        let depth = possible;
        let iocb = |slot: u16| Iocb { data: slot.into(), ..Iocb::default() };
        let engine = Self {
            context,
            iocbs: (0..depth).map(iocb).collect(),
            waiting: Vec::with_capacity(depth.into()),
            first: 0,
            in_flight: 0,
            events: vec![IoEvent::default(); depth.into()].into(),
            fetched: 0,
            batch: options.batch.max(1).into(),
            rights: Rights { writable },
            flags: options.rw_flags(),
            fds: files.raw_fds().into(),
            buffers,
            sync_ops: SyncOps::new(depth),
            files,
        };
        Ok(Opened { engine, depth, registered_buffers: None, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        if self.first > 0 {
            self.waiting.drain(..self.first);
            self.first = 0;
        }
        let Self { iocbs, waiting, in_flight, flags, fds, buffers, sync_ops, .. } = self;
        let (mut lender, fds) = (buffers.lender(), &**fds);
        for unit in batch {
            let IoUnit { offset, length, slot, file, operation } = unit;
            let Some(opcode) = iocb_cmd(operation) else {
                sync_ops.queue(unit);
                continue;
            };
            let address = lender.lend(slot, length).expose_provenance() as u64;
            let iocb = &mut iocbs[usize::from(slot)];
            iocb.opcode = opcode;
            iocb.fd = fds[usize::from(file)] as u32;
            if operation <= Operation::Write {
                iocb.rw_flags = flags[operation as usize];
                (iocb.buffer, iocb.length, iocb.offset) = (address, length.into(), offset as i64);
            } else {
                // The kernel refuses a sync with nonzero fields.
                (iocb.rw_flags, iocb.buffer, iocb.length, iocb.offset) = (0, 0, 0, 0);
            }
            waiting.push(ptr::from_mut(iocb).expose_provenance());
            *in_flight += 1;
        }
    }

    #[cold]
    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.queue(std::iter::once(unit));
        // Nothing is submitted before `enter`.
        let iocb = &mut self.iocbs[usize::from(unit.slot)];
        iocb.buffer += u64::from(done);
        iocb.length -= u64::from(done);
        iocb.offset += i64::from(done);
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        self.enter_for(wait, None)
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        self.enter_for(wait, Some(timeout))
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { context, events, fetched, in_flight, sync_ops, buffers, .. } = self;
        let mut fetched = events[..std::mem::take(fetched)].iter().copied();
        let mut ring = context.ring();
        std::iter::from_fn(move || {
            // Fetched events are older than those in the ring.
            match fetched.next().or_else(|| ring.as_mut()?.next()) {
                Some(IoEvent { data, result, .. }) => {
                    let slot = data as u16;
                    buffers.take_back(slot);
                    *in_flight -= 1;
                    Some(Completion { slot, result })
                }
                None => sync_ops.pop(),
            }
        })
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl PerIoOptions for Libaio {
    fn queue_with(&mut self, unit: IoUnit, done: u32, IoOptions { priority, .. }: IoOptions) {
        const IOCB_FLAG_IOPRIO: u32 = 1 << 1;
        let iocb = &mut self.iocbs[usize::from(unit.slot)];
        iocb.flags = if priority > 0 { IOCB_FLAG_IOPRIO } else { 0 };
        iocb.priority = priority.cast_signed();
        match done {
            0 => self.queue(std::iter::once(unit)),
            _ => self.queue_rest(unit, done),
        }
    }
}

impl Libaio {
    /// As [`Engine::enter`], with an optional time limit.
    #[inline(always)]
    fn enter_for(&mut self, wait: u32, timeout: Option<Duration>) -> io::Result<()> {
        while self.first < self.waiting.len() {
            let last = self.waiting.len().min(self.first + self.batch);
            match self.context.submit(&self.waiting[self.first..last]) {
                Ok(taken) if taken > 0 => self.first += taken,
                Ok(_) => break,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::EAGAIN) => break,
                    errno => self.fail_first(errno.unwrap_or(libc::EIO)),
                },
            }
        }
        let done = self.sync_ops.execute(&self.files);
        let submitted = self.in_flight - (self.waiting.len() - self.first);
        let wait = wait.saturating_sub(done).min(submitted as u32);
        if wait > 0 && self.context.ring().is_none_or(|ring| ring.len() < wait) {
            self.fetched = self.context.wait(wait as usize, &mut self.events, timeout)?;
        }
        Ok(())
    }

    /// Handles a refused submission: the first waiting I/O fails, the rest goes on. A sync that the
    /// kernel cannot do asynchronously is executed synchronously.
    #[cold]
    fn fail_first(&mut self, errno: i32) {
        let into = self.waiting[self.first] - self.iocbs.as_ptr().addr();
        let iocb = &self.iocbs[into / size_of::<Iocb>()];
        let slot = iocb.data as u16;
        self.first += 1;
        self.in_flight -= 1;
        self.buffers.take_back(slot);
        let operation = [Operation::Sync, Operation::DataSync]
            .into_iter()
            .find(|sync| iocb_cmd(*sync) == Some(iocb.opcode) && errno == libc::EINVAL);
        let file = self.fds.iter().position(|raw| *raw as u32 == iocb.fd);
        match (operation, file) {
            (Some(operation), Some(file)) => {
                let file = file as u16;
                self.sync_ops.queue(IoUnit { slot, file, operation, ..IoUnit::default() });
            }
            _ => self.sync_ops.complete(Completion { slot, result: -i64::from(errno) }),
        }
    }
}

/// An `aio_context_t`: the address where the kernel maps the completion ring.
#[derive(Debug)]
struct Context(u64);

impl Context {
    /// A context for `depth` I/Os, or for as many as `fs.aio-max-nr` leaves (EAGAIN means fewer).
    fn with_depth(depth: u16) -> Result<(Self, u16), SetupError> {
        let mut possible = depth.max(1);
        loop {
            let mut context = 0_u64;
            let address = ptr::from_mut(&mut context).expose_provenance();
            // SAFETY: `context` is a writable aio_context_t and zero, as io_setup(2) requires.
            let result =
                unsafe { syscall(libc::SYS_io_setup, [possible.into(), address, 0, 0, 0, 0]) };
            match to_result(result) {
                Ok(_) => return Ok((Self(context), possible)),
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && possible > 1 => {
                    possible /= 2;
                }
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                    let action = "io_setup: fs.aio-max-nr is used up, raise it or lower iodepth";
                    return Err(SetupError::during(action)(error));
                }
                Err(error) => return Err(SetupError::during("io_setup")(error)),
            }
        }
    }

    #[inline(always)]
    fn submit(&self, iocbs: &[usize]) -> io::Result<usize> {
        let arguments = [self.0 as usize, iocbs.len(), iocbs.as_ptr().expose_provenance(), 0, 0, 0];
        // SAFETY: the control blocks live until the kernel has copied them, in this call; their
        // buffers are lent until completion.
        to_result(unsafe { syscall(libc::SYS_io_submit, arguments) })
    }

    /// Waits for `min_events` events, at most for `timeout`, and fetches all that are available.
    #[inline(always)]
    fn wait(
        &self,
        min_events: usize,
        events: &mut [IoEvent],
        timeout: Option<Duration>,
    ) -> io::Result<usize> {
        let (room, to) = (events.len(), events.as_mut_ptr().expose_provenance());
        let timeout = timeout.map(timespec);
        let timeout =
            timeout.as_ref().map_or(0, |timeout| ptr::from_ref(timeout).expose_provenance());
        let arguments = [self.0 as usize, min_events, room, to, timeout, 0];
        // SAFETY: `events` is writable for `room` events. The timeout is null, for none, or a
        // timespec of this function.
        let fetched = unsafe { syscall(libc::SYS_io_getevents, arguments) };
        match to_result(fetched) {
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(0),
            fetched => fetched,
        }
    }

    /// The completion ring, if its format permits reads from user space.
    #[inline]
    fn ring(&mut self) -> Option<RingEvents<'_>> {
        let ring = ptr::with_exposed_provenance::<RingHeader>(self.0 as usize);
        // SAFETY: the kernel maps the ring at the context's address until io_destroy, and its
        // header has had these fields since Linux 2.5 (fs/aio.c, struct aio_ring).
        let header = unsafe { &*ring };
        if header.magic != RING_MAGIC || header.incompatible != 0 {
            return None;
        }
        let head = header.head.load(Ordering::Relaxed);
        let tail = header.tail.load(Ordering::Acquire);
        Some(RingEvents { header, events: ring.wrapping_add(1).cast(), head, tail })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: our own context, whose ring is not borrowed. io_destroy waits for I/O in flight,
        // so the worker never drops a context with unanswered I/O.
        unsafe { syscall(libc::SYS_io_destroy, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

const RING_MAGIC: u32 = 0xa10a_10a1;

/// `struct aio_ring`, followed by the events.
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

/// The events between head and tail at its creation; returns them to the kernel on drop.
struct RingEvents<'a> {
    header: &'a RingHeader,
    events: *const IoEvent,
    head: u32,
    tail: u32,
}

impl RingEvents<'_> {
    const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    const fn len(&self) -> u32 {
        // Both are below the ring's entries.
        if self.tail >= self.head {
            self.tail - self.head
        } else {
            self.header.entries - self.head + self.tail
        }
    }
}

impl Iterator for RingEvents<'_> {
    type Item = IoEvent;

    #[inline]
    fn next(&mut self) -> Option<IoEvent> {
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

impl Drop for RingEvents<'_> {
    #[inline]
    fn drop(&mut self) {
        self.header.head.store(self.head, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::thread_usage;

    #[test]
    fn a_wait_has_an_end_and_takes_no_cpu() {
        let (context, _) = Context::with_depth(4).unwrap();
        let mut events = [IoEvent::default(); 4];
        let timeout = Duration::from_millis(200);
        let (begun, before) = (std::time::Instant::now(), thread_usage());
        assert_eq!(context.wait(1, &mut events, Some(timeout)).unwrap(), 0);
        assert!(begun.elapsed() >= timeout);
        let used = thread_usage().since(before);
        assert!(used.cpu_ns() < 50_000_000, "{used:?}");
    }
}
