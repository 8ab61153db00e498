//! Stored data, finding of runs, and refusals.

#![allow(clippy::unwrap_used)] // Also in what tests call.

mod common;

use std::path::{Path, PathBuf};

use common::{host, measurement, run};
use iodyno_model::{
    Assessment, Direction, DirectionResult, DriveState, Estimate, FillState, Measurement,
    PreparationState, PurgeMethod, Purpose, Run, RunKind, RunRecord, RunState, Verdict,
};
use iodyno_store::{JournalEntry, Store, StoreError, boot_id, new_id};
use rusqlite::Connection;
use serde_json::Value;

fn finished(name: &str, started_ns: i64) -> Run {
    Run { state: RunState::Done, ended_ns: Some(started_ns + 1), ..run(name, started_ns) }
}

fn scratch(path: &str) -> JournalEntry {
    JournalEntry::ScratchFile { path: path.into(), identity: Some((66, u64::MAX)) }
}

#[test]
fn stored_runs_round_trip() {
    let mut store = Store::in_memory().unwrap();
    let mut run = run("first", 1);
    store.create_run(&run).unwrap();
    assert_eq!(store.add_snapshot(&run.id, &host(1)).unwrap(), 0);
    assert_eq!(store.add_snapshot(&run.id, &host(2)).unwrap(), 1);
    let measurements = [measurement("seq-read", 7.5), measurement("rand-read", 1e6)];
    for measurement in &measurements {
        store.add_measurement(&run.id, measurement).unwrap();
    }
    run.state = RunState::Done;
    run.ended_ns = Some(9);
    store.update_run(&run).unwrap();
    let assessment = Assessment {
        ruleset: "1".into(),
        measurements: Vec::new(),
        findings: Vec::new(),
        rules: Vec::new(),
        subjects: vec![("nvme0".into(), Verdict::Warn)],
        verdict: Verdict::Warn,
    };
    assert_eq!(store.assessment(&run.id).unwrap(), None);
    for ruleset in ["1", "2"] {
        let assessment = Assessment { ruleset: ruleset.into(), ..assessment.clone() };
        store.put_assessment(&run.id, &assessment).unwrap();
        assert_eq!(store.assessment(&run.id).unwrap(), Some(assessment));
    }
    let record = store.load(&run.id).unwrap();
    assert_eq!(record.run, run);
    assert_eq!(record.snapshots, [host(1), host(2)]);
    assert_eq!(record.measurements, measurements);
    store.remove(&run.id).unwrap();
    assert!(matches!(store.load(&run.id), Err(StoreError::NoSuchRun(_))));
}

#[test]
fn unreadable_measurements_are_not_stored() {
    let mut store = Store::in_memory().unwrap();
    let run = run("", 1);
    store.create_run(&run).unwrap();
    let refused = store.add_measurement(&run.id, &measurement("x", f64::NAN));
    assert!(matches!(refused, Err(StoreError::Unstorable { .. })), "{refused:?}");
    assert_eq!(store.load(&run.id).unwrap().measurements, []);
}

#[test]
fn runs_are_found_by_what_is_unique() {
    let mut store = Store::in_memory().unwrap();
    assert!(matches!(store.find("last"), Err(StoreError::NoSuchRun(_))));
    let with_id = |id: &str, name, at| Run { id: id.into(), ..finished(name, at) };
    for run in [
        with_id("0190aaaa", "Größe 測定 🚀", 3),
        with_id("0190aabb", "", 2),
        with_id("0190cccc", "0190", 1),
        with_id("0190dddd", "", 4),
    ] {
        store.create_run(&run).unwrap();
    }
    let found = |selector: &str| store.find(selector).map(|run| run.id);
    assert_eq!(found("last").unwrap(), "0190dddd");
    assert_eq!(found("Größe 測定 🚀").unwrap(), "0190aaaa");
    assert_eq!(found("0190aaaa").unwrap(), "0190aaaa");
    assert_eq!(found("0190c").unwrap(), "0190cccc");
    assert_eq!(found("0190").unwrap(), "0190cccc", "a name comes before a prefix");
    assert!(matches!(found("0190a"), Err(StoreError::Ambiguous { count: 2, .. })));
    for nothing in ["", "Größe", "%", "0190_", "測"] {
        assert!(matches!(found(nothing), Err(StoreError::NoSuchRun(_))), "{nothing:?}");
    }
    let order: Vec<String> = store.runs().unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(order, ["0190dddd", "0190aaaa", "0190aabb", "0190cccc"]);
}

#[test]
fn run_names_are_unique_and_unambiguous() {
    let mut store = Store::in_memory().unwrap();
    store.create_run(&finished("a", 1)).unwrap();
    assert!(matches!(store.create_run(&finished("a", 2)), Err(StoreError::NameTaken(_))));
    for name in ["last", "bell\u{7}", "a\nb"] {
        assert!(matches!(store.create_run(&finished(name, 2)), Err(StoreError::BadName(_))));
    }
    assert_eq!(store.runs().unwrap().len(), 1);
}

#[test]
fn runs_with_pending_undo_are_not_removed() {
    let mut store = Store::in_memory().unwrap();
    let (running, left, clean) = (run("running", 1), finished("left", 2), finished("clean", 3));
    for run in [&running, &left, &clean] {
        store.create_run(run).unwrap();
    }
    let first = store.journal_add(&left.id, &scratch("/a")).unwrap();
    let second = store.journal_add(&left.id, &scratch("/b")).unwrap();
    store.journal_add(&running.id, &scratch("/c")).unwrap();
    // In reverse order, without runs that a process works on.
    let pending = store.journal_pending(None).unwrap();
    let entries: Vec<_> =
        pending.into_iter().map(|p| (p.run_id, p.ordinal, p.entry.unwrap())).collect();
    let expected = [(second, scratch("/b")), (first, scratch("/a"))];
    assert_eq!(entries, expected.map(|(ordinal, entry)| (left.id.clone(), ordinal, entry)));

    assert!(matches!(store.remove(&left.id), Err(StoreError::PendingUndo(_))));
    assert!(matches!(store.remove(&running.id), Err(StoreError::StillRunning(_))));
    assert_eq!(store.prune(0).unwrap(), 1, "only the clean one may go");
    store.journal_mark_undone(&left.id, first).unwrap();
    store.journal_mark_undone(&left.id, first).unwrap();
    assert!(matches!(store.remove(&left.id), Err(StoreError::PendingUndo(_))));
    store.journal_mark_undone(&left.id, second).unwrap();
    assert_eq!(store.journal_pending(Some(&left.id)).unwrap(), []);
    store.remove(&left.id).unwrap();
}

#[test]
fn runs_of_earlier_versions_end_only_on_the_users_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let old = run("old", 1);
    store.create_run(&old).unwrap();
    store.journal_add(&old.id, &scratch("/a")).unwrap();
    drop(store);
    // A pid that does not exist here, of this boot and of another.
    for owner in [boot_id(), "c8b1f2a0-0000-4000-8000-000000000000/1234".into()] {
        let sql = "UPDATE run SET owner_pid = 4194304, owner_boot_id = ?1";
        Connection::open(&path).unwrap().execute(sql, [&owner]).unwrap();
        let mut store = Store::open(&path).unwrap();
        let found = store.find("old").unwrap();
        assert_eq!((found.state, found.is_alive), (RunState::Running, false), "{owner}");
        assert!(store.journal_pending(None).unwrap()[0].may_be_running);
        assert!(matches!(store.reopen_run(&old.id), Err(StoreError::MayBeRunning(_))));
        assert!(matches!(store.remove(&old.id), Err(StoreError::MayBeRunning(_))));
        assert_eq!(store.prune(0).unwrap(), 0);
    }
    let mut store = Store::open(&path).unwrap();
    store.mark_ended(&old.id).unwrap();
    assert_eq!(store.find("old").unwrap().state, RunState::Interrupted);
    assert!(!store.journal_pending(None).unwrap()[0].may_be_running);
    store.reopen_run(&old.id).unwrap();
}

#[test]
#[ignore = "needs root"]
fn stores_writable_by_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(&path).unwrap();
    let mode = |bits| {
        let bits = std::os::unix::fs::PermissionsExt::from_mode(bits);
        std::fs::set_permissions(&path, bits).unwrap();
    };
    mode(0o664);
    store.refuse_untrusted().unwrap();
    mode(0o646);
    assert!(matches!(store.refuse_untrusted(), Err(StoreError::OfOthers { .. })));
    mode(0o644);
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    assert!(matches!(store.refuse_untrusted(), Err(StoreError::OfOthers { uid: 65534, .. })));
    Store::in_memory().unwrap().refuse_untrusted().unwrap();
}

#[test]
fn prune_keeps_the_newest_runs() {
    let mut store = Store::in_memory().unwrap();
    for at in 0..5 {
        store.create_run(&finished("", at)).unwrap();
    }
    assert_eq!(store.prune(2).unwrap(), 3);
    let left: Vec<i64> = store.runs().unwrap().iter().map(|run| run.started_ns).collect();
    assert_eq!(left, [4, 3]);
}

#[test]
fn other_databases_are_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other");
    let both = |path: &Path| [Store::open(path), Store::open_existing_readonly(path)];

    let garbage = b"not a database, and longer than a header of SQLite is. ".repeat(40);
    std::fs::write(&path, &garbage).unwrap();
    for opened in both(&path) {
        assert!(matches!(opened, Err(StoreError::NotAStore { .. })), "{opened:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), garbage);

    for (name, tables) in [
        ("recipes", "CREATE TABLE recipe (name TEXT)"),
        // A table name and a version number that other programs use, too.
        (
            "versions",
            "CREATE TABLE schema_version (version INT); INSERT INTO schema_version VALUES (2)",
        ),
    ] {
        let path = folder.path().join(name);
        Connection::open(&path).unwrap().execute_batch(tables).unwrap();
        let before = std::fs::read(&path).unwrap();
        for opened in both(&path) {
            assert!(matches!(opened, Err(StoreError::NotAStore { .. })), "{opened:?}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let opened = Store::open_existing_readonly(&empty);
    assert!(matches!(opened, Err(StoreError::Missing { .. })), "{opened:?}");
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0, "who reads makes nothing");

    assert!(matches!(Store::open(folder.path()), Err(StoreError::File(_))));
    let missing = Store::open_existing_readonly(&folder.path().join("none"));
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
}

#[test]
fn newer_stores_are_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    drop(Store::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE schema_version SET version = 99", []).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    for opened in [Store::open(&path), Store::open_existing_readonly(&path)] {
        assert!(matches!(opened, Err(StoreError::Newer { found: 99, .. })), "{opened:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Leaves a store as a power cut during a commit would: pages already written, and the journal with
/// the pages before.
fn cut_off(folder: &Path) -> PathBuf {
    let path = folder.join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    store.create_run(&finished("kept", 1)).unwrap();
    let writer = Connection::open(&path).unwrap();
    // A cache too small for the changes: pages are written before the commit.
    let more = "PRAGMA cache_size = 1; BEGIN; UPDATE run SET name = 'half';
        CREATE TABLE filling (text); INSERT INTO filling VALUES (hex(randomblob(100000)));";
    writer.execute_batch(more).unwrap();
    let copy = folder.join("cut/store.sqlite");
    std::fs::create_dir(copy.parent().unwrap()).unwrap();
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(path.with_extension("sqlite-journal"), copy.with_extension("sqlite-journal"))
        .unwrap();
    copy
}

#[test]
fn readers_roll_back_an_interrupted_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = cut_off(folder.path());
    let half = std::fs::read(&path).unwrap();
    let copied = Store::copy_of(&path);
    assert!(matches!(copied, Err(StoreError::CutOff { .. })), "{copied:?}");
    assert!(std::fs::read(&path).unwrap() == half, "a copy changes nothing");
    assert_eq!(Store::open_existing_readonly(&path).unwrap().find("kept").unwrap().name, "kept");
}

#[test]
fn damaged_bodies_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = finished("", 1);
    store.create_run(&run).unwrap();
    store.add_snapshot(&run.id, &host(1)).unwrap();
    Connection::open(&path).unwrap().execute("UPDATE snapshot SET body = '{'", []).unwrap();
    let damaged = store.load(&run.id).unwrap_err();
    assert!(matches!(damaged, StoreError::Damaged { what: "a snapshot", .. }), "{damaged:?}");
}

/// A store of each schema, as written by its first version; a missing fixture is the newest one and
/// is written.
#[test]
fn stores_of_all_schemas_open() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut expected = finished("Größe", 1_700_000_000_000_000_000);
    expected.id = "018bcfe5-6800-7000-8000-000000000001".into();
    let fixture = fixtures.join("v4.sqlite");
    if !fixture.exists() {
        let mut store = Store::open(&fixture).unwrap();
        store.create_run(&expected).unwrap();
        store.add_snapshot(&expected.id, &host(1)).unwrap();
        store.add_measurement(&expected.id, &measurement("rand-read", 1000.0)).unwrap();
        store.journal_add(&expected.id, &scratch("/a")).unwrap();
        drop(store);
        let compact = "PRAGMA page_size = 1024; VACUUM";
        Connection::open(&fixture).unwrap().execute_batch(compact).unwrap();
    }
    for version in ["v1.sqlite", "v2.sqlite", "v3.sqlite", "v4.sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let fixture = fixtures.join(version);
        std::fs::copy(&fixture, &path).unwrap();
        let copy = Store::copy_of(&path).unwrap();
        let untouched = std::fs::read(&path).unwrap() == std::fs::read(&fixture).unwrap();
        assert!(untouched, "copying {version} changed it");
        let mut kept = measurement("rand-read", 1000.0);
        if version != "v4.sqlite" {
            // `slow` did not exist yet.
            kept.total[0].slow = None;
        }
        if version == "v1.sqlite" {
            // They were not counted yet.
            kept.total[0].short_ios = None;
        }
        for mut store in [copy, Store::open(&path).unwrap()] {
            let record = store.load("last").unwrap();
            assert_eq!(record.run, expected);
            assert_eq!(record.snapshots, [host(1)]);
            assert_eq!(record.measurements, std::slice::from_ref(&kept));
            assert_eq!(store.journal_pending(None).unwrap()[0].entry, Ok(scratch("/a")));
            // Newer tables exist and are empty.
            assert_eq!(store.newest_drive_state("S1", 1).unwrap(), None);
            store.add_measurement(&expected.id, &unsaid()).unwrap();
            assert_eq!(store.load("last").unwrap().measurements[1], unsaid());
        }
    }
}

/// Earlier versions stored caveats and failures as sentences.
#[test]
fn sentences_of_earlier_versions_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v3.sqlite");
    std::fs::copy(fixture, &path).unwrap();
    let sentences = r#"UPDATE measurement SET body = json_set(body,
        '$.conditions.shortfalls', json('["verify: offset 4096: the block is old"]'),
        '$.conditions.target_remarks', json('["on overlay"]'),
        '$.end', json('{"failed": "EIO at offset 0"}'))"#;
    Connection::open(&path).unwrap().execute_batch(sentences).unwrap();
    let measurement = &Store::open(&path).unwrap().load("last").unwrap().measurements[0];
    let conditions = &measurement.conditions;
    assert_eq!(conditions.shortfalls, ["verify: offset 4096: the block is old".into()]);
    assert_eq!(conditions.target_remarks, ["on overlay".into()]);
    assert_eq!(measurement.failure(), Some("EIO at offset 0"));
}

/// A measurement with everything unknown that a report may omit.
fn unsaid() -> Measurement {
    Measurement {
        started_ns: None,
        duration_ns: None,
        total: vec![DirectionResult::unknown(Direction::Write)],
        ..measurement("unsaid", 1.0)
    }
}

#[test]
fn records_are_added_atomically() {
    let mut store = Store::in_memory().unwrap();
    let mut record = RunRecord {
        run: finished("whole", 1),
        snapshots: vec![host(1), host(2)],
        measurements: vec![measurement("a", 1.0), unsaid()],
    };
    store.add_record(&record).unwrap();
    assert_eq!(store.load("whole").unwrap(), record);
    assert!(matches!(store.add_record(&record), Err(StoreError::NameTaken(_))));
    record.run = finished("broken", 2);
    record.measurements[1].conditions.depth_reached = Some(f64::NAN);
    record.measurements[1].total[0].iops = Some(Estimate::bare(f64::NAN));
    assert!(matches!(store.add_record(&record), Err(StoreError::Unstorable { .. })));
    assert_eq!(store.runs().unwrap().len(), 1);
    // The store is still usable.
    store.create_run(&finished("next", 3)).unwrap();
}

#[test]
fn drive_states_outlive_their_run() {
    let mut store = Store::in_memory().unwrap();
    let run = finished("", 1);
    store.create_run(&run).unwrap();
    let state = |nsid, at_ns, state| DriveState {
        serial: "S1".into(),
        nsid,
        run_id: Some(run.id.clone()),
        at_ns,
        state,
        purge: Some(PurgeMethod::FormatUserErase),
        fill: Some(FillState { written_bytes: 1 << 40, duration_ns: 7 }),
        condition: None,
        capacity_bytes: Some(1 << 39),
        host_written_bytes: Some(u128::from(u64::MAX) + 1),
    };
    let done = state(1, 2, PreparationState::Done);
    // In order of their times, not of insertion.
    store.add_drive_state(&done).unwrap();
    store.add_drive_state(&state(1, 1, PreparationState::Begun)).unwrap();
    store.add_drive_state(&state(2, 9, PreparationState::Failed)).unwrap();
    assert_eq!(store.newest_drive_state("S1", 1).unwrap(), Some(done.clone()));
    assert_eq!(store.newest_drive_state("S1", 3).unwrap(), None);
    let begun = state(1, 1, PreparationState::Begun);
    assert_eq!(store.drive_state_at("S1", 1, 1).unwrap(), Some(begun));
    assert_eq!(store.drive_state_at("S1", 1, 0).unwrap(), None);
    assert_eq!(store.newest_drive_state("S2", 1).unwrap(), None);
    let all = store.drive_states().unwrap();
    let order: Vec<_> = all.iter().map(|one| (one.nsid, one.at_ns)).collect();
    assert_eq!(order, [(1, 1), (1, 2), (2, 9)]);
    store.remove(&run.id).unwrap();
    let alone = DriveState { run_id: None, ..done };
    assert_eq!(store.newest_drive_state("S1", 1).unwrap(), Some(alone));
}

#[test]
fn ids_sort_by_time() {
    let ids: Vec<String> = (0..10_000).map(|_| new_id()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next));
    // RFC 9562: version 7, and its variant.
    assert!(
        ids.iter()
            .all(|id| id[14..].starts_with('7') && id[19..].starts_with(['8', '9', 'a', 'b']))
    );
}

/// Every value of a format 1 snapshot of a whole machine is read.
#[test]
fn snapshots_of_format_1_are_read_completely() {
    fn leaves(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.values().for_each(|value| leaves(value, found)),
            Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
            Value::Null | Value::Bool(false) => {}
            // Absent values are null.
            Value::String(text) if text == "absent" => {}
            leaf => found.push(leaf.to_string()),
        }
    }
    let body = include_str!("fixtures/host-1.json");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = finished("", 1);
    store.create_run(&run).unwrap();
    store.add_snapshot(&run.id, &host(1)).unwrap();
    let sql = "UPDATE snapshot SET body = ?1, format = 1";
    Connection::open(&path).unwrap().execute(sql, [body]).unwrap();
    let read = store.load(&run.id).unwrap().snapshots.remove(0);
    let (mut earlier, mut now) = (Vec::new(), Vec::new());
    let mut value: Value = serde_json::from_str(body).unwrap();
    let taken_ns = value["taken_ns"].take();
    assert_eq!(taken_ns.as_i64(), Some(read.taken_ns));
    leaves(&value, &mut earlier);
    leaves(&serde_json::to_value(&read).unwrap(), &mut now);
    assert!(earlier.len() > 300, "{}", earlier.len());
    for leaf in earlier {
        let at = now.iter().position(|known| *known == leaf);
        now.swap_remove(at.unwrap_or_else(|| panic!("{leaf} is lost")));
    }
    assert_eq!(read.drives[0].serial.get().map(String::as_str), Some("S64HNE0R500123"));
    store.add_snapshot(&run.id, &read).unwrap();
    assert_eq!(store.load(&run.id).unwrap().snapshots[1], read);
}

/// Up to format 3 the name of a measurement told its purpose; since then names are only the user's.
#[test]
fn purpose_follows_from_names_only_in_earlier_stores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = Run { kind: RunKind::Sweep, ..finished("", 1) };
    store.create_run(&run).unwrap();
    store.add_measurement(&run.id, &Measurement::unknown("fill")).unwrap();
    let purpose = |store: &Store| store.load(&run.id).unwrap().measurements[0].purpose;
    assert_eq!(purpose(&store), Purpose::Measure);
    Connection::open(&path).unwrap().execute("UPDATE measurement SET format = 3", []).unwrap();
    assert_eq!(purpose(&store), Purpose::Fill);
}
