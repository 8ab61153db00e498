//! Errors of turning a name into a clearance, and what to do about them.

mod next_step;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use iodyno_model::{Bytes, PurgeMethod};
use rustix::io::Errno;
use thiserror::Error;

pub(crate) use self::next_step::RANDOM_SOURCE;
pub(crate) use self::next_step::as_root;
pub use self::next_step::{command_words, permission_step};
use crate::BlindSpot;
use crate::contents::Lost;

/// Reason why a target cannot be used. The message says what and why, [`TargetError::next_step`]
/// what to do.
#[derive(Debug, Error)]
pub enum TargetError {
    /// Nothing has this name.
    #[error("{name}: no such device, file or directory")]
    NotFound {
        /// The name as given.
        name: String,
        /// The most similar existing name.
        nearest: Option<String>,
        /// PCI functions of class NVMe that are not bound to the nvme driver, each with the driver
        /// that has it, if any.
        detached: Vec<String>,
    },
    /// A symbolic link to nothing.
    #[error("{name} is a symbolic link to {}, which does not exist", to.display())]
    DanglingLink {
        /// The link as given.
        name: String,
        /// Its destination.
        to: std::path::PathBuf,
    },
    /// The same target was named twice.
    #[error("{}", match .first == .second {
        true => format!("{name} is named twice"),
        false => format!("{first} and {second} are the same target, {name}"),
    })]
    GivenTwice {
        /// The first spelling.
        first: String,
        /// The second spelling.
        second: String,
        /// The common target.
        name: String,
    },
    /// A device has this name, and so has a file in the working directory.
    #[error("{name} is both a device and a file here")]
    TwoMeanings {
        /// The name as given.
        name: String,
    },
    /// It exists, but is not storage.
    #[error("{name} is {what}, not a block device, file or directory")]
    NotStorage {
        /// The name as given.
        name: String,
        /// `a named pipe`.
        what: &'static str,
    },
    /// A PCI function of class NVMe that is not bound to the nvme driver.
    #[error("{address} has no NVMe controller: {}", match .driver {
        Some(driver) => format!("it is bound to {driver}"),
        None => "no driver bound".into(),
    })]
    Detached {
        /// PCI address.
        address: String,
        /// The driver that has it, `vfio-pci`.
        driver: Option<String>,
    },
    /// A controller that does not accept I/O.
    #[error("{controller} accepts no I/O: state is {state}")]
    ControllerNotLive {
        /// `nvme0`.
        controller: String,
        /// `dead`, `resetting`, `connecting`, `deleting`.
        state: String,
    },
    /// A controller without a block device.
    #[error("{controller} has no namespace that is a block device")]
    NoNamespace {
        /// `nvme0`.
        controller: String,
    },
    /// The target is smaller than a block.
    #[error("{name} is too small: {size} bytes; block size {block_bytes}")]
    TooSmall {
        /// The target.
        name: String,
        /// Its size, bytes.
        size: u64,
        /// Block size, bytes.
        block_bytes: u32,
    },
    /// Measuring it would reveal nothing about storage.
    #[error("{name}: {why}")]
    Refused {
        /// The target.
        name: String,
        /// Reason and alternative, as a sentence.
        why: String,
    },
    /// The user may not open it.
    #[error("{name}: no permission to {action}")]
    NoPermission {
        /// The target.
        name: String,
        /// `read it`.
        action: &'static str,
    },
    /// Another device or file has had its name since it was resolved.
    #[error("{name} has changed: another device or file has its name now")]
    Changed {
        /// The target.
        name: String,
    },
    /// The kernel has the device, but this process has no device node for it.
    #[error("{name}: the kernel has this device, but {path} is missing")]
    NoNode {
        /// The target.
        name: String,
        /// Expected path of its node.
        path: String,
    },
    /// Not enough free space for a scratch file.
    #[error(
        "{directory}: {} free, but a scratch file needs {} free and uses a quarter of that",
        Bytes(*.free_bytes).binary(),
        Bytes(*.needed_bytes).binary()
    )]
    NoSpace {
        /// The directory.
        directory: String,
        /// Free for this user, bytes.
        free_bytes: u64,
        /// Needed, bytes.
        needed_bytes: u64,
    },
    /// The caller stopped the layout of a scratch file.
    #[error("{directory}: interrupted while writing its scratch file; the file was removed")]
    Interrupted {
        /// The directory.
        directory: String,
    },
    /// The target is to be written but in use. Nothing overrides this.
    #[error("{name} is in use, not written: {}", .uses.join(", "))]
    InUse {
        /// The target.
        name: String,
        /// Each use, `nvme0n1p2: mounted at /`.
        uses: Vec<String>,
    },
    /// The target is to be written, and opened exclusively by somebody who cannot be seen.
    #[error(
        "{name} is in use, not written: the kernel or a process claims it (a pool that is \
         imported, a mount after umount -l, another iodyno)"
    )]
    Claimed {
        /// The target.
        name: String,
    },
    /// The target is to be written but was not named for that.
    #[error("{name}: writing not allowed{}{}", match .typed {
        Some(typed) => format!("; {typed} is not accepted: such names change at boot"),
        None => String::new(),
    }, loss_suffix(.lost))]
    NotAllowed {
        /// The target.
        name: String,
        /// The word that names it for writing; `None`: nothing distinguishes it from other devices.
        word: Option<String>,
        /// The kernel name that was typed instead.
        typed: Option<String>,
        /// Data on it that nobody uses.
        lost: Vec<Lost>,
    },
    /// A path to a volume that has others, which nothing joins.
    #[error(
        "{name}: writing not allowed: it is one of several paths to a volume; uses of the \
         others are not visible on this one"
    )]
    OnePath {
        /// The target.
        name: String,
    },
    /// A file that is only read, was not made by iodyno, and is shorter than the job's reads.
    #[error(
        "{name} holds {}, and a job reads {} of it; iodyno only extends its own files",
        Bytes(*.holds_bytes).binary(),
        Bytes(*.wanted_bytes).binary()
    )]
    TooShort {
        /// The path.
        name: String,
        /// Its size, bytes.
        holds_bytes: u64,
        /// Size that the job reads, bytes.
        wanted_bytes: u64,
    },
    /// The target is to be written, and it is unknown whether anybody uses it.
    #[error("cannot verify that {name} is unused: {}", join_reasons(.blind))]
    NotKnown {
        /// The target.
        name: String,
        /// The word that names it for writing.
        word: String,
        /// Checks that could not be made.
        blind: Vec<BlindSpot>,
    },
    /// The target is to be written, is unused, and seems to hold data.
    #[error("{name} holds unused data{}", loss_suffix(.lost))]
    HoldsData {
        /// The target.
        name: String,
        /// The word that names it for writing.
        word: String,
        /// The data on it.
        lost: Vec<Lost>,
    },
    /// The target is to be written but is read-only.
    #[error("{name} is read-only: {why}")]
    ReadOnly {
        /// The target.
        name: String,
        /// Cause of the write protection.
        why: &'static str,
    },
    /// A file that must exist does not, and may not be created.
    #[error("{name}: no such file, and the job may not create it")]
    NotToBeMade {
        /// The path.
        name: String,
    },
    /// The directory is missing, and is not created: with a mistyped or unmounted mount point that
    /// would be a directory of the root disk.
    #[error("{name}: no directory {missing}{}", match .missing == .directory {
        true => String::new(),
        false => format!(" (needed for {directory})"),
    })]
    NoDirectory {
        /// The path.
        name: String,
        /// The file's directory.
        directory: String,
        /// The first missing component of its path.
        missing: String,
    },
    /// Not enough free space for a file.
    #[error(
        "{name} needs {}, but {} are free",
        Bytes(*.needed_bytes).binary(),
        Bytes(*.free_bytes).binary()
    )]
    NoRoom {
        /// The path.
        name: String,
        /// Needed beyond the space that the file has already, bytes.
        needed_bytes: u64,
        /// Free for this user, bytes.
        free_bytes: u64,
    },
    /// Writing it might fill the thin pool below it.
    #[error(
        "{name} may take {} of its thin pool {pool}, which has {} left: writes to its other \
         volumes would fail",
        Bytes(*.needed_bytes).binary(),
        Bytes(*.free_bytes).binary()
    )]
    FillsPool {
        /// The target.
        name: String,
        /// The pool's name under /dev/mapper.
        pool: String,
        /// Maximum that it may take, bytes.
        needed_bytes: u64,
        /// Left in the pool, bytes.
        free_bytes: u64,
    },
    /// The disk became full while a file was laid out.
    #[error("{name}: disk full, {missing} not written")]
    Full {
        /// The path.
        name: String,
        /// Missing bytes, with their unit.
        missing: String,
    },
    /// The disk has no room to allocate a file's space before it is written.
    #[error("{name}: disk full, {size} not allocated")]
    NotAllocated {
        /// The path.
        name: String,
        /// The file's size, with its unit.
        size: String,
    },
    /// The caller stopped the layout of a file.
    #[error("{name}: interrupted during its layout{}", if *.removed {
        "; the file is removed"
    } else {
        ""
    })]
    LayoutInterrupted {
        /// The path.
        name: String,
        /// True if the file was new and has been removed.
        removed: bool,
    },
    /// The purge is not possible.
    #[error("{name} cannot be purged this way: {why}")]
    CannotPurge {
        /// The target.
        name: String,
        /// The reason, as a sentence.
        why: String,
        /// Methods that are possible instead.
        offered: Vec<PurgeMethod>,
    },
    /// The purge reaches more than the named target, and that cannot be written.
    #[error("this purge of {name} purges its whole drive: {error}")]
    Beside {
        /// The target.
        name: String,
        /// The error of the other namespace.
        error: Box<TargetError>,
    },
    /// The purge changed the size or block format.
    #[error("{name}: the purge changed its size or block format")]
    Reshaped {
        /// The target.
        name: String,
    },
    /// A system call failed.
    #[error("{name}: could not {action}: {error}")]
    Io {
        /// The target.
        name: String,
        /// `read its size`.
        action: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl TargetError {
    /// Makes the error of a failed system call on `name`; a missing permission is distinguished.
    pub(crate) fn of(name: &str, action: &'static str, errno: Errno) -> Self {
        let name = name.to_owned();
        match errno {
            Errno::ACCESS | Errno::PERM => Self::NoPermission { name, action },
            _ => Self::Io { name, action, error: errno.into() },
        }
    }

    /// Makes the error of a target that is no longer at `path`: a symbolic link or something else
    /// took its place, it is gone, or its device has no node visible to this process.
    pub(crate) fn gone(name: &str, path: &Path, errno: Errno) -> Self {
        let is_known = |node: &OsStr| Path::new("/sys/class/block").join(node).exists();
        let has_no_node = errno == Errno::NOENT
            && path.starts_with("/dev")
            && path.file_name().is_some_and(is_known);
        let name = name.to_owned();
        match has_no_node {
            true => Self::NoNode { name, path: path.display().to_string() },
            false => Self::Changed { name },
        }
    }

    /// True if the drive is at fault and not the name: left to the rules to judge.
    pub const fn is_drive_fault(&self) -> bool {
        matches!(
            self,
            Self::Detached { .. } | Self::ControllerNotLive { .. } | Self::NoNamespace { .. }
        )
    }

    /// True if it is opened exclusively, by the kernel or a process that cannot be seen: also the
    /// own device for a while, since the kernel closes the files of an io_uring late.
    pub fn is_claimed(&self) -> bool {
        match self {
            Self::Claimed { .. } => true,
            Self::Io { error, .. } => Errno::from_io_error(error) == Some(Errno::BUSY),
            _ => false,
        }
    }
}

/// Formats the data that would be lost as the end of a sentence.
fn loss_suffix(lost: &[Lost]) -> String {
    let lines: Vec<String> = lost.iter().map(Lost::to_string).collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("; writing it destroys: {}", lines.join("; "))
    }
}

fn join_reasons(blind: &[BlindSpot]) -> String {
    blind.iter().map(BlindSpot::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_node_is_not_a_changed_device() {
        let mut known = std::fs::read_dir("/sys/class/block").unwrap();
        let device = known.next().expect("a block device").unwrap().file_name();
        let gone = |directory: &str, errno| {
            TargetError::gone("x", &Path::new(directory).join(&device), errno)
        };
        let no_node = gone("/dev/chroot-without-nodes", Errno::NOENT);
        assert!(matches!(no_node, TargetError::NoNode { .. }), "{no_node}");
        assert!(no_node.next_step().contains("mount --bind /dev"), "{}", no_node.next_step());
        for error in [gone("/dev", Errno::LOOP), gone("/srv", Errno::NOENT)] {
            assert!(matches!(error, TargetError::Changed { .. }), "{error}");
        }
    }

    #[test]
    fn a_cause_is_printed_once() {
        let error = TargetError::of("/mnt/file", "write it", Errno::IO);
        let said = "/mnt/file: could not write it: Input/output error (os error 5)";
        assert_eq!(error.to_string(), said);
        // Printing the chain of causes would repeat a source after the message.
        assert!(std::error::Error::source(&error).is_none());
    }

    #[test]
    fn a_missing_permission_is_distinguished() {
        let error = TargetError::of("nvme0n1", "read it", Errno::ACCESS);
        assert_eq!(error.to_string(), "nvme0n1: no permission to read it");
        let next =
            if rustix::process::geteuid().is_root() { "the kernel refuses" } else { "sudo " };
        assert!(error.next_step().starts_with(next), "{}", error.next_step());
        let error = TargetError::of("nvme0n1", "read it", Errno::NXIO);
        assert!(error.to_string().starts_with("nvme0n1: could not read it: "));
        assert!(error.next_step().contains("gone"));
    }
}
