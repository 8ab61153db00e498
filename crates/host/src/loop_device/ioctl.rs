//! Reads a loop device's backing file through the kernel's ioctl: sysfs has only the path, which
//! may name another file later.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

use iodyno_model::BackingFile;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// `struct loop_info64` of linux/loop.h.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Status {
    /// Device number of the backing file's file system, as in stat(2).
    device: u64,
    inode: u64,
    /// Device number of the backing file if it is a device; if not, before Linux 5.8, that of its
    /// file system again.
    node: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encryption: u32,
    key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    encryption_name: [u8; 64],
    key: [u8; 32],
    initial: [u64; 2],
}

const _: () = assert!(size_of::<Status>() == 232);

/// `LOOP_GET_STATUS64` of linux/loop.h.
const GET_STATUS64: u64 = 0x4c05;

/// Returns the backing file of an open loop device.
///
/// # Errors
/// `ENXIO` if it is unbound; other errors of the kernel.
pub fn loop_backing(device: impl AsFd) -> io::Result<BackingFile> {
    let mut status = Status::new_zeroed();
    // SAFETY: the descriptor is open; the kernel writes one `loop_info64`, whose
    // layout `Status` has, to a place that lives until the call returns.
    let answer = unsafe {
        libc::ioctl(device.as_fd().as_raw_fd(), GET_STATUS64 as _, std::ptr::from_mut(&mut status))
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(backing_file(&status))
}

fn backing_file(status: &Status) -> BackingFile {
    let number = |number| (rustix::fs::major(number), rustix::fs::minor(number));
    let is_device = status.node != 0 && status.node != status.device;
    BackingFile {
        device: number(status.device),
        inode: status.inode,
        block: is_device.then(|| number(status.node)),
        offset_bytes: status.offset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_device_has_a_node_of_its_own() {
        let mut status = Status::new_zeroed();
        (status.device, status.inode, status.offset) = (0xfe00, 12, 1 << 20);
        let file = BackingFile { device: (254, 0), inode: 12, block: None, offset_bytes: 1 << 20 };
        assert_eq!(backing_file(&status), file);
        status.node = status.device;
        assert_eq!(backing_file(&status), file, "as older kernels say it");
        (status.device, status.node) = (5, 0x0010_0301);
        assert_eq!(backing_file(&status).block, Some((3, 257)));
    }

    #[test]
    fn other_files_are_no_loop_device() {
        assert!(loop_backing(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
