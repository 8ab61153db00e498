//! Tests `record`: needs root, tracefs, losetup and dd; fails by name if one is missing.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::{
    Loop, World, eventually, json, mount_tracefs, printed, says, status, text, tool, worker_of,
};

/// A running recording.
struct Recording {
    child: Child,
    instance: PathBuf,
}

impl Recording {
    fn new(world: &World, arguments: &[&str]) -> Self {
        mount_tracefs();
        let mut command = world.command();
        command.arg("record").args(arguments);
        Self::of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn of(child: Child) -> Self {
        let mut worker = 0;
        eventually("the worker", || {
            worker = worker_of(child.id());
            worker != 0
        });
        let instance = PathBuf::from(format!("/sys/kernel/tracing/instances/iodyno-{worker}"));
        // The last event to be enabled.
        let last = instance.join("events/block/block_bio_queue/enable");
        eventually("tracing", || std::fs::read_to_string(&last).is_ok_and(|on| on.trim() == "1"));
        Self { child, instance }
    }

    fn end(self) -> Output {
        tool("kill", &["-INT", &self.child.id().to_string()]);
        let output = self.child.wait_with_output().unwrap();
        assert!(!self.instance.exists());
        output
    }
}

fn dd(words: &[&str]) {
    tool("dd", words);
}

/// I/Os and sectors of reads and writes, and flushes.
fn counted(drive: &Loop<'_>) -> [u64; 5] {
    let text = std::fs::read_to_string(format!("/sys/block/{}/stat", drive.name())).unwrap();
    let all: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [0, 2, 4, 6, 15].map(|at| all[at])
}

#[test]
#[ignore = "needs root"]
fn what_is_recorded_is_what_the_device_counted() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 16 << 20);
    let trace = world.path("a.iotrace");
    let trace = trace.to_str().unwrap();
    let before = counted(&drive);
    let recording = Recording::new(&world, &[&drive.device, "-o", trace]);
    let device = &drive.device;
    dd(&[&format!("if={device}"), "of=/dev/null", "bs=16k", "count=300", "iflag=direct"]);
    let to = format!("of={device}");
    dd(&["if=/dev/zero", &to, "bs=4k", "count=200", "oflag=direct", "conv=fsync"]);
    let output = recording.end();
    status(&output, 0);
    let after = counted(&drive);
    let [reads, read, writes, written, flushes] = [0, 1, 2, 3, 4].map(|n| after[n] - before[n]);
    assert!(reads >= 300 && writes >= 200 && flushes >= 1, "{after:?}");

    let document = printed(&world.run(&["--json", "show", trace]));
    let operations = document["trace"]["operations"].as_array().unwrap();
    let of = |name: &str| {
        let found = operations.iter().find(|one| one["operation"] == name).unwrap();
        (found["ios"].as_u64().unwrap(), found["bytes"].as_u64().unwrap())
    };
    // The statistics count an empty write for each requested flush.
    assert_eq!(of("read"), (reads, read * 512));
    assert_eq!(of("write"), (writes - flushes, written * 512));
    assert_eq!(of("flush").0, flushes);
    assert_eq!(document["trace"]["lost"], 0);
    assert_eq!(document["trace"]["is_cut"], false);
    let printed = text(&output.stdout);
    assert!(printed.contains(drive.name()) && printed.contains("dd "), "{printed}");

    let log = world.path("a.iolog");
    status(&world.run(&["import", trace, "-o", log.to_str().unwrap()]), 0);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains(" read ")).count() as u64, reads);
}

/// Both count the same I/Os: the kernel's programs, and iodyno's own from each of them.
#[test]
#[ignore = "needs root"]
fn a_summary_is_that_of_the_trace() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 16 << 20);
    mount_tracefs();
    let [summary, by_events] = ["summary", "by-events"].map(|name| world.path(name));
    let recording = |mut command: Command, path: &Path| {
        command.args(["record", drive.name(), "--summary", "-o", path.to_str().unwrap()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let counting = recording(world.command(), &summary);
    // The kernel's programs need what is taken away here.
    let mut command = world.with_environment(Command::new("setpriv"));
    command.arg("--bounding-set=-sys_admin,-bpf,-perfmon").arg(env!("CARGO_BIN_EXE_iodyno"));
    let reading = Recording::of(recording(command, &by_events));
    eventually("the last program", || {
        let entries = std::fs::read_dir(format!("/proc/{}/fdinfo", worker_of(counting.id())));
        let mut texts = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        texts.any(|path| {
            std::fs::read_to_string(path).is_ok_and(|text| text.contains("block_bio_queue"))
        })
    });
    let before = counted(&drive);
    let device = &drive.device;
    dd(&[&format!("if={device}"), "of=/dev/null", "bs=16k", "count=300", "iflag=direct"]);
    dd(&[&format!("if={device}"), "of=/dev/null", "bs=8k", "count=50", "iflag=direct"]);
    // In the page cache, from where they are written in merged and split requests.
    let to = format!("of={device}");
    dd(&["if=/dev/zero", &to, "bs=4k", "count=2000", "conv=fsync"]);
    dd(&["if=/dev/zero", &to, "bs=2M", "count=4", "oflag=direct", "conv=fsync"]);
    let after = counted(&drive);
    status(&reading.end(), 0);
    tool("kill", &["-INT", &counting.id().to_string()]);
    status(&counting.wait_with_output().unwrap(), 0);

    let [summary, by_events] =
        [summary, by_events].map(|path| json(&std::fs::read(path).unwrap())["trace"].take());
    assert_eq!((&summary["source"], &by_events["source"]), (&"bpf".into(), &"tracefs".into()));
    let counts = |trace: &serde_json::Value, name: &str| {
        let operations = trace["operations"].as_array().unwrap();
        let of = operations.iter().find(|one| one["operation"] == name).unwrap();
        let mut sizes: Vec<_> = of["sizes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["bytes"].as_u64(), one["ios"].as_u64()))
            .collect();
        sizes.sort();
        let number = |name: &str| of[name].as_u64().unwrap();
        (number("ios"), number("bytes"), number("sequential"), sizes)
    };
    for name in ["read", "write", "flush"] {
        assert_eq!(counts(&summary, name), counts(&by_events, name), "{name}");
    }
    for name in ["actors", "metadata", "fua", "lost", "unmatched"] {
        assert_eq!(summary[name], by_events[name], "{name}");
    }
    let [reads, read, writes, written, flushes] = [0, 1, 2, 3, 4].map(|n| after[n] - before[n]);
    let [read_counts, write_counts] = ["read", "write"].map(|name| counts(&summary, name));
    assert_eq!((read_counts.0, read_counts.1), (reads, read * 512));
    assert_eq!((write_counts.0, write_counts.1), (writes - flushes, written * 512));
}

#[test]
#[ignore = "needs root"]
fn a_killed_recording_is_readable_and_leaves_nothing() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 1 << 20);
    let summary = world.path("s.json");
    let summary = summary.to_str().unwrap();
    let trace = world.path("a.iotrace");
    let mut recording =
        Recording::new(&world, &[drive.name(), "-o", trace.to_str().unwrap(), "--for", "10m"]);
    // Few I/Os are written some seconds later.
    let length = || std::fs::metadata(&trace).map_or(0, |of| of.len());
    eventually("the header", || length() > 0);
    let header = length();
    dd(&[&format!("if={}", drive.device), "of=/dev/null", "bs=4k", "count=20", "iflag=direct"]);
    eventually("the I/Os", || length() > header);
    tool("kill", &["-KILL", &worker_of(recording.child.id()).to_string()]);
    recording.child.wait().unwrap();
    assert!(recording.instance.exists());
    let shown = world.run(&["--json", "show", trace.to_str().unwrap()]);
    status(&shown, 4);
    assert_eq!(json(&shown.stdout)["trace"]["operations"][0]["ios"], 20);
    let again = [drive.name(), "--for", "100ms", "--summary", "--anonymise", "-o", summary];
    let again = world.run(&[&["record"], &again[..]].concat());
    status(&again, 0);
    assert!(!recording.instance.exists());
    let shown = world.run(&["show", summary]);
    status(&shown, 0);
    assert!(text(&shown.stdout).contains("disk0"), "{}", text(&shown.stdout));
    assert!(!std::fs::read_to_string(summary).unwrap().contains(drive.name()));
}

/// The I/Os are counted also if they cannot be written.
#[test]
#[ignore = "needs root"]
fn a_full_disk_ends_a_recording_with_its_summary() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 1 << 20);
    let folder = world.path("small").display().to_string();
    std::fs::create_dir(&folder).unwrap();
    tool("mount", &["-t", "tmpfs", "-o", "size=4k", "tmpfs", &folder]);
    let _mounted = Mounted(folder.clone());
    let trace = format!("{folder}/a.iotrace");
    let recording = Recording::new(&world, &[drive.name(), "-o", &trace]);
    for seek in 0..8 {
        // Sizes and places that take more than a page.
        let place = format!("skip={}", seek * 13);
        dd(&[
            &format!("if={}", drive.device),
            "of=/dev/null",
            "bs=512",
            &place,
            "count=900",
            "iflag=direct",
        ]);
    }
    let instance = recording.instance.clone();
    let output = recording.child.wait_with_output().unwrap();
    assert!(!instance.exists());
    says(&output, 2, &format!("cannot write {trace}: "));
    assert!(text(&output.stdout).contains("512 B reads"), "{}", text(&output.stdout));
}

/// A file system on a loop device, unmounted when dropped.
struct Mounted(String);

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg(&self.0).status();
        assert!(unmounted.unwrap().success() || std::thread::panicking());
    }
}

#[test]
#[ignore = "needs root"]
fn a_trace_on_the_recorded_drive_is_warned_of() {
    mount_tracefs();
    let world = World::new();
    let [recorded, other] = ["image", "other"].map(|name| Loop::new(&world, name, 8 << 20));
    tool("mkfs.ext4", &["-q", "-F", &recorded.device]);
    let folder = world.path("mnt").display().to_string();
    std::fs::create_dir(&folder).unwrap();
    tool("mount", &[&recorded.device, &folder]);
    let _mounted = Mounted(folder.clone());
    let warned = |drive: &Loop<'_>, name: &str, words: &[&str]| {
        let trace = format!("{folder}/{name}");
        let words = [&["record", drive.name(), "--for", "100ms", "-o", &trace], words].concat();
        let output = world.run(&words);
        status(&output, 0);
        let warning =
            format!("{trace} is on {}: the trace will contain its own writes", drive.name());
        text(&output.stderr).contains(&warning)
    };
    assert!(warned(&recorded, "a.iotrace", &[]));
    // Output written after the end is in no trace.
    assert!(!warned(&recorded, "a.json", &["--summary"]));
    assert!(!warned(&other, "a.iotrace", &[]));
}
