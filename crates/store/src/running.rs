//! Runs in progress: resuming, holding, and ending those whose process is gone.

use iodyno_model::{Run, RunState};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::{StoreError, Worker};
use crate::lock::Liveness;
use crate::open::Store;
use crate::runs::state_name;

impl Store {
    /// Resumes a run whose process is gone, in the state `running`.
    ///
    /// # Errors
    /// If there is no such run, it is or may be in progress, or the store cannot be written.
    pub fn reopen_run(&mut self, run_id: &str) -> Result<Run, StoreError> {
        self.refuse_running(run_id)?;
        // If two processes resume it at once, one finds it locked.
        if let Ok(false) = self.locks.take(run_id) {
            return Err(self.still_running(run_id));
        }
        let reopened = self.mark_running(run_id);
        if reopened.is_err() {
            self.locks.unlock(run_id);
        }
        reopened
    }

    fn mark_running(&mut self, run_id: &str) -> Result<Run, StoreError> {
        let run = Run { state: RunState::Running, ended_ns: None, ..self.find(run_id)? };
        let body = self.body("a run", &run)?;
        let owner = self.locks.owner(run_id);
        self.execute(
            "UPDATE run SET state = ?2, owner_pid = ?3, owner_boot_id = ?4, body = ?5 WHERE id = ?1",
            params![run.id, state_name(run.state), std::process::id(), owner, body],
        )?;
        Ok(run)
    }

    /// Prevents others from resuming a run while its changes are undone, until [`Self::release_lock`].
    ///
    /// # Errors
    /// If it is in progress.
    pub fn hold(&mut self, run_id: &str) -> Result<(), StoreError> {
        match self.locks.take(run_id) {
            Ok(false) => Err(self.still_running(run_id)),
            // If this process can take no lock, neither can others.
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// Releases a run held by [`Self::hold`].
    pub fn release_lock(&mut self, run_id: &str) {
        // That of a killed run is still needed.
        match self.state_and_owner(run_id) {
            Ok((state, _)) if state != state_name(RunState::Running) => self.locks.release(run_id),
            _ => self.locks.unlock(run_id),
        }
    }

    /// Marks a run as ended on the user's word, where nothing else can tell.
    ///
    /// # Errors
    /// If it is in progress, or the store cannot be written.
    pub fn mark_ended(&mut self, run_id: &str) -> Result<(), StoreError> {
        let found = self.find(run_id)?;
        match self.liveness(run_id)? {
            Liveness::Alive => Err(self.still_running(run_id)),
            Liveness::Unknown => self.update_run(&Run { state: RunState::Interrupted, ..found }),
            Liveness::Ended => Ok(()),
        }
    }

    /// Checks that no process works on a run.
    ///
    /// # Errors
    /// If one does, or it cannot be known.
    pub fn refuse_running(&self, run_id: &str) -> Result<(), StoreError> {
        match self.liveness(run_id)? {
            Liveness::Ended => Ok(()),
            Liveness::Alive => Err(self.still_running(run_id)),
            Liveness::Unknown => Err(StoreError::MayBeRunning(run_id.into())),
        }
    }

    fn still_running(&self, run_id: &str) -> StoreError {
        StoreError::StillRunning(Worker { run_id: run_id.into(), pid: self.locks.pid(run_id) })
    }

    /// Checks whether a process works on the run with this full id.
    fn liveness(&self, run_id: &str) -> Result<Liveness, StoreError> {
        let (state, owner) = self.state_and_owner(run_id)?;
        Ok(match state == state_name(RunState::Running) {
            true => self.locks.liveness(run_id, &owner),
            false => Liveness::Ended,
        })
    }
    fn state_and_owner(&self, run_id: &str) -> Result<(String, String), StoreError> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let row = self
            .connection
            .query_row("SELECT state, owner_boot_id FROM run WHERE id = ?1", [run_id], read)
            .optional()
            .map_err(|error| self.explain(error))?;
        row.ok_or_else(|| StoreError::NoSuchRun(run_id.into()))
    }
}
