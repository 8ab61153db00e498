//! Engine `io_uring`, with every optimization that the running kernel supports.
#![allow(unsafe_code)] // Buffers are registered by address.

use std::io;
use std::time::Duration;

use iodyno_model::{Caveat, DepthLimit, Failure};
use rustix::process::{Resource, getrlimit};

use super::files::Files;
use super::marked::Marking;
use super::ring::{Entry, FileEntry, MOST_ENTRIES, Ring, head};
use super::sync_ops::Aside;
use super::{
    Completion, Descriptor, EngineOptions, Io, Opened, Operation, Rights, Setup, SetupError, What,
    try_polling,
};
use crate::buffers::Buffers;
use crate::failure::error_name;

/// Largest piece of memory that the kernel registers (io_uring/rsrc.c).
const LARGEST_PIECE: usize = 1 << 30;

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
    ring: Ring<FileEntry>,
    batch: u32,
    rights: Rights,
    /// The highest operation that `heads` may be used for: on a read-only target no write gets past
    /// [`Rights`].
    last: Operation,
    /// First eight bytes of entries: for each file those of reads, then of writes.
    heads: Box<[u64]>,
    /// `RWF_*` of reads and of writes, positioned as in [`FileEntry::length_and_flags`].
    flags: [u64; 2],
    /// log2 of the buffers per registered piece, if there are several pieces: otherwise the piece's
    /// index is the initial zero of each entry.
    piece_shift: Option<u32>,
    /// Syncs cannot be polled for.
    polled: bool,
    buffers: Buffers,
    aside: Aside,
    files: Files,
}

impl Io for Uring {
    const NAME: &'static str = "io_uring";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let mut shortfalls = Vec::new();
        let depth = fitting_depth(setup.depth, &mut shortfalls);
        let buffers = setup.buffers(depth)?;
        let Setup { files, claims, options, writable, length, .. } = setup;
        let files = Files::new(files, claims)?;
        let ring = Ring::new(depth, &options).map_err(SetupError::of("io_uring_setup"))?;
        let raw = files.raw();
        let registered_files =
            options.registered_files && register_files(&ring, &raw, &mut shortfalls);
        let piece_shift = register(&ring, &buffers, &options, &mut shortfalls);
        let mut entry_flags = if registered_files { IOSQE_FIXED_FILE } else { 0 };
        if options.force_async == 1 {
            entry_flags |= IOSQE_ASYNC;
        }
        let (read, write) = match piece_shift {
            Some(_) => (OP_READ_FIXED, OP_WRITE_FIXED),
            None => (OP_READ, OP_WRITE),
        };
        let of_file = |(index, raw): (usize, &i32)| {
            let file = if registered_files { index as u32 } else { *raw as u32 };
            [read, write].map(|opcode| head(opcode, entry_flags, file))
        };
        let heads = raw.iter().enumerate().flat_map(of_file).collect();
        let mut io = Self {
            ring,
            batch: options.batch.max(1).into(),
            rights: Rights { writable },
            last: if writable { Operation::Write } else { Operation::Read },
            heads,
            flags: options.rw_flags().map(|flags| u64::from(flags) << 32),
            // Without registered buffers the index is ignored.
            piece_shift: piece_shift.filter(|shift| depth > 1 << shift),
            polled: options.polled,
            buffers,
            aside: Aside::new(depth),
            files,
        };
        if options.polled {
            try_polling(&mut io, length)?;
        }
        let registered_buffers = Some(piece_shift.is_some());
        Ok(Opened { io, depth, registered_buffers, shortfalls })
    }

    #[inline(always)]
    fn queue(&mut self, mut batch: impl Iterator<Item = Descriptor> + Clone) {
        while let Some(other) = self.queue_plain(&mut batch) {
            self.queue_other(other);
        }
    }

    #[inline(always)]
    fn enter(&mut self, wait: u32) -> io::Result<()> {
        let done = self.aside.carry_out(&self.files);
        self.ring.enter(self.batch, wait.saturating_sub(done))
    }

    #[inline(always)]
    fn enter_within(&mut self, wait: u32, most: Duration) -> io::Result<()> {
        let done = self.aside.carry_out(&self.files);
        self.ring.enter_within(self.batch, wait.saturating_sub(done), most)
    }

    #[inline]
    fn completions(&mut self) -> impl Iterator<Item = Completion> {
        let Self { ring, buffers, aside, .. } = self;
        let (mut of_ring, mut lender) = (ring.completions(), buffers.lender());
        std::iter::from_fn(move || match of_ring.next() {
            Some((user_data, result)) => {
                let slot = user_data as u16;
                lender.take_back(slot);
                Some(Completion { slot, result: result.into() })
            }
            None => aside.take(),
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
    fn queue_plain(&mut self, batch: &mut impl Iterator<Item = Descriptor>) -> Option<Descriptor> {
        let (mut entries, mut lender) = (self.ring.entries(), self.buffers.lender());
        let (heads, flags) = (&*self.heads, self.flags);
        let (piece_shift, last) = (self.piece_shift, self.last);
        // Properties shared with the previous I/O are looked up once.
        let (mut alike, mut head, mut length_and_flags) = (What::NONE, 0, 0);
        for descriptor in batch {
            let (Descriptor { offset, slot, .. }, what) = (descriptor, descriptor.what());
            if what != alike {
                // Without this, each field is loaded separately for every I/O.
                let what = std::hint::black_box(what);
                let (length, file, operation) = (what.length(), what.file(), what.operation());
                if operation > last {
                    let descriptor = Descriptor { offset, length, slot, file, operation };
                    // Before anything is published.
                    self.rights.check(std::iter::once(descriptor));
                    entries.publish();
                    return Some(descriptor);
                }
                head = heads[2 * usize::from(file) + operation as usize];
                length_and_flags = u64::from(length) | flags[operation as usize];
                alike = what;
            }
            let address = lender.lend(slot, alike.length());
            // The buffer is at least `length` bytes long and lent until completion; `Buffers` stays
            // mapped for good if that never comes.
            let entry = entries.next();
            entry.head = head;
            entry.offset = offset;
            entry.address = address.expose_provenance() as u64;
            entry.length_and_flags = length_and_flags;
            entry.user_data = slot.into();
            if let Some(shift) = piece_shift {
                entry.buffer = (slot >> shift).into();
            }
        }
        entries.publish();
        None
    }

    /// Queues a trim or a sync.
    #[cold]
    fn queue_other(&mut self, descriptor: Descriptor) {
        if descriptor.operation == Operation::Trim || self.polled {
            return self.aside.queue(descriptor);
        }
        self.buffers.lender().lend(descriptor.slot, 0);
        let mut entries = self.ring.entries();
        sync(entries.next(), self.heads[2 * usize::from(descriptor.file)], &descriptor);
        entries.publish();
    }
}

impl Marking for Uring {
    fn queue_marked(&mut self, descriptor: Descriptor, priority: u16, to_worker: bool) {
        let writes = descriptor.operation == Operation::Write;
        let at = 2 * usize::from(descriptor.file) + usize::from(writes);
        let (plain, flags) = (self.heads[at], if to_worker { IOSQE_ASYNC } else { 0 });
        self.heads[at] |= u64::from(flags) << 8 | u64::from(priority) << 16;
        self.queue(std::iter::once(descriptor));
        self.heads[at] = plain;
    }
}

/// Makes `entry` a sync of the file of `head`.
fn sync(entry: &mut FileEntry, head: u64, descriptor: &Descriptor) {
    let data_only = descriptor.operation == Operation::DataSync;
    entry.head = head & !0xff | u64::from(OP_FSYNC);
    (entry.offset, entry.address, entry.buffer) = (0, 0, 0);
    entry.length_and_flags = if data_only { u64::from(FSYNC_DATASYNC) << 32 } else { 0 };
    entry.user_data = descriptor.slot.into();
}

/// Limits the depth to the size of a ring.
pub(super) fn fitting_depth(depth: u16, shortfalls: &mut Vec<Caveat>) -> u16 {
    let possible = depth.clamp(1, MOST_ENTRIES);
    if possible < depth {
        let (asked, limit) = (depth.into(), DepthLimit::RingSize);
        shortfalls.push(Caveat::DepthReduced { asked, possible: possible.into(), limit });
    }
    possible
}

/// Registers the targets. Returns whether that succeeded; a failure becomes a caveat.
pub(super) fn register_files<E: Entry>(
    ring: &Ring<E>,
    files: &[i32],
    shortfalls: &mut Vec<Caveat>,
) -> bool {
    let refused = |error| Caveat::FilesNotRegistered { why: refused(&error) };
    ring.register_files(files).map_err(|error| shortfalls.push(refused(error))).is_ok()
}

/// Registers the buffers if requested; a failure becomes a caveat. Returns log2 of the buffers per
/// registered piece; `None`: not registered.
pub(super) fn register<E: Entry>(
    ring: &Ring<E>,
    buffers: &Buffers,
    options: &EngineOptions,
    shortfalls: &mut Vec<Caveat>,
) -> Option<u32> {
    if !options.fixed_buffers {
        return None;
    }
    let Some((pieces, shift)) = buffers.pieces(LARGEST_PIECE) else {
        shortfalls.push(Caveat::BlockTooLargeToRegister);
        return None;
    };
    // SAFETY: the pieces are the memory of `buffers`, which outlives the ring.
    let registered = unsafe { ring.register_buffers(&pieces) };
    let refused = |error| Caveat::BuffersNotRegistered {
        bytes: buffers.size() as u64,
        limit_bytes: getrlimit(Resource::Memlock).current,
        why: refused(&error),
    };
    registered.map(|()| shift).map_err(|error| shortfalls.push(refused(error))).ok()
}

/// The kernel's reason for refusing a registration.
fn refused(error: &io::Error) -> Failure {
    Failure::of(error.raw_os_error().unwrap_or(0), error_name(error))
}
