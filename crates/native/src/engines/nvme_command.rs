//! NVMe I/O commands for io_uring passthrough.
//!
//! Fields and opcodes: NVM Express NVM Command Set Specification 1.0, section 3.2; passthrough
//! format: linux/nvme_ioctl.h, `struct nvme_uring_cmd`.

use super::ring::SqEntry;
use super::{IoUnit, Operation};

/// `struct io_uring_sqe` of 128 bytes with `struct nvme_uring_cmd` in it.
///
/// Unused fields are zeroed by the kernel and stay so.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NvmeSqe {
    /// io_uring opcode, flags, priority; the file in the upper half.
    pub(super) head: u64,
    pub(super) cmd_op: u32,
    padding: u32,
    addr: u64,
    len: u32,
    /// `IORING_URING_CMD_*`.
    pub(super) uring_cmd_flags: u32,
    pub(super) user_data: u64,
    /// Index of the registered buffer.
    pub(super) buf_index: u16,
    personality: u16,
    file_index: u32,
    pub(super) command: Command,
    reserved: u64,
}

impl SqEntry for NvmeSqe {}

/// `struct nvme_uring_cmd`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Command {
    opcode: u8,
    flags: u8,
    reserved1: u16,
    nsid: u32,
    cdw2: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    /// Command dwords 10 to 15.
    cdw10: [u32; 6],
    timeout_ms: u32,
    reserved2: u32,
}

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub(super) const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const DATASET_MANAGEMENT: u8 = 0x09;
/// Attribute of Dataset Management: deallocate (dword 11, bit 2).
const DEALLOCATE: u32 = 1 << 2;
/// Largest read or write, blocks: the field has 16 bits and is 0's based.
const MAX_BLOCKS: u32 = 1 << 16;

/// The namespace of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Namespace {
    pub(super) nsid: u32,
    /// log2 of the logical block size.
    pub(super) lba_shift: u8,
}

/// A Dataset Management range, which the device fetches from memory.
pub(super) type DsmRange = [u8; 16];

impl Namespace {
    /// First block and number of blocks; `None` if offset or length is unaligned, or the length is
    /// 0.
    #[inline]
    fn blocks(self, unit: &IoUnit) -> Option<(u64, u32)> {
        let &IoUnit { offset, length, .. } = unit;
        let unaligned = (offset | u64::from(length)) & ((1 << self.lba_shift) - 1);
        let (first, count) = (offset >> self.lba_shift, length >> self.lba_shift);
        (unaligned == 0 && count > 0).then_some((first, count))
    }

    /// The Dataset Management range of a trim.
    pub(super) fn range(self, unit: &IoUnit) -> Option<DsmRange> {
        let (first, count) = self.blocks(unit)?;
        let mut range = [0; 16];
        // Context attributes, number of blocks (not 0's based), first block.
        range[4..8].copy_from_slice(&count.to_le_bytes());
        range[8..].copy_from_slice(&first.to_le_bytes());
        Some(range)
    }
}

impl Command {
    /// Fills in the command for `unit`, with the buffer or the range of a trim at `address`.
    /// Returns `false`, without a change, if NVMe has no such command.
    #[inline]
    #[must_use]
    pub(super) fn set(&mut self, namespace: Namespace, unit: &IoUnit, address: u64) -> bool {
        let operation = unit.operation;
        let (opcode, length, cdws) = match operation {
            Operation::Read | Operation::Write => match namespace.blocks(unit) {
                Some((first, count)) if count <= MAX_BLOCKS => {
                    let opcode = if operation == Operation::Read { READ } else { WRITE };
                    (opcode, unit.length, [first as u32, (first >> 32) as u32, count - 1])
                }
                _ => return false,
            },
            Operation::Trim if namespace.blocks(unit).is_some() => {
                // One range, 0's based.
                (DATASET_MANAGEMENT, size_of::<DsmRange>() as u32, [0, DEALLOCATE, 0])
            }
            Operation::Trim => return false,
            // NVMe has no data-only flush.
            Operation::Sync | Operation::DataSync => (FLUSH, 0, [0; 3]),
        };
        self.opcode = opcode;
        self.nsid = namespace.nsid;
        self.address = if length == 0 { 0 } else { address };
        self.length = length;
        [self.cdw10[0], self.cdw10[1], self.cdw10[2]] = cdws;
        true
    }
}

/// Maps an NVMe status to an errno as the kernel's driver does (drivers/nvme/host/core.c,
/// `nvme_error_status`, and block/blk-core.c). Passthrough returns nonzero statuses unchanged.
pub(super) const fn status_to_errno(status: u16) -> i32 {
    // Status code and type; the bits above are retry hints.
    match status & 0x7ff {
        // Capacity exceeded.
        0x081 => libc::ENOSPC,
        // LBA out of range, command interrupted, namespace not ready.
        0x080 | 0x021 | 0x082 => libc::EREMOTEIO,
        // Conflicting attributes, invalid opcode, field or namespace.
        0x180 | 0x001 | 0x002 | 0x00b => libc::EOPNOTSUPP,
        // Write fault, unrecovered read, deallocated or unwritten block, access denied, read only.
        0x280 | 0x281 | 0x287 | 0x286 | 0x182 => libc::ENODATA,
        // Guard, application tag, reference tag, invalid protection information.
        0x282 | 0x283 | 0x284 | 0x181 => libc::EILSEQ,
        // Reservation conflict.
        0x083 => libc::EBADE,
        // Host path error.
        0x370 => libc::ENOLINK,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    const NAMESPACE: Namespace = Namespace { nsid: 3, lba_shift: 12 };
    const ADDRESS: u64 = 0x1122_3344_5566_7000;

    fn unit(operation: Operation, offset: u64, length: u32) -> IoUnit {
        IoUnit { offset, length, operation, ..IoUnit::default() }
    }

    fn set(operation: Operation, offset: u64, length: u32) -> Command {
        let mut command = Command::default();
        assert!(command.set(NAMESPACE, &unit(operation, offset, length), ADDRESS));
        command
    }

    #[test]
    fn field_offsets_match_the_kernels() {
        // linux/io_uring.h, struct io_uring_sqe with IORING_SETUP_SQE128.
        assert_eq!(size_of::<NvmeSqe>(), 128);
        assert_eq!(offset_of!(NvmeSqe, cmd_op), 8);
        assert_eq!(offset_of!(NvmeSqe, uring_cmd_flags), 28);
        assert_eq!(offset_of!(NvmeSqe, user_data), 32);
        assert_eq!(offset_of!(NvmeSqe, buf_index), 40);
        assert_eq!(offset_of!(NvmeSqe, command), 48);
        // linux/nvme_ioctl.h, struct nvme_uring_cmd.
        assert_eq!(size_of::<Command>(), 72);
        assert_eq!(offset_of!(Command, nsid), 4);
        assert_eq!(offset_of!(Command, cdw2), 8);
        assert_eq!(offset_of!(Command, metadata), 16);
        assert_eq!(offset_of!(Command, address), 24);
        assert_eq!(offset_of!(Command, metadata_length), 32);
        assert_eq!(offset_of!(Command, length), 36);
        assert_eq!(offset_of!(Command, cdw10), 40);
        assert_eq!(offset_of!(Command, timeout_ms), 64);
        // _IOWR: both directions, size, type, number.
        let size = size_of::<Command>() as u32;
        assert_eq!(NVME_URING_CMD_IO, 3 << 30 | size << 16 | u32::from(b'N') << 8 | 0x80);
    }

    #[test]
    fn reads_and_writes_name_blocks() {
        let offset = 0x1_2345_6789_u64 << 12;
        let read = set(Operation::Read, offset, 8 << 12);
        let expected = Command {
            opcode: 0x02,
            nsid: 3,
            address: ADDRESS,
            length: 8 << 12,
            // Starting LBA in dwords 10 and 11, number of blocks in 12, 0's based.
            cdw10: [0x2345_6789, 0x1, 7, 0, 0, 0],
            ..Command::default()
        };
        assert_eq!(read, expected);
        let write = set(Operation::Write, offset, 8 << 12);
        assert_eq!(write, Command { opcode: 0x01, ..expected });
        let bytes_512 = Namespace { nsid: 3, lba_shift: 9 };
        let mut small = Command::default();
        assert!(small.set(bytes_512, &unit(Operation::Read, 512, 512), ADDRESS));
        assert_eq!(small.cdw10, [1, 0, 0, 0, 0, 0]);
        // The largest value of the field.
        assert!(small.set(bytes_512, &unit(Operation::Read, 0, 512 << 16), ADDRESS));
        assert_eq!(small.cdw10[2], 0xffff);
        assert!(!small.set(bytes_512, &unit(Operation::Read, 0, 513 << 16), ADDRESS));
    }

    #[test]
    fn a_trim_deallocates_one_range() {
        let trim = set(Operation::Trim, 5 << 12, 3 << 12);
        let expected = Command {
            opcode: 0x09,
            nsid: 3,
            address: ADDRESS,
            length: 16,
            // One range, 0's based, and only the attribute Deallocate.
            cdw10: [0, 4, 0, 0, 0, 0],
            ..Command::default()
        };
        assert_eq!(trim, expected);
        let offset = 0x11_2233_4455_u64 << 12;
        let range = NAMESPACE.range(&unit(Operation::Trim, offset, 3 << 12)).unwrap();
        assert_eq!(range, [0, 0, 0, 0, 3, 0, 0, 0, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0]);
    }

    #[test]
    fn a_sync_flushes_the_namespace() {
        let flush = Command { opcode: 0x00, nsid: 3, ..Command::default() };
        assert_eq!(set(Operation::Sync, 0, 0), flush);
        assert_eq!(set(Operation::DataSync, 0, 0), flush);
    }

    #[test]
    fn a_reused_entry_keeps_nothing_of_its_last_command() {
        let units = [
            unit(Operation::Read, 77 << 12, 9 << 12),
            unit(Operation::Trim, 5 << 12, 3 << 12),
            unit(Operation::Sync, 0, 0),
            unit(Operation::Write, 1 << 12, 1 << 12),
        ];
        for before in &units {
            for after in &units {
                let (mut used, mut fresh) = (Command::default(), Command::default());
                assert!(
                    used.set(NAMESPACE, before, ADDRESS) && used.set(NAMESPACE, after, ADDRESS)
                );
                assert!(fresh.set(NAMESPACE, after, ADDRESS));
                assert_eq!(used, fresh);
            }
        }
    }

    #[test]
    fn unaligned_ranges_are_refused() {
        for operation in [Operation::Read, Operation::Write, Operation::Trim] {
            for (offset, length) in [(0, 0), (512, 4096), (0, 512), (4096, 4097)] {
                let before = set(Operation::Read, 4096, 4096);
                let mut command = before;
                assert!(!command.set(NAMESPACE, &unit(operation, offset, length), ADDRESS));
                assert_eq!(command, before);
                assert_eq!(NAMESPACE.range(&unit(operation, offset, length)), None);
            }
        }
    }

    #[test]
    fn statuses_map_to_the_block_layers_errnos() {
        // With "do not retry" (bit 14) and "more" (bit 13), as controllers set them.
        assert_eq!(status_to_errno(0x4080), libc::EREMOTEIO);
        assert_eq!(status_to_errno(0x6281), libc::ENODATA);
        assert_eq!(status_to_errno(0x4002), libc::EOPNOTSUPP);
        assert_eq!(status_to_errno(0x0282), libc::EILSEQ);
        assert_eq!(status_to_errno(0x0083), libc::EBADE);
        assert_eq!(status_to_errno(0x0006), libc::EIO);
        assert_eq!(status_to_errno(0x4000), libc::EIO, "no success, whatever it is");
    }
}
