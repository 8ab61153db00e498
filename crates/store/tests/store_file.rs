//! Paths that a store may and may not have.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use iodyno_store::{Store, StoreError};

fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A loop device, detached on drop.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

/// Opens the store in all three ways.
fn opened(path: &Path) -> [Result<Store, StoreError>; 3] {
    [Store::open(path), Store::open_existing_readonly(path), Store::copy_of(path)]
}

#[track_caller]
fn refused(path: &Path, says: &str) {
    for outcome in opened(path) {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::File(_)), "{path:?}: {error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
#[ignore = "needs root"]
fn devices_are_refused_under_any_path() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let device = Loop(tool("losetup", &["--find", "--show", image.to_str().unwrap()]));
    let link = folder.path().join("store.sqlite");
    symlink(&device.0, &link).unwrap();
    // SQLite would make a store on an empty disk as well.
    for contents in [vec![], vec!["mkfs.ext4", "-q", &device.0]] {
        contents.split_first().map(|(program, rest)| tool(program, rest));
        tool("sync", &[]);
        let before = std::fs::read(&image).unwrap();
        refused(Path::new(&device.0), "is a block device");
        refused(&link, "is a block device");
        tool("sync", &[]);
        assert!(std::fs::read(&image).unwrap() == before, "the device was written");
    }
}

#[test]
fn non_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    tool("mkfifo", &[at("fifo").to_str().unwrap()]);
    refused(&at("fifo"), "is a pipe");
    refused(Path::new("/dev/null"), "/dev/null");
    refused(Path::new("/dev/zero"), "is a character device");
    refused(folder.path(), "is a folder");
    symlink(at("nothing"), at("dangling")).unwrap();
    refused(&at("dangling"), "is a symbolic link");
    assert!(!at("nothing").exists());
}

#[test]
fn files_beside_the_store_are_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    drop(Store::open(&path).unwrap());
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "data").unwrap();
    for sibling in ["-journal", "-wal", "-shm"] {
        let beside = PathBuf::from(format!("{}{sibling}", path.display()));
        symlink(&precious, &beside).unwrap();
        refused(&path, "is a symbolic link");
        std::fs::remove_file(beside).unwrap();
    }
    assert_eq!(std::fs::read_to_string(precious).unwrap(), "data");
}

#[test]
fn symbolic_links_to_a_store_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("store.sqlite"), folder.path().join("link"));
    drop(Store::open(&path).unwrap());
    symlink(&path, &link).unwrap();
    assert!(opened(&link).iter().all(Result::is_ok));
    assert!(!folder.path().join("link-journal").exists());
}

#[test]
fn special_names_of_sqlite_are_refused() {
    for word in [":memory:", "file:store.sqlite", "file:x?mode=memory"] {
        for outcome in opened(Path::new(word)) {
            assert!(matches!(outcome, Err(StoreError::NotAName { .. })), "{outcome:?}");
        }
    }
    // The default of a user without a home.
    assert!(opened(Path::new("")).iter().all(|outcome| matches!(outcome, Err(StoreError::NoHome))));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(":memory:");
    drop(Store::open(&path).unwrap());
    assert!(path.exists(), "with a folder in front it is a name as any other");
}
