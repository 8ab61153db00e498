//! Engine `io_uring_cmd`: NVMe passthrough via io_uring, bypassing the block layer.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use super::files::Files;
use super::nvme_command::{NVME_URING_CMD_IO, Namespace, NvmeEntry, errno_of};
use super::ring::{Ring, head};
use super::sync_ops::Aside;
use super::uring::{fitting_depth, register, register_files};
use super::{
    Character, Completion, Descriptor, Io, Opened, Operation, Rights, Setup, SetupError,
    try_polling,
};
use crate::buffers::Buffers;

// linux/io_uring.h
const OP_URING_CMD: u8 = 46;
const IOSQE_FIXED_FILE: u8 = 1 << 0;
const URING_CMD_FIXED: u32 = 1 << 0;

/// Flag in user data: the slot is one of `ranges`.
const TRIM: u64 = 1 << 16;

/// A ring of NVMe commands, private to this thread.
///
/// The kernel checks neither offsets nor the effect of a command; so only the commands of
/// `nvme_command` exist, guarded by [`Rights`].
#[derive(Debug)]
pub(crate) struct UringCmd {
    // Dropped in this order: the ring first, then what it works on.
    ring: Ring<NvmeEntry>,
    batch: u32,
    rights: Rights,
    namespace: Namespace,
    /// First eight bytes of every entry.
    head: u64,
    /// log2 of the buffers per registered piece.
    piece_shift: Option<u32>,
    buffers: Buffers,
    /// Ranges of trims, one per slot: the device reads them while they are in flight. Kept mapped,
    /// like buffers, if it never answers.
    ranges: Buffers,
    aside: Aside,
    _device: OwnedFd,
    /// The claim on the block device.
    files: Files,
}

impl Io for UringCmd {
    const NAME: &'static str = "io_uring_cmd";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let mut shortfalls = Vec::new();
        let depth = fitting_depth(setup.depth, &mut shortfalls);
        let buffers = setup.buffers(depth)?;
        let Setup { files, character, options, writable, length, .. } = setup;
        let missing = "io_uring_cmd, which needs an NVMe generic character device (/dev/ng0n1)";
        let Character { device, nsid, lba_shift } =
            character.ok_or_else(|| SetupError::invalid(missing))?;
        if nsid == 0 || nsid == u32::MAX || !(9..=31).contains(&lba_shift) {
            return Err(SetupError::invalid(
                "io_uring_cmd on a namespace of that number or format",
            ));
        }
        let files = Files::new(files, Vec::new())?;
        if files.len() > 1 {
            return Err(SetupError::invalid("io_uring_cmd, which takes one namespace a job"));
        }
        let ring = Ring::new(depth, &options)
            .map_err(SetupError::of("io_uring_setup for passthrough (Linux 5.19 or later)"))?;
        let ranges = Buffers::new(if writable { depth.into() } else { 0 }, 16)
            .map_err(SetupError::of("mmap of the buffers"))?;
        let device_number = device.as_raw_fd();
        let registered_files =
            options.registered_files && register_files(&ring, &[device_number], &mut shortfalls);
        let piece_shift = register(&ring, &buffers, &options, &mut shortfalls);
        let head = match registered_files {
            true => head(OP_URING_CMD, IOSQE_FIXED_FILE, 0),
            false => head(OP_URING_CMD, 0, device_number as u32),
        };
        let mut io = Self {
            ring,
            batch: options.batch.max(1).into(),
            rights: Rights { writable },
            namespace: Namespace { nsid, lba_shift },
            head,
            piece_shift,
            buffers,
            ranges,
            aside: Aside::new(depth),
            _device: device,
            files,
        };
        if options.polled {
            try_polling(&mut io, length)?;
        }
        let registered_buffers = Some(piece_shift.is_some());
        Ok(Opened { io, depth, registered_buffers, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = Descriptor> + Clone) {
        self.rights.check(batch.clone());
        for descriptor in batch {
            let Descriptor { length, slot, file, operation, .. } = descriptor;
            assert!(file == 0, "there is one namespace");
            let (data, tag) = match operation {
                Operation::Read | Operation::Write => {
                    (self.buffers.lender().lend(slot, length), u64::from(length) << 32)
                }
                Operation::Trim => {
                    self.put_range(&descriptor);
                    (self.ranges.lender().lend(slot, 16), u64::from(length) << 32 | TRIM)
                }
                Operation::Sync | Operation::DataSync => (self.buffers.lender().lend(slot, 0), 0),
            };
            let fixed = self.piece_shift.filter(|_| operation <= Operation::Write);
            let mut entries = self.ring.entries();
            let entry = entries.next();
            let address = data.expose_provenance() as u64;
            let possible = entry.command.set(self.namespace, &descriptor, address);
            entry.head = self.head;
            entry.command_operation = NVME_URING_CMD_IO;
            entry.command_flags = if fixed.is_some() { URING_CMD_FIXED } else { 0 };
            entry.buffer = fixed.map_or(0, |shift| slot >> shift);
            // A success returns 0: the length travels in the user data.
            entry.user_data = u64::from(slot) | tag;
            if possible {
                entries.publish();
            } else {
                // The entry is not published, and reused for the next I/O.
                let of =
                    if operation == Operation::Trim { &mut self.ranges } else { &mut self.buffers };
                of.take_back(slot);
                self.aside.end(Completion { slot, result: -i64::from(libc::EINVAL) });
            }
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
        let Self { ring, buffers, ranges, aside, .. } = self;
        let mut of_ring = ring.completions();
        std::iter::from_fn(move || match of_ring.next() {
            Some((user_data, status)) => {
                let slot = user_data as u16;
                let of = if user_data & TRIM == 0 { &mut *buffers } else { &mut *ranges };
                of.take_back(slot);
                Some(Completion { slot, result: result_of(user_data, status) })
            }
            None => aside.take(),
        })
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl UringCmd {
    /// Stores the range of a trim for the device to fetch.
    #[cold]
    fn put_range(&mut self, descriptor: &Descriptor) {
        if let Some(range) = self.namespace.range(descriptor) {
            self.ranges.slot_mut(descriptor.slot, 16).copy_from_slice(&range);
        }
    }
}

/// The result of a completion: the length from its user data, or a negative errno.
#[inline]
fn result_of(user_data: u64, status: i32) -> i64 {
    match status {
        0 => (user_data >> 32) as i64,
        ..0 => status.into(),
        _ => -i64::from(errno_of(status as u16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_lengths_or_errnos() {
        let read = 7 | 4096 << 32;
        assert_eq!(result_of(read, 0), 4096);
        assert_eq!(result_of(7, 0), 0, "a flush moves nothing");
        assert_eq!(result_of(read, -libc::EINTR), -i64::from(libc::EINTR));
        assert_eq!(result_of(read, 0x4281), -i64::from(libc::ENODATA));
        assert!((1..=0xffff).all(|status| result_of(read, status) != 0));
    }
}
