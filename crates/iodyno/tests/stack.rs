//! What was there before is measured as it is, with all that lies under it.
//! Needs root, losetup, dmsetup, mkfs.ext4 and mount.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{Loop, World, json, status, text, tool, validate};

const MIB: u64 = 1 << 20;

/// A file system on a stripe over loop devices, which goes with it.
struct Stack<'w> {
    world: &'w World,
    /// Of the mapped device.
    name: String,
    at: PathBuf,
    _members: Vec<Loop<'w>>,
}

impl<'w> Stack<'w> {
    fn new(world: &'w World, name: &str, count: usize, chunk_kib: u64, options: &str) -> Self {
        let members: Vec<Loop<'w>> =
            (0..count).map(|n| Loop::new(world, &format!("{name}{n}"), 16 * MIB)).collect();
        // Names are the machine's: two runs of this test have two.
        let mapped = format!("iodyno-test-{}-{name}", std::process::id());
        let places: Vec<String> = members.iter().map(|one| format!("{} 0", one.device)).collect();
        let (sectors, chunk) = (count as u64 * 16 * MIB / 512, chunk_kib * 2);
        let table = format!("0 {sectors} striped {count} {chunk} {}", places.join(" "));
        tool("dmsetup", &["create", &mapped, "--table", &table]);
        let at = world.directory(&format!("on-{name}"));
        let stack = Self { world, name: mapped, at, _members: members };
        tool("dmsetup", &["mknodes", &stack.name]);
        let device = format!("/dev/mapper/{}", stack.name);
        tool("mkfs.ext4", &["-q", "-b", "1024", &device]);
        tool("mount", &["-o", options, &device, stack.at.to_str().unwrap()]);
        stack
    }

    /// Measures on it, as a run of its name.
    fn measure(&self, run: &str) {
        let target = self.at.to_str().unwrap();
        let words = ["sweep", "file-layout", "--target", target, "--set", "size=1m"];
        status(&self.world.run(&[&words[..], &["--max-time", "100ms", "--name", run]].concat()), 0);
    }
}

impl Drop for Stack<'_> {
    fn drop(&mut self) {
        // What could not be mounted is not unmounted.
        let _ = Command::new("umount").arg(&self.at).output();
        let removed = Command::new("dmsetup").args(["remove", "--retry", &self.name]).status();
        assert!(removed.unwrap().success() || std::thread::panicking());
    }
}

#[test]
fn a_run_on_a_file_system_holds_its_whole_stack_and_two_stacks_compare() {
    let world = World::new();
    {
        let one = Stack::new(&world, "a", 2, 64, "noatime");
        one.measure("one");
        let other = Stack::new(&world, "b", 3, 16, "relatime,commit=7");
        other.measure("other");
    }
    let shown = text(&world.run(&["show", "one"]).stdout);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let said = words.join(" ");
    for part in
        ["ext4, block 1 KiB, ", "noatime", "striped over 2, chunk 64 KiB on 2 x loop device"]
    {
        assert!(said.contains(part), "{part}: {shown}");
    }

    let document = json(&world.run(&["show", "one", "--json"]).stdout);
    validate(&document, "iodyno.run.1");
    let blocks = document["host"]["blocks"].as_array().unwrap();
    let mapped = blocks
        .iter()
        .find(|block| block["kind"].as_str().is_some_and(|kind| kind.contains("iodyno-test-")));
    let mapped = mapped.unwrap();
    assert_eq!(mapped["table"][0]["chunk_bytes"], 64 << 10);
    assert_eq!(mapped["table"][0]["places"].as_array().unwrap().len(), 2);
    assert_eq!(mapped["file_system"]["kind"], "ext4");
    assert_eq!(mapped["file_system"]["block_bytes"], 1024);
    assert!(mapped["file_system"]["mount_options"].as_str().unwrap().contains("noatime"));

    // Here, and where the document is all that there is.
    let file = world.path("one.json");
    std::fs::write(&file, world.run(&["show", "one", "--json"]).stdout).unwrap();
    for side in ["one", file.to_str().unwrap()] {
        let output = world.run(&["compare", side, "other", "--json"]);
        let document = json(&output.stdout);
        let differing = document["differing"].as_array().unwrap();
        let of = |what: &str| {
            let found = differing.iter().find(|one| one["what"] == what);
            found.map(|one| one["values"].clone()).unwrap_or_default()
        };
        assert_eq!(of("chunk"), serde_json::json!([["64 KiB"], ["16 KiB"]]), "{differing:#?}");
        assert_eq!(of("members"), serde_json::json!([["2"], ["3"]]));
        let options = of("mount options").to_string();
        assert!(options.contains("noatime") && options.contains("commit=7"), "{options}");
        // What is alike is not said.
        assert!(of("layers").is_null() && of("file system block").is_null(), "{differing:#?}");
    }
}
