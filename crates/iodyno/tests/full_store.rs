//! Tests a store that fails during a run: the results are kept in a file beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{World, eventually, json, status, text, tool, word};
use iodyno_model::RunState;
use iodyno_store::Store;

/// A small file system with the store on it.
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

    /// Creates an ext4 file system with a journal, which stops writing on an error.
    fn with_ext4(world: &'w World) -> Self {
        let at = world.directory("small");
        let image = world.sparse("image", 16 << 20);
        tool("mkfs.ext4", &["-q", image.to_str().unwrap()]);
        let small = Self { world, at };
        small.mount_image();
        small
    }

    fn mount_image(&self) {
        let image = self.world.path("image");
        let [image, at] = [&image, &self.at].map(|path| path.to_str().unwrap());
        tool("mount", &["-o", "loop,errors=remount-ro", image, at]);
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

    /// Runs one job, during which a shell runs `script`.
    fn job(&self, name: &str, script: &str) -> Output {
        let path = self.world.path("script.sh");
        std::fs::write(&path, script).unwrap();
        let command = format!("--exec_prerun=sh {}", word(&path));
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
#[ignore = "needs root"]
fn results_of_a_run_whose_store_is_full_are_printed_and_can_be_imported() {
    let world = World::new();
    let small = Small::new(&world);
    status(&small.job("first", "exit 0"), 0);
    let hog = small.at.join("hog");
    let filled = small.job("filled", &format!("head -c 8M /dev/zero > {}; exit 0", word(&hog)));
    status(&filled, 4);
    let out = text(&filled.stdout);
    assert!(out.contains("IOPS"), "the results are printed: {out}");
    assert!(!out.contains("show -v"), "nothing is stored to show: {out}");
    let said = text(&filled.stderr);
    assert!(said.contains("no space left for the store"), "{said}");
    let [kept] = &small.kept("here")[..] else { panic!("{said}") };
    assert!(said.contains(&format!("iodyno import {}", kept.file_name().unwrap().display())));
    // Makes room again.
    std::fs::remove_file(hog).unwrap();
    assert!(!text(&small.run(&["show", "filled"]).stdout).contains("IOPS"), "not yet there");
    status(&small.run(&["import", kept.to_str().unwrap()]), 0);
    let shown = json(&small.run(&["show", "filled", "--json"]).stdout);
    assert_eq!(shown["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(shown["measurements"][0]["read"]["bytes"], 1 << 20);
    assert_eq!(shown["state"], "done");
    // A second import has nothing to add.
    let again = small.run(&["import", kept.to_str().unwrap()]);
    assert!(text(&again.stderr).contains("is already in the store"), "{}", text(&again.stderr));
}

/// A profile with several measurements in a directory.
const ONCE: &str = r#"
format = "iodyno.accept/1"
name = "once"
about = "for a test"
deadline = "60s"

[[step]]
run = ["check", "--time", "1s", "{targets}"]
"#;

/// State of the newest run in the file, and the number of its measurements.
fn stored(path: &Path) -> (RunState, usize) {
    let store = Store::open_existing_readonly(path).unwrap();
    let newest = store.runs().unwrap().into_iter().next();
    newest.map_or((RunState::Running, 0), |run| {
        (run.state, store.measurements(&run.id).unwrap().len())
    })
}

#[test]
#[ignore = "needs root"]
fn an_acceptance_is_judged_by_what_its_full_store_lacks() {
    let world = World::new();
    let small = Small::new(&world);
    let (store, hog) = (small.at.join("store.sqlite"), small.at.join("hog"));
    let (own, data, document) =
        (world.path("own.toml"), world.directory("data"), world.path("all.json"));
    std::fs::write(&own, ONCE).unwrap();
    drop(Store::open(&store).unwrap());
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            eventually("the first measurement is stored", || stored(&store).1 > 0);
            tool("sh", &["-c", &format!("head -c 8M /dev/zero > {}; exit 0", word(&hog))]);
        });
        let [own, data, document] = [&own, &data, &document].map(|path| path.to_str().unwrap());
        small.run(&["accept", own, data, "-o", document])
    });
    status(&output, 0);
    let said = text(&output.stderr);
    std::fs::remove_file(hog).unwrap();
    let whole = json(&std::fs::read(document).unwrap());
    let measured = whole["measurements"].as_array().unwrap().len();
    let (state, kept) = stored(&store);
    assert!((1..measured).contains(&kept), "{kept} of {measured}: {said}");
    assert_eq!(whole["state"], "done", "{said}");
    assert_eq!(state, RunState::Interrupted, "a part is not called the whole: {said}");
}

/// A run whose store is broken by `script` while it goes on, and repaired by `mend`.
#[track_caller]
fn loses_no_results(small: &Small<'_>, script: &str, said: &str, mend: impl FnOnce()) {
    status(&small.job("first", "exit 0"), 0);
    let output = small.job("failing", script);
    mend();
    status(&output, 4);
    assert!(text(&output.stdout).contains("IOPS"), "{}", text(&output.stdout));
    let told = text(&output.stderr);
    assert!(told.contains(said), "{told}");
    let [kept] = &small.kept("here")[..] else { panic!("{told}") };
    let import = format!("next: iodyno import {}", kept.file_name().unwrap().display());
    assert!(told.contains(&import), "{told}");
    status(&small.run(&["import", kept.to_str().unwrap()]), 0);
    let shown = json(&small.run(&["show", "failing", "--json"]).stdout);
    assert_eq!(shown["measurements"][0]["read"]["bytes"], 1 << 20);
    assert_eq!(shown["state"], "done");
}

#[test]
#[ignore = "needs root"]
fn results_of_a_run_whose_store_becomes_read_only_are_kept() {
    let world = World::new();
    let small = Small::with_ext4(&world);
    let source = tool("findmnt", &["-no", "SOURCE", small.at.to_str().unwrap()]);
    let name = source.strip_prefix("/dev/").unwrap();
    let script = format!("echo test > /sys/fs/ext4/{name}/trigger_fs_error");
    loses_no_results(&small, &script, "the store", || {
        tool("umount", &[small.at.to_str().unwrap()]);
        let image = world.path("image");
        // 1: errors were corrected.
        let mended = Command::new("fsck.ext4").args(["-fy", image.to_str().unwrap()]).output();
        assert!(mended.unwrap().status.code().is_some_and(|code| code <= 1));
        small.mount_image();
    });
}

#[test]
#[ignore = "needs root"]
fn results_of_a_run_whose_store_stays_locked_are_kept() {
    let world = World::new();
    let small = Small::new(&world);
    let held = world.path("held");
    // Another process that holds a write lock, and ends when this file is removed.
    let holder = format!(
        "import os, sqlite3, time\n\
         store = sqlite3.connect('{}')\n\
         store.execute('BEGIN EXCLUSIVE')\n\
         open('{1}', 'w').close()\n\
         while os.path.exists('{1}'): time.sleep(0.02)\n",
        small.at.join("store.sqlite").display(),
        held.display()
    );
    let path = world.path("holder.py");
    std::fs::write(&path, holder).unwrap();
    let script = format!(
        "python3 {} </dev/null >/dev/null 2>&1 & until [ -e {} ]; do sleep 0.02; done",
        word(&path),
        word(&held)
    );
    loses_no_results(&small, &script, "locked", || std::fs::remove_file(&held).unwrap());
}

#[test]
#[ignore = "needs root"]
fn a_working_directory_that_cannot_be_written_is_no_reason_to_lose_results() {
    let world = World::new();
    let small = Small::new(&world);
    status(&small.job("first", "exit 0"), 0);
    let here = world.directory("here");
    tool("mount", &["-t", "tmpfs", "-o", "size=64k", "none", here.to_str().unwrap()]);
    let script = format!(
        "head -c 8M /dev/zero > {}/hog; head -c 8M /dev/zero > {}/hog; exit 0",
        word(&small.at),
        word(&here)
    );
    let filled = small.job("filled", &script);
    let left = std::fs::read_dir(&here).unwrap().count();
    tool("umount", &[here.to_str().unwrap()]);
    status(&filled, 4);
    assert_eq!(small.kept("tmp").len(), 1, "{}", text(&filled.stderr));
    assert_eq!(left, 2, "the hog and the command's output, and no half of a file");
}
