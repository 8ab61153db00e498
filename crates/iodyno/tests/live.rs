//! Tests the full view and `top` in a pseudo-terminal with a terminal emulator: the screen at each
//! size, and that the terminal is restored however the process ends.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::common::{World, printed, status, text, tool, validate, worker_of};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Sequence that switches to the full view's screen.
const TAKEN: &str = "\x1b[?1049h";
/// Time limit, longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// iodyno in a terminal of its own.
struct Session {
    iodyno: Child,
    master: File,
    terminal: OwnedFd,
    screen: vt100::Parser,
    /// All output so far.
    written: String,
    /// Terminal modes (`stty -g`) before the start.
    modes: String,
}

impl Session {
    /// Starts it in a terminal of this size.
    fn new(world: &World, (columns, lines): (u16, u16), arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
        resize(&master, (columns, lines));
        let modes = modes(&terminal);
        let stream = || Stdio::from(terminal.try_clone().unwrap());
        // setsid makes it the controlling terminal of a session, so that Ctrl-C sends a signal.
        let mut setsid = Command::new("setsid");
        setsid.arg("--ctty").arg(env!("CARGO_BIN_EXE_iodyno")).args(arguments);
        let iodyno = world
            .with_environment(setsid)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("COLUMNS")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        Self {
            iodyno,
            master: master.into(),
            terminal: terminal.into(),
            screen: vt100::Parser::new(cells(lines), cells(columns), 1000),
            written: String::new(),
            modes,
        }
    }

    /// Starts a random read of a 16 MiB file for ten minutes.
    fn reading(world: &World, size: (u16, u16), more: &[&str]) -> Self {
        let path = world.path("data");
        if !path.exists() {
            fs::write(&path, vec![7; 16 << 20]).unwrap();
        }
        let file = format!("--filename={}", path.display());
        let job = ["run", "--name=reads", "--rw=randread", "--bs=4k", "--time_based"];
        let arguments = [&job[..], &["--runtime=600", "--ioengine=psync", &file], more].concat();
        Self::new(world, size, &arguments)
    }

    /// Reads until the screen fulfils a condition.
    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        let give_up = Instant::now() + PATIENCE;
        while !is_so(self.screen.screen()) {
            let left = give_up.checked_duration_since(Instant::now());
            let Some(left) = left else { panic!("{what}: not so\n{}", self.last_screen()) };
            assert!(self.read(left), "{what}: it ended before\n{}", self.last_screen());
        }
    }

    #[track_caller]
    fn shows(&mut self, words: &str) {
        self.until(words, |screen| screen.contents().contains(words));
    }

    /// Reads available output, waiting for at most `most`; `false`: there will be no more.
    fn read(&mut self, most: Duration) -> bool {
        let ended = self.iodyno.try_wait().unwrap().is_some();
        let mut polled = [PollFd::new(&self.master, PollFlags::IN)];
        let most = if ended { Duration::ZERO } else { most.min(Duration::from_millis(100)) };
        let ready = poll(&mut polled, Some(&Timespec::try_from(most).unwrap())).unwrap();
        if ready > 0 {
            let mut bytes = [0; 65536];
            let read = self.master.read(&mut bytes).unwrap();
            self.screen.process(&bytes[..read]);
            self.written.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        ready > 0 || !ended
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for its end and checks that the terminal is restored.
    #[track_caller]
    fn ends(&mut self) -> ExitStatus {
        let give_up = Instant::now() + PATIENCE;
        while self.read(Duration::from_secs(1)) {
            assert!(Instant::now() < give_up, "it does not end");
        }
        let screen = self.screen.screen();
        let shown = screen.contents();
        assert!(self.written.contains(TAKEN), "it was never full");
        assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{shown}");
        assert_eq!(modes(&self.terminal), self.modes, "{shown}");
        self.iodyno.wait().unwrap()
    }

    fn last_screen(&self) -> String {
        self.screen.screen().contents()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.iodyno.kill();
        let _ = self.iodyno.wait();
    }
}

fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn resize(master: impl std::os::fd::AsFd, (columns, lines): (u16, u16)) {
    let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}

/// All modes of a terminal except its size.
fn modes(terminal: impl std::os::fd::AsFd) -> String {
    let terminal = terminal.as_fd().try_clone_to_owned().unwrap();
    let output = Command::new("stty").arg("-g").stdin(terminal).output().unwrap();
    text(&output.stdout)
}

/// Number of the first line on the screen that contains `words`.
fn line(screen: &vt100::Screen, words: &str) -> Option<usize> {
    let lines: Vec<String> = screen.rows(0, screen.size().1.get()).collect();
    lines.iter().position(|line| line.contains(words))
}

#[test]
fn it_fits_every_size_and_q_ends_it() {
    let world = World::new();
    for size in [(80, 24), (60, 20), (160, 50)] {
        let mut session = Session::reading(&world, size, &[]);
        session.until("a minute's figures", |screen| {
            screen.alternate_screen()
                && ["RATE", "P50", "P99", "LAST MIN"]
                    .iter()
                    .all(|heading| line(screen, heading) == line(screen, "TARGET"))
                && line(screen, "busiest thread").is_some()
                && line(screen, "q or Ctrl-C ends") == Some(usize::from(size.1) - 1)
        });
        let screen = session.screen.screen();
        assert!(screen.hide_cursor());
        assert_eq!(line(screen, "iodyno run --name=reads"), Some(0), "{}", screen.contents());
        assert_eq!(line(screen, "data  reads"), Some(1), "{}", screen.contents());
        assert!(screen.contents().contains("at most 10 min left"), "{}", screen.contents());
        if size.0 >= 120 {
            session.shows("LATENCY  over the last minute");
        }
        session.press("q");
        assert_eq!(session.ends().code(), Some(3), "{}", session.last_screen());
        // The result is on the normal screen.
        assert!(session.last_screen().contains("IOPS"), "{}", session.last_screen());
    }
}

#[test]
fn a_new_size_is_drawn_anew() {
    let world = World::new();
    let mut session = Session::reading(&world, (160, 50), &[]);
    session.shows("LATENCY  over the last minute");
    for (columns, lines) in [(60, 20), (100, 30)] {
        resize(&session.master, (columns, lines));
        session.screen.screen_mut().set_size(cells(lines), cells(columns));
        session.until("the last line is at the bottom", |screen| {
            line(screen, "q or Ctrl-C ends") == Some(usize::from(lines) - 1)
                && line(screen, "TARGET").is_some()
                && line(screen, "LATENCY  over").is_none()
        });
    }
    session.press("q");
    assert_eq!(session.ends().code(), Some(3));
}

#[test]
fn ctrl_c_is_a_signal_and_keeps_what_was_measured() {
    let world = World::new();
    let mut session = Session::reading(&world, (80, 24), &[]);
    session.shows("busiest thread");
    session.press("\x03");
    assert_eq!(session.ends().code(), Some(3), "{}", session.last_screen());
    let kept = world.run(&["show", "last"]);
    assert!(text(&kept.stdout).contains("IOPS"), "{}", text(&kept.stdout));
}

#[test]
fn other_keys_do_nothing() {
    let world = World::new();
    let mut session = Session::reading(&world, (80, 24), &[]);
    session.shows("busiest thread");
    // Ctrl-Z, Ctrl-\ and Ctrl-S would leave the screen behind or block it.
    session.press("x\x1a\x1c\x13\x1b[A");
    session.shows("0:03");
    session.press("q");
    assert_eq!(session.ends().code(), Some(3));
}

#[test]
fn signals_give_the_terminal_back() {
    let world = World::new();
    for signal in ["-TERM", "-QUIT"] {
        let mut session = Session::reading(&world, (80, 24), &[]);
        session.shows("TARGET");
        tool("kill", &[signal, &session.iodyno.id().to_string()]);
        assert_eq!(session.ends().code(), Some(3), "{}", session.last_screen());
    }
    // The supervisor restores the terminal if the worker no longer can.
    let mut session = Session::reading(&world, (80, 24), &[]);
    session.shows("TARGET");
    tool("kill", &["-KILL", &worker_of(session.iodyno.id()).to_string()]);
    assert_eq!(session.ends().signal(), Some(9), "{}", session.last_screen());
}

#[test]
fn a_report_that_is_asked_for_is_seen_at_once() {
    let world = World::new();
    let mut session = Session::reading(&world, (80, 24), &[]);
    session.shows("busiest thread");
    tool("kill", &["-USR1", &session.iodyno.id().to_string()]);
    session.until("the report, on the screen that stays", |screen| {
        !screen.alternate_screen() && screen.contents().contains("Run status group 0")
    });
    session.press("\x03");
    assert_eq!(session.ends().code(), Some(3), "{}", session.last_screen());
    assert_eq!(session.written.matches(TAKEN).count(), 1, "it goes on in a line");
}

#[test]
fn short_runs_and_live_line_take_no_screen() {
    let world = World::new();
    let mut session = Session::reading(&world, (80, 24), &["--live=line"]);
    session.shows("IOPS");
    assert!(!session.screen.screen().alternate_screen());
    session.press("\x03");
    while session.read(PATIENCE) {}
    assert!(!session.written.contains(TAKEN), "{}", session.written);
    let mut session = Session::reading(&world, (80, 24), &["--runtime=1"]);
    while session.read(PATIENCE) {}
    assert!(!session.written.contains(TAKEN), "{}", session.written);
    assert_eq!(session.iodyno.wait().unwrap().code(), Some(0), "{}", session.last_screen());
    // A terminal that is too small gets the live line.
    let mut session = Session::reading(&world, (39, 9), &["--live=full", "--runtime=1"]);
    while session.read(PATIENCE) {}
    assert!(!session.written.contains(TAKEN), "{}", session.written);
}

#[test]
fn a_sweep_shows_its_grid() {
    let world = World::new();
    let path = world.path("swept").to_str().unwrap().to_owned();
    let mut session = Session::new(
        &world,
        (80, 24),
        &[
            "sweep",
            "--target",
            &path,
            "--set",
            "size=16m",
            "--set",
            "direct=0",
            "--grid",
            "rw=read,randread",
            "--grid",
            "bs=4k,64k",
            "--max-time",
            "60",
            "--precision",
            "0.1",
            "--live=full",
        ],
    );
    session.shows("0 of 4 points");
    session.shows("goal ± 0.1 %");
    session.press("q");
    assert_eq!(session.ends().code(), Some(3), "{}", session.last_screen());
}

/// A file system that no longer answers is left behind, and the terminal restored.
#[test]
#[ignore = "needs root"]
fn a_device_that_hangs_does_not_keep_the_screen() {
    let world = World::new();
    let image = world.sparse("image", 64 << 20).to_str().unwrap().to_owned();
    tool("mkfs.ext4", &["-q", &image]);
    let at = world.directory("mounted").to_str().unwrap().to_owned();
    tool("mount", &["-o", "loop", &image, &at]);
    let file = format!("{at}/data");
    fs::write(&file, vec![1; 8 << 20]).unwrap();
    let mut session = Session::new(
        &world,
        (80, 24),
        &[
            "run",
            "--name=writes",
            "--rw=randwrite",
            "--bs=4k",
            "--ioengine=psync",
            "--direct=1",
            "--time_based",
            "--runtime=600",
            "--fsync=1",
            "--allow-write",
            &file,
            &format!("--filename={file}"),
        ],
    );
    session.shows("busiest thread");
    tool("fsfreeze", &["--freeze", &at]);
    session.press("q");
    // It ends within two seconds; either process may print the result.
    let status = session.ends();
    tool("fsfreeze", &["--unfreeze", &at]);
    tool("umount", &["--lazy", &at]);
    assert_eq!(status.code(), Some(3), "{}", session.last_screen());
}

/// Name of a disk that `top` can show.
fn disk() -> String {
    let stats = fs::read_to_string("/proc/diskstats").unwrap();
    let mut names = stats.lines().filter_map(|line| line.split_whitespace().nth(2));
    let size = |name: &str| fs::read_to_string(format!("/sys/block/{name}/size"));
    let is_disk = |name: &&str| !name.starts_with("loop") && size(name).is_ok_and(|n| n != "0\n");
    names.rfind(is_disk).unwrap().to_owned()
}

#[test]
fn top_shows_drives_until_it_is_ended() {
    let world = World::new();
    let disk = disk();
    for (size, end) in [((80, 24), "q"), ((60, 20), "\x03"), ((160, 50), "q")] {
        let device = format!("/dev/{disk}");
        let mut session = Session::new(&world, size, &["top", &device, "--interval", "200ms"]);
        session.until("its rates", |screen| {
            ["READ", "WRITE", "UTIL"].iter().all(|head| line(screen, head) == Some(2))
                && line(screen, &disk) == Some(3)
                && line(screen, "q or Ctrl-C ends") == Some(usize::from(size.1) - 1)
        });
        session.press(end);
        assert_eq!(session.ends().code(), Some(0), "{}", session.last_screen());
    }
    let mut session = Session::new(&world, (80, 24), &["top", &format!("/dev/{disk}")]);
    session.shows("q or Ctrl-C");
    tool("kill", &["-KILL", &worker_of(session.iodyno.id()).to_string()]);
    assert_eq!(session.ends().signal(), Some(9));
}

#[test]
fn top_once_is_a_document() {
    let world = World::new();
    let device = format!("/dev/{}", disk());
    let document =
        printed(&world.run(&["top", &device, "--once", "--json", "--interval", "100ms"]));
    validate(&document, "iodyno.top.1");
    assert_eq!(document["drives"][0]["device"], disk().as_str());
    assert!(document["interval_s"].as_f64().unwrap() >= 0.1, "{document:#}");
    let output = world.run(&["top", &device, "--once", "--interval", "100ms"]);
    status(&output, 0);
    assert!(text(&output.stdout).starts_with("DRIVE"), "{}", text(&output.stdout));
    status(&world.run(&["top", "/dev/nosuchdrive", "--once"]), 2);
}
