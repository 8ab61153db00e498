//! A store whose file fails during a run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{host, measurement, run};
use iodyno_model::{Built, Run, RunState};
use iodyno_store::{JournalEntry, Store, StoreError};
use rusqlite::Connection;

fn tool(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?} (this test needs root): {said}");
}

/// A small file system of its own.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        tool("mount", &["-t", "tmpfs", "-o", "size=2m", "none", folder.path().to_str().unwrap()]);
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fills the remaining space.
    fn fill(&self) {
        use std::io::Write as _;
        let mut hog = std::fs::File::create(self.path("hog")).unwrap();
        while hog.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

/// Opens a store with a run that has a snapshot and a measurement.
fn begun(path: &Path) -> (Store, Run) {
    let mut store = Store::open(path).unwrap();
    let run = run("begun", 1);
    store.create_run(&run).unwrap();
    store.add_snapshot(&run.id, &host(1)).unwrap();
    store.add_measurement(&run.id, &measurement("m", 1000.0)).unwrap();
    (store, run)
}

/// Measurements taken while the file fails are in memory; the file keeps the earlier ones.
#[track_caller]
fn goes_on(mut store: Store, run: Run) {
    let id = run.id.clone();
    store.add_measurement(&id, &measurement("m", 1000.0)).unwrap();
    assert!(store.aside().is_some());
    assert_eq!(store.add_snapshot(&id, &host(1)).unwrap(), 1);
    store.update_run(&Run { state: RunState::Done, ..run }).unwrap();
    let record = store.load(&id).unwrap();
    assert_eq!((record.measurements.len(), record.snapshots.len()), (2, 2));
    assert_eq!(record.run.state, RunState::Done);
    let built = JournalEntry::Built(Built::Mount { at: "/nowhere".into(), mark: None });
    let refused = store.journal_add(&id, &built);
    assert!(matches!(refused, Err(StoreError::Aside { .. })), "{refused:?}");
}

#[test]
#[ignore = "needs root"]
fn full_disk_loses_no_measurement() {
    let small = Small::new();
    let (store, run) = begun(&small.path("store.sqlite"));
    small.fill();
    let id = run.id.clone();
    goes_on(store, run);
    let file = Store::open_existing_readonly(&small.path("store.sqlite")).unwrap();
    assert_eq!(file.load(&id).unwrap().measurements.len(), 1);
}

#[test]
fn locked_store_loses_no_measurement() {
    for lock in ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store?%20#.sqlite");
        let (store, run) = begun(&path);
        store.set_busy_timeout(Duration::from_millis(200)).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch(lock).unwrap();
        let id = run.id.clone();
        goes_on(store, run);
        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        let file = Store::open(&path).unwrap();
        assert_eq!(file.load(&id).unwrap().measurements.len(), 1, "{lock}");
    }
}

#[test]
fn record_replaces_a_partial_run() {
    let mut store = Store::in_memory().unwrap();
    let run = Run { state: RunState::Interrupted, ..run("cut", 1) };
    store.create_run(&run).unwrap();
    store.add_measurement(&run.id, &measurement("m", 1000.0)).unwrap();
    let mut record = store.load(&run.id).unwrap();
    record.measurements.push(measurement("m", 1000.0));
    record.run.state = RunState::Done;
    let bodies = store.bodies_of(&record, None).unwrap();
    store.replace_bodies(&record, &bodies).unwrap();
    assert_eq!(store.load(&run.id).unwrap(), record);
    // Two runs of the same name are both kept.
    let other = Run { name: "other".into(), ..common::run("other", 2) };
    store.create_run(&other).unwrap();
    record.run.name = "other".into();
    assert!(store.replace_bodies(&record, &bodies).is_err());
    assert_eq!(store.load(&run.id).unwrap().run.name, "cut");
}
