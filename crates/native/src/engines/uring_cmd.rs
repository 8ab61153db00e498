//! Engine `io_uring_cmd`: NVMe passthrough via io_uring, bypassing the block layer.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use super::files::Files;
use super::nvme_command::{NVME_URING_CMD_IO, Namespace, NvmeSqe, status_to_errno};
use super::ring::{Ring, head};
use super::sync_ops::SyncOps;
use super::uring::{clamp_depth, register_buffers, register_files};
use super::{
    Completion, Engine, IoUnit, NvmeCharDevice, Opened, Operation, Rights, Setup, SetupError,
    check_polling,
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
    ring: Ring<NvmeSqe>,
    batch: u32,
    rights: Rights,
    namespace: Namespace,
    /// First eight bytes of every entry.
    head: u64,
    /// log2 of the buffers per registered piece.
    buf_index_shift: Option<u32>,
    buffers: Buffers,
    /// Ranges of trims, one per slot: the device reads them while they are in flight. Kept mapped,
    /// like buffers, if it never answers.
    ranges: Buffers,
    sync_ops: SyncOps,
    _device: OwnedFd,
    /// The claim on the block device.
    files: Files,
}

impl Engine for UringCmd {
    const NAME: &'static str = "io_uring_cmd";

    fn open(mut setup: Setup) -> Result<Opened<Self>, SetupError> {
        let mut shortfalls = Vec::new();
        let depth = clamp_depth(setup.depth, &mut shortfalls);
        let buffers = setup.buffers(depth)?;
        let Setup { files, char_device, options, writable, length, .. } = setup;
        let missing = "io_uring_cmd, which needs an NVMe generic character device (/dev/ng0n1)";
        let NvmeCharDevice { device, nsid, lba_shift } =
            char_device.ok_or_else(|| SetupError::invalid(missing))?;
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
            .map_err(SetupError::during("io_uring_setup for passthrough (Linux 5.19 or later)"))?;
        let ranges = Buffers::new(if writable { depth.into() } else { 0 }, 16)
            .map_err(SetupError::during("mmap of the buffers"))?;
        let device_fd = device.as_raw_fd();
        let registered_files =
            options.registered_files && register_files(&ring, &[device_fd], &mut shortfalls);
        let buf_index_shift = register_buffers(&ring, &buffers, &options, &mut shortfalls);
        let head = match registered_files {
            true => head(OP_URING_CMD, IOSQE_FIXED_FILE, 0),
            false => head(OP_URING_CMD, 0, device_fd as u32),
        };
        let mut engine = Self {
            ring,
            batch: options.batch.max(1).into(),
            rights: Rights { writable },
            namespace: Namespace { nsid, lba_shift },
            head,
            buf_index_shift,
            buffers,
            ranges,
            sync_ops: SyncOps::new(depth),
            _device: device,
            files,
        };
        if options.polled {
            check_polling(&mut engine, length)?;
        }
        let registered_buffers = Some(buf_index_shift.is_some());
        Ok(Opened { engine, depth, registered_buffers, shortfalls })
    }

    #[inline]
    fn queue(&mut self, batch: impl Iterator<Item = IoUnit> + Clone) {
        self.rights.check(batch.clone());
        for unit in batch {
            let IoUnit { length, slot, file, operation, .. } = unit;
            assert!(file == 0, "there is one namespace");
            let (data, tag) = match operation {
                Operation::Read | Operation::Write => {
                    (self.buffers.lender().lend(slot, length), u64::from(length) << 32)
                }
                Operation::Trim => {
                    self.store_range(&unit);
                    (self.ranges.lender().lend(slot, 16), u64::from(length) << 32 | TRIM)
                }
                Operation::Sync | Operation::DataSync => (self.buffers.lender().lend(slot, 0), 0),
            };
            let fixed = self.buf_index_shift.filter(|_| operation <= Operation::Write);
            let mut sqes = self.ring.sqe_writer();
            let sqe = sqes.next();
            let address = data.expose_provenance() as u64;
            let possible = sqe.command.set(self.namespace, &unit, address);
            sqe.head = self.head;
            sqe.cmd_op = NVME_URING_CMD_IO;
            sqe.uring_cmd_flags = if fixed.is_some() { URING_CMD_FIXED } else { 0 };
            sqe.buf_index = fixed.map_or(0, |shift| slot >> shift);
            // A success returns 0: the length travels in the user data.
            sqe.user_data = u64::from(slot) | tag;
            if possible {
                sqes.publish();
            } else {
                // The entry is not published, and reused for the next I/O.
                let pool =
                    if operation == Operation::Trim { &mut self.ranges } else { &mut self.buffers };
                pool.take_back(slot);
                self.sync_ops.complete(Completion { slot, result: -i64::from(libc::EINVAL) });
            }
        }
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
        let Self { ring, buffers, ranges, sync_ops, .. } = self;
        let mut cqes = ring.completions();
        std::iter::from_fn(move || match cqes.next() {
            Some((user_data, status)) => {
                let slot = user_data as u16;
                let pool = if user_data & TRIM == 0 { &mut *buffers } else { &mut *ranges };
                pool.take_back(slot);
                Some(Completion { slot, result: result_of(user_data, status) })
            }
            None => sync_ops.pop(),
        })
    }

    fn buffers(&mut self) -> &mut Buffers {
        &mut self.buffers
    }
}

impl UringCmd {
    /// Stores the range of a trim for the device to fetch.
    #[cold]
    fn store_range(&mut self, unit: &IoUnit) {
        if let Some(range) = self.namespace.range(unit) {
            self.ranges.slot_mut(unit.slot, 16).copy_from_slice(&range);
        }
    }
}

/// The result of a completion: the length from its user data, or a negative errno.
#[inline]
fn result_of(user_data: u64, status: i32) -> i64 {
    match status {
        0 => (user_data >> 32) as i64,
        ..0 => status.into(),
        _ => -i64::from(status_to_errno(status as u16)),
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
