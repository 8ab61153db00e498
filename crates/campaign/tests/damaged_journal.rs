//! Journals with an entry that is damaged, or another host's: the others are undone all the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::MetadataExt;

use iodyno_campaign::{Outcome, Undone, clean_up};
use iodyno_model::{Run, RunState};
use iodyno_store::{JournalEntry, Store, WriteCacheChange};

#[test]
fn damaged_entry_does_not_block_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = Run { state: RunState::Interrupted, ..Run::new(iodyno_store::new_id(), 0) };
    store.create_run(&run).unwrap();
    let files = [0, 1, 2, 3].map(|n| folder.path().join(format!(".iodyno-scratch-{n:032x}.tmp")));
    for file in &files {
        std::fs::write(file, "").unwrap();
        let metadata = file.metadata().unwrap();
        let identity = Some((metadata.dev(), metadata.ino()));
        let path = file.display().to_string();
        store.journal_add(&run.id, &JournalEntry::ScratchFile { path, identity }).unwrap();
    }
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "UPDATE journal SET body = '{\"scratch_file\":{\"pa' WHERE ordinal = 1;
             UPDATE journal SET body = x'ff00' WHERE ordinal = 2",
        )
        .unwrap();
    let undone = clean_up(&mut store, None).unwrap();
    let outcomes: Vec<_> = undone.iter().map(|one| &one.outcome).collect();
    let [Outcome::Removed, Outcome::Unreadable(_), Outcome::Unreadable(_), Outcome::Removed] =
        outcomes[..]
    else {
        panic!("{undone:?}")
    };
    assert_eq!(undone[1].what, format!("entry 2 of run {}", run.id));
    assert_eq!(files.map(|file| file.exists()), [false, true, true, false]);
    let left = store.journal_pending(None).unwrap();
    assert_eq!(left.iter().map(|one| one.ordinal).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn changes_of_another_host_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut store = Store::open(&path).unwrap();
    let run = Run { state: RunState::Interrupted, ..Run::new(iodyno_store::new_id(), 0) };
    store.create_run(&run).unwrap();
    let scratch = |n: u8| {
        let file = folder.path().join(format!(".iodyno-scratch-{n:032x}.tmp"));
        std::fs::write(&file, "").unwrap();
        (JournalEntry::ScratchFile { path: file.display().to_string(), identity: None }, file)
    };
    let ((theirs, their_file), (ours, our_file)) = (scratch(1), scratch(2));
    // A drive that is not here, from another boot.
    let switched = JournalEntry::WriteCache(WriteCacheChange {
        controller: "nvme99".into(),
        serial: "THEIRS".into(),
        on: false,
        boot_id: "another".into(),
    });
    for entry in [switched, theirs, ours] {
        store.journal_add(&run.id, &entry).unwrap();
    }
    let host = r#"{"name": "db02", "ids": ["0123456789ab"], "boot": "another"}"#;
    let sql = "UPDATE journal SET body = json_set(body, '$.host', json(?1)) WHERE ordinal < 2";
    rusqlite::Connection::open(&path).unwrap().execute(sql, [host]).unwrap();
    let undone = clean_up(&mut store, None).unwrap();
    let [
        Undone { outcome: Outcome::Removed, .. },
        Undone { what, outcome: outcome @ Outcome::Elsewhere { host, .. } },
    ] = &undone[..]
    else {
        panic!("{undone:?}")
    };
    assert_eq!((what, host.as_str()), (&format!("run {}", run.id), "db02"));
    let next = format!("iodyno clean-up {} --here", run.id);
    assert!(!outcome.is_settled() && outcome.to_string().ends_with(&next), "{outcome}");
    assert_eq!((their_file.exists(), our_file.exists()), (true, false));
    assert_eq!(store.journal_pending(None).unwrap().len(), 2);
    // The user knows better.
    store.journal_adopt(&run.id).unwrap();
    let undone = clean_up(&mut store, None).unwrap();
    assert!(undone.iter().all(|one| one.outcome.is_settled()), "{undone:?}");
    assert_eq!((undone.len(), their_file.exists()), (2, false));
    assert_eq!(store.journal_pending(None).unwrap(), []);
}
