//! Folders on the way to a file, and symbolic links that somebody else may have planted there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, open, openat2,
    readlinkat,
};
use rustix::io::Errno;

use crate::error::FileError;

/// A link of another user in a folder that others may write: who planted it chose where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedLink(PathBuf);

impl fmt::Display for PlantedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = self.0.display();
        write!(f, "{link}, another user's symbolic link in a folder that others may write")
    }
}

/// Links that the kernel follows on the way to a file (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Folder of a file: `.` for a mere name.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Refuses a folder in which everybody may plant a link, for a file that another program opens by
/// its name.
///
/// # Errors
/// It is such a folder.
pub fn refuse_shared_folder(path: &Path) -> Result<(), FileError> {
    match folder_of(path).metadata() {
        Ok(found) if found.mode() & 0o002 != 0 => {
            Err(FileError::SharedFolder { path: path.into() })
        }
        _ => Ok(()),
    }
}

/// Returns the absolute path without links, each of which was judged as it was followed; what is
/// missing at its end stays as it is. `None` if only the kernel knows where a link leads
/// (/proc/self/fd), or there are too many.
///
/// # Errors
/// A link on the way, itself included, that belongs neither to root nor to this user and is in a
/// folder that others may write, where anybody can plant one. The kernel keeps users from such
/// links only in sticky folders, and only if fs.protected_symlinks is set.
pub fn real_path(path: &Path) -> Result<Option<PathBuf>, PlantedLink> {
    let mut at = std::env::current_dir().unwrap_or_default();
    let mut rest = parts(path);
    let (mut links, mut is_known) = (0, true);
    while let Some(part) = rest.pop_front() {
        // There are no links on the way to it.
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(part);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = open(&at, flags, Mode::empty());
        let Some((held, stat)) = held.ok().and_then(|held| fstat(&held).ok().map(|is| (held, is)))
        else {
            at.extend(rest);
            break;
        };
        if !FileType::from_raw_mode(stat.st_mode).is_symlink() {
            continue;
        }
        let folder = at.parent().and_then(|folder| folder.metadata().ok());
        if folder.is_none_or(|folder| is_planted(stat.st_uid, folder.mode())) {
            return Err(PlantedLink(at));
        }
        is_known &= fstatfs(&held).is_ok_and(|of| of.f_type != PROC_SUPER_MAGIC);
        links += 1;
        // Of the link that was judged, whatever has its name by now.
        let Some(target) = readlinkat(&held, "", Vec::new()).ok().filter(|_| links <= MOST_LINKS)
        else {
            return Ok(None);
        };
        at.pop();
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        parts(&target).into_iter().rev().for_each(|part| rest.push_front(part));
    }
    Ok(is_known.then_some(at))
}

/// True if the entry of user `owner` in a folder of this mode belongs neither to root nor to this user,
/// and others may write the folder.
pub(crate) fn is_planted(owner: u32, folder_mode: u32) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    ![0, rustix::process::geteuid().as_raw()].contains(&owner) && folder_mode & OTHERS_WRITE != 0
}

/// Opens what [`real_path`] returned for `path`: a link that took its place since is not followed.
///
/// # Errors
/// As open(2); ELOOP for such a link.
pub fn open_real(path: &Path, real: Option<&Path>, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let Some(real) = real else { return open(path, flags, Mode::empty()) };
    match openat2(CWD, real, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Linux before 5.6, or a sandbox.
        Err(Errno::NOSYS | Errno::PERM) => open(real, flags, Mode::empty()),
        opened => opened,
    }
}

/// Components of a path, the root as `/`.
fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};

    use super::*;

    #[test]
    fn ones_own_links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        symlink("there", at("link")).unwrap();
        symlink("circle", at("circle")).unwrap();
        for name in ["there/../link/x", "link", "missing", "circle"] {
            assert!(real_path(&at(name)).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_real_path_has_no_links_and_stays_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("there/below")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        symlink("there/below", at("link")).unwrap();
        for (path, real) in [
            ("link", "there/below"),
            ("link/..", "there"),
            ("link/../../there/./below/new", "there/below/new"),
            ("there/missing/../x", "there/missing/../x"),
        ] {
            assert_eq!(real_path(&at(path)), Ok(Some(at(real))), "{path}");
        }
        let descriptor = Path::new("/proc/self/fd/0");
        assert_eq!(real_path(descriptor), Ok(None));

        let real = real_path(&at("link/file")).unwrap().unwrap();
        fs::write(at("victim/file"), "").unwrap();
        fs::write(&real, "").unwrap();
        open_real(&at("link/file"), Some(&real), OFlags::RDONLY).unwrap();
        fs::rename(at("there/below"), at("gone")).unwrap();
        symlink("../victim", at("there/below")).unwrap();
        let error = open_real(&at("link/file"), Some(&real), OFlags::RDONLY).unwrap_err();
        assert_eq!(error, Errno::LOOP);
    }

    #[test]
    #[ignore = "needs root"]
    fn links_of_others_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["share", "there", "theirs"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::set_permissions(at("share"), fs::Permissions::from_mode(0o1777)).unwrap();
        chown(at("theirs"), Some(65534), None).unwrap();
        for name in ["share/link", "theirs/link"] {
            symlink("../there", at(name)).unwrap();
            lchown(at(name), Some(65534), None).unwrap();
        }
        symlink(at("share/link"), at("mine")).unwrap();
        for name in ["share/link", "share/link/file", "mine/file", "there/../share/link/x"] {
            let found = real_path(&at(name)).unwrap_err();
            assert!(found.0.ends_with("share/link"), "{name}: {found}");
        }
        // Nobody but its owner can have planted that.
        assert_eq!(real_path(&at("theirs/link/file")), Ok(Some(at("there/file"))));
    }
}
