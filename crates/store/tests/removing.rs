//! Removal of runs: what it frees, and how often it syncs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;

use common::{host, measurement, run};
use iodyno_model::{Run, RunRecord, RunState};
use iodyno_store::Store;
use rusqlite::Connection;

fn fill(store: &mut Store, count: i64) {
    for n in 1..=count {
        let run = Run { state: RunState::Done, ..run("", n) };
        let measurements = (0..20).map(|_| measurement("m", 1000.0)).collect();
        store.add_record(&RunRecord { run, snapshots: vec![host(n)], measurements }).unwrap();
    }
}

fn length(path: &Path) -> u64 {
    path.metadata().unwrap().len()
}

#[test]
fn space_of_removed_runs_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    fill(&mut store, 30);
    let before = length(&path);
    assert_eq!(store.shrink().unwrap(), 0, "nothing is free");
    assert_eq!(store.prune(20).unwrap(), 10);
    let freed = store.shrink().unwrap();
    assert!(freed > before / 5, "{freed} of {before}");
    assert_eq!(length(&path), before - freed);
    assert_eq!(store.runs().unwrap().len(), 20);
}

#[test]
fn a_store_of_an_earlier_version_is_written_anew_once_half_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    fill(&mut store, 30);
    drop(store);
    let earlier = Connection::open(&path).unwrap();
    earlier.execute_batch("PRAGMA auto_vacuum=NONE; VACUUM").unwrap();
    drop(earlier);
    let mut store = Store::open(&path).unwrap();
    let before = length(&path);
    assert_eq!(store.prune(25).unwrap(), 5);
    assert_eq!((store.shrink().unwrap(), length(&path)), (0, before), "not worth it");
    store.prune(1).unwrap();
    let freed = store.shrink().unwrap();
    assert!(freed > before / 2, "{freed} of {before}");
    assert_eq!(length(&path), before - freed);
    // From then on it is as a new one.
    fill(&mut store, 3);
    store.prune(3).unwrap();
    assert!(store.shrink().unwrap() > 0);
}
