//! Tests devices that do not answer, simulated by a frozen file system: processes hang in the
//! kernel, and no signal ends that.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{World, eventually, tool, word, worker_of};

/// A file system on a loop device.
struct Frozen {
    at: String,
    device: String,
    world: World,
}

impl Frozen {
    /// Creates one that works until it is frozen, with a file of 8 MiB.
    fn new() -> Self {
        let world = World::new();
        let image = world.sparse("image", 64 << 20);
        let device = tool("losetup", &["--find", "--show", image.to_str().unwrap()]);
        tool("mkfs.ext4", &["-q", &device]);
        let at = world.directory("mounted").to_str().unwrap().to_owned();
        tool("mount", &[&device, &at]);
        fs::write(format!("{at}/data"), vec![1; 8 << 20]).unwrap();
        tool("sync", &[]);
        Self { at, device, world }
    }

    fn freeze(&self) {
        tool("fsfreeze", &["--freeze", &self.at]);
    }

    /// Runs `iodyno run` with a job on one of its files.
    fn run(&self, file: &str, words: &[&str]) -> Child {
        let path = format!("{}/{file}", self.at);
        self.world
            .command()
            .args(["run", "--name=t", "--bs=4k", "--allow-write", &path])
            .arg(format!("--filename={path}"))
            .args(words)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.world.path("errors")).unwrap())
            .spawn()
            .unwrap()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.world.path("errors")).unwrap()
    }

    fn says(&self, words: &str) {
        eventually(words, || self.errors().contains(words));
    }

    /// Ends a process whose worker stays until the device answers; returns its output, which the
    /// worker has released.
    fn ends(&self, iodyno: Child, status: i32) -> Output {
        let worker = worker_of(iodyno.id());
        let output = iodyno.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", self.errors());
        let said = self.errors();
        assert!(said.contains(&format!("Process {worker} is left behind")), "{said}");
        let is_there = || Path::new(&format!("/proc/{worker}")).exists();
        assert!(is_there(), "it hangs still");
        tool("fsfreeze", &["--unfreeze", &self.at]);
        eventually("it ends with the answer", || !is_there() || is_zombie(worker));
        output
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let run = |program: &str, arguments: &[&str]| {
            Command::new(program)
                .args(arguments)
                .output()
                .is_ok_and(|output| output.status.success())
        };
        run("fsfreeze", &["--unfreeze", &self.at]);
        // The hung process may still have files open for a moment.
        let give_up = Instant::now() + Duration::from_secs(20);
        while !run("umount", &[&self.at]) && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(50));
        }
        run("losetup", &["--detach", &self.device]);
    }
}

/// True if the process has ended and was not yet reaped.
fn is_zombie(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ended = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.is_empty() || status.contains("State:\tZ") || status.contains("State:\tX")
    };
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    status.contains("State:\tZ") && threads.all(ended)
}

fn signal(pid: u32, name: &str) {
    tool("kill", &[name, &pid.to_string()]);
}

const ENDLESS: [&str; 4] = ["--rw=randwrite", "--time_based", "--runtime=1h", "--size=8m"];

#[test]
#[ignore = "needs root"]
fn a_hang_before_the_start_is_reported() {
    let frozen = Frozen::new();
    frozen.freeze();
    let iodyno = frozen.run("new", &["--rw=write", "--size=1m"]);
    let hangs = format!("{} has not answered an open for ", frozen.at);
    frozen.says(&hangs);
    signal(iodyno.id(), "-INT");
    frozen.ends(iodyno, 3);
    let said = frozen.errors();
    assert!(said.contains(&format!("interrupted, and {hangs}")), "{said}");
    assert!(said.contains("run iodyno clean-up then"), "{said}");
}

/// Interrupts a job whose device has stopped answering.
fn interrupted(engine: &str, more: &[&str]) -> Output {
    let frozen = Frozen::new();
    let data = Path::new(&frozen.at).join("data");
    let written = || {
        let metadata = fs::metadata(&data).unwrap();
        (metadata.mtime(), metadata.mtime_nsec())
    };
    let before = written();
    let ioengine = format!("--ioengine={engine}");
    let iodyno = frozen.run("data", &[&ENDLESS, more, &[ioengine.as_str()]].concat());
    eventually("it is written", || written() != before);
    frozen.freeze();
    // A program is often signalled both directly and through its group.
    signal(iodyno.id(), "-TERM");
    signal(iodyno.id(), "-TERM");
    let output = frozen.ends(iodyno, 3);
    assert!(frozen.errors().contains("interrupted, and "), "{engine}: {}", frozen.errors());
    output
}

#[test]
#[ignore = "needs root"]
fn a_hang_during_a_measurement_is_reported() {
    let asynchronous = ["--direct=1", "--iodepth=4"];
    interrupted("mmap", &[]);
    interrupted("io_uring", &asynchronous);
    interrupted("libaio", &asynchronous);
}

#[test]
#[ignore = "needs root"]
fn what_was_measured_until_then_is_printed() {
    // Within 2 s; retried, since a busy machine may be slower.
    let prints = |_| String::from_utf8(interrupted("psync", &[]).stdout).unwrap().contains("IOPS");
    assert!((0..5).any(prints));
}

#[test]
#[ignore = "needs root"]
fn a_hang_in_a_child_program_is_reported() {
    let frozen = Frozen::new();
    let script = frozen.world.path("script");
    let at = word(Path::new(&frozen.at));
    fs::write(&script, format!("fsfreeze --freeze {at}; echo > {at}/new")).unwrap();
    let before = format!("--exec_prerun=sh {}", word(&script));
    let words = ["--rw=read", "--size=1m", "--allow-exec", &before];
    let iodyno = frozen.run("data", &words);
    frozen.says(&format!("{}/new has not answered an open of sh (process ", frozen.at));
    signal(iodyno.id(), "-INT");
    assert_eq!(iodyno.wait_with_output().unwrap().status.code(), Some(3), "{}", frozen.errors());
}

/// A run that ends only when killed.
fn stubborn(world: &World, mut command: Command) -> Child {
    let data = world.sparse("data", 1 << 20);
    let iodyno = command
        .args(["run", "--name=t", "--rw=read", "--allow-exec", "--exec_prerun=sleep 3600"])
        .arg(format!("--filename={}", data.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let worker = worker_of(iodyno.id());
    eventually("it waits", || {
        let threads = fs::read_dir(format!("/proc/{worker}/task")).unwrap().flatten();
        threads
            .map(|thread| fs::read_to_string(thread.path().join("children")))
            .any(|children| children.is_ok_and(|children| !children.trim().is_empty()))
    });
    iodyno
}

#[test]
fn a_second_request_is_obeyed_at_once() {
    let world = World::new();
    let mut iodyno = stubborn(&world, world.command());
    let worker = worker_of(iodyno.id());
    signal(iodyno.id(), "-INT");
    // Later than a duplicate of the first signal.
    std::thread::sleep(Duration::from_millis(500));
    assert!(iodyno.try_wait().unwrap().is_none());
    signal(iodyno.id(), "-INT");
    assert_eq!(iodyno.wait().unwrap().signal(), Some(2));
    eventually("the worker is gone", || !Path::new(&format!("/proc/{worker}")).exists());
}

#[test]
fn a_hangup_ends_nothing_that_nohup_has_started() {
    let world = World::new();
    let mut nohup = world.with_environment(Command::new("nohup"));
    nohup.arg(env!("CARGO_BIN_EXE_iodyno")).stderr(Stdio::null());
    let mut iodyno = stubborn(&world, nohup);
    // The second of two requests would end it.
    for _ in 0..2 {
        signal(iodyno.id(), "-HUP");
        signal(worker_of(iodyno.id()), "-HUP");
        std::thread::sleep(Duration::from_millis(500));
    }
    signal(iodyno.id(), "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(iodyno.try_wait().unwrap().is_none());
    iodyno.kill().unwrap();
    iodyno.wait().unwrap();
}

#[test]
fn each_process_ends_with_the_other() {
    let world = World::new();
    let mut iodyno = stubborn(&world, world.command());
    signal(worker_of(iodyno.id()), "-KILL");
    assert_eq!(iodyno.wait().unwrap().signal(), Some(9));
    let mut iodyno = stubborn(&world, world.command());
    let worker = worker_of(iodyno.id());
    iodyno.kill().unwrap();
    iodyno.wait().unwrap();
    eventually("the worker is gone", || !Path::new(&format!("/proc/{worker}")).exists());
}
