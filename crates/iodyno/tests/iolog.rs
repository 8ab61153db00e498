//! Tests I/O logs written and replayed in whole runs, also by fio.

use std::fs;

use crate::common::{World, json, says, status};

/// I/Os read, written and trimmed by the first job, and its run time, ms.
fn counts(document: &serde_json::Value) -> ([u64; 3], u64) {
    let job = &document["jobs"][0];
    let ios = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
    (["read", "write", "trim"].map(ios), job["job_runtime"].as_u64().unwrap())
}

#[track_caller]
fn replay(world: &World, more: &[&str]) -> ([u64; 3], u64) {
    let job = ["--name=again", "--read_iolog=log", "--output-format=json"];
    let output = world.jobs(&[&job[..], more].concat());
    status(&output, 0);
    counts(&json(&output.stdout))
}

#[test]
fn iologs_are_replayed_by_both_programs() {
    let world = World::new();
    // A relative name: a log cannot contain a path with a blank.
    let data = world.path("data");
    let job = ["--name=t", "--filename=data", "--rw=randrw", "--bsrange=4k-16k", "--size=1m"];
    let log = ["--write_iolog=log", "--fsync=16", "--output-format=json"];
    let written = world.jobs(&[&job[..], &log[..]].concat());
    status(&written, 0);
    let (ios, _) = counts(&json(&written.stdout));
    let lines = fs::read_to_string(world.path("log")).unwrap();
    assert!(lines.starts_with("fio version 3 iolog\n"));
    assert_eq!(replay(&world, &["--ioengine=io_uring", "--iodepth=4"]).0, ios);
    // fio will change the file that iodyno made, so the marked one is replaced by a copy.
    fs::rename(&data, world.path("other")).unwrap();
    fs::copy(world.path("other"), &data).unwrap();
    let log = world.path("log").display().to_string();
    let fio = ["--name=again", "--read_iolog", &log, "--output-format=json"];
    let again = std::process::Command::new("fio").args(fio).current_dir(world.path("")).output();
    assert_eq!(counts(&json(&again.unwrap().stdout)).0, ios);
}

#[test]
fn time_is_kept_unless_it_is_not_wanted() {
    let world = World::new();
    let line = |n: u64| format!("{} data read {} 4096\n", 1000 + 20_000 * n, 4096 * (n % 8));
    let log: String = (0..20).map(line).collect();
    fs::write(world.path("log"), format!("fio version 3 iolog\n1000 data add\n{log}")).unwrap();
    let (ios, ms) = replay(&world, &[]);
    assert_eq!(ios, [20, 0, 0]);
    assert!(ms >= 380, "{ms}");
    let (ios, faster_ms) = replay(&world, &["--replay_time_scale=200"]);
    assert_eq!(ios, [20, 0, 0]);
    assert!((190..ms).contains(&faster_ms), "{faster_ms}");
    let (ios, at_once_ms) = replay(&world, &["--replay_no_stall=1"]);
    assert_eq!(ios, [20, 0, 0]);
    assert!(at_once_ms < faster_ms, "{at_once_ms}");
}

#[test]
fn a_log_writes_nothing_that_its_job_may_not() {
    let world = World::new();
    fs::write(world.path("precious"), vec![7; 8192]).unwrap();
    let log = "fio version 2 iolog\nprecious read 4096 4096\nprecious write 0 4096\n";
    fs::write(world.path("log"), log).unwrap();
    let job = ["--name=again", "--read_iolog=log"];
    says(&world.jobs(&job), 2, "--allow-write");
    assert_eq!(replay(&world, &["--readonly"]).0, [1, 0, 0]);
    assert_eq!(replay(&world, &["--replay_skip=write"]).0, [1, 0, 0]);
    assert_eq!(fs::read(world.path("precious")).unwrap(), [7; 8192]);
    assert_eq!(replay(&world, &["--replay_redirect=mine"]).0, [1, 1, 0]);
    assert_eq!(fs::metadata(world.path("mine")).unwrap().len(), 8192);
    let word = world.path("precious").display().to_string();
    assert_eq!(replay(&world, &["--allow-write", &word]).0, [1, 1, 0]);
    assert_ne!(fs::read(world.path("precious")).unwrap(), [7; 8192]);
}

#[test]
fn a_log_that_cannot_be_made_again_is_refused_before_anything_is_made() {
    let world = World::new();
    for (log, words) in [
        ("fio version 2 iolog\nnew write 0 4096\nnew wrote 0 4096\n", "line 3"),
        ("fio version 1 iolog\n", "neither a blktrace nor a fio iolog"),
        ("fio version 2 iolog\n", "it holds no I/O"),
    ] {
        fs::write(world.path("log"), log).unwrap();
        says(&world.jobs(&["--name=again", "--read_iolog=log"]), 2, words);
        assert!(!world.path("new").exists());
    }
    status(&world.jobs(&["--name=again", "--read_iolog=/dev/zero"]), 2);
    let twice = ["--name=a", "--write_iolog=l", "--size=4k", "--name=b", "--write_iolog=l"];
    status(&world.jobs(&[&twice[..], &["--size=4k"]].concat()), 2);
}
