//! Symbolic links that somebody else may have planted on the way to a file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Links that the kernel follows on the way to a file (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Finds a link on the way to `path`, itself included, that belongs neither to root nor to this
/// user and is in a folder that others may write, where anybody can plant one. The kernel keeps
/// users from such links only in sticky folders, and only if fs.protected_symlinks is set.
pub fn planted_link(path: &Path) -> Option<PathBuf> {
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
            return Some(next);
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
            assert!(found.ends_with("share/link"), "{name}: {}", found.display());
        }
        // Nobody but its owner can have planted that.
        assert_eq!(planted_link(&at("theirs/link/file")), None);
    }
}
