//! Undo journal: every change to the machine is recorded before it is made.

use iodyno_model::Built;
use rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::host_identity::HostIdentity;
use crate::lock::Liveness;
use crate::open::Store;

/// A change to the machine, with what is needed to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalEntry {
    /// A scratch file.
    ScratchFile {
        /// Path of the file.
        path: String,
        /// Device and inode number, once the file exists.
        identity: Option<(u64, u64)>,
    },
    /// A temporary file of `iodyno fit`.
    FitFile {
        /// Absolute path of the file.
        path: String,
        /// Device and inode number, once the file exists.
        identity: Option<(u64, u64)>,
    },
    /// Part of a layout.
    Built(Built),
    /// Setting of the machine.
    Setting(SettingChange),
    /// Volatile write cache of an NVMe drive.
    WriteCache(WriteCacheChange),
}

/// A change of the volatile write cache of an NVMe controller (feature 06h).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCacheChange {
    /// Controller name, `nvme0`.
    pub controller: String,
    /// Serial number of the drive.
    pub serial: String,
    /// True if it was switched on (off before), false if it was switched off.
    pub on: bool,
    /// Boot id at the time of the change; the feature does not survive a boot.
    pub boot_id: String,
}

/// A change of a setting in sysfs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Path in sysfs.
    pub path: String,
    /// Value before the change.
    pub before: String,
    /// Value set.
    pub value: String,
    /// Another file that the kernel resets with it, and its content before, in rows of earlier
    /// versions.
    #[serde(default)]
    pub with_it: Option<(String, String)>,
    /// Files that the kernel resets with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resets: Vec<Reset>,
    /// Boot id at the time of the change; settings do not survive a boot.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// Identity of the disk, whose kernel name another one may have later; absent in rows of earlier
    /// versions, for CPUs, and where the kernel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
}

/// A file that the kernel resets when another setting is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// Path in sysfs.
    pub path: String,
    /// Value before the change.
    pub before: String,
    /// Value that the kernel made of it; `None`: the file is gone with the change, or iodyno was
    /// killed before it read the value.
    pub after: Option<String>,
}

/// Journal row as stored.
#[derive(Serialize, Deserialize)]
struct Row<E> {
    /// Changed host; absent in rows of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<HostIdentity>,
    #[serde(flatten)]
    entry: E,
}

/// Journal entry that is not undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Run that made the change.
    pub run_id: String,
    /// Number of the entry within the run.
    pub ordinal: i64,
    /// The change, or why it cannot be read.
    pub entry: Result<JournalEntry, String>,
    /// True if a process may still work on the run, though none is known to.
    pub may_be_running: bool,
    /// Name of the changed host, if it is another one.
    pub elsewhere: Option<String>,
}

impl Store {
    /// Adds a change about to be made, and returns its number.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn journal_add(&mut self, run_id: &str, entry: &JournalEntry) -> Result<i64, StoreError> {
        self.refuse_aside()?;
        let body = self.row_of_this_host(entry)?;
        self.connection
            .query_row(
                "INSERT INTO journal (run_id, ordinal, done, body)
                 SELECT ?1, coalesce(max(ordinal) + 1, 0), FALSE, ?2 FROM journal WHERE run_id = ?1
                 RETURNING ordinal",
                params![run_id, body],
                |row| row.get(0),
            )
            .map_err(|error| self.explain(error))
    }

    /// Replaces a change about to be made by what was made of it.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn journal_update(
        &mut self,
        run_id: &str,
        ordinal: i64,
        entry: &JournalEntry,
    ) -> Result<(), StoreError> {
        let body = self.row_of_this_host(entry)?;
        self.execute(
            "UPDATE journal SET body = ?3 WHERE run_id = ?1 AND ordinal = ?2",
            params![run_id, ordinal, body],
        )
    }

    /// Marks a change as undone.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn journal_mark_undone(&mut self, run_id: &str, ordinal: i64) -> Result<(), StoreError> {
        self.write_or_fall_back(|store| {
            store.execute(
                "UPDATE journal SET done = TRUE WHERE run_id = ?1 AND ordinal = ?2",
                params![run_id, ordinal],
            )
        })
    }

    /// Assigns the pending changes of a run to this host, whichever host the journal names.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn journal_adopt(&mut self, run_id: &str) -> Result<(), StoreError> {
        for Pending { run_id, ordinal, entry, .. } in self.journal_pending(Some(run_id))? {
            // Unreadable entries stay as they are.
            let Ok(entry) = entry else { continue };
            self.journal_update(&run_id, ordinal, &entry)?;
        }
        Ok(())
    }

    fn row_of_this_host(&self, entry: &JournalEntry) -> Result<String, StoreError> {
        let row = Row { host: Some(HostIdentity::this()), entry };
        serde_json::to_string(&row).map_err(|error| self.damaged("an entry", error))
    }

    /// Returns the changes not undone, newest first: of one run, or of all runs except those a
    /// process works on.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn journal_pending(&self, run_id: Option<&str>) -> Result<Vec<Pending>, StoreError> {
        let rows = self.not_undone(run_id)?.into_iter();
        let ended = rows.filter(|(liveness, _)| *liveness != Liveness::Alive);
        Ok(ended.map(|(_, pending)| pending).collect())
    }

    /// Returns the id of a run other than `run_id` on this host that made a change for which `is_it`
    /// holds and has not undone it, whether a process works on it or not.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn journal_other_run(
        &self,
        run_id: &str,
        is_it: impl Fn(&JournalEntry) -> bool,
    ) -> Result<Option<String>, StoreError> {
        let rows = self.not_undone(None)?.into_iter().map(|(_, pending)| pending);
        let mut others = rows.filter(|one| one.run_id != run_id && one.elsewhere.is_none());
        let other = others.find(|one| one.entry.as_ref().is_ok_and(&is_it));
        Ok(other.map(|one| one.run_id))
    }

    /// Returns all changes not undone, newest first, and whether their runs are in progress.
    fn not_undone(&self, run_id: Option<&str>) -> Result<Vec<(Liveness, Pending)>, StoreError> {
        let mut statement = self
            .connection
            .prepare(
                "SELECT journal.run_id, ordinal, journal.body, run.owner_boot_id, run.state
                 FROM journal JOIN run ON run.id = journal.run_id
                 WHERE NOT done AND (?1 IS NULL OR run_id = ?1)
                 ORDER BY run.started_ns DESC, run.id DESC, ordinal DESC",
            )
            .map_err(|error| self.explain(error))?;
        let rows = statement
            .query_map([run_id], |row| {
                let body = row.get::<_, String>(2).map_err(|error| error.to_string());
                let (state, owner): (String, String) = (row.get(4)?, row.get(3)?);
                Ok((row.get::<_, String>(0)?, row.get(1)?, body, state, owner))
            })
            .map_err(|error| self.explain(error))?;
        let mut pending = Vec::new();
        let mut last_checked: Option<(String, Liveness)> = None;
        let this = HostIdentity::this();
        for row in rows {
            let (run_id, ordinal, body, state, owner) = row.map_err(|error| self.explain(error))?;
            let liveness = match &last_checked {
                _ if state != "running" => Liveness::Ended,
                Some((run, liveness)) if *run == run_id => *liveness,
                _ => last_checked.insert((run_id.clone(), self.locks.liveness(&run_id, &owner))).1,
            };
            let may_be_running = liveness == Liveness::Unknown;
            let row: Result<Row<JournalEntry>, String> =
                body.and_then(|body| serde_json::from_str(&body).map_err(|why| why.to_string()));
            let (host, entry) = match row {
                Ok(Row { host, entry }) => (host, Ok(entry)),
                Err(why) => (None, Err(why)),
            };
            let elsewhere = host.filter(|host| host.is_other_than(&this)).map(|host| host.name);
            let one = Pending { run_id, ordinal, entry, may_be_running, elsewhere };
            pending.push((liveness, one));
        }
        Ok(pending)
    }
}
