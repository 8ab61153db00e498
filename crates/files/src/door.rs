//! Looks at what has a file's name, and opens exactly that.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, fstatfs, major, minor, open, openat};
use rustix::io::Errno;

use crate::error::{FileError, Kind};
use crate::reading::{open_to_read, reopen};
use crate::removal::{FileIdentity, open_folder};

/// File systems whose files are the kernel's (linux/magic.h): a write there
/// changes the machine.
const OF_THE_KERNEL: [i64; 20] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x6265_6570, // configfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x9fa1,      // openpromfs
    0x6573_5543, // fusectl
    0x6165_676c, // pstore
    0x0765_5821, // resctrl
    0x6e66_7364, // nfsd
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0xabba_1974, // xenfs
];

/// Tries against a name that changes between the look and the creation.
const TRIES: u32 = 8;

/// Who chose a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The user: links are followed to a regular file, and a pipe, a FIFO, a
    /// terminal or /dev/null takes the output, too.
    User,
    /// Iodyno made it up (`PREFIX_bw.1.log`): a regular file of one name, no link.
    Iodyno,
}

/// What has a name now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// Nothing; its folder exists.
    Nothing,
    /// A regular file.
    File(FileIdentity),
    /// A pipe, a FIFO, a terminal or /dev/null, named by the user.
    Stream,
}

/// What is opened when something is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Empty,
    AtEnd,
    New,
}

/// Says what is at `path` and refuses what [`create`] would; opens nothing.
///
/// # Errors
/// What is there must not be written, or its folder is missing.
pub fn look(path: &Path, by: NamedBy) -> Result<There, FileError> {
    match find(path, by)? {
        Found::Nothing(_) => Ok(There::Nothing),
        Found::There(_, there) => Ok(there),
    }
}

/// As [`look`], and refuses a file that neither is empty nor begins with `head`: a log is written
/// there, and whoever named it may have meant another.
///
/// # Errors
/// As [`look`]; the file is no such log, or cannot be read.
pub fn look_for_log(path: &Path, by: NamedBy, head: &[u8]) -> Result<There, FileError> {
    let there = look(path, by)?;
    if matches!(there, There::File(_)) {
        let mut found = Vec::new();
        open_to_read(path)?
            .take(head.len() as u64)
            .read_to_end(&mut found)
            .map_err(|error| FileError::Unreadable { path: path.into(), error })?;
        if !found.is_empty() && found != head {
            return Err(FileError::NoLog { path: path.into() });
        }
    }
    Ok(there)
}

/// The file at `path`, empty: a new one, or what is there, emptied.
///
/// # Errors
/// What is there must not be written, its folder is missing, or the system refuses.
pub fn create(path: &Path, by: NamedBy) -> Result<File, FileError> {
    opened(path, by, Mood::Empty)
}

/// The file at `path`, to be written at its end; made where there is none.
///
/// # Errors
/// As [`create`].
pub fn append(path: &Path, by: NamedBy) -> Result<File, FileError> {
    opened(path, by, Mood::AtEnd)
}

/// A new file at `path`, for reading and writing.
///
/// # Errors
/// As [`create`], and where something is there already.
pub fn create_new(path: &Path) -> Result<File, FileError> {
    opened(path, NamedBy::Iodyno, Mood::New)
}

/// Makes `bytes` all that is in the file at `path`.
///
/// # Errors
/// As [`create`].
pub fn write(path: &Path, by: NamedBy, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = create(path, by)?;
    file.write_all(bytes).map_err(|error| FileError::System { path: path.into(), error })
}

/// Gives a file that iodyno had made the name `to`, in place of a file that has it; `false`:
/// there is none at `from`.
///
/// # Errors
/// What has one of the names is no regular file, or the system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<bool, FileError> {
    look(to, NamedBy::Iodyno)?;
    if look(from, NamedBy::Iodyno)? == There::Nothing {
        return Ok(false);
    }
    let renamed = rustix::fs::rename(from, to);
    renamed.map_err(|errno| FileError::System { path: to.into(), error: errno.into() })?;
    Ok(true)
}

enum Found {
    /// The folder that it would be in.
    Nothing(OwnedFd),
    There(OwnedFd, There),
}

fn opened(path: &Path, by: NamedBy, mood: Mood) -> Result<File, FileError> {
    let failed = |errno: Errno| FileError::System { path: path.into(), error: errno.into() };
    for _ in 0..TRIES {
        let folder = match find(path, by)? {
            Found::There(..) if mood == Mood::New => {
                return Err(FileError::Exists { path: path.into() });
            }
            Found::There(descriptor, there) => {
                let end = if mood == Mood::AtEnd { OFlags::APPEND } else { OFlags::empty() };
                let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | end;
                let system = |error| FileError::System { path: path.into(), error };
                let file = reopen(&descriptor, flags).map_err(system)?;
                if mood == Mood::Empty && matches!(there, There::File(_)) {
                    file.set_len(0).map_err(system)?;
                }
                return Ok(file);
            }
            Found::Nothing(folder) => folder,
        };
        let access = if mood == Mood::New { OFlags::RDWR } else { OFlags::WRONLY };
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let end = if mood == Mood::AtEnd { OFlags::APPEND } else { OFlags::empty() };
        let mode = Mode::from_raw_mode(0o666);
        match openat(&folder, path.file_name().unwrap_or_default(), access | new | end, mode) {
            Ok(file) => return Ok(file.into()),
            // Somebody made one since the look.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Err(failed(Errno::EXIST))
}

/// What is at `path`, held by a descriptor that can neither read nor write.
fn find(path: &Path, by: NamedBy) -> Result<Found, FileError> {
    let failed = |errno: Errno| FileError::System { path: path.into(), error: errno.into() };
    let refuse = |kind| Err(FileError::NotAFile { path: path.into(), kind });
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let flags = if by == NamedBy::Iodyno { flags | OFlags::NOFOLLOW } else { flags };
    let descriptor = match open(path, flags, Mode::empty()) {
        Ok(descriptor) => descriptor,
        Err(Errno::NOENT) if path.is_symlink() => return refuse(Kind::SymbolicLink),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Nothing(folder_of(path)?)),
        Err(errno) => return Err(failed(errno)),
    };
    let stat = fstat(&descriptor).map_err(failed)?;
    let there = match kind_of(&stat) {
        None if is_of_the_kernel(&descriptor).map_err(failed)? => {
            return refuse(Kind::KernelFile);
        }
        None if by == NamedBy::Iodyno && stat.st_nlink > 1 => return refuse(Kind::HardLink),
        None => There::File(FileIdentity::of(&stat)),
        Some(Kind::Stream) if by == NamedBy::User => There::Stream,
        Some(kind) => return refuse(kind),
    };
    Ok(Found::There(descriptor, there))
}

/// The folder of a file that is not there yet.
fn folder_of(path: &Path) -> Result<OwnedFd, FileError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    open_folder(parent).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => {
            FileError::NoFolder { path: path.into(), folder: parent.into() }
        }
        errno => FileError::System { path: path.into(), error: errno.into() },
    })
}

/// What it is where it is no regular file.
pub(crate) fn kind_of(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::SymbolicLink),
        FileType::Fifo => Some(Kind::Stream),
        FileType::Socket => Some(Kind::Socket),
        FileType::CharacterDevice if takes_output(stat.st_rdev) => Some(Kind::Stream),
        FileType::CharacterDevice => Some(Kind::CharacterDevice),
        // And what this kernel may have beside them.
        _ => Some(Kind::BlockDevice),
    }
}

/// /dev/null, /dev/full, /dev/tty, pseudo terminals
/// (Documentation/admin-guide/devices.txt), and a terminal that is ours.
fn takes_output(device: u64) -> bool {
    let is_ours = |stat: Stat| stat.st_rdev == device;
    matches!((major(device), minor(device)), (1, 3 | 7) | (5, 0) | (136..=143, _))
        || (io::stdin().is_terminal() && fstat(io::stdin()).is_ok_and(is_ours))
        || (io::stdout().is_terminal() && fstat(io::stdout()).is_ok_and(is_ours))
        || (io::stderr().is_terminal() && fstat(io::stderr()).is_ok_and(is_ours))
}

fn is_of_the_kernel(descriptor: &OwnedFd) -> Result<bool, Errno> {
    #[allow(clippy::unnecessary_cast, reason = "its width differs between machines")]
    let kind = fstatfs(descriptor)?.f_type as i64;
    Ok(OF_THE_KERNEL.contains(&(kind & 0xffff_ffff)))
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
