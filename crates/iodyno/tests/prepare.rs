//! Tests `prepare` on loop devices. Needs root, losetup, mkfs.ext4 and mount; fails by name if one
//! is missing.

use std::process::{Output, Stdio};

use crate::common::{Loop, World, json, printed, says, status, text, tool};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Runs `prepare` on `disk` with all permissions, and further words.
fn prepare(disk: &Loop<'_>, more: &[&str]) -> Output {
    disk.allowed(&["prepare", &disk.device], more)
}

/// True if all blocks of 512 bytes differ.
fn all_differ(bytes: &[u8]) -> bool {
    let mut blocks: Vec<&[u8]> = bytes.chunks(512).collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    blocks.len() == count
}

#[test]
#[ignore = "needs root"]
fn a_device_is_emptied_and_filled_to_its_last_block() {
    let world = World::new();
    // Sizes that are no multiple of a fill's block, and differ.
    let disks = [Loop::new(&world, "a", 8 * MIB + 512 * 5), Loop::new(&world, "b", 100 << 10)];
    for disk in &disks {
        status(&prepare(disk, &["--purge", "discard"]), 0);
        assert!(disk.bytes().iter().all(|byte| *byte == 0));
        status(&prepare(disk, &["--purge", "discard", "--fill", "1x"]), 0);
        assert!(all_differ(&disk.bytes()));
    }
    let document = printed(&prepare(&disks[0], &["--fill", "2x", "--json"]));
    assert_eq!(document["plan"]["name"], "prepare");
    let fill = &document["measurements"][0];
    assert_eq!(fill["write"]["bytes"], 16 * MIB);
    assert_eq!(fill["workload"]["bs"], "131072");
    assert_eq!(document["measurements"][1]["write"]["bytes"], 512 * 5);
}

#[test]
#[ignore = "needs root"]
fn several_are_filled_at_the_same_time() {
    let world = World::new();
    let disks = [Loop::new(&world, "a", 4 * MIB), Loop::new(&world, "b", 4 * MIB)];
    let words = [disks[0].word(), disks[1].word()];
    let both = [
        "prepare",
        &disks[0].device,
        &disks[1].device,
        "--fill",
        "1x",
        "--json",
        "--allow-write",
        &words[0],
        "--allow-write",
        &words[1],
    ];
    let document = printed(&world.run(&both));
    let phases: Vec<&Value> =
        document["measurements"].as_array().unwrap().iter().map(|of| &of["phase"]).collect();
    assert_eq!((phases.len(), phases[0]), (2, phases[1]));
    assert!(disks.iter().all(|disk| all_differ(&disk.bytes())));
}

#[test]
#[ignore = "needs root"]
fn nothing_is_written_that_was_not_named_or_is_in_use() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 8 * MIB);
    let (word, device) = (disk.word(), disk.device.as_str());
    let hows: [&[&str]; 3] =
        [&["--purge", "discard"], &["--fill", "1x"], &["--purge", "discard", "--fill", "1x"]];
    let refused = |output: Output, said: &[&str]| {
        status(&output, 2);
        let error = text(&output.stderr);
        assert!(said.iter().all(|word| error.contains(word)), "{said:?}: {error}");
    };
    tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,nodiscard", device]);
    let before = disk.bytes();
    for how in hows {
        let with = |more: &[&str]| world.run(&[&["prepare", device], how, more].concat());
        refused(with(&[]), &["writing not allowed", "--allow-write"]);
        refused(with(&["--allow-write", device]), &["change at boot"]);
        refused(with(&["--allow-write", &word]), &["ext2, ext3 or ext4", "--discard-data"]);
        let unused = ["--allow-write", &word, "--discard-data", &word, "--allow-write", "S1"];
        refused(with(&unused), &["S1"]);
        assert!(disk.bytes() == before, "{how:?}");
    }
    for method in ["format", "format-user-erase", "sanitize-block", "sanitize-crypto"] {
        let output = prepare(&disk, &["--purge", method, "--fill", "1x"]);
        refused(output, &["not a whole namespace", "--purge discard"]);
    }
    let at = world.directory("mounted");
    tool("mount", &["-o", "ro,noload", device, at.to_str().unwrap()]);
    let in_use = hows.map(|how| prepare(&disk, how));
    let shown = [&["--purge", "discard"][..], &[]]
        .map(|how| world.run(&[&["prepare", device, "--dry-run"][..], how].concat()));
    tool("umount", &[at.to_str().unwrap()]);
    for output in in_use {
        refused(output, &["is in use", "mounted at", "no option overrides it"]);
    }
    for output in shown {
        status(&output, 2);
        assert!(text(&output.stdout).contains("is in use and would be skipped"));
    }
    assert!(disk.bytes() == before);
    // A refused preparation is not a run.
    assert!(!text(&world.run(&["runs"]).stdout).contains("prepare"));
    assert_eq!(world.run(&["show", "last"]).status.code(), Some(2));
}

#[test]
#[ignore = "needs root"]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 8 * MIB);
    tool("mkfs.ext4", &["-q", "-E", "nodiscard", &disk.device]);
    let before = disk.bytes();
    let output = prepare(&disk, &["--purge", "discard", "--fill", "2x", "--dry-run"]);
    status(&output, 0);
    let said = text(&output.stdout);
    for words in ["Destroys all data of loop", "Writes 16.8 MB to", "2x its size", "ext2, ext3"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(disk.bytes() == before);
}

#[test]
#[ignore = "needs root"]
fn a_fill_that_is_stopped_is_kept_as_far_as_it_got() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 64 * MIB);
    let word = disk.word();
    let mut command = world.command();
    command.args(["prepare", &disk.device, "--allow-write", &word, "--fill", "100x", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    disk.wait_for_writes(10);
    tool("kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().unwrap();
    status(&output, 3);
    let document = json(&output.stdout);
    assert_eq!(document["state"], "interrupted");
    let fill = &document["measurements"][0];
    assert_eq!(fill["end"], "interrupted");
    let bytes = fill["write"]["bytes"].as_u64().unwrap();
    assert!((1..6400 * MIB).contains(&bytes), "{bytes}");
    // Resuming requires the permission again.
    status(&world.run(&["resume"]), 2);
    // The same command does not start over while it could be resumed, without --anew.
    let again = prepare(&disk, &["--fill", "100x"]);
    status(&again, 2);
    let said = text(&again.stderr);
    let id = document["id"].as_str().unwrap();
    let next = format!("iodyno resume {id} --allow-write {word}`");
    assert!(said.contains(&next) && said.contains("--anew"), "{said}");
    let stopped = text(&world.run(&["show", id]).stdout);
    let next = format!("Next: iodyno resume {} --allow-write {word}\n", &id[..13]);
    assert!(stopped.contains(&next), "{stopped}");
    let shown = prepare(&disk, &["--fill", "100x", "--dry-run"]);
    assert!(text(&shown.stdout).contains(id), "{}", text(&shown.stdout));
    status(&prepare(&disk, &["--fill", "0.5x"]), 0);
    status(&prepare(&disk, &["--fill", "0.5x"]), 0);
}

#[test]
#[ignore = "needs root"]
fn a_fill_that_was_stopped_goes_on() {
    let world = World::new();
    let disk = Loop::new(&world, "a", 64 * MIB + 512);
    let word = disk.word();
    let mut command = world.command();
    // Long enough to be stopped, short enough to wait for.
    command.args(["prepare", &disk.device, "--allow-write", &word, "--fill", "4x"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    disk.wait_for_writes(10);
    tool("kill", &["-INT", &child.id().to_string()]);
    status(&child.wait_with_output().unwrap(), 3);
    let document = printed(&world.run(&["resume", "--allow-write", &word, "--json"]));
    assert_eq!(document["state"], "done");
    let all = document["measurements"].as_array().unwrap();
    let bytes = |name: &str| -> u64 {
        let own = all.iter().filter(|of| of["name"] == name);
        own.filter_map(|of| of["write"]["bytes"].as_u64()).sum()
    };
    // Blocks in flight when it was stopped may be written again.
    let filled = bytes("fill");
    assert!((256 * MIB..260 * MIB).contains(&filled), "{filled}");
    assert_eq!(bytes("fill-rest"), 512);
    assert!(all.len() >= 3 && all_differ(&disk.bytes()));
    // Nothing is left.
    says(&world.run(&["resume"]), 2, "nothing to resume");
    says(&world.run(&["resume", "last"]), 0, "its preparation is done");
}

#[test]
#[ignore = "needs root"]
fn drives_are_conditioned_in_rounds() {
    let world = World::new();
    let disks = [Loop::new(&world, "a", 4 * MIB), Loop::new(&world, "b", 4 * MIB)];
    let words = [disks[0].word(), disks[1].word()];
    let how = ["--fill", "1x", "--condition", "rw=randwrite bs=8k", "--round", "40ms"];
    let on = ["prepare", &disks[0].device, &disks[1].device, "--json"];
    let allowing = ["--allow-write", &words[0], "--allow-write", &words[1]];
    let document = printed(&world.run(&[&on[..], &how, &allowing].concat()));
    let rounds = document["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2, "each drive has a steady state of its own");
    let all = document["measurements"].as_array().unwrap();
    let last = all.iter().filter_map(|of| of["round"].as_u64()).max().unwrap();
    assert!((5..=25).contains(&last), "{last}");
    // It ends with the round in which the last of them is steady.
    let steady: Option<Vec<u64>> = rounds.iter().map(|of| of["steady_in"].as_u64()).collect();
    assert_eq!(last, steady.map_or(25, |steady| steady.into_iter().max().unwrap()));
    let conditioned: Vec<&Value> = all.iter().filter(|of| !of["round"].is_null()).collect();
    assert_eq!(conditioned.len() as u64, last * 2 * 2);
    assert!(conditioned.iter().all(|of| of["workload"]["bs"] == "8192"));
    let shown = text(&world.run(&["show", "last"]).stdout);
    assert!(shown.contains("Steady state on loop"), "{shown}");
}

#[test]
fn mistakes_are_named() {
    let world = World::new();
    let file = world.sparse("file", MIB);
    let cases: [(&[&str], &str); 8] = [
        (&["prepare"], "TARGET"),
        (&["prepare", "x"], "name a step: --purge"),
        (&["prepare", "x", "--fill", "2y"], "2x"),
        (&["prepare", "x", "--condition", "bs"], "OPTION=VALUE"),
        (&["prepare", "x", "--condition", "iodeth=3"], "did you mean `iodepth`"),
        (&["prepare", "x", "--condition", "random", "--round", "soon"], "soon"),
        (&["prepare", "x", "--purge", "shred"], "format-crypto"),
        (&["prepare", file.to_str().unwrap(), "--fill", "1x"], "not a block device"),
    ];
    for (arguments, words) in cases {
        let output = world.run(arguments);
        status(&output, 2);
        let said = text(&output.stderr);
        assert!(said.contains(words) && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}
