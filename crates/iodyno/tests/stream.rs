//! Tests `--stream`: seconds sum to the results, and no reader disturbs a measurement.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;

use crate::common::{self, Loop, World, json, says, status, text, tool, worker_of};
use serde_json::Value;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Records of a stream, each validated against its schema.
#[track_caller]
fn records(stream: &[u8]) -> Vec<Value> {
    let path = "../../docs/schema/iodyno.stream.1.json";
    let schema = json(&std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let record = |line: &[u8]| {
        let record = json(line);
        let errors: Vec<_> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {record}");
        record
    };
    assert!(stream.ends_with(b"\n"), "each line is whole");
    stream.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(record).collect()
}

fn of_type<'r>(records: &'r [Value], name: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["type"] == name).collect()
}

/// I/Os, bytes and the bins of latencies.
#[derive(Debug, Default, PartialEq)]
struct Sum(u64, u64, BTreeMap<u64, u64>);

impl Sum {
    fn add(&mut self, ios: &Value, bytes: &Value, latency: &Value) {
        self.0 += ios.as_u64().unwrap_or(0);
        self.1 += bytes.as_u64().unwrap_or(0);
        for bin in latency["bins"].as_array().into_iter().flatten() {
            *self.2.entry(bin[0].as_u64().unwrap()).or_default() += bin[1].as_u64().unwrap();
        }
    }

    fn add_done(&mut self, done: &Value) {
        self.add(&done["ios"], &done["bytes"], &done["latency"]);
    }
}

/// Asserts that the seconds sum to the results and these equal the stored run; returns the states
/// that occurred.
#[track_caller]
fn adds_up(world: &World, stream: &[u8]) -> Vec<String> {
    let records = records(stream);
    assert_eq!(records[0]["type"], "run_start");
    assert_eq!(records.last().unwrap()["type"], "run_end");
    let run = records[0]["id"].as_str().unwrap();
    let document = json(&world.run(&["show", run, "--json"]).stdout);
    assert_eq!(records.last().unwrap()["ended"], document["ended"]);
    let ends = of_type(&records, "measurement_end");
    let stored = document["measurements"].as_array().unwrap();
    assert_eq!(ends.len(), stored.len());
    let jobs: Vec<&Value> = of_type(&records, "second")
        .into_iter()
        .flat_map(|second| second["jobs"].as_array().unwrap())
        .collect();
    for (end, stored) in ends.iter().zip(stored) {
        let its = || jobs.iter().filter(|job| job["measurement"] == end["measurement"]);
        for direction in DIRECTIONS {
            let result = &end["result"][direction];
            assert_eq!(result, &stored[direction], "{}", stored["name"]);
            let (mut seconds, mut expected) = (Sum::default(), Sum::default());
            let (mut whole, mut errors) = (0, 0);
            for job in its() {
                let done = &job[direction];
                if job["state"] == "measured" {
                    seconds.add_done(done);
                }
                whole += done["ios"].as_u64().unwrap_or(0);
                errors += done["errors"].as_u64().unwrap_or(0);
            }
            let measured = &end["measured"][direction];
            expected.add(&result["ios"], &result["bytes"], &measured["latency"]);
            expected.add_done(&end["warm_up"][direction]);
            assert_eq!(seconds, expected, "{} {direction}", stored["name"]);
            let is_stamped = !measured["latency"].is_null();
            assert!(!is_stamped || seconds.2.values().sum::<u64>() == seconds.0);
            assert_eq!(whole, result["whole_ios"].as_u64().unwrap_or(0), "{}", stored["name"]);
            assert_eq!(errors, result["errors"].as_u64().unwrap_or(0), "{}", stored["name"]);
        }
    }
    let mut states: Vec<String> =
        jobs.iter().map(|job| job["state"].as_str().unwrap().to_owned()).collect();
    states.sort_unstable();
    states.dedup();
    states
}

/// Runs `words` with a stream to a file; returns the stream.
#[track_caller]
fn streamed(world: &World, words: &str) -> Vec<u8> {
    let path = world.path("stream.ndjson");
    let mut command = world.command();
    let words = words.split_ascii_whitespace();
    command.args(words).arg("--stream").arg(&path);
    status(&command.output().unwrap(), 0);
    says(&world.run(&["show", path.to_str().unwrap()]), 2, "is a stream of seconds");
    std::fs::read(path).unwrap()
}

#[test]
fn jobs_of_all_kinds_add_up() {
    let world = World::new();
    // Several jobs, mixed, with their own ramps, delays and ends; clones; no timestamps.
    let jobs = "run --time_based --size=8m --ramp_time=300ms \
        --name=a --filename=a --rw=randrw --rwmixread=70 --bs=4k --ioengine=psync --runtime=1300ms \
        --name=b --filename=b --rw=randread --bs=16k --ioengine=io_uring --iodepth=8 --direct=1 \
          --numjobs=3 --runtime=700ms \
        --name=c --filename=c --rw=write --bs=64k --ioengine=psync --runtime=400ms --startdelay=1 \
          --gtod_reduce=1 --ramp_time=0 \
        --name=d --stonewall --filename=d --rw=read --bs=4k --ramp_time=0 --time_based=0";
    let stream = streamed(&world, jobs);
    assert_eq!(adds_up(&world, &stream), ["measured", "ramp"]);
    let records = records(&stream);
    let starts = of_type(&records, "measurement_start");
    let names: Vec<&str> = starts.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(starts[1]["workload"]["numjobs"], "3");
    for end in of_type(&records, "measurement_end") {
        assert_eq!(end["warm_up"], serde_json::json!({}), "jobs have ramps instead");
    }
    let longer = of_type(&records, "second").iter().any(|of| of["start_ns"] != 0);
    assert!(longer, "a run of more than a second has more than one");
}

#[test]
fn points_of_a_sweep_and_rounds_add_up() {
    let world = World::new();
    let grid = "sweep --target data --set size=8m --set rw=randread --set ioengine=psync \
        --grid bs=4k,64k --max-time 1500ms";
    let states = adds_up(&world, &streamed(&world, grid));
    assert!(states.contains(&"measured".to_owned()), "{states:?}");
    let rounds = "sweep snia-throughput --target rounds --set size=4m --scale 0.0005";
    adds_up(&world, &streamed(&world, rounds));
}

#[test]
fn simulated_drives_add_up_and_trials_are_told_apart() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.sparse(name, 1 << 30);
    }
    let stream = streamed(&world, "check one two three --generator simulated");
    adds_up(&world, &stream);
    let records = records(&stream);
    let starts = of_type(&records, "measurement_start");
    let trials = starts.iter().filter(|start| start["trial"].is_u64()).count();
    assert_eq!(trials + of_type(&records, "measurement_end").len(), starts.len());
    assert!(trials > 0, "a check searches for its depth");
    let numbers: Vec<u64> = starts.iter().map(|one| one["measurement"].as_u64().unwrap()).collect();
    assert_eq!(numbers, Vec::from_iter(1..=numbers.len() as u64));
    let warm_ups = of_type(&records, "measurement_end");
    assert!(warm_ups.iter().any(|end| end["warm_up"]["read"]["ios"].as_u64() > Some(0)));
    adds_up(&world, &streamed(&world, "explain one --generator simulated"));
}

#[test]
fn a_process_that_stood_still_lost_a_lapse() {
    let world = World::new();
    world.sparse("data", 16 << 20);
    let path = world.path("stream.ndjson");
    let iodyno = world
        .command()
        .args("run --name=t --filename=data --rw=randread --ioengine=psync --time_based".split(' '))
        .args(["--runtime=3", "--stream", "stream.ndjson"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let has_second = || std::fs::read_to_string(&path).is_ok_and(|of| of.contains("\"second\""));
    common::eventually("a second is over", has_second);
    let worker = worker_of(iodyno.id()).to_string();
    tool("kill", &["-STOP", &worker]);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    tool("kill", &["-CONT", &worker]);
    iodyno.wait_with_output().unwrap();
    let states = adds_up(&world, &std::fs::read(&path).unwrap());
    assert_eq!(states, ["lapse", "measured"]);
}

/// A short job in the world's folder.
const JOB: &str = "run --name=j --filename=data --rw=randread --size=1m --runtime=1200ms \
    --time_based --ioengine=psync";

#[test]
fn standard_output_is_the_stream_alone() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let run = |words: &str| {
        let words = words.split_ascii_whitespace();
        world.command().args(words).output().unwrap()
    };
    let output = run(&format!("{JOB} --stream -"));
    status(&output, 0);
    adds_up(&world, &output.stdout);
    for (words, says) in [
        (format!("{JOB} --stream - --json"), "--json"),
        (format!("{JOB} --stream - --output-format=json"), "--output-format"),
        ("check data --stream - --format junit".into(), "--format"),
        ("explain last --stream -".into(), "nothing is measured"),
        (format!("{JOB} --stream nowhere/x"), "nowhere"),
        (format!("{JOB} --stream unix:nobody"), "no listener"),
        (format!("{JOB} --listen example.org:80"), "8080"),
    ] {
        let output = run(&words);
        status(&output, 2);
        assert!(text(&output.stderr).contains(says), "{words}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{words}");
    }
}

#[test]
fn a_stream_that_cannot_be_written_is_an_error() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let begin = |redirection: &str, stream: &str| {
        let mut shell = world.with_environment(std::process::Command::new("sh"));
        let command = format!("exec \"$0\" {JOB} --stream {stream} {redirection}");
        shell.args(["-c", &command, env!("CARGO_BIN_EXE_iodyno")]).output().unwrap()
    };
    says(&begin(">/dev/full", "-"), 4, "--stream -: incomplete");
    let output = begin("", "/dev/full");
    says(&output, 4, "--stream /dev/full: incomplete");
    assert!(text(&output.stdout).contains("IOPS"), "results are printed as ever");
    says(&begin(">&-", "-"), 2, "standard output");
}

#[test]
fn readers_that_go_away_or_never_come_do_not_matter() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    let begun = |stream: &str| {
        let mut command = world.command();
        command.args(JOB.split_ascii_whitespace());
        command.args(["--stream", stream]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    // A reader that takes one line.
    let mut child = begun("-");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("run_start"));
    drop(lines);
    says(&child.wait_with_output().unwrap(), 0, "--stream -: incomplete");
    // A FIFO that is never opened for reading.
    tool("mkfifo", &[world.path("fifo").to_str().unwrap()]);
    let output = begun("fifo").wait_with_output().unwrap();
    status(&output, 0);
    let said = text(&output.stderr);
    assert!(said.contains("--stream fifo: incomplete") && said.contains("dropped"), "{said}");
    assert!(text(&output.stdout).contains("IOPS"), "results are printed as ever");
    // A reader that disconnects, and one that reads all.
    let listener = UnixListener::bind(world.path("socket")).unwrap();
    let child = begun("unix:socket");
    drop(listener.accept().unwrap());
    says(&child.wait_with_output().unwrap(), 0, "unix:socket: incomplete");
    let child = begun("unix:socket");
    let (mut socket, mut stream) = (listener.accept().unwrap().0, Vec::new());
    std::io::copy(&mut socket, &mut stream).unwrap();
    let output = child.wait_with_output().unwrap();
    status(&output, 0);
    assert!(!text(&output.stderr).contains("incomplete"), "{}", text(&output.stderr));
    adds_up(&world, &stream);
}

#[test]
#[ignore = "needs root"]
fn a_stream_goes_to_files_as_other_outputs_do() {
    let world = World::new();
    world.sparse("data", 1 << 20);
    std::fs::write(world.path("there"), "{\"type\":\"of an earlier run\"}\n".repeat(10_000))
        .unwrap();
    symlink("there", world.path("link")).unwrap();
    let to = |stream: &str| {
        let mut command = world.command();
        command.args(JOB.split_ascii_whitespace());
        command.args(["--stream", stream]).output().unwrap()
    };
    status(&to("link"), 0);
    assert!(world.path("link").is_symlink());
    adds_up(&world, &std::fs::read(world.path("there")).unwrap());
    status(&to("/dev/null"), 0);
    let disk = Loop::new(&world, "image", 4 << 20);
    let before = disk.bytes();
    symlink(&disk.device, world.path("to-device")).unwrap();
    for (name, says) in [
        (disk.device.as_str(), "is a block device"),
        ("to-device", "is a block device"),
        ("/proc/sys/vm/drop_caches", "kernel"),
        (".", "is a folder"),
    ] {
        let output = to(name);
        status(&output, 2);
        assert!(text(&output.stderr).contains(says), "{name}: {}", text(&output.stderr));
    }
    assert!(disk.bytes() == before);
}

#[test]
fn a_run_that_is_refused_leaves_an_earlier_stream() {
    let world = World::new();
    std::fs::write(world.path("data"), vec![7; 1 << 20]).unwrap();
    let earlier = b"{\"type\":\"run_start\"}\n";
    std::fs::write(world.path("earlier"), earlier).unwrap();
    let words = "run --name=a --filename=data --rw=write --size=64k --stream earlier";
    let output = world.command().args(words.split(' ')).output().unwrap();
    says(&output, 2, "--allow-write");
    assert_eq!(std::fs::read(world.path("earlier")).unwrap(), earlier);
}

#[test]
fn a_reader_that_takes_nothing_is_left_behind() {
    let world = World::new();
    let drives: Vec<String> = (0..34).map(|n| format!("drive{n}")).collect();
    drives.iter().for_each(|name| drop(world.sparse(name, 1 << 30)));
    let listener = UnixListener::bind(world.path("socket")).unwrap();
    let child = world
        .command()
        .arg("check")
        .args(&drives)
        .args(["--generator", "simulated", "--stream", "unix:socket"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut socket = listener.accept().unwrap().0;
    let output = child.wait_with_output().unwrap();
    says(&output, 0, "the reader is too slow");
    assert!(text(&output.stdout).contains("drive33"), "the results are as ever");
    // The part that was sent consists of whole lines, except for the last.
    let mut taken = Vec::new();
    std::io::copy(&mut socket, &mut taken).unwrap();
    let whole = taken.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert!(of_type(&records(&taken[..whole]), "second").len() > 1);
}
