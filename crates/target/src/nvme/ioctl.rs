//! Sends commands without data through the kernel's passthrough ioctl.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use super::Command;

/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`: `NVME_IOCTL_ADMIN_CMD` of linux/nvme_ioctl.h.
const ADMIN_COMMAND: u64 = 3 << 30 | (size_of::<PassthroughCommand>() as u64) << 16 | 0x4e41;

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h, 72 bytes.
#[repr(C)]
#[derive(Debug, Default)]
struct PassthroughCommand {
    opcode: u8,
    _flags_and_reserved: [u8; 3],
    nsid: u32,
    _dwords_2_to_9: [u32; 8],
    dword_10: u32,
    dword_11: u32,
    _dwords_12_to_15: [u32; 4],
    timeout_ms: u32,
    _result: u32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<PassthroughCommand>() == 72);
    assert!(offset_of!(PassthroughCommand, nsid) == 4);
    assert!(offset_of!(PassthroughCommand, dword_10) == 40);
    assert!(offset_of!(PassthroughCommand, dword_11) == 44);
    assert!(offset_of!(PassthroughCommand, timeout_ms) == 64);
};

/// Sends `command` through the open descriptor of a namespace, to its controller, or of a
/// controller, and waits for completion.
///
/// # Errors
/// The kernel's error, or the drive's status.
pub(crate) fn send(held: &impl AsFd, command: Command) -> io::Result<()> {
    let mut request = PassthroughCommand {
        opcode: command.opcode,
        nsid: command.nsid,
        dword_10: command.dword_10,
        dword_11: command.dword_11,
        timeout_ms: command.timeout_ms,
        ..PassthroughCommand::default()
    };
    let descriptor = held.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open; `request` is the struct that this ioctl
    // takes (its size is in the request number) and names no other memory.
    let status = unsafe { libc::ioctl(descriptor, ADMIN_COMMAND as _, &raw mut request) };
    match status {
        0 => Ok(()),
        status if status > 0 => {
            // Bits 10:8 are the status code type, 7:0 the code (Base Specification 2.0, 3.3.3.2.1).
            Err(io::Error::other(format!("the drive returned NVMe status {:#x}", status & 0x7ff)))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_number_is_the_kernels() {
        assert_eq!(ADMIN_COMMAND, 0xc048_4e41);
    }
}
