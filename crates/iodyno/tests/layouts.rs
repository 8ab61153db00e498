//! Tests `iodyno layouts` on loop devices. Needs root, losetup, mkfs.ext4 and mount; arrays and
//! volumes are built in the lab.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{Loop, World, json, says, status, text, tool, validate};

/// Two short points, one of which writes.
const PLAN: &str = r#"
format = "iodyno.plan/1"
name = "short"
fresh = true
[stop]
min_time = "100ms"
max_time = "200ms"
[job]
ioengine = "psync"
direct = 1
bs = "4k"
[grid]
rw = ["randread", "randwrite"]
"#;

/// Two points bounded by their work: a loaded machine may do none within a short time.
const DONE: &str = r#"
format = "iodyno.plan/1"
name = "done"
[job]
ioengine = "psync"
direct = 1
bs = "4k"
io_size = "256k"
[[step]]
name = "reads"
until = "done"
job = { rw = "randread" }
[[step]]
name = "writes"
until = "done"
job = { rw = "randwrite" }
"#;

fn left_behind(world: &World) -> Vec<String> {
    world.files("here").into_iter().filter(|name| name.ends_with(".img")).collect()
}

#[test]
#[ignore = "needs root"]
fn layouts_are_built_measured_and_taken_down() {
    let world = World::new();
    let here = world.directory("here");
    let plan = world.path("short.toml");
    std::fs::write(&plan, DONE).unwrap();
    let mut command = world.command();
    command.current_dir(&here).args(["layouts", "--on-files", "96m", "--json", "--name", "try"]);
    command.args(["--plan", plan.to_str().unwrap(), "--layout", "{ext4,ext4:new}"]);
    let output = command.output().unwrap();
    status(&output, 0);
    let document = json(&output.stdout);
    validate(&document, "iodyno.layouts.1");
    assert_eq!(document["state"], "done");
    let workloads = document["workloads"].as_array().unwrap();
    let layouts = |n: usize| {
        let results = workloads[n]["results"].as_array().unwrap();
        let mut names: Vec<&str> = results.iter().map(|r| r["layout"].as_str().unwrap()).collect();
        names.sort_unstable();
        names.join(", ")
    };
    assert_eq!(workloads.len(), 2);
    // New files cannot be read.
    assert_eq!(layouts(0), "2 raw at once, ext4, raw");
    assert_eq!(layouts(1), "2 raw at once, ext4, ext4:new, raw");
    for result in workloads.iter().flat_map(|one| one["results"].as_array().unwrap()) {
        assert!(result["rate"].as_f64().unwrap() > 0.0, "{result:#}");
        assert!(result["of_one"].as_f64().unwrap() > 0.0, "{result:#}");
    }
    assert_eq!(left_behind(&world), Vec::<String>::new());
    let cleaned = world.run(&["clean-up"]);
    assert_eq!(text(&cleaned.stdout), "No leftovers found.\n");
    // Each layout is a run that can be compared.
    status(&world.run(&["compare", "try raw", "try ext4"]), 0);
    // The common name shows all runs, also after their devices are gone.
    let shown = text(&world.run(&["show", "try"]).stdout);
    for part in ["OF ONE", "ext4:new", "OF 2", "INVALID for drives"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let again = json(&world.run(&["show", "try", "--json"]).stdout);
    assert_eq!(again["workloads"].as_array().unwrap().len(), 2);
    assert_eq!((&again["schema"], &again["state"]), (&"iodyno.layouts/1".into(), &"done".into()));
    status(&world.run(&["show", "try", "--format", "junit"]), 2);
    let (picture, page) = (world.path("try.svg"), world.path("try.html"));
    status(&world.run(&["plot", "try", "-o", picture.to_str().unwrap()]), 0);
    let drawn = std::fs::read_to_string(&picture).unwrap();
    assert!(drawn.contains("IOPS over raw") && !drawn.contains(">fill<"), "{drawn}");
    status(&world.run(&["report", "try", "-o", page.to_str().unwrap()]), 0);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("<h2>Layouts</h2>") && page.contains("IOPS over raw"));
    // Run names are unique: nothing is started that could not be stored.
    let again = command.output().unwrap();
    assert_ne!(again.status.code(), Some(0));
    assert_eq!(text(&again.stdout), "");
    assert!(text(&again.stderr).contains("named `try raw` already"), "{}", text(&again.stderr));
    assert_eq!(left_behind(&world), Vec::<String>::new());
}

#[test]
#[ignore = "needs root"]
fn names_that_nobody_chose_are_numbered() {
    let world = World::new();
    let here = world.directory("here");
    let plan = world.path("short.toml");
    std::fs::write(&plan, DONE).unwrap();
    for _ in 0..2 {
        let mut command = world.command();
        command.current_dir(&here).args(["layouts", "--on-files", "96m", "--layout", "raw"]);
        status(&command.args(["--plan", plan.to_str().unwrap()]).output().unwrap(), 0);
    }
    let runs = json(&world.run(&["runs", "--json"]).stdout);
    let runs = runs["runs"].as_array().unwrap();
    let mut names: Vec<&str> = runs.iter().map(|run| run["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let of = |name: &str| ["2 raw at once", "raw"].map(|layout| format!("{name} {layout}"));
    assert_eq!(names, [of("layouts"), of("layouts-2")].concat());
}

#[test]
#[ignore = "needs root"]
fn what_a_kill_leaves_is_taken_down_by_clean_up() {
    let world = World::new();
    let here = world.directory("here");
    let plan = world.path("short.toml");
    std::fs::write(&plan, PLAN).unwrap();
    let mut command = world.command();
    command.current_dir(&here).args(["layouts", "--on-files", "96m", "--layout", "ext4"]);
    let mut child = command
        .args(["--plan", plan.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let notes = BufReader::new(child.stderr.take().unwrap());
    let mounted = notes.lines().map(Result::unwrap).find(|line| line.contains("/run/iodyno/"));
    child.kill().unwrap();
    child.wait().unwrap();
    let line = mounted.expect("it ended before it measured on ext4");
    let at = line.split_whitespace().find(|word| word.starts_with("/run/iodyno/")).unwrap();
    let at = Path::new(at).parent().unwrap();
    assert_eq!(left_behind(&world).len(), 2);

    // Records that others may have written are not acted upon.
    let store = world.path("store.sqlite");
    std::os::unix::fs::chown(&store, Some(65534), None).unwrap();
    let refused = world.run(&["clean-up"]);
    assert!(text(&refused.stderr).contains("belongs to user 65534"), "{}", text(&refused.stderr));
    assert_ne!(refused.status.code(), Some(0));
    assert_eq!(left_behind(&world).len(), 2);
    std::os::unix::fs::chown(&store, Some(0), None).unwrap();

    let cleaned = world.run(&["clean-up"]);
    status(&cleaned, 0);
    let said = text(&cleaned.stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    let [mount, drive, files @ ..] = &*lines else { panic!("{said}") };
    assert!(mount.starts_with("mount at") && mount.ends_with(": taken down"), "{said}");
    assert!(drive.starts_with("/dev/loop") && drive.ends_with(": emptied"), "{said}");
    assert!(files.iter().all(|line| line.ends_with(".img: taken down")), "{said}");
    assert!(!at.exists(), "{}", at.display());
    assert_eq!(left_behind(&world), Vec::<String>::new());
    // Where it was measured there may be another file system now.
    assert!(!text(&world.run(&["show", "last"]).stdout).contains("Next: "));
    says(&world.run(&["resume"]), 2, "nothing to resume");
    says(&world.run(&["resume", "last"]), 2, "its layout `ext4` was taken down");
    // A second clean-up is harmless.
    assert_eq!(text(&world.run(&["clean-up"]).stdout), "No leftovers found.\n");
}

/// A file system without holes, below which a loop device discards nothing.
struct WithoutHoles(PathBuf);

impl WithoutHoles {
    fn new(world: &World) -> Self {
        let at = world.directory("ramfs");
        tool("mount", &["-t", "ramfs", "none", at.to_str().unwrap()]);
        Self(at)
    }
}

impl Drop for WithoutHoles {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.unwrap().success() || std::thread::panicking());
    }
}

/// wipefs knows the first copy of btrfs's superblock; another one would keep the drive from being
/// used again.
#[test]
#[ignore = "needs root"]
fn nothing_is_left_of_btrfs_on_a_drive_that_discards_nothing() {
    const COPY: u64 = (64 << 20) + 0x40;
    let world = World::new();
    let _mounted = WithoutHoles::new(&world);
    let drive = Loop::new(&world, "ramfs/image", 96 << 20);
    let plan = world.path("short.toml");
    std::fs::write(&plan, PLAN).unwrap();
    let word = drive.word();
    let mut child = world
        .command()
        .args(["layouts", drive.name(), "--layout", "ext4", "--plan", plan.to_str().unwrap()])
        .args(["--allow-write", &word, "--discard-data", &word])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mounted = notes.find(|line| line.contains("/run/iodyno/"));
    child.kill().unwrap();
    child.wait().unwrap();
    mounted.expect("it ended before it measured on ext4");
    notes.for_each(drop);
    // As mkfs.btrfs makes it; not every kernel mounts it.
    let image = std::fs::File::options().write(true).open(world.path("ramfs/image")).unwrap();
    image.write_all_at(b"_BHRfS_M", COPY).unwrap();
    drop(image);
    let cleaned = world.run(&["clean-up"]);
    status(&cleaned, 0);
    assert!(text(&cleaned.stdout).contains(": emptied"), "{}", text(&cleaned.stdout));
    assert_eq!(drive.bytes()[COPY as usize..][..8], [0; 8]);
    let again = world.run(&[
        "layouts",
        drive.name(),
        "--layout",
        "raw",
        "--dry-run",
        "--allow-write",
        &word,
    ]);
    assert!(!text(&again.stderr).contains("btrfs"), "{}", text(&again.stderr));
}

/// As in a container that shares the store.
#[test]
#[ignore = "needs root"]
fn a_layout_that_is_measured_in_another_pid_namespace_is_left_standing() {
    let world = World::new();
    let here = world.directory("here");
    let plan = world.path("long.toml");
    std::fs::write(&plan, PLAN.replace("100ms", "100s").replace("200ms", "200s")).unwrap();
    let mut contained = std::process::Command::new("unshare");
    contained.args([
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        env!("CARGO_BIN_EXE_iodyno"),
    ]);
    let mut live = world
        .with_environment(contained)
        .current_dir(&here)
        .args(["layouts", "--on-files", "96m", "--layout", "raw"])
        .args(["--plan", plan.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(live.stderr.take().unwrap()).lines();
    // Now it is being measured.
    notes.find(|line| line.as_ref().unwrap().starts_with("fill")).unwrap().unwrap();
    let cleaned = world.run(&["clean-up"]);
    let said = (text(&cleaned.stdout), left_behind(&world).len());
    // The namespace ends with its first process.
    live.kill().unwrap();
    live.wait().unwrap();
    notes.map_while(Result::ok).for_each(drop);
    assert_eq!(said, ("No leftovers found.\n".into(), 2));

    // There is no notice when the last process of the namespace has ended.
    let begun = std::time::Instant::now();
    let cleaned = loop {
        assert!(begun.elapsed().as_secs() < 60, "it stays alive after its death");
        let cleaned = world.run(&["clean-up"]);
        if text(&cleaned.stdout) != "No leftovers found.\n" {
            break cleaned;
        }
    };
    let again = world.run(&["clean-up"]);
    assert_eq!(text(&again.stdout), "No leftovers found.\n", "{}", text(&cleaned.stdout));
    assert_eq!(left_behind(&world), Vec::<String>::new());
}

#[test]
#[ignore = "needs root"]
fn files_are_made_only_where_nobody_else_can_replace_them() {
    let world = World::new();
    let here = world.directory("here");
    std::os::unix::fs::chown(&here, Some(65534), None).unwrap();
    let mut command = world.command();
    command.current_dir(&here).args(["layouts", "--on-files", "96m", "--layout", "raw"]);
    let output = command.output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    let said = text(&output.stderr);
    assert!(said.contains("user 65534 owns it"), "{said}");
    assert_eq!(world.files("here"), Vec::<String>::new());
}

#[test]
#[ignore = "needs root"]
fn one_drive_is_not_striped_unasked() {
    let world = World::new();
    let drive = Loop::new(&world, "drive", 64 << 20);
    let output = world.run(&["layouts", drive.name(), "--dry-run"]);
    status(&output, 0);
    let script = text(&output.stdout);
    assert!(script.contains("lvcreate") && script.contains("mkfs.ext4"), "{script}");
    assert!(!script.contains("mdadm") && !script.contains("--stripes"), "{script}");
    let said = text(&output.stderr);
    assert!(said.contains("would be refused") && said.contains("--allow-write"), "{said}");
}

#[test]
#[ignore = "needs root"]
fn mistakes_are_named_before_anything_is_made() {
    let world = World::new();
    let here = world.directory("here");
    let said = |words: &[&str]| {
        let mut command = world.command();
        let output = command.current_dir(&here).arg("layouts").args(words).output().unwrap();
        status(&output, 2);
        text(&output.stderr)
    };
    for (words, what) in [
        (&["--on-files", "64m", "--layout", "md7"][..], "did you mean `md"),
        (&["--on-files", "64m", "--layout", "xfs+ext4"], "nothing stands on a file system"),
        (&["nvme0n1", "lvm-stripe:64k"], "quote lists in braces"),
        (&["--layout", "raw"], "no drives: "),
        (
            &["--on-files", "64m", "--layout", "raw", "--plan", "snia-iops"],
            "need drives, not layouts",
        ),
        (
            &["--on-files", "64m", "--layout", "raw", "--plan", "databse"],
            "neither a file nor a preset",
        ),
        (&["--on-files", "64m", "--layout", "raw", "--range", "1g"], "80 % of the smallest"),
    ] {
        let error = said(words);
        assert!(error.contains(what), "{words:?}: {error}");
    }
    assert_eq!(left_behind(&world), Vec::<String>::new());
}
