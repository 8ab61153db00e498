//! Checks of the store's file, before and after SQLite opens it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iodyno_files::{FileError, FileIdentity, Kind, NameOrigin, There, create_new, folder_of, look};

use crate::error::StoreError;
use crate::open::WORLD_WRITABLE;

/// Files that SQLite opens beside a database (<https://www.sqlite.org/tempfiles.html>).
const SIBLINGS: [&str; 3] = ["-journal", "-wal", "-shm"];
/// Folders that iodyno keeps beside a store: locks of running runs, documents to be pushed.
const FOLDERS: [&str; 2] = [".running", ".outbox"];

/// Regular file that may be a store.
#[derive(Debug)]
pub(crate) struct StoreFile {
    /// Path without symbolic links.
    pub(crate) path: PathBuf,
    identity: FileIdentity,
}

impl StoreFile {
    /// Checks the store at `path`; `None`: nothing there.
    ///
    /// # Errors
    /// If it, or a file beside it, must not be opened: a device, a FIFO, a folder.
    pub(crate) fn existing(path: &Path) -> Result<Option<Self>, StoreError> {
        refuse_special_names(path)?;
        let identity = match look(path, NameOrigin::User) {
            Ok(There::File(identity)) => identity,
            Ok(There::Nothing) | Err(FileError::NoFolder { .. }) => return Ok(None),
            Ok(There::Stream) => {
                let error = FileError::NotAFile { path: path.into(), kind: Kind::Stream };
                return Err(StoreError::File(error));
            }
            Err(FileError::System { error, .. }) => {
                return Err(StoreError::Open { path: path.into(), reason: error.to_string() });
            }
            Err(error) => return Err(StoreError::File(error)),
        };
        let path = path
            .canonicalize()
            .map_err(|error| StoreError::Open { path: path.into(), reason: error.to_string() })?;
        for sibling in SIBLINGS {
            let mut name = OsString::from(&path);
            name.push(sibling);
            look(Path::new(&name), NameOrigin::Iodyno).map_err(StoreError::File)?;
            refuse_planted(&path, Path::new(&name))?;
        }
        Ok(Some(Self { path, identity }))
    }

    /// Checks the store at `path`, or creates an empty file for it, in a folder accessible only to
    /// the user.
    ///
    /// # Errors
    /// As for [`Self::existing`], or if it cannot be created.
    pub(crate) fn made(path: &Path) -> Result<Self, StoreError> {
        if let Some(file) = Self::existing(path)? {
            return Ok(file);
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder).map_err(|error| StoreError::Open {
                path: path.into(),
                reason: format!("{}: {error}", folder.display()),
            })?;
        }
        match create_new(path) {
            // Another iodyno may create it at the same time.
            Ok(_) | Err(FileError::Exists { .. }) => {}
            Err(error) => return Err(StoreError::File(error)),
        }
        Self::existing(path)?.ok_or_else(|| StoreError::Missing { path: path.into() })
    }

    /// Checks that the path still names the same file, since SQLite may have opened another.
    ///
    /// # Errors
    /// If it is another file.
    pub(crate) fn check_unchanged(&self) -> Result<(), StoreError> {
        match look(&self.path, NameOrigin::User) {
            Ok(There::File(identity)) if identity == self.identity => Ok(()),
            _ => Err(StoreError::Open {
                path: self.path.clone(),
                reason: "another file replaced it just now".into(),
            }),
        }
    }
}

/// Refuses a file of another user beside a store in a folder where everybody may put one: SQLite
/// would take the store's pages from it.
fn refuse_planted(store: &Path, sibling: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = sibling.symlink_metadata() else { return Ok(()) };
    let owner = |path: &Path| path.metadata().map(|found| found.uid()).ok();
    let may_be_theirs = [Some(0), owner(Path::new("/proc/self")), owner(store)];
    let is_shared =
        folder_of(store).metadata().is_ok_and(|found| found.mode() & WORLD_WRITABLE != 0);
    if !is_shared || may_be_theirs.contains(&Some(found.uid())) {
        return Ok(());
    }
    let reason =
        format!("{} is of user {}, who may have put it there", sibling.display(), found.uid());
    Err(StoreError::Open { path: store.into(), reason })
}

/// True if a file at `path` is, or would be, the store at `store` or one of those kept beside it.
pub fn is_part_of(store: &Path, path: &Path) -> bool {
    let (real_store, real) = (resolved(store), resolved(path));
    let is_beside = |ending: &&str| {
        let mut name = OsString::from(&real_store);
        name.push(ending);
        real.starts_with(name)
    };
    let identity = |path| match look(path, NameOrigin::User) {
        Ok(There::File(identity)) => Some(identity),
        _ => None,
    };
    let is_same = identity(store).is_some_and(|store| identity(path) == Some(store));
    is_same || [""].iter().chain(&SIBLINGS).chain(&FOLDERS).any(is_beside)
}

/// The path without links, also of a file that does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let of_new = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(of_new).unwrap_or_else(|| path.into())
}

/// Refuses SQLite's special names, which users might expect to work.
fn refuse_special_names(path: &Path) -> Result<(), StoreError> {
    if path.as_os_str().is_empty() {
        return Err(StoreError::NoHome);
    }
    let is_word = |text: &str| text == ":memory:" || text.starts_with("file:");
    match path.to_str().is_some_and(is_word) {
        true => Err(StoreError::NotAName { path: path.into() }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn a_journal_that_another_user_planted_is_not_played_back() {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let folder = tempfile::tempdir().unwrap();
        let (store, journal) = (folder.path().join("s"), folder.path().join("s-journal"));
        std::fs::write(&store, "").unwrap();
        std::fs::write(&journal, "").unwrap();
        let shared = std::fs::Permissions::from_mode(0o1777);
        std::fs::set_permissions(folder.path(), shared).unwrap();
        assert!(StoreFile::existing(&store).is_ok());
        chown(&journal, Some(65534), None).unwrap();
        let error = StoreFile::existing(&store).unwrap_err();
        assert!(error.to_string().contains("s-journal is of user 65534"), "{error}");
        // A store that a user made is that user's, with all that is beside it.
        chown(&store, Some(65534), None).unwrap();
        assert!(StoreFile::existing(&store).is_ok());
    }

    #[test]
    fn files_of_a_store_are_known_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let store = at("runs");
        for exists in [false, true] {
            if exists {
                std::fs::write(&store, "").unwrap();
                std::fs::hard_link(&store, at("again")).unwrap();
                std::os::unix::fs::symlink("runs", at("link")).unwrap();
                assert!(["again", "link"].iter().all(|name| is_part_of(&store, &at(name))));
            }
            for name in ["runs", "runs-wal", "runs-shm", "runs.running", "runs.outbox/a.json"] {
                assert!(is_part_of(&store, &at(name)), "{name}");
            }
            for name in ["runs.json", "runs-2", "run", "other/runs"] {
                assert!(!is_part_of(&store, &at(name)), "{name}");
            }
        }
    }
}
