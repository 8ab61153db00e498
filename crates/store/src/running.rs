//! Runs that a process works on: taking one up again, holding it, and ending
//! one whose process is gone.

use iodyno_model::{Run, RunState};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::error::StoreError;
use crate::lock::Liveness;
use crate::open::Store;
use crate::runs::state_name;

impl Store {
    /// Takes a run that its process left up again, in the state `running`.
    ///
    /// # Errors
    /// There is none of this id, it is going on or may be, or the store cannot be written.
    pub fn reopen_run(&mut self, run_id: &str) -> Result<Run, StoreError> {
        self.refuse_running(run_id)?;
        // Of two that take it up at the same time one finds it locked.
        if let Ok(false) = self.locks.take(run_id) {
            return Err(StoreError::StillRunning(run_id.into()));
        }
        let reopened = self.reopened(run_id);
        if reopened.is_err() {
            self.locks.release(run_id);
        }
        reopened
    }

    fn reopened(&mut self, run_id: &str) -> Result<Run, StoreError> {
        let run = Run { state: RunState::Running, ended_ns: None, ..self.find(run_id)? };
        let body = self.body("a run", &run)?;
        let owner = self.locks.owner(run_id);
        self.execute(
            "UPDATE run SET state = ?2, owner_pid = ?3, owner_boot_id = ?4, body = ?5 WHERE id = ?1",
            params![run.id, state_name(run.state), std::process::id(), owner, body],
        )?;
        Ok(run)
    }

    /// Keeps others from taking a run up, while what it left behind is undone;
    /// [`Self::let_go`] ends that.
    ///
    /// # Errors
    /// It is going on.
    pub fn hold(&mut self, run_id: &str) -> Result<(), StoreError> {
        match self.locks.take(run_id) {
            Ok(false) => Err(StoreError::StillRunning(run_id.into())),
            // Where no lock can be made there is none to be taken.
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// Ends what [`Self::hold`] began.
    pub fn let_go(&mut self, run_id: &str) {
        self.locks.release(run_id);
    }

    /// Ends a run of which the user says that its process has ended, where
    /// nobody else can know.
    ///
    /// # Errors
    /// It is going on, or the store cannot be written.
    pub fn declare_ended(&mut self, run_id: &str) -> Result<(), StoreError> {
        let found = self.find(run_id)?;
        match self.liveness(run_id)? {
            Liveness::Alive => Err(StoreError::StillRunning(run_id.into())),
            Liveness::Unknown => self.update_run(&Run { state: RunState::Interrupted, ..found }),
            Liveness::Ended => Ok(()),
        }
    }

    /// That no process works on a run.
    ///
    /// # Errors
    /// One does, or it cannot be known.
    pub fn refuse_running(&self, run_id: &str) -> Result<(), StoreError> {
        match self.liveness(run_id)? {
            Liveness::Ended => Ok(()),
            Liveness::Alive => Err(StoreError::StillRunning(run_id.into())),
            Liveness::Unknown => Err(StoreError::MayBeRunning(run_id.into())),
        }
    }

    /// Whether a process works on the run of this whole id.
    fn liveness(&self, run_id: &str) -> Result<Liveness, StoreError> {
        let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let row = self
            .connection
            .query_row("SELECT state, owner_boot_id FROM run WHERE id = ?1", [run_id], read)
            .optional()
            .map_err(|error| self.explain(error))?;
        let (state, owner) = row.ok_or_else(|| StoreError::NoSuchRun(run_id.into()))?;
        Ok(match state == state_name(RunState::Running) {
            true => self.locks.liveness(run_id, &owner),
            false => Liveness::Ended,
        })
    }
}
