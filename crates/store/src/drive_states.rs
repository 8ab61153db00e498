//! States of prepared drives.

use iodyno_model::DriveState;
use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;
use crate::new_id;
use crate::open::Store;
use crate::runs::FORMAT;

impl Store {
    /// Adds a drive state.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_drive_state(&mut self, state: &DriveState) -> Result<(), StoreError> {
        let body = self.body("a drive's state", state)?;
        let written = state.host_written_bytes.and_then(|bytes| i64::try_from(bytes).ok());
        let id = new_id();
        self.write_or_fall_back(|store| {
            store.execute(
                "INSERT INTO drive_state
             (id, serial, nsid, run_id, at_ns, state, host_bytes_written, format, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    id,
                    state.serial,
                    state.nsid,
                    state.run_id,
                    state.at_ns,
                    state.state.name(),
                    written,
                    FORMAT,
                    body
                ],
            )
        })
    }

    /// Returns the newest state of a namespace; `None`: never prepared.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_drive_state(
        &self,
        serial: &str,
        nsid: u32,
    ) -> Result<Option<DriveState>, StoreError> {
        self.drive_state_at(serial, nsid, i64::MAX)
    }

    /// Returns the state of a namespace at a time, ns since 1970 UTC; `None`: not prepared by then.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn drive_state_at(
        &self,
        serial: &str,
        nsid: u32,
        at_ns: i64,
    ) -> Result<Option<DriveState>, StoreError> {
        let newest = self
            .connection
            .query_row(
                "SELECT body, run_id FROM drive_state WHERE serial = ?1 AND nsid = ?2 AND at_ns <= ?3
                 ORDER BY at_ns DESC, id DESC LIMIT 1",
                params![serial, nsid, at_ns],
                |row| Ok((row.get::<_, String>(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(|error| self.explain(error))?;
        let Some((body, run_id)) = newest else { return Ok(None) };
        let state: DriveState = self.parse("a drive's state", &body)?;
        Ok(Some(DriveState { run_id, ..state }))
    }

    /// Returns all recorded states, drive by drive, each in time order.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn drive_states(&self) -> Result<Vec<DriveState>, StoreError> {
        let mut statement = self
            .connection
            .prepare("SELECT body, run_id FROM drive_state ORDER BY serial, nsid, at_ns, id")
            .map_err(|error| self.explain(error))?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))
            .map_err(|error| self.explain(error))?;
        let mut states = Vec::new();
        for row in rows {
            let (body, run_id) = row.map_err(|error| self.explain(error))?;
            let state: DriveState = self.parse("a drive's state", &body)?;
            states.push(DriveState { run_id, ..state });
        }
        Ok(states)
    }
}
