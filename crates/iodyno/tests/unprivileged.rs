//! Tests a user who may write a device but cannot see who else has it open. Needs root (to switch
//! to that user), losetup, mknod and setpriv.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Command, Output};

use crate::common::{Loop, World, says, status, text, tool};

const NOBODY: u32 = 65534;

/// Runs `iodyno run` in the world's folder, owned by that user.
fn run(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.with_environment(Command::new("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.args([env!("CARGO_BIN_EXE_iodyno"), "run", "--bs=4k", "--size=64k", "--name=t"]);
    command.args(arguments).output().unwrap()
}

#[test]
#[ignore = "needs root"]
fn a_device_is_written_once_the_user_answers_for_what_cannot_be_seen() {
    let world = World::new();
    let disk = Loop::new(&world, "image", 8 << 20);
    let number = fs::metadata(&disk.device).unwrap().rdev();
    let node = world.path("node");
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff);
    let node_path = node.to_str().unwrap();
    tool("mknod", &[node_path, "b", &major.to_string(), &minor.to_string()]);
    for path in [world.path(""), node.clone()] {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    // Root has it open all the time, invisibly to that user.
    let theirs = fs::File::open(&node).unwrap();
    let mut holder = Command::new("sleep").arg("1000").stdin(theirs).spawn().unwrap();

    let (word, filename) = (disk.word(), format!("--filename={node_path}"));
    let job = [&*filename, "--rw=write", "--allow-write", &word, "--discard-data", &word];
    let before = disk.bytes();
    let refused = run(&world, &job);
    status(&refused, 2);
    let said = text(&refused.stderr);
    let as_root = "run as root: sudo ";
    for part in ["cannot verify that ", "the open files of ", as_root, "--assume-unused loop"] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
    assert!(disk.bytes() == before, "it was written");

    let assumed = run(&world, &[&job[..], &["--assume-unused", &word]].concat());
    status(&assumed, 0);
    assert!(disk.bytes() != before, "it was not written");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
#[ignore = "needs root"]
fn a_store_of_somebody_else_is_said_to_be_closed() {
    let world = World::new();
    let closed = world.directory("closed");
    std::fs::write(closed.join("store.sqlite"), "").unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    chown(world.path(""), Some(NOBODY), Some(NOBODY)).unwrap();
    let store = closed.join("store.sqlite");
    for command in [&["runs"][..], &["list", "--history"], &["show"], &["resume"]] {
        let mut as_nobody = world.with_environment(Command::new("setpriv"));
        as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        as_nobody.arg(env!("CARGO_BIN_EXE_iodyno")).arg("--store").arg(&store).args(command);
        let output = as_nobody.output().unwrap();
        status(&output, 2);
        let said = text(&output.stderr);
        assert!(said.contains("cannot be opened: Permission denied"), "{said}");
        assert!(said.contains("--store PATH") && said.lines().count() <= 3, "{said}");
    }
}

#[test]
#[ignore = "needs root"]
fn files_of_ones_own_are_asked_for_only_while_somebody_unseen_has_them_open() {
    let world = World::new();
    chown(world.path(""), Some(NOBODY), Some(NOBODY)).unwrap();
    let job = ["--filename=new", "--rw=write"];
    for _ in 0..2 {
        status(&run(&world, &job), 0);
    }
    let theirs = fs::File::open(world.path("new")).unwrap();
    says(&run(&world, &job), 2, "--assume-unused ");
    status(&run(&world, &[&job[..], &["--assume-unused", "new"]].concat()), 0);
    drop(theirs);
    status(&run(&world, &job), 0);
}
