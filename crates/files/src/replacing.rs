//! Replaces the content of a file in one step, once the new content is whole.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::door::{NameOrigin, There, create, look};
use crate::error::FileError;
use crate::links::{folder_of, open_real, real_path};
use crate::reading::reopen;
use crate::removal::FileIdentity;

/// Names of open descriptors: what they denote belongs to somebody else, who keeps writing to it.
const DESCRIPTORS: [&str; 4] = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"];

/// New content of a file. Dropped without [`Replacement::keep`], the old content stays.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    /// `None`: what is at the path takes output as it comes.
    part: Option<Part>,
}

/// The new content in the file's folder, without a name if the file system allows it: a kill frees
/// it.
#[derive(Debug)]
struct Part {
    file: File,
    folder: OwnedFd,
    name: OsString,
    part: OsString,
    is_named: bool,
}

impl Replacement {
    /// Opens an empty file for what will be at `path`. A pipe, a terminal, an open descriptor and a
    /// file in a folder where none can be created are opened themselves.
    ///
    /// # Errors
    /// As [`create`].
    pub fn begin(path: &Path) -> Result<(Self, File), FileError> {
        let system = |error| FileError::System { path: path.into(), error };
        let there = look(path, NameOrigin::User)?;
        let in_place = || {
            let file = create(path, NameOrigin::User)?;
            Ok((Self { path: path.into(), part: None }, file))
        };
        if there == There::Stream || is_open_elsewhere(path, there) {
            return in_place();
        }
        // A link stays, and its file is replaced.
        let planted = |link| FileError::PlantedLink { path: path.into(), link };
        let Some(real) = real_path(path).map_err(planted)? else { return in_place() };
        let open = |path: &Path, flags| {
            open_real(path, Some(path), flags).map_err(|errno| system(errno.into()))
        };
        let old = match there {
            There::Nothing => None,
            _ => {
                let held = open(&real, OFlags::PATH)?;
                let old = reopen(&held, OFlags::WRONLY | OFlags::CLOEXEC).map_err(system)?;
                Some(old.metadata().map_err(system)?)
            }
        };
        let folder = open(folder_of(&real), OFlags::RDONLY | OFlags::DIRECTORY)?;
        let name = real.file_name().unwrap_or_default().to_owned();
        let part = match Part::new(folder, name) {
            Err(Errno::ACCESS | Errno::PERM) if old.is_some() => return in_place(),
            part => part.map_err(|errno| system(errno.into()))?,
        };
        if let Some(old) = old {
            // Root keeps the owner; others cannot give a file away.
            let _ = fchown(&part.file, Some(old.uid()), Some(old.gid()));
            part.file.set_permissions(old.permissions()).map_err(system)?;
        }
        let file = part.file.try_clone().map_err(system)?;
        Ok((Self { path: path.into(), part: Some(part) }, file))
    }

    /// Puts the new content in the place of the old: it is whole.
    ///
    /// # Errors
    /// The system refuses; the old content stays.
    pub fn keep(self) -> Result<(), FileError> {
        let kept = self.part.map_or(Ok(()), Part::keep);
        kept.map_err(|error| FileError::System { path: self.path, error })
    }
}

/// True for an open descriptor by its name, and for the file behind standard output.
fn is_open_elsewhere(path: &Path, there: There) -> bool {
    let is_it = |stat: Stat| there == There::File(FileIdentity::of(&stat));
    DESCRIPTORS.iter().any(|start| path.starts_with(start))
        || fstat(std::io::stdout()).is_ok_and(is_it)
        || fstat(std::io::stderr()).is_ok_and(is_it)
}

impl Part {
    fn new(folder: OwnedFd, name: OsString) -> Result<Self, Errno> {
        let mode = Mode::from_raw_mode(0o666);
        let mut part = OsString::from(".");
        part.push(&name);
        part.push(format!(".{}.part", std::process::id()));
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let (file, is_named) = match openat(&folder, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => (file, false),
            // Unsupported, according to open(2); EINVAL and ENOENT come from file systems that do
            // not know the flag.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                // Remains of a killed process with the same pid.
                let _ = unlinkat(&folder, &part, AtFlags::empty());
                let new = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                (openat(&folder, &part, new, mode)?, true)
            }
            Err(errno) => return Err(errno),
        };
        Ok(Self { file: file.into(), folder, name, part, is_named })
    }

    fn keep(mut self) -> std::io::Result<()> {
        self.file.sync_all()?;
        if !self.is_named {
            let _ = unlinkat(&self.folder, &self.part, AtFlags::empty());
            let held = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            linkat(CWD, held, &self.folder, &self.part, AtFlags::SYMLINK_FOLLOW)?;
            self.is_named = true;
        }
        renameat(&self.folder, &self.part, &self.folder, &self.name)?;
        self.is_named = false;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_named {
            let _ = unlinkat(&self.folder, &self.part, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn old_content_stays_until_the_new_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "old").unwrap();
        fs::set_permissions(at("old"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("old", at("link")).unwrap();
        for name in ["old", "link", "new"] {
            let before = fs::read(at(name)).ok();
            let (replacement, mut file) = Replacement::begin(&at(name)).unwrap();
            file.write_all(b"half").unwrap();
            assert_eq!(fs::read(at(name)).ok(), before, "{name}");
            drop((replacement, file));
            assert_eq!(fs::read(at(name)).ok(), before, "{name}");
            let (replacement, mut file) = Replacement::begin(&at(name)).unwrap();
            file.write_all(name.as_bytes()).unwrap();
            replacement.keep().unwrap();
            assert_eq!(fs::read(at(name)).unwrap(), name.as_bytes());
        }
        assert!(at("link").is_symlink());
        assert_eq!(fs::metadata(at("old")).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside them");
    }

    #[test]
    fn streams_and_descriptors_are_written_as_they_are() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let descriptor = PathBuf::from(format!("/proc/self/fd/{}", file.as_file().as_raw_fd()));
        for path in [Path::new("/dev/null"), &descriptor] {
            let (replacement, mut to) = Replacement::begin(path).unwrap();
            to.write_all(b"words").unwrap();
            replacement.keep().unwrap();
        }
        assert_eq!(fs::read(file.path()).unwrap(), b"words");
        let refused = Replacement::begin(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(refused, FileError::NotAFile { .. }), "{refused}");
    }
}
