//! Tests `record`, and traces in `show` and `import`. Recording needs root, tracefs, losetup and
//! dd; fails by name if one is missing.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::{
    self, Loop, World, eventually, json, mount_tracefs, printed, says, status, text, tool,
    worker_of,
};
use iodyno_trace::{Device, Header, Index, Io, Names, Writer};

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
    tool("kill", &["-KILL", &worker_of(recording.child.id()).to_string()]);
    recording.child.wait().unwrap();
    assert!(recording.instance.exists());
    let again = [drive.name(), "--for", "100ms", "--summary", "--anonymise", "-o", summary];
    let again = world.run(&[&["record"], &again[..]].concat());
    status(&again, 0);
    assert!(!recording.instance.exists());
    let shown = world.run(&["show", summary]);
    status(&shown, 0);
    assert!(text(&shown.stdout).contains("disk0"), "{}", text(&shown.stdout));
    assert!(!std::fs::read_to_string(summary).unwrap().contains(drive.name()));
}

const ALIBABA: &str = "0,R,126703644672,4096,1577808000000626\n3,W,8192,16384,1577808000100626\n\
    3,W,24576,16384,1577808000200626\n3,W,40960,16384,1577808000200700\n";

#[test]
fn published_traces_are_shown_and_imported() {
    let world = World::new();
    let csv = world.path("day.csv");
    std::fs::write(&csv, ALIBABA).unwrap();
    let (csv, ours) = (csv.to_str().unwrap(), world.path("day.iotrace"));
    let ours = ours.to_str().unwrap();
    status(&world.run(&["import", csv, "-o", ours]), 0);
    let [theirs, own] = [csv, ours].map(|path| {
        let shown = world.run(&["show", path]);
        status(&shown, 0);
        text(&shown.stdout)
    });
    assert_eq!(theirs, own);
    assert!(own.contains("2 devices") && own.contains("mostly sequential 16 KiB writes"), "{own}");
    assert!(own.contains("no latencies"), "{own}");

    let mut bytes = std::fs::read(ours).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(ours, &bytes).unwrap();
    let cut = world.run(&["show", ours]);
    status(&cut, 4);
    let shown = text(&cut.stdout);
    assert!(shown.contains("No I/Os") && shown.contains("cut off"), "{shown}");
}

/// A trace of three chunks of 100 reads each, with the offsets of the second and third.
fn chunks() -> (Vec<u8>, [usize; 2]) {
    let mut names = Names::default();
    names.device(&Device::named("a")).unwrap();
    let header = Header { source: "tracefs".into(), tick_ns: 1, ..Header::default() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    for n in 0..300_u64 {
        let io = Io { at_ns: n * 1_000_000, offset: n % 64 * 4096, length: 4096, ..Io::default() };
        writer.push(io, &names).unwrap();
        if n % 100 == 99 {
            writer.flush(&names).unwrap();
        }
    }
    let (bytes, _) = writer.end(&names, 0, 0).unwrap();
    let index = Index::read(Cursor::new(&bytes)).unwrap();
    let places = [1, 2].map(|n| index.chunks[n].at as usize);
    (bytes, places)
}

/// Every reader of an incomplete trace reports that, and exits with 4.
#[test]
fn damaged_and_cut_traces_are_not_told_as_whole() {
    let world = World::new();
    let (whole, [second, third]) = chunks();
    let mut flipped = whole.clone();
    flipped[second + 30] ^= 1;
    let log = bursty() + "2000200 /dev/a rea";
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    let (trace, to) = (path("trace"), path("a.iomodel"));
    let damaged = "1 block or line could not be read: I/Os may be missing";
    let cut = "the recording was cut off";
    for (bytes, ios, words) in
        [(&flipped[..], 200, damaged), (&whole[..third], 200, cut), (log.as_bytes(), 3200, cut)]
    {
        std::fs::write(&trace, bytes).unwrap();
        let shown = world.run(&["show", &trace]);
        status(&shown, 4);
        assert!(text(&shown.stdout).contains(words), "{}", text(&shown.stdout));
        let told = |arguments: &[&str]| {
            let output = world.run(arguments);
            status(&output, 4);
            let said = text(&output.stderr);
            assert!(said.contains(&format!("note: {trace}: {words}")), "{said}");
            output
        };
        let model = json(&told(&["--json", "model", &trace, "-o", &to]).stdout);
        common::validate(&model, "iodyno.trace-model.1");
        assert_eq!(model["likeness"]["trace"]["ios"], ios);
        assert_eq!(model["damaged"], u64::from(words == damaged));
        assert_eq!(model["is_cut"], words == cut);
        if bytes == log.as_bytes() {
            continue;
        }
        let log = path("a.iolog");
        told(&["import", &trace, "-o", &log]);
        let lines = std::fs::read_to_string(log).unwrap();
        assert_eq!(lines.lines().filter(|line| line.contains(" read ")).count(), ios);
        told(&["import", &trace, "-o", &path("a.parquet")]);
        told(&["replay", &trace, "--target", "copy"]);
    }
    std::fs::write(&trace, &whole).unwrap();
    for words in [&["show"][..], &["model", "-o", &to], &["import", "-o", &path("a.iolog")]] {
        status(&world.run(&[words, &[trace.as_str()]].concat()), 0);
    }
}

#[test]
fn what_cannot_be_recorded_or_converted_is_said() {
    let world = World::new();
    let wrong = |arguments: &[&str], words: &str| {
        let output = world.run(arguments);
        says(&output, 2, words);
    };
    wrong(&["record", "nosuchdrive", "--summary"], "no block device");
    wrong(&["record", "../x", "--summary"], "no block device");
    wrong(&["record", "nvme0n1"], "--output");
    wrong(&["record", "nvme0n1", "-o", "/nosuch/folder/a.iotrace"], "no folder");
    let notes = world.path("notes.txt");
    std::fs::write(&notes, "hello, world\n").unwrap();
    let notes = notes.to_str().unwrap();
    wrong(&["import", notes, "-o", "a.iotrace"], "unknown trace; iodyno reads");
    std::fs::write(notes, ALIBABA).unwrap();
    wrong(&["import", notes, "-o", "a.csv"], ".iotrace");
    wrong(&["import", notes, "-o", "a.parquet"], "import it first");
}

#[test]
fn a_conversion_that_fails_leaves_what_was_there() {
    let world = World::new();
    let (log, to) = (world.path("a.iolog"), world.path("a.iotrace"));
    let convert = |from: &PathBuf, expected: i32, words: &str| {
        let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
        let output = world.run(&["import", from, "-o", to]);
        status(&output, expected);
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    std::fs::write(&log, "fio version 3 iolog\n0 a add\n0 a read 0 4096\n1 a rea").unwrap();
    convert(&log, 2, "line 4");
    assert!(!to.exists());
    std::fs::write(&to, "precious").unwrap();
    convert(&log, 2, "line 4");
    assert_eq!(std::fs::read(&to).unwrap(), b"precious");
    std::fs::write(&to, ALIBABA).unwrap();
    convert(&to, 2, "is the trace itself");
    assert_eq!(std::fs::read(&to).unwrap(), ALIBABA.as_bytes());
    std::fs::write(&log, bursty()).unwrap();
    convert(&log, 0, "");
    assert!(std::fs::read(&to).unwrap().starts_with(b"IOTRACE"));
}

/// fio's log of thirty simultaneous reads every 20 ms, and of a log that is flushed.
fn bursty() -> String {
    let mut log = String::from("fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n");
    for n in 0..3000_u64 {
        let us = n / 30 * 20_000;
        let offset = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 8000 * 8192;
        log += &format!("{us} /dev/a read {offset} 8192\n");
        if n % 30 == 29 {
            let offset = (64 << 20) + n / 30 * 4096;
            log +=
                &format!("{} /dev/a write {offset} 4096\n{} /dev/a sync 0 0\n", us + 100, us + 300);
        }
    }
    log
}

#[test]
fn a_model_is_small_like_its_trace_and_read_as_one() {
    let world = World::new();
    let path = |name: &str| world.path(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.iolog"), bursty()).unwrap();
    let output = world.run(&["import", &path("a.iolog"), "-o", &path("a.iotrace")]);
    status(&output, 0);
    let make = |to: &[&str], seed: &str| {
        let mut words = vec!["--json".to_owned(), "model".into(), path("a.iotrace")];
        words.extend(["--seed".into(), seed.into()]);
        to.iter().for_each(|name| words.extend(["-o".to_owned(), path(name)]));
        printed(&world.run(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    };
    let document = make(&["a.iomodel", "a.fio", "a.toml"], "1");
    common::validate(&document, "iodyno.trace-model.1");
    assert_eq!(document["misses"], serde_json::json!([]), "{document}");
    let options = document["likeness"]["options_p99_ns"].as_u64().unwrap();
    let trace = document["likeness"]["trace"]["simulated_p99_ns"].as_u64().unwrap();
    assert!(options * 2 < trace, "{document}");
    let length = |name: &str| std::fs::metadata(path(name)).unwrap().len();
    assert!(length("a.iomodel") * 2 < length("a.iolog"));

    // The model is shown as a trace with the same rates and sizes; the same seed gives the same
    // I/Os, another one gives others.
    let summary = printed(&world.run(&["--json", "show", &path("a.iomodel")]));
    common::validate(&summary, "iodyno.trace-summary.1");
    let counts: Vec<_> = summary["trace"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["operation"].as_str().unwrap(), one["ios"].as_u64().unwrap()))
        .collect();
    assert_eq!(counts, [("read", 3000), ("write", 100), ("flush", 100)]);
    make(&["b.iomodel"], "1");
    make(&["c.iomodel"], "2");
    let ios = |name: &str| {
        let to = path(&format!("{name}.iolog"));
        status(&world.run(&["import", &path(name), "-o", &to]), 0);
        std::fs::read(to).unwrap()
    };
    assert_eq!(ios("a.iomodel"), ios("b.iomodel"));
    assert_ne!(ios("a.iomodel"), ios("c.iomodel"));

    // The job file is valid and lists what it cannot express.
    let job = std::fs::read_to_string(path("a.fio")).unwrap();
    assert!(job.contains("# Lost: when bursts come") && job.contains("fsync=1\n"), "{job}");
    status(&world.run(&["fio", "--parse-only", &path("a.fio")]), 0);
    std::fs::write(path("target"), vec![1; 1 << 20]).unwrap();
    let (plan, target) = (path("a.toml"), path("target"));
    let words = ["sweep", "--dry-run", &plan, "--target", &target, "--allow-write", &target];
    status(&world.run(&words), 0);

    let page = world.run(&["report", &path("a.iotrace"), "-o", &path("a.html")]);
    status(&page, 0);
    let page = std::fs::read_to_string(path("a.html")).unwrap();
    assert!(page.contains("<figure>") && page.contains("/dev/a"));

    says(
        &world.run(&["model", &path("a.iotrace"), "-o", &path("a.txt")]),
        2,
        "expected .iomodel, .fio or .toml",
    );
    std::fs::write(path("none"), "nothing").unwrap();
    status(&world.run(&["model", &path("none"), "-o", &path("d.iomodel")]), 2);
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
    let trace = format!("{folder}/a.iotrace");
    let warned = |drive: &Loop<'_>, words: &[&str]| {
        let words = [&["record", drive.name(), "--for", "100ms", "-o", &trace], words].concat();
        let output = world.run(&words);
        status(&output, 0);
        let warning =
            format!("{trace} is on {}: the trace will contain its own writes", drive.name());
        text(&output.stderr).contains(&warning)
    };
    assert!(warned(&recorded, &[]));
    // Output written after the end is in no trace.
    assert!(!warned(&recorded, &["--summary"]));
    assert!(!warned(&other, &[]));
}
