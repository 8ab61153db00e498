//! Tests `replay` of traces with known I/Os on files and, as root, on loop devices.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use crate::common::{
    Loop, World, eventually, mount_tracefs, printed, says, status, text, tool, worker_of,
};
use iodyno_trace::{Device, Header, Io, Latency, Names, Writer};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Time, ms; disk; operation; offset and length, bytes; latency, ms.
type Row = (u64, u32, &'static str, u64, u32, u64);

/// Writes a trace in the format of Microsoft Research.
fn trace(world: &World, rows: &[Row]) -> PathBuf {
    let mut lines = String::new();
    for (at, disk, operation, offset, length, took) in rows {
        let (at, took) = (128_166_372_003_061_629 + at * 10_000, took * 10_000);
        let _ = writeln!(lines, "{at},h,{disk},{operation},{offset},{length},{took}");
    }
    let path = world.path("trace.csv");
    std::fs::write(&path, lines).unwrap();
    path
}

fn replay(world: &World, words: &[&str]) -> Output {
    let mut command = world.command();
    command.args(["replay", "trace.csv"]).args(words);
    command.output().unwrap()
}

/// Replay statistics of the last run.
fn told(world: &World) -> Value {
    printed(&world.run(&["show", "last", "--json"]))["measurements"][0]["account"]["replayed"]
        .clone()
}

#[track_caller]
fn replayed(world: &World, words: &[&str]) -> Value {
    status(&replay(world, words), 0);
    told(world)
}

/// Numbers of the changed 4 KiB blocks.
fn changed(before: &[u8], after: &[u8]) -> Vec<u64> {
    let blocks = (0_u64..).zip(before.chunks(4096).zip(after.chunks(4096)));
    blocks.filter(|(_, (one, other))| one != other).map(|(n, _)| n).collect()
}

const WRITES: &[Row] = &[
    (0, 0, "Write", 8192, 4096, 1),
    (20, 0, "Write", 40 * MIB + 4096, 12_288, 1),
    (40, 0, "Read", 8192, 4096, 1),
    (300, 1, "Write", 4096, 4096, 1),
    (400, 0, "Write", 8192, 8192, 2),
];

#[test]
fn a_file_is_made_and_written_where_the_trace_says() {
    let world = World::new();
    trace(&world, WRITES);
    // The laid-out file is not zero where it was not written, so a second replay is compared.
    let output = replay(&world, &["--target", "data"]);
    status(&output, 0);
    assert!(text(&output.stdout).contains("REPLAYED p50"), "{}", text(&output.stdout));
    // The second device begins at the next MiB after the first.
    assert_eq!(std::fs::metadata(world.path("data")).unwrap().len(), 41 * MIB + 8192);
    let before = std::fs::read(world.path("data")).unwrap();
    let of = replayed(&world, &["--target", "data"]);
    let after = std::fs::read(world.path("data")).unwrap();
    let (far, second) = (40 * MIB / 4096, 41 * MIB / 4096);
    let expected = [2, 3, far + 1, far + 2, far + 3, second + 1];
    assert_eq!(changed(&before, &after), expected);
    let count = |of: &Value, what: &str| of[what].as_u64().unwrap();
    assert_eq!((count(&of["trace"]["ios"], "writes"), count(&of["trace"]["ios"], "reads")), (4, 1));
    assert_eq!(count(&of["trace"], "write_bytes"), 4096 + 12_288 + 4096 + 8192);
    // 400 ms to the last I/O, which took 2.
    assert_eq!(count(&of, "recorded_ns"), 402_000_000);
    assert!(count(&of, "took_ns") >= 400_000_000);
    let sizes: Vec<_> = of["sizes"].as_array().unwrap().iter().collect();
    let rows: Vec<_> = sizes
        .iter()
        .map(|size| {
            (size["operation"].as_str().unwrap(), count(size, "up_to_bytes"), count(size, "ios"))
        })
        .collect();
    assert_eq!(
        rows,
        [("read", 4096, 1), ("write", 4096, 2), ("write", 8192, 1), ("write", 16_384, 1)]
    );
    assert!(sizes.iter().all(|size| count(&size["replayed"], "p99_ns") > 0));
    let recorded = |size: &Value| count(&size["recorded"], "max_ns");
    assert_eq!((recorded(sizes[1]), recorded(sizes[2])), (1_000_000, 2_000_000));
    let slots = of["slots"].as_array().unwrap();
    assert_eq!(slots.iter().map(|slot| count(slot, "replayed")).sum::<u64>(), 5);
    assert_eq!(slots.iter().map(|slot| count(slot, "recorded")).sum::<u64>(), 5);
}

#[test]
fn reads_alone_leave_the_file_as_it_is() {
    let world = World::new();
    trace(&world, WRITES);
    let precious = vec![7; 64 * MIB as usize];
    std::fs::write(world.path("data"), &precious).unwrap();
    // A file that iodyno did not make is written only with permission.
    says(&replay(&world, &["--target", "data"]), 2, "--allow-write");
    let of = replayed(&world, &["--target", "data", "--read-only"]);
    assert_eq!(
        (&of["trace"]["ios"]["reads"], &of["trace"]["left_out"]["writes"]),
        (&1.into(), &4.into())
    );
    assert!(std::fs::read(world.path("data")).unwrap() == precious);
    let shown = world.run(&["show", "last"]);
    assert!(text(&shown.stdout).contains("Left out: 4 writes."), "{}", text(&shown.stdout));
}

#[test]
fn packed_addresses_take_no_more_than_is_touched() {
    let world = World::new();
    trace(&world, WRITES);
    let of = replayed(&world, &["--target", "data", "--scale-addresses"]);
    let packed = &of["trace"]["packed"];
    assert_eq!((&packed["pieces"], &packed["places"]), (&3.into(), &3.into()));
    assert_eq!(std::fs::metadata(world.path("data")).unwrap().len(), 3 * MIB);
}

#[test]
fn a_slice_at_another_speed_takes_its_time() {
    let world = World::new();
    trace(&world, WRITES);
    let slice = ["--target", "data", "--from", "20ms", "--for", "300ms"];
    let of = replayed(&world, &slice);
    assert_eq!(
        (&of["trace"]["ios"]["writes"], &of["trace"]["ios"]["reads"]),
        (&2.into(), &1.into())
    );
    assert_eq!(of["trace"]["span_ns"], 280_000_000);
    assert!(of["took_ns"].as_u64().unwrap() >= 280_000_000);
    let of = replayed(&world, &[&slice[..], &["--speed", "0.5x"]].concat());
    assert!(of["took_ns"].as_u64().unwrap() >= 560_000_000);
    assert_eq!(of["trace"]["speed_percent"], 50);
    says(&replay(&world, &["--target", "data", "--from", "9s"]), 2, "no I/O in this time");
}

#[test]
fn a_closed_loop_keeps_pauses_and_waits_for_what_had_completed() {
    let world = World::new();
    // Sequential I/Os of 200 ms, each 10 ms after the last, with a pause of 300 ms.
    let one = |n: u64| (210 * n + if n > 3 { 300 } else { 0 }, 0, "Write", 4096 * n, 4096, 200);
    trace(&world, &(0..8).map(one).collect::<Vec<_>>());
    let of = replayed(&world, &["--target", "data", "--closed"]);
    let took_ns = of["took_ns"].as_u64().unwrap();
    assert!(took_ns >= 7 * 10_000_000 + 300_000_000, "{took_ns}");
    assert!(took_ns < of["recorded_ns"].as_u64().unwrap(), "{of}");
    assert_eq!((&of["pace"], &of["trace"]["closed"]), (&"closed".into(), &true.into()));
    let both = replay(&world, &["--target", "data", "--closed", "--speed", "2x"]);
    status(&both, 2);
    std::fs::write(world.path("trace.csv"), "fio version 3 iolog\n0 d add\n5 d write 0 4096\n")
        .unwrap();
    says(&replay(&world, &["--target", "data", "--closed"]), 2, "no latencies");
    let of = replayed(&world, &["--target", "data"]);
    assert_eq!(of["sizes"][0]["recorded"], Value::Null);
}

#[test]
fn a_page_shows_both_and_lost_events_are_said() {
    let world = World::new();
    let device = Device::named("nvme0n1");
    let header = Header { tick_ns: 1, devices: vec![device.clone()], ..Header::default() };
    let mut names = Names::default();
    names.device(&device).unwrap();
    let path = world.path("trace.csv");
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), &header).unwrap();
    for n in 0..100 {
        if n == 70 {
            writer.flush(&names).unwrap();
            writer.lost(12);
        }
        let latency = Latency::Device(70_000);
        let at_ns = n * 25_000_000;
        writer.push(Io { at_ns, length: 4096, latency, ..Io::default() }, &names).unwrap();
    }
    writer.end(&names, 0, 0).unwrap();

    let note = |product| {
        format!("12 events lost in the recording: I/Os are missing, also in the {product}")
    };
    let output = replay(&world, &["--target", "copy"]);
    status(&output, 0);
    assert!(text(&output.stdout).contains(&note("replay")), "{}", text(&output.stdout));
    assert_eq!(told(&world)["trace"]["lost"], 12);
    let page = world.path("page.html").display().to_string();
    status(&world.run(&["report", "last", "-o", &page]), 0);
    let page = std::fs::read_to_string(page).unwrap();
    for words in ["Recorded and replayed</h2>", "recorded p50", &note("replay")] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.contains("aria-label=\"Recorded and replayed over time\""));
    // The page begins with whether the pace was kept, also if it was not.
    let verdict = page.lines().find(|line| line.contains("class=\"verdict\"")).unwrap();
    assert!(verdict.contains("copy: ") && verdict.contains(" recorded"), "{verdict}");

    // No events were lost.
    let of = replayed(&world, &["--target", "copy", "--for", "200ms"]);
    assert_eq!(of["trace"]["lost"], 0);

    let model = world.path("a.iomodel").display().to_string();
    let output = world.run(&["model", path.to_str().unwrap(), "-o", &model]);
    status(&output, 0);
    assert!(text(&output.stdout).contains(&note("model")), "{}", text(&output.stdout));
    let shown = world.run(&["show", &model]);
    assert!(text(&shown.stdout).contains("12 events lost"), "{}", text(&shown.stdout));
}

#[test]
fn what_is_no_trace_is_refused() {
    let world = World::new();
    for (content, words) in [
        ("no trace\n", "unknown trace; iodyno reads"),
        ("1538323199,1003027216,16,0,2313\n1538323200,0,16,1,2313\n", "whole seconds"),
    ] {
        std::fs::write(world.path("trace.csv"), content).unwrap();
        says(&replay(&world, &["--target", "data"]), 2, words);
        assert!(!world.path("data").exists());
    }
    trace(&world, WRITES);
    let here = world.path("").display().to_string();
    says(&replay(&world, &["--target", &here]), 2, "is a directory");
}

/// Millions of I/Os need no more memory than thousands.
#[test]
fn memory_does_not_grow_with_the_trace() {
    let world = World::new();
    let peak_kib = |ios: u64| {
        let mut log = String::from("fio version 3 iolog\n0 d add\n");
        // A thousand are due each millisecond: they run as fast as possible.
        (0..ios).for_each(|n| {
            let _ = writeln!(log, "{} d read {} 4096", n / 1000, n % 256 * 4096);
        });
        std::fs::write(world.path("trace.csv"), log).unwrap();
        world.peak_kib(&["replay", "trace.csv", "--target", "data"])
    };
    // Both fill the read-ahead.
    let (few, many) = (peak_kib(100_000), peak_kib(400_000));
    assert!(many < few + 16 * 1024, "{few} and {many} KiB");
}

#[test]
#[ignore = "needs root"]
fn a_device_is_written_only_where_it_is_named_and_large_enough() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 16 * MIB);
    let device = drive.device.clone();
    trace(&world, WRITES);
    says(&replay(&world, &["--target", &device]), 2, "--scale-addresses");
    says(&replay(&world, &["--target", &device, "--scale-addresses"]), 2, "--allow-write");
    let (before, word) = (drive.bytes(), drive.word());
    assert!(before.iter().all(|byte| *byte == 7));
    let words = ["--target", &device, "--scale-addresses", "--allow-write", &word];
    let of = replayed(&world, &[&words[..], &["--discard-data", &word]].concat());
    assert_eq!(of["trace"]["packed"]["pieces"], 3);
    // In address order: the piece at 0, the one at 40 MiB, that of the second device.
    assert_eq!(changed(&before, &drive.bytes()), [2, 3, 256 + 1, 256 + 2, 256 + 3, 512 + 1]);
}

#[test]
#[ignore = "needs root"]
fn what_is_recorded_of_a_replay_is_the_trace() {
    let world = World::new();
    let drive = Loop::new(&world, "image", 16 * MIB);
    let device = drive.device.clone();
    // Sizes that occur nowhere else here.
    let rows: Vec<Row> = (0..60)
        .map(|n| {
            let operation = if n % 3 == 0 { "Write" } else { "Read" };
            (5 * n, 0, operation, (n * 37 % 100) * 20_480, [12_288, 20_480][(n % 2) as usize], 1)
        })
        .collect();
    trace(&world, &rows);
    let recorded = world.path("back.iotrace").display().to_string();
    mount_tracefs();
    let mut command = world.command();
    command
        .args(["record", &device, "-o", &recorded])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let enabled = || {
        let worker = worker_of(child.id());
        let instance = format!("/sys/kernel/tracing/instances/iodyno-{worker}");
        let last = format!("{instance}/events/block/block_bio_queue/enable");
        std::fs::read_to_string(last).is_ok_and(|on| on.trim() == "1")
    };
    eventually("tracing", enabled);
    let word = drive.word();
    let words = ["--target", &device, "--allow-write", &word, "--discard-data", &word];
    let of = replayed(&world, &words);
    assert_eq!(of["trace"]["span_ns"], 295_000_000);
    tool("kill", &["-INT", &child.id().to_string()]);
    status(&child.wait_with_output().unwrap(), 0);
    let back = world.path("back.iolog").display().to_string();
    status(&world.run(&["import", &recorded, "-o", &back]), 0);
    let log = std::fs::read_to_string(back).unwrap();
    let ios: Vec<(u64, String)> = log
        .lines()
        .filter(|line| line.ends_with(" 12288") || line.ends_with(" 20480"))
        .map(|line| {
            let (us, rest) = line.split_once(' ').unwrap();
            (us.parse().unwrap(), rest.split_once(' ').unwrap().1.to_owned())
        })
        .collect();
    let expected: Vec<String> = rows
        .iter()
        .map(|(_, _, operation, offset, length, _)| {
            format!("{} {offset} {length}", operation.to_lowercase())
        })
        .collect();
    // The kernel may pass a write to a worker thread, where later ones overtake it.
    let of = |all: &[String], what: &str| -> Vec<String> {
        all.iter().filter(|io| io.starts_with(what)).cloned().collect()
    };
    let found: Vec<String> = ios.iter().map(|(_, io)| io.clone()).collect();
    assert_eq!(of(&found, "read"), of(&expected, "read"));
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    assert_eq!(sorted(of(&found, "write")), sorted(of(&expected, "write")));
    // No I/O is early, relative to any earlier one.
    let span_us = ios[59].0 - ios[0].0;
    assert!(span_us > 250_000, "{span_us}");
}
