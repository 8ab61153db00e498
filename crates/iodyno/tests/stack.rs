//! Tests measurements on existing file systems, with all layers below recorded. Needs root,
//! losetup, mkfs.ext4 and mount; arrays and volumes are tested in the lab.

use std::path::PathBuf;

use crate::common::{Loop, World, json, status, text, tool, validate};

const MIB: u64 = 1 << 20;

/// A file system on a loop device, removed with it.
struct Stack<'w> {
    world: &'w World,
    at: PathBuf,
    _under: Loop<'w>,
}

impl<'w> Stack<'w> {
    fn new(world: &'w World, name: &str, block_bytes: &str, options: &str) -> Self {
        let under = Loop::new(world, name, 16 * MIB);
        let at = world.directory(&format!("on-{name}"));
        tool("mkfs.ext4", &["-q", "-b", block_bytes, &under.device]);
        tool("mount", &["-o", options, &under.device, at.to_str().unwrap()]);
        Self { world, at, _under: under }
    }

    /// Measures on it, as a run of this name.
    fn measure(&self, run: &str) {
        let target = self.at.to_str().unwrap();
        let words = ["sweep", "file-layout", "--target", target, "--set", "size=1m"];
        status(&self.world.run(&[&words[..], &["--max-time", "100ms", "--name", run]].concat()), 0);
    }
}

impl Drop for Stack<'_> {
    fn drop(&mut self) {
        // The kernel releases an io_uring's files a moment after its process.
        tool("umount", &["--lazy", self.at.to_str().unwrap()]);
    }
}

#[test]
#[ignore = "needs root"]
fn a_run_on_a_file_system_holds_its_whole_stack_and_two_stacks_compare() {
    let world = World::new();
    {
        let one = Stack::new(&world, "a", "1024", "noatime");
        one.measure("one");
        let other = Stack::new(&world, "b", "4096", "relatime,commit=7");
        other.measure("other");
    }
    let shown = text(&world.run(&["show", "-v", "one"]).stdout);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let said = words.join(" ");
    for part in ["ext4, block 1 KiB, ", "noatime", "on loop device"] {
        assert!(said.contains(part), "{part}: {shown}");
    }

    let document = json(&world.run(&["show", "one", "--json"]).stdout);
    validate(&document, "iodyno.run.2");
    let blocks = document["host"]["blocks"].as_array().unwrap();
    let made: Vec<_> = blocks.iter().map(|block| &block["file_system"]).collect();
    let is_ours = |made: &&&serde_json::Value| {
        made["mount_options"].as_str().is_some_and(|options| options.contains("noatime"))
    };
    let made = made.iter().find(|made| is_ours(made) && made["block_bytes"] == 1024);
    assert_eq!(made.unwrap()["kind"], "ext4");

    // From the store, and from the document alone.
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
        assert_eq!(of("file system block"), serde_json::json!([["1 KiB"], ["4 KiB"]]));
        let options = of("mount options").to_string();
        assert!(options.contains("noatime") && options.contains("commit=7"), "{options}");
        // Equal properties are not listed.
        assert!(of("layers").is_null() && of("stripe unit").is_null(), "{differing:#?}");
    }
}
