//! Folders on the way to a file, and symbolic links that somebody else may have planted there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

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

/// Finds a link on the way to `path`, itself included, that belongs neither to root nor to this
/// user and is in a folder that others may write, where anybody can plant one. The kernel keeps
/// users from such links only in sticky folders, and only if fs.protected_symlinks is set.
pub fn planted_link(path: &Path) -> Option<PlantedLink> {
    let mine = [0, rustix::process::geteuid().as_raw()];
    let mut at = PathBuf::from(".");
    let mut rest = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        let next = at.join(part);
        let there = next.symlink_metadata().ok()?;
        if !there.is_symlink() {
            at = next;
            continue;
        }
        let folder = at.metadata().ok()?;
        if !mine.contains(&there.uid()) && folder.mode() & 0o022 != 0 {
            return Some(PlantedLink(next));
        }
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        let target = next.read_link().ok()?;
        parts(&target).into_iter().rev().for_each(|part| rest.push_front(part));
    }
    None
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
            assert_eq!(planted_link(&at(name)), None, "{name}");
        }
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
            let found = planted_link(&at(name)).unwrap();
            assert!(found.0.ends_with("share/link"), "{name}: {found}");
        }
        // Nobody but its owner can have planted that.
        assert_eq!(planted_link(&at("theirs/link/file")), None);
    }
}
