//! Checks what is at a path, and opens exactly that.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{
    FallocateFlags, FileType, Mode, OFlags, Stat, fallocate, fstat, fstatfs, major, minor, openat,
};
use rustix::io::Errno;

use crate::error::{FileError, Kind};
use crate::links::{folder_of, is_planted, open_real, real_path};
use crate::reading::{open_to_read, reopen};
use crate::removal::FileIdentity;

/// File systems of the kernel (linux/magic.h): a write to their files changes the machine.
const KERNEL_FILE_SYSTEMS: [i64; 20] = [
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

/// Attempts if the file changes between check and creation.
const ATTEMPTS: u32 = 8;

/// Origin of a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOrigin {
    /// The user: links to a regular file are followed, and a pipe, a FIFO, a terminal or /dev/null
    /// may take the output, too.
    User,
    /// Iodyno made it up (`PREFIX_bw.1.log`): must be a regular file with a single name, no link.
    Iodyno,
}

/// Current object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// Nothing, but its folder exists.
    Nothing,
    /// A regular file.
    File(FileIdentity),
    /// A pipe, a FIFO, a terminal or /dev/null, named by the user.
    Stream,
}

/// Way to open an existing file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMode {
    /// Truncated, if there is room for so many bytes.
    Empty(u64),
    AtEnd,
    New,
}

/// Returns what is at `path`, and refuses what [`create`] would refuse; opens nothing.
///
/// # Errors
/// The object must not be written, or its folder is missing.
pub fn look(path: &Path, by: NameOrigin) -> Result<There, FileError> {
    match find(path, by)? {
        Found::Nothing(_) => Ok(There::Nothing),
        Found::There(_, there) => Ok(there),
    }
}

/// Like [`look`], but also refuses a file that is neither empty nor begins with `head`: it will be
/// overwritten by a log, and the user may have meant another.
///
/// # Errors
/// As [`look`]; the file is not such a log, or is unreadable.
pub fn inspect_log(path: &Path, by: NameOrigin, head: &[u8]) -> Result<There, FileError> {
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

/// Opens an empty file at `path`: a new one, or an existing one, truncated.
///
/// # Errors
/// The object must not be written, its folder is missing, or the system refuses.
pub fn create(path: &Path, by: NameOrigin) -> Result<File, FileError> {
    open_as(path, by, OpenMode::Empty(0))
}

/// Opens the file at `path` for appending; creates it if missing.
///
/// # Errors
/// As [`create`].
pub fn append(path: &Path, by: NameOrigin) -> Result<File, FileError> {
    open_as(path, by, OpenMode::AtEnd)
}

/// Creates a new file at `path`, for reading and writing.
///
/// # Errors
/// As [`create`], or the file already exists.
pub fn create_new(path: &Path) -> Result<File, FileError> {
    open_as(path, NameOrigin::Iodyno, OpenMode::New)
}

/// Writes `bytes` as the whole content of the file at `path`.
///
/// # Errors
/// As [`create`].
pub fn write(path: &Path, by: NameOrigin, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = open_as(path, by, OpenMode::Empty(bytes.len() as u64))?;
    file.write_all(bytes).map_err(|error| FileError::System { path: path.into(), error })
}

/// Renames a file made by iodyno to `to`, replacing an existing file; returns `false` if there is
/// none at `from`.
///
/// # Errors
/// One of them is no regular file, or the system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<bool, FileError> {
    look(to, NameOrigin::Iodyno)?;
    if look(from, NameOrigin::Iodyno)? == There::Nothing {
        return Ok(false);
    }
    let renamed = rustix::fs::rename(from, to);
    renamed.map_err(|errno| FileError::System { path: to.into(), error: errno.into() })?;
    Ok(true)
}

enum Found {
    /// Folder that would contain it.
    Nothing(OwnedFd),
    There(OwnedFd, There),
}

fn open_as(path: &Path, by: NameOrigin, open_mode: OpenMode) -> Result<File, FileError> {
    let failed = |errno: Errno| FileError::System { path: path.into(), error: errno.into() };
    let end = if open_mode == OpenMode::AtEnd { OFlags::APPEND } else { OFlags::empty() };
    for _ in 0..ATTEMPTS {
        let folder = match find(path, by)? {
            Found::There(..) if open_mode == OpenMode::New => {
                return Err(FileError::Exists { path: path.into() });
            }
            Found::There(descriptor, there) => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | end;
                let system = |error| FileError::System { path: path.into(), error };
                let file = reopen(&descriptor, flags).map_err(system)?;
                if let (OpenMode::Empty(bytes), There::File(_)) = (open_mode, there) {
                    ask_for_room(&file, bytes).map_err(failed)?;
                    file.set_len(0).map_err(system)?;
                }
                return Ok(file);
            }
            Found::Nothing(folder) => folder,
        };
        let access = if open_mode == OpenMode::New { OFlags::RDWR } else { OFlags::WRONLY };
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        match openat(&folder, path.file_name().unwrap_or_default(), access | new | end, mode) {
            Ok(file) => return Ok(file.into()),
            // Created by somebody since the check.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Err(failed(Errno::EXIST))
}

/// Asks the kernel for room, so that the old content stays on a full disk. Not every file system
/// can tell.
fn ask_for_room(file: &File, bytes: u64) -> Result<(), Errno> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT)) => {
            // Gives back what it got before the disk was full.
            let _ = file.metadata().and_then(|found| file.set_len(found.len()));
            Err(errno)
        }
        _ => Ok(()),
    }
}

/// Finds the object at `path`, held by a descriptor that can neither read nor write.
fn find(path: &Path, by: NameOrigin) -> Result<Found, FileError> {
    let failed = |errno: Errno| FileError::System { path: path.into(), error: errno.into() };
    let refuse = |kind| Err(FileError::NotAFile { path: path.into(), kind });
    let planted = |link| FileError::PlantedLink { path: path.into(), link };
    let (real, flags) = match by {
        NameOrigin::User => (real_path(path).map_err(planted)?, OFlags::PATH),
        // A link of that name is refused below, whoever made it.
        NameOrigin::Iodyno => {
            let folder = real_path(folder_of(path)).map_err(planted)?;
            let real = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
            (real, OFlags::PATH | OFlags::NOFOLLOW)
        }
    };
    let descriptor = match open_real(path, real.as_deref(), flags) {
        Ok(descriptor) => descriptor,
        Err(Errno::NOENT) if path.is_symlink() => return refuse(Kind::SymbolicLink),
        Err(Errno::NOENT | Errno::NOTDIR) => {
            return Ok(Found::Nothing(open_folder_of(path, real.as_deref())?));
        }
        Err(errno) => return Err(failed(errno)),
    };
    let stat = fstat(&descriptor).map_err(failed)?;
    let there = match kind_of(&stat) {
        None if is_of_the_kernel(&descriptor).map_err(failed)? => {
            return refuse(Kind::KernelFile);
        }
        None if by == NameOrigin::Iodyno && stat.st_nlink > 1 => return refuse(Kind::HardLink),
        None if backs_a_loop_device(&stat) => return refuse(Kind::LoopFile),
        None => There::File(FileIdentity::of(&stat)),
        Some(Kind::Stream) if is_planted_pipe(real.as_deref(), &stat) => {
            return refuse(Kind::PlantedPipe);
        }
        Some(Kind::Stream) if by == NameOrigin::User => There::Stream,
        Some(kind) => return refuse(kind),
    };
    Ok(Found::There(descriptor, there))
}

/// Opens the folder of a file that does not exist yet.
fn open_folder_of(path: &Path, real: Option<&Path>) -> Result<OwnedFd, FileError> {
    let parent = folder_of(path);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    open_real(parent, real.map(folder_of), flags).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => {
            FileError::NoFolder { path: path.into(), folder: parent.into() }
        }
        errno => FileError::System { path: path.into(), error: errno.into() },
    })
}

/// True if a loop device lies on the file: emptying it destroys a file system that may be mounted.
fn backs_a_loop_device(stat: &Stat) -> bool {
    static KNOWN: Mutex<(Vec<u8>, Vec<FileIdentity>)> = Mutex::new((Vec::new(), Vec::new()));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // The kernel counts each change of a device, so a command with a thousand outputs looks once.
    let changes = std::fs::read("/sys/kernel/uevent_seqnum").unwrap_or_default();
    if changes.is_empty() || known.0 != changes {
        *known = (changes, files_of_loop_devices());
    }
    known.1.contains(&FileIdentity::of(stat))
}

fn files_of_loop_devices() -> Vec<FileIdentity> {
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let loops = devices.filter(|device| device.file_name().as_bytes().starts_with(b"loop"));
    let files = loops.filter_map(|device| {
        let path = std::fs::read(device.path().join("loop/backing_file")).ok()?;
        rustix::fs::stat(OsStr::from_bytes(path.strip_suffix(b"\n")?)).ok()
    });
    files.map(|file| FileIdentity::of(&file)).collect()
}

/// True for a pipe of another user in a folder that others may write: the output would wait for who
/// planted it.
fn is_planted_pipe(real: Option<&Path>, stat: &Stat) -> bool {
    let is_pipe = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
    let folder = real.and_then(|path| rustix::fs::stat(folder_of(path)).ok());
    is_pipe && folder.is_some_and(|folder| is_planted(stat.st_uid, folder.st_mode))
}

/// Kind of the object; `None` for a regular file.
pub(crate) fn kind_of(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some(Kind::Directory),
        FileType::Symlink => Some(Kind::SymbolicLink),
        FileType::Fifo => Some(Kind::Stream),
        FileType::Socket => Some(Kind::Socket),
        FileType::CharacterDevice if takes_output(stat.st_rdev) => Some(Kind::Stream),
        FileType::CharacterDevice => Some(Kind::CharacterDevice),
        // And other types that the kernel may have.
        _ => Some(Kind::BlockDevice),
    }
}

/// True for /dev/null, /dev/full, /dev/tty, pseudo terminals
/// (Documentation/admin-guide/devices.txt), and a terminal of this process.
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
    Ok(KERNEL_FILE_SYSTEMS.contains(&(kind & 0xffff_ffff)))
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
