//! Tests unplanned ends: a kill, a file that shrinks, a limit of file sizes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{World, eventually, json, says, status, text, tool, worker_of};

/// Processes that have this file open, except zombies.
fn holders(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(open) = fs::read_dir(process.path().join("fd")) else { continue };
        let holds = |link: fs::DirEntry| {
            fs::read_link(link.path()).is_ok_and(|target| target.to_str() == Some(path))
        };
        if open.flatten().any(holds) {
            found.push(process.file_name().into_string().unwrap());
        }
    }
    found
}

#[test]
fn a_killed_iodyno_leaves_no_fio_that_writes() {
    let world = World::new();
    let path = world.path("written").to_str().unwrap().to_owned();
    let mut iodyno = world
        .command()
        .args(["run", "--generator", "fio", "--name=t", "--rw=write", "--bs=4k", "--size=4m"])
        .args(["--numjobs=3", "--time_based", "--runtime=600", "--ioengine=psync"])
        .arg(format!("--filename={path}"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // iodyno, fio and its three jobs, each of which writes.
    let own = worker_of(iodyno.id()).to_string();
    let others = || holders(&path).into_iter().filter(|holder| *holder != own).collect::<Vec<_>>();
    eventually("fio's jobs write", || others().len() >= 3);
    let fios = others();
    iodyno.kill().unwrap();
    iodyno.wait().unwrap();
    eventually("no fio is left", || {
        others().is_empty()
            && fios.iter().all(|fio| {
                let status = fs::read_to_string(format!("/proc/{fio}/stat")).unwrap_or_default();
                status.is_empty() || !status.contains("(fio)") || status.contains(") Z")
            })
    });
    let written = |metadata: fs::Metadata| (metadata.mtime(), metadata.mtime_nsec());
    let before = written(fs::metadata(&path).unwrap());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(written(fs::metadata(&path).unwrap()), before, "somebody writes still");
}

#[test]
fn a_file_that_shrinks_under_mmap_is_an_error_with_its_offset() {
    let world = World::new();
    let path = world.path("shrinks");
    fs::write(&path, vec![1; 16 << 20]).unwrap();
    let name = format!("--filename={}", path.display());
    let job = ["--name=t", "--rw=randread", "--bs=4k", "--ioengine=mmap", "--time_based"];
    let run = |more: &[&str]| {
        let mut command = world.command();
        command.args(["run", "--output-format=json", &name]).args(job).args(more);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let own = worker_of(child.id());
        // Once mapped, the file is in use.
        eventually("it is mapped", || {
            let maps = fs::read_to_string(format!("/proc/{own}/maps")).unwrap_or_default();
            maps.contains(path.to_str().unwrap())
        });
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(8 << 20).unwrap();
        let output = child.wait_with_output().unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(16 << 20).unwrap();
        output
    };
    let output = run(&["--runtime=600"]);
    status(&output, 3);
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(said.contains("EIO at offset") || said.contains("bytes at offset"), "{said}");
    let output = run(&["--runtime=2", "--continue_on_error=read"]);
    let document = json(&output.stdout);
    assert!(document["jobs"][0]["total_err"].as_u64().unwrap() > 0, "{document:#}");
    assert!(document["jobs"][0]["read"]["total_ios"].as_u64().unwrap() > 0);
}

#[test]
fn a_process_that_was_stopped_measures_nothing_meanwhile() {
    const STOPPED: Duration = Duration::from_secs(3);
    let world = World::new();
    let path = world.path("stopped");
    fs::write(&path, vec![7; 16 << 20]).unwrap();
    let iodyno = world
        .command()
        .args(["run", "--name=t", "--rw=randread", "--bs=4k", "--ioengine=psync", "--time_based"])
        .args(["--runtime=3", "--json"])
        .arg(format!("--filename={}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its reads are counted even if the page cache serves them.
    let worker = worker_of(iodyno.id());
    let io = format!("/proc/{worker}/io");
    let read_bytes = || {
        let text = fs::read_to_string(&io).unwrap_or_default();
        let bytes = text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse::<u64>().ok());
        bytes.unwrap_or(0)
    };
    eventually("it reads", || read_bytes() > 32 << 20);
    tool("kill", &["-STOP", &worker.to_string()]);
    std::thread::sleep(STOPPED);
    tool("kill", &["-CONT", &worker.to_string()]);
    let output = iodyno.wait_with_output().unwrap();
    assert!(output.status.code().is_some_and(|code| code != 1), "{}", text(&output.stderr));
    let document = json(&output.stdout);
    let of = &document["measurements"][0];
    let lapses = of["conditions"]["lapses_ns"].as_array().unwrap();
    let longest = lapses.iter().filter_map(serde_json::Value::as_u64).max().unwrap();
    let stopped_ns = STOPPED.as_nanos() as u64;
    assert!((stopped_ns - 200_000_000..stopped_ns + 2_000_000_000).contains(&longest), "{longest}");
    let slowest = of["read"]["latency"]["total"]["max_ns"].as_u64().unwrap();
    assert!(slowest < stopped_ns / 2, "no I/O is told to have taken {slowest} ns");
    assert!(of["duration_ns"].as_u64().unwrap() < 3_500_000_000, "{}", of["duration_ns"]);
    let reasons = of["reasons"].to_string();
    assert!(reasons.contains("process-stopped"), "{reasons}");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_loses_no_results() {
    let world = World::new();
    let limited = |bytes: u64, words: &[&str]| {
        let mut command = world.with_environment(Command::new("prlimit"));
        command.arg(format!("--fsize={bytes}")).arg(env!("CARGO_BIN_EXE_iodyno")).args(words);
        command.output().unwrap()
    };
    let job = ["--name=t", "--filename=data", "--bs=4k", "--size=4m", "--fallocate=none"];
    for engine in ["--ioengine=psync", "--ioengine=libaio", "--ioengine=io_uring"] {
        let written = limited(2 << 20, &[&["run", "--rw=write", engine], &job[..]].concat());
        status(&written, 3);
        let out = text(&written.stdout);
        assert!(out.contains("EFBIG of a write at offset 2097152"), "{out}");
        fs::remove_file(world.path("data")).unwrap();
    }
    world.sparse("data", 4 << 20);
    let logs = ["fio", "--rw=read", "--io_size=64m", "--write_lat_log=t"];
    let read = limited(128 << 10, &[&logs, &job[..]].concat());
    says(&read, 1, "cannot write t_");
    assert!(text(&read.stderr).contains("File too large"), "{}", text(&read.stderr));
    assert!(text(&read.stdout).contains("total=16384,0,0,0"), "{}", text(&read.stdout));
}
