use std::fs;
use std::path::Path;

use iodyno_model::Host;

use super::*;
use crate::entry_to_make;

fn entry(path: &Path, kind: EntryKind) -> Result<FileEntry, TargetError> {
    entry_to_make(&Host::default(), path, kind)
}

#[test]
fn a_directory_is_removed_only_by_who_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let made = entry(&path, EntryKind::NewDirectory).unwrap();
    assert_eq!(made.may_be_removed(), Err(Errno::NOENT));
    made.make_directory().unwrap();
    assert_eq!((made.may_be_removed(), made.remove()), (Err(Errno::PERM), Err(Errno::PERM)));
    made.note_directory();
    assert_eq!(made.make_directory(), Err(Errno::EXIST));
    // Another entry, which creates nothing, removes nothing.
    let other = entry(&path, EntryKind::Directory).unwrap();
    assert!(other.look(Lookup::Statx).is_ok());
    assert_eq!((other.may_be_removed(), other.remove()), (Err(Errno::PERM), Err(Errno::PERM)));
    assert_eq!(other.remove_made().unwrap(), Removed::NotOurs);
    // A directory that is not empty stays.
    fs::write(path.join("file"), "").unwrap();
    assert_eq!(made.remove(), Err(Errno::NOTEMPTY));
    fs::remove_file(path.join("file")).unwrap();
    assert_eq!((made.may_be_removed(), made.remove()), (Ok(()), Ok(())));
    assert!(!path.exists());
    // Another one's in its place.
    fs::create_dir(folder.path().join("e")).unwrap();
    fs::rename(folder.path().join("e"), &path).unwrap();
    drop(made);
    assert!(path.exists());
}

#[test]
fn an_existing_empty_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [there, new] = ["there", "new"].map(|name| folder.path().join(name));
    fs::write(&there, "").unwrap();
    for (path, removed) in [(&there, Removed::NotOurs), (&new, Removed::Yes)] {
        let entry = entry(path, EntryKind::File).unwrap();
        let file = entry.make().unwrap();
        entry.note(&file);
        assert_eq!(entry.remove_made().unwrap(), removed);
    }
    assert!(there.exists() && !new.exists());
}

#[test]
fn an_existing_entry_is_not_a_new_directory() {
    let folder = tempfile::tempdir().unwrap();
    let [directory, file] = ["d", "f"].map(|name| folder.path().join(name));
    fs::create_dir(&directory).unwrap();
    fs::write(&file, "").unwrap();
    for (path, kind, taken) in [
        (&directory, EntryKind::Directory, true),
        (&directory, EntryKind::NewDirectory, false),
        (&directory, EntryKind::File, false),
        (&file, EntryKind::Directory, false),
        (&file, EntryKind::NewDirectory, false),
        (&file, EntryKind::File, true),
    ] {
        assert_eq!(entry(path, kind).is_ok(), taken, "{} as {kind:?}", path.display());
    }
}
