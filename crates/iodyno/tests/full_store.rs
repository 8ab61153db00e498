//! A store that takes nothing any more while a run goes on: its results are kept beside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::PathBuf;
use std::process::{Command, Output};

use common::{World, json, status, text, tool};

/// A small file system of its own, with the store on it.
struct Small<'w> {
    world: &'w World,
    at: PathBuf,
}

impl<'w> Small<'w> {
    fn new(world: &'w World) -> Self {
        let at = world.directory("small");
        tool("mount", &["-t", "tmpfs", "-o", "size=4m", "none", at.to_str().unwrap()]);
        Self { world, at }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.world
            .command()
            .env("IODYNO_STORE", self.at.join("store.sqlite"))
            .env("TMPDIR", self.world.directory("tmp"))
            .current_dir(self.world.directory("here"))
            .args(arguments)
            .output()
            .unwrap()
    }

    /// A run of one job, in the midst of which `script` is run by a shell.
    fn job(&self, name: &str, script: &str) -> Output {
        let path = self.world.path("script.sh");
        std::fs::write(&path, script).unwrap();
        let command = format!("--exec_prerun=sh {}", path.display());
        let data = format!("--filename={}", self.world.sparse("data", 1 << 20).display());
        let words = ["run", "--run-name", name, "--allow-exec", "--name=j", "--rw=randread"];
        self.run(&[&words[..], &["--size=1m", &data, &command]].concat())
    }

    fn kept(&self, folder: &str) -> Vec<PathBuf> {
        let files = self.world.files(folder).into_iter();
        let kept = files.filter(|name| name.starts_with("iodyno-") && name.ends_with(".json"));
        kept.map(|name| self.world.path(folder).join(name)).collect()
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

#[test]
fn results_of_a_run_whose_store_is_full_are_printed_and_can_be_imported() {
    let world = World::new();
    let small = Small::new(&world);
    status(&small.job("first", "exit 0"), 0);
    let hog = small.at.join("hog");
    let filled = small.job("filled", &format!("cat /dev/zero > {}; exit 0", hog.display()));
    status(&filled, 0);
    let out = text(&filled.stdout);
    assert!(out.contains("IOPS"), "the results are printed: {out}");
    let said = text(&filled.stderr);
    assert!(said.contains("there is no room for the store"), "{said}");
    let [kept] = &small.kept("here")[..] else { panic!("{said}") };
    assert!(said.contains(&format!("iodyno import {}", kept.file_name().unwrap().display())));
    // There is room again.
    std::fs::remove_file(hog).unwrap();
    assert!(!text(&small.run(&["show", "filled"]).stdout).contains("randread"), "not yet there");
    status(&small.run(&["import", kept.to_str().unwrap()]), 0);
    let shown = json(&small.run(&["show", "filled", "--json"]).stdout);
    assert_eq!(shown["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(shown["measurements"][0]["read"]["bytes"], 1 << 20);
    assert_eq!(shown["state"], "done");
    // A second time there is nothing to be added.
    let again = small.run(&["import", kept.to_str().unwrap()]);
    assert!(text(&again.stderr).contains("in the store already"), "{}", text(&again.stderr));
}

#[test]
fn a_working_directory_that_cannot_be_written_is_no_reason_to_lose_results() {
    let world = World::new();
    let small = Small::new(&world);
    status(&small.job("first", "exit 0"), 0);
    let here = world.directory("here");
    tool("mount", &["-t", "tmpfs", "-o", "size=64k", "none", here.to_str().unwrap()]);
    let script = format!(
        "cat /dev/zero > {0}/hog; cat /dev/zero > {1}/hog; exit 0",
        small.at.display(),
        here.display()
    );
    let filled = small.job("filled", &script);
    let left = std::fs::read_dir(&here).unwrap().count();
    tool("umount", &[here.to_str().unwrap()]);
    status(&filled, 0);
    assert_eq!(small.kept("tmp").len(), 1, "{}", text(&filled.stderr));
    assert_eq!(left, 2, "the hog and the command's output, and no half of a file");
}
