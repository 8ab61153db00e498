//! A journal of which an entry is damaged: the others are undone all the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::MetadataExt;

use iodyno_campaign::{Outcome, clean_up};
use iodyno_model::{Run, RunState};
use iodyno_store::{JournalEntry, Store};

#[test]
fn a_damaged_entry_stops_the_undoing_of_no_other() {
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
