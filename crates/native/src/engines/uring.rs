//! Engine `io_uring`, with every optimization that the running kernel supports.
#![allow(unsafe_code)] // Buffers are registered by address.

use std::io;
use std::time::Duration;

use iodyno_model::{Caveat, DepthLimit, Failure};
use rustix::process::{Resource, getrlimit};

use super::files::Files;
use super::per_io_options::{IoOptions, PerIoOptions};
use super::ring::{MAX_ENTRIES, Ring, SqEntry, Sqe, head};
use super::sync_ops::SyncOps;
use super::{
    Completion, Engine, EngineOptions, IoShape, IoUnit, Opened, Operation, Rights, Setup,
    SetupError, check_polling,
};
use crate::buffers::Buffers;
use crate::io_failure::error_name;

/// Largest piece of memory that the kernel registers (io_uring/rsrc.c).
const MAX_IOVEC_BYTES: usize = 1 << 30;

// linux/io_uring.h
const OP_FSYNC: u8 = 3;
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
const IOSQE_FIXED_FILE: u8 = 1 << 0;
const IOSQE_ASYNC: u8 = 1 << 4;
const FSYNC_DATASYNC: u32 = 1 << 0;

/// A ring, private to this thread.
#[derive(Debug)]
pub(crate) struct Uring {
    // Dropped in this order: the ring first, then what it works on.
    ring: Ring<Sqe>,
    batch: u32,
    rights: Rights,
    /// The highest operation that `heads` may be used for: on a read-only target no write gets past
    /// [`Rights`].
    max_operation: Operation,
    /// First eight bytes of entries: for each file those of reads, then of writes.
    heads: Box<[u64]>,
    /// `RWF_*` of reads and of writes, positioned as in [`Sqe::length_and_flags`].
    flags: [u64; 2],
    /// log2 of the buffers per registered piece, if there are several pieces: otherwise the piece's
    /// index is the initial zero of each entry.
    buf_index_shift: Option<u32>,
    /// Syncs cannot be polled for.
    polled: bool,
    buffers: Buffers,
    sync_ops: SyncOps,
    files: Files,
}

impl Engine for Uring {
    const NAME: &'static str = "io_uring";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let mut shortfalls = Vec::new();
        let depth = clamp_depth(setup.depth, &mut shortfalls);
        let buffers = setup.buffers(depth)?;
        let Setup { files, claims, options, writable, length, .. } = setup;
        let files = Files::new(files, claims)?;
        let ring = Ring::new(depth, &options).map_err(SetupError::during("io_uring_setup"))?;
        let raw = files.raw_fds();
        let registered_files =
            options.registered_files && register_files(&ring, &raw, &mut shortfalls);
        let buf_index_shift = register_buffers(&ring, &buffers, &options, &mut shortfalls);
        let mut sqe_flags = if registered_files { IOSQE_FIXED_FILE } else { 0 };
        if options.force_async == 1 {
            sqe_flags |= IOSQE_ASYNC;
        }
        let (read, write) = match buf_index_shift {
            Some(_) => (OP_READ_FIXED, OP_WRITE_FIXED),
            None => (OP_READ, OP_WRITE),
        };
        let of_file = |(index, raw): (usize, &i32)| {
            let file = if registered_files { index as u32 } else { *raw as u32 };
            [read, write].map(|opcode| head(opcode, sqe_flags, file))
        };
        let heads = raw.iter().enumerate().flat_map(of_file).collect();
        let mut engine = Self {
            ring,
            batch: options.batch.max(1).into(),
            rights: Rights { writable },
            max_operation: if writable { Operation::Write } else { Operation::Read },
            heads,
            flags: options.rw_flags().map(|flags| u64::from(flags) << 32),
            // Without registered buffers the index is ignored.
            buf_index_shift: buf_index_shift.filter(|shift| depth > 1 << shift),
            polled: options.polled,
            buffers,
            sync_ops: SyncOps::new(depth),
            files,
        };
        if options.polled {
            check_polling(&mut engine, length)?;
        }
        let registered_buffers = Some(buf_index_shift.is_some());
        Ok(Opened { engine, depth, registered_buffers, shortfalls })
    }

    #[inline(always)]
    fn queue(&mut self, mut batch: impl Iterator<Item = IoUnit> + Clone) {
        while let Some(other) = self.queue_transfers(&mut batch) {
            self.queue_sync_or_trim(other);
        }
    }

    #[cold]
    fn queue_rest(&mut self, unit: IoUnit, done: u32) {
        self.rights.check(std::iter::once(unit));
        let lent = self.buffers.lender().lend(unit.slot, unit.length);
        let IoUnit { offset, length, slot, file, operation } = unit.rest(done);
        let mut sqes = self.ring.sqe_writer();
        // As in `queue_transfers`, from the byte `done` of the buffer.
        let sqe = sqes.next();
        sqe.head = self.heads[2 * usize::from(file) + operation as usize];
        sqe.offset = offset;
        sqe.address = lent.expose_provenance() as u64 + u64::from(done);
        sqe.length_and_flags = u64::from(length) | self.flags[operation as usize];
        sqe.user_data = slot.into();
        if let Some(shift) = self.buf_index_shift {
            sqe.buf_index = (slot >> shift).into();
        }
        sqes.publish();
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        let done = self.sync_ops.execute(&self.files);
        self.ring.enter(self.batch, wait.saturating_sub(done))
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, timeout: Duration) -> io::Result<()> {
        let done = self.sync_ops.execute(&self.files);
        self.ring.enter_within(self.batch, wait.saturating_sub(done), timeout)
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { ring, buffers, sync_ops, .. } = self;
        let (mut cqes, mut lender) = (ring.completions(), buffers.lender());
        std::iter::from_fn(move || match cqes.next() {
            Some((user_data, result)) => {
                let slot = user_data as u16;
                lender.take_back(slot);
                Some(Completion { slot, result: result.into() })
            }
            None => sync_ops.pop(),
        })
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl Uring {
    /// Fills entries for reads and writes, up to the first operation of another kind, which it
    /// returns.
    #[inline(always)]
    fn queue_transfers(&mut self, batch: &mut impl Iterator<Item = IoUnit>) -> Option<IoUnit> {
        let (mut sqes, mut lender) = (self.ring.sqe_writer(), self.buffers.lender());
        let (heads, flags) = (&*self.heads, self.flags);
        let (buf_index_shift, max_operation) = (self.buf_index_shift, self.max_operation);
        // Properties shared with the previous I/O are looked up once.
        let (mut previous, mut head, mut length_and_flags) = (IoShape::NONE, 0, 0);
        for unit in batch {
            let (IoUnit { offset, slot, .. }, shape) = (unit, unit.shape());
            if shape != previous {
                // Without this, each field is loaded separately for every I/O.
                let shape = std::hint::black_box(shape);
                let (length, file, operation) = (shape.length(), shape.file(), shape.operation());
                if operation > max_operation {
                    let unit = IoUnit { offset, length, slot, file, operation };
                    // Before anything is published.
                    self.rights.check(std::iter::once(unit));
                    sqes.publish();
                    return Some(unit);
                }
                head = heads[2 * usize::from(file) + operation as usize];
                length_and_flags = u64::from(length) | flags[operation as usize];
                previous = shape;
            }
            let address = lender.lend(slot, previous.length());
            // The buffer is at least `length` bytes long and lent until completion; `Buffers` stays
            // mapped for good if that never comes.
            let sqe = sqes.next();
            sqe.head = head;
            sqe.offset = offset;
            sqe.address = address.expose_provenance() as u64;
            sqe.length_and_flags = length_and_flags;
            sqe.user_data = slot.into();
            if let Some(shift) = buf_index_shift {
                sqe.buf_index = (slot >> shift).into();
            }
        }
        sqes.publish();
        None
    }

    /// Queues a trim or a sync.
    #[cold]
    fn queue_sync_or_trim(&mut self, unit: IoUnit) {
        if unit.operation == Operation::Trim || self.polled {
            return self.sync_ops.queue(unit);
        }
        self.buffers.lender().lend(unit.slot, 0);
        let mut sqes = self.ring.sqe_writer();
        fill_fsync(sqes.next(), self.heads[2 * usize::from(unit.file)], &unit);
        sqes.publish();
    }
}

impl PerIoOptions for Uring {
    fn queue_with(&mut self, unit: IoUnit, done: u32, options: IoOptions) {
        let IoOptions { priority, to_kernel_thread } = options;
        let writes = unit.operation == Operation::Write;
        let at = 2 * usize::from(unit.file) + usize::from(writes);
        let (plain, flags) = (self.heads[at], if to_kernel_thread { IOSQE_ASYNC } else { 0 });
        self.heads[at] |= u64::from(flags) << 8 | u64::from(priority) << 16;
        match done {
            0 => self.queue(std::iter::once(unit)),
            _ => self.queue_rest(unit, done),
        }
        self.heads[at] = plain;
    }
}

/// Makes `sqe` a sync of the file of `head`.
fn fill_fsync(sqe: &mut Sqe, head: u64, unit: &IoUnit) {
    let data_only = unit.operation == Operation::DataSync;
    sqe.head = head & !0xff | u64::from(OP_FSYNC);
    (sqe.offset, sqe.address, sqe.buf_index) = (0, 0, 0);
    sqe.length_and_flags = if data_only { u64::from(FSYNC_DATASYNC) << 32 } else { 0 };
    sqe.user_data = unit.slot.into();
}

/// Limits the depth to the size of a ring.
pub(super) fn clamp_depth(depth: u16, shortfalls: &mut Vec<Caveat>) -> u16 {
    let possible = depth.clamp(1, MAX_ENTRIES);
    if possible < depth {
        let (asked, limit) = (depth.into(), DepthLimit::RingSize);
        shortfalls.push(Caveat::DepthReduced { asked, possible: possible.into(), limit });
    }
    possible
}

/// Registers the targets. Returns whether that succeeded; a failure becomes a caveat.
pub(super) fn register_files<E: SqEntry>(
    ring: &Ring<E>,
    files: &[i32],
    shortfalls: &mut Vec<Caveat>,
) -> bool {
    let refused = |error| Caveat::FilesNotRegistered { why: registration_error(&error) };
    ring.register_files(files).map_err(|error| shortfalls.push(refused(error))).is_ok()
}

/// Registers the buffers if requested; a failure becomes a caveat. Returns log2 of the buffers per
/// registered piece; `None`: not registered.
pub(super) fn register_buffers<E: SqEntry>(
    ring: &Ring<E>,
    buffers: &Buffers,
    options: &EngineOptions,
    shortfalls: &mut Vec<Caveat>,
) -> Option<u32> {
    if !options.fixed_buffers {
        return None;
    }
    let Some((iovecs, shift)) = buffers.iovecs(MAX_IOVEC_BYTES) else {
        shortfalls.push(Caveat::BlockTooLargeToRegister);
        return None;
    };
    // SAFETY: the pieces are the memory of `buffers`, which outlives the ring.
    let registered = unsafe { ring.register_buffers(&iovecs) };
    let refused = |error| Caveat::BuffersNotRegistered {
        bytes: buffers.size() as u64,
        limit_bytes: getrlimit(Resource::Memlock).current,
        why: registration_error(&error),
    };
    registered.map(|()| shift).map_err(|error| shortfalls.push(refused(error))).ok()
}

/// The kernel's reason for refusing a registration.
fn registration_error(error: &io::Error) -> Failure {
    Failure::of(error.raw_os_error().unwrap_or(0), error_name(error))
}
