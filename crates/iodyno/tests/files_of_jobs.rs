//! What becomes of the files that jobs work on: on a disk, and in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::process::Output;

use common::{World, status, text};

fn run(world: &World, job_file: &str, more: &[&str]) -> Output {
    fs::write(world.path("jobs.fio"), job_file).unwrap();
    let mut command = world.command();
    command.current_dir(world.path("")).args(["run", "jobs.fio"]).args(more).output().unwrap()
}

#[test]
fn unlink_removes_files_when_their_last_job_is_done() {
    let world = World::new();
    let data = world.directory("data");
    let (global, look) =
        ("size=64k\nbs=4k\nunlink=1\n", format!("exec_prerun=ls {}\n", data.display()));
    let directory = format!("directory={}\n", data.display());
    let jobs = format!(
        "[global]\n{directory}{global}\n\
         [first]\nrw=write\nfilename=own:common\n\
         [second]\nstonewall\nrw=read\nfilename=common\n{look}\
         [third]\nstonewall\nunlink=0\nrw=write\nfilename=kept\n{look}\
         [fourth]\nstonewall\nrw=write\nfilename=last\n"
    );
    let output = run(&world, &jobs, &["--allow-exec"]);
    status(&output, 0);
    let seen = |job: &str| fs::read_to_string(world.path(&format!("{job}.prerun.txt"))).unwrap();
    assert_eq!(seen("second"), "common\nkept\nlast\n", "the first job's own file is gone");
    assert_eq!(seen("third"), "kept\nlast\n", "the other one when nobody wants it any more");
    assert_eq!(world.files("data"), ["kept"]);
}

/// A folder in memory, away with what is in it.
fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

#[test]
fn jobs_may_have_files_in_memory() {
    let (world, memory) = (World::new(), in_memory());
    for direct in ["0", "1"] {
        let jobs = format!(
            "[global]\ndirectory={}\nsize=64k\nbs=4k\ndirect={direct}\nverify=crc32c\n\
             [writes]\nrw=randwrite\nioengine=psync\n\
             [reads]\nstonewall\nrw=randread\nioengine=io_uring\niodepth=4\nverify=none\n",
            memory.path().display()
        );
        let output = run(&world, &jobs, &["--output-format=json"]);
        if direct == "1" && output.status.code() == Some(2) {
            // Before Linux 6.6.
            let said = text(&output.stderr);
            assert!(said.contains("takes no O_DIRECT") && said.contains("take direct=0"), "{said}");
            continue;
        }
        status(&output, 0);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["jobs"][0]["write"]["total_ios"], 16);
        assert_eq!(document["jobs"][1]["read"]["total_ios"], 16);
    }
    let shown = run(
        &world,
        &format!("[reads]\nfilename={}/reads.0.0\nrw=read\n", memory.path().display()),
        &[],
    );
    status(&shown, 0);
    assert!(text(&shown.stdout).contains("no storage is measured"), "{}", text(&shown.stdout));
}
