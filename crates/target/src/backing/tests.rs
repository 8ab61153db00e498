use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::mpsc::{self, TryRecvError};

use super::*;
use crate::loop_devices::{MIB, eventually, run};

const MARK: Mark = Mark(0x9911_2233_4455_6677_8899_aabb_ccdd_eeff);

/// Files behind all loop devices, by device and inode number.
fn behind_all() -> Vec<(u64, u64)> {
    let said = run("losetup", &["--list", "--raw", "--noheadings", "--output", "NAME"]);
    let devices = said.lines().filter_map(|path| open_device(path, false).ok());
    devices.filter_map(|device| file_behind(&device).ok()).collect()
}

fn identity(path: &Path) -> (u64, u64) {
    let found = fs::metadata(path).unwrap();
    (found.dev(), found.ino())
}

#[test]
#[ignore = "needs root"]
fn a_file_is_made_and_removed_with_its_loop_device() {
    let dir = tempfile::tempdir().unwrap();
    let folder = OwnFolder::open(dir.path()).unwrap();
    let made = BackingFile::make(&folder, MARK, 0, 4 * MIB).unwrap();
    let path = folder.backing_file(MARK, 0);
    let own = identity(&path);
    assert_eq!(file_behind(open_device(made.device(), false).unwrap()).unwrap(), own);
    assert_eq!(fs::read(made.device()).unwrap().len() as u64, 4 * MIB);
    // It exists already and is left unchanged.
    assert!(BackingFile::make(&folder, MARK, 0, MIB).is_err());
    assert_eq!(identity(&path), own);
    assert_eq!(made.remove().unwrap(), Removed::Yes);
    assert!(!path.exists() && !behind_all().contains(&own));
}

#[test]
fn a_swapped_name_does_not_redirect_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let folder = OwnFolder::open(dir.path()).unwrap();
    let path = folder.backing_file(MARK, 0);
    let victim = dir.path().join("victim");
    fs::write(&victim, vec![7; MIB as usize]).unwrap();
    let victims = identity(&victim);
    // Its end ends the thread, also by a panic.
    let (alive, other) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let _alive = alive;
        let (dir, path, victim) = (&dir, &path, &victim);
        scope.spawn(move || {
            while other.try_recv() != Err(TryRecvError::Disconnected) {
                if fs::rename(path, dir.path().join("away")).is_ok() {
                    let _ = symlink(victim, path);
                }
            }
        });
        for _ in 0..50 {
            let _ = fs::remove_file(path);
            // If the swap came first, there is a link in its place.
            let Ok(made) = BackingFile::make(&folder, MARK, 0, 4 * MIB) else { continue };
            let behind = file_behind(open_device(made.device(), false).unwrap()).unwrap();
            assert!(behind != victims && !behind_all().contains(&victims));
            made.remove().unwrap();
            // Whoever lists loop devices at this moment keeps it until then.
            eventually("its loop device is gone", || !behind_all().contains(&behind));
        }
    });
    assert_eq!(fs::read(&victim).unwrap(), vec![7; MIB as usize]);
}

#[test]
#[ignore = "needs root"]
fn a_step_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = OwnFolder::open(dir.path()).unwrap();
    // Exceeds the maximum file size.
    assert!(BackingFile::make(&folder, MARK, 0, u64::MAX / 2).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let said = run("losetup", &["--list", "--raw", "--noheadings", "--output", "BACK-FILE"]);
    assert!(!said.contains(dir.path().to_str().unwrap()), "{said}");
}

#[test]
#[ignore = "needs root"]
fn a_directory_in_which_others_may_replace_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
    for (bits, is_refused) in [(0o755, false), (0o1777, false), (0o777, true), (0o775, true)] {
        mode(bits);
        assert_eq!(OwnFolder::open(dir.path()).is_err(), is_refused, "{bits:o}");
    }
    mode(0o755);
    run("chown", &["65534", dir.path().to_str().unwrap()]);
    let error = OwnFolder::open(dir.path()).unwrap_err();
    assert!(error.to_string().contains("user 65534 owns it"), "{error}");
}

#[test]
#[ignore = "needs root"]
fn after_a_kill_only_marked_files_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let folder = OwnFolder::open(dir.path()).unwrap();
    let path = folder.backing_file(MARK, 0);
    let made = BackingFile::make(&folder, MARK, 0, MIB).unwrap();
    let own = identity(&path);
    drop(made);
    // A copy that kept name and attribute.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join(path.file_name().unwrap());
    run("cp", &["--preserve=all", path.to_str().unwrap(), copy.to_str().unwrap()]);
    assert_eq!(remove_backing_file(&copy, MARK).unwrap(), Removed::NotOurs);
    // Another file, another mark, another name.
    let other = folder.backing_file(MARK, 1);
    fs::write(&other, "theirs").unwrap();
    assert_eq!(remove_backing_file(&other, MARK).unwrap(), Removed::NotOurs);
    assert_eq!(remove_backing_file(&path, Mark(1)).unwrap(), Removed::NotOurs);
    let renamed = dir.path().join("renamed");
    fs::hard_link(&path, &renamed).unwrap();
    assert_eq!(remove_backing_file(&renamed, MARK).unwrap(), Removed::NotOurs);
    assert!(copy.exists() && other.exists() && renamed.exists() && behind_all().contains(&own));

    assert_eq!(remove_backing_file(&path, MARK).unwrap(), Removed::Yes);
    assert_eq!(remove_backing_file(&path, MARK).unwrap(), Removed::AlreadyGone);
    assert!(!behind_all().contains(&own));
    // A kill right after creation.
    let empty = folder.backing_file(MARK, 2);
    fs::write(&empty, "").unwrap();
    assert_eq!(remove_backing_file(&empty, MARK).unwrap(), Removed::Yes);
}
