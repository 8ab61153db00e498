//! Backing files with a loop device over each, in place of drives. They are created, used and
//! removed by descriptor, so that nobody can put another file in their place meanwhile.

#[allow(unsafe_code)] // loop device ioctls, which the standard library does not offer
mod ioctl;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use iodyno_model::Mark;
use rustix::fs::{FileType, Mode, OFlags, Stat, XattrFlags};
use rustix::io::Errno;

use crate::{FileIdentity, Removed, TargetError};
use iodyno_files::remove_in;

/// Extended attribute that proves a file to be iodyno's: mark and inode number, so that a copy
/// which kept the attribute is not mistaken for it.
const ATTRIBUTE: &str = "user.iodyno.made";
/// Attempts to get a free loop device: another process may take it first.
const MOST_TRIES: usize = 64;
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o022;

/// A directory in which no other user can rename or replace iodyno's files.
#[derive(Debug)]
pub struct OwnFolder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl OwnFolder {
    /// Opens a directory.
    ///
    /// # Errors
    /// Another user owns it, others may write to it and it is not sticky (inode(7)), or it cannot
    /// be opened.
    pub fn open(path: &Path) -> Result<Self, TargetError> {
        let name = path.display().to_string();
        let failed = |errno| TargetError::of(&name, "open it", errno);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let stat = rustix::fs::fstat(&descriptor).map_err(failed)?;
        let refused = |why: String| TargetError::Refused { name: name.clone(), why };
        if ![0, own_uid()].contains(&stat.st_uid) {
            return Err(refused(format!(
                "user {} owns it and could replace files in it; use a directory of your own",
                stat.st_uid
            )));
        }
        if stat.st_mode & OTHERS_WRITE != 0 && stat.st_mode & STICKY == 0 {
            return Err(refused(
                "other users could replace files in it; use a directory of your own, \
                 or chmod go-w"
                    .into(),
            ));
        }
        let path = path.canonicalize().map_err(|error| io(&name, "look it up", error))?;
        Ok(Self { descriptor, path })
    }

    /// Returns the path of the backing file `number` of `mark` in this directory.
    pub fn backing_file(&self, mark: Mark, number: usize) -> PathBuf {
        self.path.join(file_name(mark, number))
    }
}

fn file_name(mark: Mark, number: usize) -> String {
    format!("iodyno-{mark}-{number}.img")
}

/// A backing file with a loop device over it. Dropping this does not remove it.
#[derive(Debug)]
pub struct BackingFile {
    folder: OwnedFd,
    name: OsString,
    shown: String,
    file: OwnedFd,
    device: String,
}

impl BackingFile {
    /// Creates the sparse file `number` of `mark`, of `size_bytes`, with a loop device over it. Its
    /// path is [`OwnFolder::backing_file`].
    ///
    /// # Errors
    /// It exists, cannot be written, or no loop device is free. Nothing is left behind.
    pub fn make(
        folder: &OwnFolder,
        mark: Mark,
        number: usize,
        size_bytes: u64,
    ) -> Result<Self, TargetError> {
        let name = OsString::from(file_name(mark, number));
        let shown = folder.path.join(&name).display().to_string();
        let failed = |errno| TargetError::of(&shown, "make it", errno);
        let held = folder.descriptor.try_clone().map_err(|error| io(&shown, "make it", error))?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat(&held, &name, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        let mut made = Self { folder: held, name, shown, file, device: String::new() };
        match made.set_up(mark, size_bytes) {
            Ok(()) => Ok(made),
            Err(error) => {
                // The first error is returned; this one would hide it.
                let _ = made.remove();
                Err(error)
            }
        }
    }

    fn set_up(&mut self, mark: Mark, size_bytes: u64) -> Result<(), TargetError> {
        let failed = |errno| TargetError::of(&self.shown, "make it", errno);
        let stat = rustix::fs::fstat(&self.file).map_err(failed)?;
        let value = proof(mark, &stat);
        match rustix::fs::fsetxattr(&self.file, ATTRIBUTE, value.as_bytes(), XattrFlags::CREATE) {
            // Without extended attributes the user has to remove the file after a kill.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(failed(errno)),
        }
        rustix::fs::ftruncate(&self.file, size_bytes).map_err(failed)?;
        let device = attach(self.file.as_fd());
        self.device = device.map_err(|error| io(&self.shown, "attach a loop device", error))?;
        Ok(())
    }

    /// The path of the loop device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Removes the file, even if renamed since, and all loop devices over it.
    ///
    /// # Errors
    /// It cannot be removed, or a loop device cannot be queried.
    pub fn remove(&self) -> Result<Removed, TargetError> {
        let failed = |errno| TargetError::of(&self.shown, "remove it", errno);
        let identity = FileIdentity::of(&rustix::fs::fstat(&self.file).map_err(failed)?);
        detach_all(identity).map_err(|error| io(&self.shown, "detach its loop device", error))?;
        let removed =
            remove_in(&self.folder, &self.name, |stat| FileIdentity::of(stat) == identity);
        // Free its space even if it was renamed.
        let _ = rustix::fs::ftruncate(&self.file, 0);
        removed.map_err(failed)
    }
}

/// Removes the backing file at `path` that a killed run left, and the loop devices over it: only if
/// its name contains `mark`, this user owns it, and it carries the mark or is empty (killed before
/// it was marked).
///
/// # Errors
/// It is iodyno's and cannot be removed.
pub fn remove_backing_file(path: &Path, mark: Mark) -> Result<Removed, TargetError> {
    let shown = path.display().to_string();
    let failed = |errno| TargetError::of(&shown, "remove it", errno);
    let Some((parent, name)) = path.parent().zip(path.file_name()) else {
        return Ok(Removed::NotOurs);
    };
    if !name.to_str().is_some_and(|name| is_file_name(name, mark)) {
        return Ok(Removed::NotOurs);
    }
    let folder = match iodyno_files::open_folder(parent) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Removed::AlreadyGone),
        Err(errno) => return Err(failed(errno)),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(Removed::AlreadyGone),
        Err(Errno::LOOP) => return Ok(Removed::NotOurs),
        Err(errno) => return Err(failed(errno)),
    };
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() || stat.st_uid != own_uid() {
        return Ok(Removed::NotOurs);
    }
    let mut value = [0; 64];
    match rustix::fs::fgetxattr(&file, ATTRIBUTE, &mut value[..]) {
        Ok(length) if value.get(..length) == Some(proof(mark, &stat).as_bytes()) => {}
        Ok(_) => return Ok(Removed::NotOurs),
        Err(_) if stat.st_size == 0 => {}
        Err(Errno::OPNOTSUPP) => return Ok(Removed::Unproven),
        Err(_) => return Ok(Removed::NotOurs),
    }
    let identity = FileIdentity::of(&stat);
    detach_all(identity).map_err(|error| io(&shown, "detach its loop device", error))?;
    remove_in(&folder, name, |stat| FileIdentity::of(stat) == identity).map_err(failed)
}

fn is_file_name(name: &str, mark: Mark) -> bool {
    let number = name.strip_prefix(&format!("iodyno-{mark}-")).and_then(|n| n.strip_suffix(".img"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

fn proof(mark: Mark, stat: &Stat) -> String {
    format!("{mark} {}", stat.st_ino)
}

/// Attaches a file to a free loop device, and returns the device's path.
fn attach(file: std::os::fd::BorrowedFd<'_>) -> io::Result<String> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    for _ in 0..MOST_TRIES {
        let path = format!("/dev/loop{}", ioctl::free(&control)?);
        let device = open_device(&path, true)?;
        match ioctl::attach(&device, file) {
            Ok(()) => {
                // Not every file system supports it; without it, I/O goes through the page cache.
                let _ = ioctl::direct(&device);
                return Ok(path);
            }
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("other processes took every free loop device"))
}

/// Detaches a file from all loop devices over it. While a device is open, no other file can be
/// attached to it.
fn detach_all(file: FileIdentity) -> io::Result<()> {
    for entry in std::fs::read_dir("/sys/block")? {
        let entry = entry?;
        if !entry.path().join("loop/backing_file").exists() {
            continue;
        }
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let device = match open_device(&format!("/dev/{name}"), false) {
            Ok(device) => device,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if file_behind(&device).is_ok_and(|behind| behind == (file.device, file.inode)) {
            ioctl::detach(&device)?;
        }
    }
    Ok(())
}

/// Returns device and inode number of the file behind a loop device.
fn file_behind(device: impl AsFd) -> io::Result<(u64, u64)> {
    let behind = iodyno_host::loop_backing(device)?;
    let (major, minor) = behind.device;
    Ok((rustix::fs::makedev(major, minor), behind.inode))
}

fn open_device(path: &str, writable: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).write(writable).custom_flags(flags).open(path)
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn io(name: &str, action: &'static str, error: io::Error) -> TargetError {
    TargetError::Io { name: name.into(), action, error }
}
