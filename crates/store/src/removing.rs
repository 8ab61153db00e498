//! Removes runs, and gives their space back to the file system.

use crate::error::StoreError;
use crate::open::Store;

/// Runs removed in one transaction: each costs several syncs, and others wait for its end.
const REMOVED_AT_ONCE: usize = 100;
/// SQLite's number of `auto_vacuum=INCREMENTAL`
/// (<https://www.sqlite.org/pragma.html#pragma_auto_vacuum>).
const INCREMENTAL: u64 = 2;

impl Store {
    /// Removes a run with all its data.
    ///
    /// # Errors
    /// If it is in progress, left something behind that only its journal lists, or the store cannot
    /// be written.
    pub fn remove(&mut self, run_id: &str) -> Result<(), StoreError> {
        self.delete(run_id)?;
        self.remove_lock(run_id);
        Ok(())
    }

    fn delete(&mut self, run_id: &str) -> Result<(), StoreError> {
        self.refuse_running(run_id)?;
        let removed = self
            .connection
            .execute(
                "DELETE FROM run WHERE id = ?1
                 AND id NOT IN (SELECT run_id FROM journal WHERE NOT done)",
                [run_id],
            )
            .map_err(|error| self.explain(error))?;
        match removed {
            0 => Err(StoreError::PendingUndo(run_id.into())),
            _ => Ok(()),
        }
    }

    /// Removes the lock file of a killed run.
    fn remove_lock(&mut self, run_id: &str) {
        if let Ok(true) = self.locks.take(run_id) {
            self.locks.release(run_id);
        }
    }

    /// Removes all but the newest `keep` runs, and returns how many. Runs in progress, or that left
    /// something behind, stay.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn prune(&mut self, keep: usize) -> Result<usize, StoreError> {
        let runs = self.runs()?;
        let mut count = 0;
        for part in runs.get(keep..).unwrap_or_default().chunks(REMOVED_AT_ONCE) {
            let removed = self.in_one(|store| {
                let mut removed = Vec::new();
                for run in part {
                    match store.delete(&run.id) {
                        Ok(()) => removed.push(&run.id),
                        Err(
                            StoreError::StillRunning(_)
                            | StoreError::MayBeRunning(_)
                            | StoreError::PendingUndo(_),
                        ) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(removed)
            })?;
            count += removed.len();
            removed.into_iter().for_each(|id| self.remove_lock(id));
        }
        Ok(count)
    }

    /// Gives the space of removed runs back to the file system as far as possible, and returns how
    /// many bytes. A store of an earlier version is written anew once more than half of it is free.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn shrink(&mut self) -> Result<u64, StoreError> {
        let read = |store: &Self, name: &str| -> Result<u64, StoreError> {
            let value = store.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            value.map(i64::unsigned_abs).map_err(|error| store.explain(error))
        };
        let (pages, free) = (read(self, "page_count")?, read(self, "freelist_count")?);
        let incremental = read(self, "auto_vacuum")? == INCREMENTAL;
        if free == 0 || !incremental && free * 2 < pages {
            return Ok(0);
        }
        // On a full disk, and while others read, the runs are removed and the space stays the store's.
        let _ = match incremental {
            true => self.step_through("PRAGMA incremental_vacuum"),
            // VACUUM also makes it incremental.
            false => self
                .step_through("PRAGMA auto_vacuum = INCREMENTAL")
                .and_then(|()| self.step_through("VACUUM")),
        };
        let left = read(self, "page_count")?;
        Ok(pages.saturating_sub(left) * read(self, "page_size")?)
    }

    /// Executes a statement to its end: incremental_vacuum frees a page per step.
    fn step_through(&self, sql: &str) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }
}
