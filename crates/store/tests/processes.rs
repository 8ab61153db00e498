//! Several processes, and processes that end too early: this program starts itself again in a given
//! role.

#![allow(clippy::unwrap_used)] // Also in what tests call.

mod common;

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{host, measurement, run};
use iodyno_model::{Run, RunState};
use iodyno_store::{JournalEntry, Store, StoreError};

/// Variable with the role and the store; set only in children.
const PART: &str = "IODYNO_TEST_PART";
const STORE: &str = "IODYNO_TEST_STORE";
/// Prefix of a child's output lines.
const SAYS: &str = "child says ";
const NOBODY: u32 = 65_534;

/// Makes a child with the role `part`. The link to this program works for every user, unlike its
/// path.
fn child(part: &str, store: &Path) -> Command {
    playing(Command::new("/proc/self/exe"), part, store)
}

/// The same in its own PID namespace, as in a container; needs root.
fn contained(part: &str, store: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.arg(std::env::current_exe().unwrap());
    playing(command, part, store)
}

fn playing(mut command: Command, part: &str, store: &Path) -> Command {
    command
        .args(["child_entry_point", "--exact", "--nocapture"])
        .env(PART, part)
        .env(STORE, store)
        .stdout(Stdio::piped());
    command
}

/// Entry point of children, not a test; returns at once in the parent.
#[test]
fn child_entry_point() {
    let Ok(part) = std::env::var(PART) else { return };
    let path = PathBuf::from(std::env::var_os(STORE).unwrap());
    match part.as_str() {
        "write on and on" => write_on_and_on(&path),
        "write some" => write_some(&path),
        "open read-only" => open_read_only(&path),
        "look at the live one" => look_at_the_live_one(&path),
        other => panic!("no part {other}"),
    }
}

fn say(what: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{SAYS}{what}").unwrap();
    out.flush().unwrap();
}

fn write_on_and_on(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let run = run("killed", 1);
    store.create_run(&run).unwrap();
    store.add_snapshot(&run.id, &host(1)).unwrap();
    let entry = JournalEntry::ScratchFile { path: "/a".into(), identity: None };
    store.journal_add(&run.id, &entry).unwrap();
    for n in 1.. {
        store.add_measurement(&run.id, &measurement("step", f64::from(n))).unwrap();
        say(&n.to_string());
    }
}

/// Checks the run in progress, wherever its process is.
fn look_at_the_live_one(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let run = store.find("killed").unwrap();
    assert_eq!((run.state, run.is_alive), (RunState::Running, true));
    assert_eq!(store.journal_pending(None).unwrap(), []);
    assert!(matches!(store.reopen_run(&run.id), Err(StoreError::StillRunning(_))));
    assert!(matches!(store.remove(&run.id), Err(StoreError::StillRunning(_))));
    assert!(matches!(store.mark_ended(&run.id), Err(StoreError::StillRunning(_))));
    assert!(matches!(store.hold(&run.id), Err(StoreError::StillRunning(_))));
    say("it lives");
}

fn write_some(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let run = Run { state: RunState::Done, ..run("", 1) };
    store.create_run(&run).unwrap();
    for n in 0..20 {
        store.add_measurement(&run.id, &measurement("step", f64::from(n))).unwrap();
    }
}

fn open_read_only(path: &Path) {
    let written = Store::open(path).and_then(|mut store| store.create_run(&run("", 2)));
    assert!(
        matches!(written, Err(StoreError::Open { .. } | StoreError::ReadOnly { .. })),
        "{written:?}"
    );
    let found = Store::open_existing_readonly(path).unwrap().find("kept").unwrap();
    say(&found.name);
}

/// As in a container that has the store's file alone, or a copy of it.
#[test]
fn without_the_lock_files_a_run_may_be_running() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut live = Store::open(&path).unwrap();
    let run = run("live", 1);
    live.create_run(&run).unwrap();
    let entry = JournalEntry::ScratchFile { path: "/a".into(), identity: None };
    live.journal_add(&run.id, &entry).unwrap();
    let elsewhere = tempfile::tempdir_in(folder.path()).unwrap();
    let other_path = elsewhere.path().join("store.sqlite");
    std::fs::hard_link(&path, &other_path).unwrap();
    let mut other = Store::open(&other_path).unwrap();
    let pending = other.journal_pending(None).unwrap();
    assert!(pending.len() == 1 && pending[0].may_be_running, "{pending:?}");
    assert!(matches!(other.reopen_run(&run.id), Err(StoreError::MayBeRunning(_))));
    assert!(matches!(other.remove(&run.id), Err(StoreError::MayBeRunning(_))));
    // The user knows better.
    other.mark_ended(&run.id).unwrap();
    assert!(!other.journal_pending(None).unwrap()[0].may_be_running);
}

/// Undoing a killed run's changes leaves it resumable.
#[test]
fn a_killed_run_stays_ended_after_it_was_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = run("killed", 1);
    store.create_run(&run).unwrap();
    // As its process ends.
    drop(store);
    let mut store = Store::open(&path).unwrap();
    store.hold(&run.id).unwrap();
    store.release_lock(&run.id);
    store.refuse_running(&run.id).unwrap();
    store.reopen_run(&run.id).unwrap();
}

#[test]
fn committed_data_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/folder/store.sqlite");
    let mut child = child("write on and on", &path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut committed = 0;
    while committed < 25 {
        let line = lines.next().expect("the child writes until it is killed").unwrap();
        if let Some(n) = line.strip_prefix(SAYS) {
            committed = n.parse().unwrap();
        }
    }
    let alive = Store::open(&path).unwrap();
    assert_eq!(alive.find("killed").unwrap().state, RunState::Running);
    child.kill().unwrap();
    child.wait().unwrap();
    for n in lines.map_while(Result::ok).filter_map(|l| l.strip_prefix(SAYS)?.parse().ok()) {
        committed = n;
    }
    let record = Store::open(&path).unwrap().load("killed").unwrap();
    assert_eq!(record.run.state, RunState::Interrupted, "nobody works on it any more");
    let values: Vec<f64> =
        record.measurements.iter().map(|m| m.total[0].iops.unwrap().value).collect();
    let whole: Vec<f64> = (1..=values.len()).map(|n| n as f64).collect();
    assert_eq!(values, whole);
    assert!(values.len() >= committed, "{} of {committed}", values.len());
    assert_eq!(alive.find("killed").unwrap().state, RunState::Interrupted);
    let mode = path.parent().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
#[ignore = "needs root"]
fn live_runs_are_recognized_from_every_pid_namespace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let link = folder.path().join("link.sqlite");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut live = contained("write on and on", &path).spawn().unwrap();
    let mut lines = BufReader::new(live.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().starts_with(SAYS)).expect("it writes").unwrap();
    let part = "look at the live one";
    for mut looking in [child(part, &path), child(part, &link), contained(part, &path)] {
        let output = looking.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("child says it lives"), "{said}");
    }
    // The whole namespace dies with its first process.
    live.kill().unwrap();
    live.wait().unwrap();
    lines.map_while(Result::ok).for_each(drop);
    let mut store = Store::open(&path).unwrap();
    let begun = Instant::now();
    let id = loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays alive after its death");
        let run = store.find("killed").unwrap();
        // Nothing reports when the last of them is gone.
        if run.state == RunState::Interrupted {
            break run.id;
        }
        std::thread::yield_now();
    };
    assert_eq!(store.journal_pending(None).unwrap().len(), 1);
    assert_eq!(store.reopen_run(&id).unwrap().state, RunState::Running);
    assert!(matches!(store.reopen_run(&id), Err(StoreError::StillRunning(_))));
}

#[test]
fn child_programs_do_not_keep_a_run_alive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = run("", 1);
    store.create_run(&run).unwrap();
    let mut program = Command::new("sleep").arg("1000").spawn().unwrap();
    drop(store);
    let found = Store::open(&path).unwrap().find(&run.id).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(found.state, RunState::Interrupted);
}

#[test]
fn several_processes_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    // None of them finds a store, so they also create it at the same time.
    let children: Vec<_> = (0..4).map(|_| child("write some", &path).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = Store::open_existing_readonly(&path).unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(store.load(&run.id).unwrap().measurements.len(), 20);
    }
}

#[test]
fn unwritable_stores_are_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let kept = Run { state: RunState::Done, ..run("kept", 1) };
    Store::open(&path).unwrap().create_run(&kept).unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // First the file is read-only, then only its folder, where the rollback journal would be.
    for file_mode in [0o444, 0o666] {
        mode(&path, file_mode);
        mode(folder.path(), 0o555);
        let mut child = child("open read-only", &path);
        if std::fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
        {
            // Root ignores permissions.
            child.uid(NOBODY).gid(NOBODY);
        }
        let output = child.output().unwrap();
        mode(folder.path(), 0o755);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("child says kept"), "{said}");
    }
}
