//! Creates whole files in a directory that others write to as well.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::door::NameOrigin;
use crate::error::{FileError, Kind};
use crate::removal::open_folder;

/// Outcome of creating a file in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Created now.
    New,
    /// Already there, with the same bytes.
    Already,
}

/// Creates the file `name` with `bytes` in `folder`, whole or not at all. An existing file is never
/// changed: with the same bytes it is this file, created earlier.
///
/// # Errors
/// Another object, such as a link, has the name; `name` is no plain name; the system refuses.
pub fn leave(folder: &Path, name: &str, bytes: &[u8]) -> Result<Left, FileError> {
    let path = folder.join(name);
    let system = |error: std::io::Error| FileError::System { path: path.clone(), error };
    let failed = |errno: Errno| system(errno.into());
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
        return Err(failed(Errno::INVAL));
    }
    let within = open_folder(folder).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => {
            FileError::NoFolder { path: path.clone(), folder: folder.into() }
        }
        errno => failed(errno),
    })?;
    let part = format!(".{name}.{}.part", std::process::id());
    let nofollow = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Remains of a killed process with the same pid.
    let _ = rustix::fs::unlinkat(&within, &part, AtFlags::empty());
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | nofollow;
    let file = rustix::fs::openat(&within, &part, new, Mode::from_raw_mode(0o644));
    let mut file = File::from(file.map_err(failed)?);
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let outcome = written.map_err(system).and_then(|()| {
        let only_new = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(&within, &part, &within, name, only_new) {
            Ok(()) => return Ok(Left::New),
            // File systems without that (NFS) have hard links, which replace nothing either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                match rustix::fs::linkat(&within, &part, &within, name, AtFlags::empty()) {
                    Ok(()) => return Ok(Left::New),
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(failed(errno)),
                }
            }
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let stat = rustix::fs::statat(&within, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            let kind = crate::door::kind_of(&stat).unwrap_or(Kind::Directory);
            return Err(FileError::NotAFile { path: path.clone(), kind });
        }
        let there = rustix::fs::openat(&within, name, OFlags::RDONLY | nofollow, Mode::empty());
        let mut held = Vec::new();
        let most = bytes.len() as u64 + 1;
        let there = File::from(there.map_err(failed)?);
        there.take(most).read_to_end(&mut held).map_err(system)?;
        if held == bytes {
            Ok(Left::Already)
        } else {
            Err(FileError::Exists { path: path.clone() })
        }
    });
    let _ = rustix::fs::unlinkat(&within, &part, AtFlags::empty());
    outcome
}

/// Lists the regular files of `folder` that end in `ending`, by name, without links; empty if the
/// folder does not exist.
///
/// # Errors
/// The folder is unreadable.
pub fn list_regular_files(folder: &Path, ending: &str) -> std::io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        names.extend(entry.file_name().into_string().ok().filter(|name| {
            name.ends_with(ending) && crate::look(&folder.join(name), NameOrigin::Iodyno).is_ok()
        }));
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_created_once_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(leave(folder.path(), "a.json", b"one").unwrap(), Left::New);
        assert_eq!(leave(folder.path(), "a.json", b"one").unwrap(), Left::Already);
        for other in [&b"two"[..], b"on", b"one and more"] {
            let refused = leave(folder.path(), "a.json", other).unwrap_err();
            assert!(matches!(refused, FileError::Exists { .. }), "{refused}");
        }
        assert_eq!(fs::read(at("a.json")).unwrap(), b"one");
        assert_eq!(list_regular_files(folder.path(), ".json").unwrap(), ["a.json"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn links_are_not_followed_and_names_stay_within() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target");
        fs::write(&target, "theirs").unwrap();
        symlink(&target, folder.path().join("a.json")).unwrap();
        symlink(outside.path().join("none"), folder.path().join("b.json")).unwrap();
        let own_part = format!(".c.json.{}.part", std::process::id());
        symlink(&target, folder.path().join(own_part)).unwrap();
        for name in ["a.json", "b.json"] {
            let refused = leave(folder.path(), name, b"mine").unwrap_err();
            let FileError::NotAFile { kind, .. } = refused else { panic!("{refused}") };
            assert_eq!(kind, Kind::SymbolicLink);
        }
        assert_eq!(leave(folder.path(), "c.json", b"mine").unwrap(), Left::New);
        for name in ["../x", "/x", "x/y", "..", "."] {
            assert!(leave(folder.path(), name, b"mine").is_err(), "{name}");
        }
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(list_regular_files(folder.path(), ".json").unwrap(), ["c.json"]);
        assert!(leave(&outside.path().join("none"), "x", b"").is_err());
        assert!(list_regular_files(&outside.path().join("none"), "").unwrap().is_empty());
    }
}
