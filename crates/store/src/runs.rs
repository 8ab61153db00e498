//! Runs, their snapshots, measurements and assessments.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use iodyno_model::{Assessment, Host, Measurement, Purpose, Run, RunKind, RunRecord, RunState};
use rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;
use rusqlite::{Error, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::StoreError;
use crate::lock::Liveness;
use crate::old_formats;
use crate::open::Store;

/// Format of the bodies written by this version: the model in the form of the public documents,
/// except facts. In format 1 caveats and failures were sentences; up to 2 runs had no kind; up to 3
/// measurements had no purpose, only a name that told it.
pub(crate) const FORMAT: i64 = 4;
const ASSESSMENT: &str = "an assessment";

/// Data of a run as the store keeps it.
#[derive(Debug)]
pub struct Bodies {
    hosts: Vec<String>,
    measurements: Vec<String>,
    /// Ruleset, and the assessment.
    assessment: Option<(String, String)>,
}

/// Returns a new key: UUIDv7 with the time to 244 ns (RFC 9562, 6.2, method 3), so that keys sort
/// by time. Does not wait for kernel entropy, which may take minutes after a boot before Linux 5.6.
pub fn new_id() -> String {
    /// Last time used: milliseconds, then 4096ths of one.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let part = u64::from(since.subsec_nanos()) % 1_000_000 * 4096 / 1_000_000;
    let now = (since.as_millis() as u64) << 12 | part;
    let later = |last: u64| now.max(last + 1);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
    let now = later(last.unwrap_or_default());
    let mut bytes: [u8; 10] = std::array::from_fn(|_| fastrand::u8(..));
    bytes[..2].copy_from_slice(&((now & 0xfff) as u16).to_be_bytes());
    uuid::Builder::from_unix_timestamp_millis(now >> 12, &bytes).into_uuid().to_string()
}

pub(crate) const fn state_name(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Done => "done",
        RunState::Interrupted => "interrupted",
        RunState::Failed => "failed",
    }
}

impl Store {
    /// Adds a run; an empty name means none. A running run belongs to this process until
    /// [`Self::update_run`] changes its state.
    ///
    /// # Errors
    /// If the name is taken or not allowed, or the store cannot be written.
    pub fn create_run(&mut self, run: &Run) -> Result<(), StoreError> {
        if run.name == "last" || run.name.chars().any(char::is_control) {
            return Err(StoreError::BadName(run.name.clone()));
        }
        let body = self.body("a run", run)?;
        if run.state == RunState::Running {
            // Without a lock nobody else can know whether it is in progress.
            let _ = self.locks.take(&run.id);
        }
        let inserted = self.connection.execute(
            "INSERT INTO run (id, name, state, started_ns, owner_pid, owner_boot_id, format, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                run.id,
                run.name,
                state_name(run.state),
                run.started_ns,
                std::process::id(),
                self.locks.owner(&run.id),
                FORMAT,
                body
            ],
        );
        if inserted.is_err() {
            self.locks.release(&run.id);
        }
        match inserted {
            Ok(_) => Ok(()),
            Err(Error::SqliteFailure(why, _)) if why.extended_code == SQLITE_CONSTRAINT_UNIQUE => {
                Err(StoreError::NameTaken(run.name.clone()))
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Adds a run with all its data, or nothing.
    ///
    /// # Errors
    /// As for [`Self::create_run`], or if the id exists already.
    pub fn add_record(&mut self, record: &RunRecord) -> Result<(), StoreError> {
        let bodies = self.bodies_of(record, None)?;
        self.add_bodies(record, &bodies)
    }

    /// Adds a run with these bodies of all its data, or nothing.
    ///
    /// # Errors
    /// As for [`Self::add_record`].
    pub fn add_bodies(&mut self, record: &RunRecord, bodies: &Bodies) -> Result<(), StoreError> {
        self.in_one(|store| store.add_parts(record, bodies))
    }

    /// Replaces the run with the same id, which has less data, by this record, or changes nothing.
    ///
    /// # Errors
    /// As for [`Self::add_record`] and [`Self::remove`].
    pub fn replace_bodies(
        &mut self,
        record: &RunRecord,
        bodies: &Bodies,
    ) -> Result<(), StoreError> {
        self.in_one(|store| {
            store.remove(&record.run.id)?;
            store.add_parts(record, bodies)
        })
    }

    /// Runs `work` in one transaction, all or nothing; within another transaction it becomes part
    /// of that.
    ///
    /// # Errors
    /// As for `work`, or if the store cannot be written.
    pub fn in_one<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if !self.connection.is_autocommit() {
            return work(self);
        }
        self.execute("BEGIN IMMEDIATE", params![])?;
        let added = work(self).and_then(|done| {
            self.execute("COMMIT", params![])?;
            Ok(done)
        });
        if added.is_err() && !self.connection.is_autocommit() {
            // The caller needs the earlier error, not one of the rollback.
            let _ = self.execute("ROLLBACK", params![]);
        }
        added
    }

    /// Serializes the data of a run and its assessment, before a transaction: others wait for the end
    /// of that, and a run may have 30,000 measurements.
    ///
    /// # Errors
    /// If a value would not read back.
    pub fn bodies_of(
        &self,
        record: &RunRecord,
        assessment: Option<&Assessment>,
    ) -> Result<Bodies, StoreError> {
        let hosts = record.snapshots.iter().map(|host| self.body("a snapshot", host));
        let measured = record.measurements.iter().map(|of| self.body("a measurement", of));
        let assessment = assessment.map(|of| Ok((of.ruleset.clone(), self.body(ASSESSMENT, of)?)));
        Ok(Bodies {
            hosts: hosts.collect::<Result<_, _>>()?,
            measurements: measured.collect::<Result<_, _>>()?,
            assessment: assessment.transpose()?,
        })
    }

    fn add_parts(&mut self, record: &RunRecord, bodies: &Bodies) -> Result<(), StoreError> {
        let id = &record.run.id;
        self.create_run(&record.run)?;
        for (host, body) in record.snapshots.iter().zip(&bodies.hosts) {
            self.insert_snapshot(id, host, body)?;
        }
        for (measurement, body) in record.measurements.iter().zip(&bodies.measurements) {
            self.insert_measurement(id, measurement, body)?;
        }
        match &bodies.assessment {
            Some((ruleset, body)) => self.insert_assessment(id, ruleset, body),
            None => Ok(()),
        }
    }

    /// Updates a run.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn update_run(&mut self, run: &Run) -> Result<(), StoreError> {
        let body = self.body("a run", run)?;
        self.write_or_fall_back(|store| {
            store.execute(
                "UPDATE run SET name = ?2, state = ?3, format = ?4, body = ?5 WHERE id = ?1",
                params![run.id, run.name, state_name(run.state), FORMAT, body],
            )
        })?;
        // In a file that could not be written it is still running.
        if run.state != RunState::Running && self.aside.is_none() {
            self.locks.release(&run.id);
        }
        Ok(())
    }

    /// Adds a snapshot of the host, and returns its index within the run.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_snapshot(&mut self, run_id: &str, host: &Host) -> Result<usize, StoreError> {
        let body = self.body("a snapshot", host)?;
        self.write_or_fall_back(|store| store.insert_snapshot(run_id, host, &body))
    }

    fn insert_snapshot(
        &mut self,
        run_id: &str,
        host: &Host,
        body: &str,
    ) -> Result<usize, StoreError> {
        self.connection
            .query_row(
                "INSERT INTO snapshot (run_id, ordinal, taken_ns, format, body)
                 SELECT ?1, coalesce(max(ordinal) + 1, 0), ?2, ?3, ?4 FROM snapshot WHERE run_id = ?1
                 RETURNING ordinal",
                params![run_id, host.taken_ns, FORMAT, body],
                |row| row.get::<_, i64>(0),
            )
            .map(|ordinal| ordinal as usize)
            .map_err(|error| self.explain(error))
    }

    /// Adds a measurement.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn add_measurement(
        &mut self,
        run_id: &str,
        measurement: &Measurement,
    ) -> Result<(), StoreError> {
        let body = self.body("a measurement", measurement)?;
        self.write_or_fall_back(|store| store.insert_measurement(run_id, measurement, &body))
    }

    fn insert_measurement(
        &mut self,
        run_id: &str,
        measurement: &Measurement,
        body: &str,
    ) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO measurement (run_id, ordinal, phase, name, source, started_ns, format, body)
             SELECT ?1, coalesce(max(ordinal) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7
             FROM measurement WHERE run_id = ?1",
            params![
                run_id,
                measurement.phase,
                measurement.name,
                measurement.source,
                measurement.started_ns,
                FORMAT,
                body
            ],
        )
    }

    /// Stores the assessment of a run, replacing an earlier one.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn put_assessment(
        &mut self,
        run_id: &str,
        assessment: &Assessment,
    ) -> Result<(), StoreError> {
        let body = self.body(ASSESSMENT, assessment)?;
        self.write_or_fall_back(|store| store.insert_assessment(run_id, &assessment.ruleset, &body))
    }

    fn insert_assessment(
        &mut self,
        run_id: &str,
        ruleset: &str,
        body: &str,
    ) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO assessment (run_id, ruleset, format, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (run_id) DO UPDATE SET ruleset = ?2, format = ?3, body = ?4",
            params![run_id, ruleset, FORMAT, body],
        )
    }

    /// Returns the assessment of a run, if any.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn assessment(&self, run_id: &str) -> Result<Option<Assessment>, StoreError> {
        self.connection
            .query_row("SELECT body FROM assessment WHERE run_id = ?1", [run_id], |r| r.get(0))
            .optional()
            .map_err(|error| self.explain(error))?
            .map(|body: String| self.parse(ASSESSMENT, &body))
            .transpose()
    }

    /// Returns all runs, newest first. A run whose process is gone is interrupted; one whose
    /// process is not known is running.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn runs(&self) -> Result<Vec<Run>, StoreError> {
        self.select_runs("ORDER BY started_ns DESC, id DESC", params![])
    }

    /// Finds a run by `last`, id, name, or the beginning of one id.
    ///
    /// # Errors
    /// If no run or several match, or the store cannot be read.
    pub fn find(&self, selector: &str) -> Result<Run, StoreError> {
        if selector == "last" {
            let last = self.select_runs("ORDER BY started_ns DESC, id DESC LIMIT 1", params![])?;
            return last.into_iter().next().ok_or_else(|| StoreError::NoSuchRun("last".into()));
        }
        let mut exact =
            self.select_runs("WHERE id = ?1 OR (name = ?1 AND name <> '')", params![selector])?;
        if let Some(run) = exact.pop() {
            return Ok(run);
        }
        let mut fit = if selector.is_empty() {
            Vec::new()
        } else {
            self.select_runs("WHERE substr(id, 1, length(?1)) = ?1", params![selector])?
        };
        match (fit.pop(), fit.len()) {
            (Some(run), 0) => Ok(run),
            (None, _) => Err(StoreError::NoSuchRun(selector.into())),
            (Some(_), more) => {
                Err(StoreError::Ambiguous { selector: selector.into(), count: more + 1 })
            }
        }
    }

    /// Loads a run with all its data.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub fn load(&self, run_id: &str) -> Result<RunRecord, StoreError> {
        // All of one state: another process may remove the run meanwhile.
        let alone = self.connection.is_autocommit();
        let _reading = alone.then(|| self.connection.unchecked_transaction());
        let run = self.find(run_id)?;
        let snapshots = self.snapshots(&run.id)?;
        let measurements = self.measurements(&run.id)?;
        Ok(RunRecord { run, snapshots, measurements })
    }

    /// Returns the measurements of the run with this full id; empty if there is none. Read
    /// repeatedly while a run is in progress, hence without its snapshots, each of which is a whole
    /// host.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn measurements(&self, run_id: &str) -> Result<Vec<Measurement>, StoreError> {
        let bodies = self.bodies("measurement", run_id)?;
        let is_earlier = bodies.iter().any(|(format, _)| *format < 4);
        let kind = is_earlier.then(|| self.find(run_id)).transpose()?.map(|run| run.kind);
        let read = |(format, body): (i64, String)| {
            let mut of: Measurement = self.parse("a measurement", &body)?;
            if let Some(kind) = kind.filter(|_| format < 4) {
                of.purpose = Purpose::from_earlier_version(kind, &of);
            }
            Ok(of)
        };
        bodies.into_iter().map(read).collect()
    }

    fn select_runs(
        &self,
        rest: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<Run>, StoreError> {
        let sql = format!("SELECT format, body, owner_boot_id FROM run {rest}");
        let mut statement = self.connection.prepare(&sql).map_err(|e| self.explain(e))?;
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = statement.query_map(values, read).map_err(|e| self.explain(e))?;
        let mut runs = Vec::new();
        for row in rows {
            let (format, body, owner): (i64, String, String) = row.map_err(|e| self.explain(e))?;
            let mut run: Run = self.parse("a run", &body)?;
            if format < 3 {
                (run.kind, run.rounds) = RunKind::from_earlier_version(&run.plan_name, &run.plan);
            }
            if run.state == RunState::Running {
                match self.locks.liveness(&run.id, &owner) {
                    Liveness::Alive => {
                        run.is_alive = true;
                        run.pid = self.locks.pid(&run.id);
                    }
                    Liveness::Ended => run.state = RunState::Interrupted,
                    Liveness::Unknown => {}
                }
            }
            runs.push(run);
        }
        Ok(runs)
    }

    fn snapshots(&self, run_id: &str) -> Result<Vec<Host>, StoreError> {
        const WHAT: &str = "a snapshot";
        let read = |(format, body): (i64, String)| {
            if format >= 2 {
                return self.parse(WHAT, &body);
            }
            let mut host = self.parse(WHAT, &body)?;
            old_formats::upgrade_snapshot(&mut host);
            // Through text again: deserializing a host from a `Value` as well would double that
            // code.
            self.parse(WHAT, &Value::Object(host).to_string())
        };
        self.bodies("snapshot", run_id)?.into_iter().map(read).collect()
    }

    /// Returns formats and bodies, in order.
    fn bodies(&self, table: &'static str, run_id: &str) -> Result<Vec<(i64, String)>, StoreError> {
        let sql = format!("SELECT format, body FROM {table} WHERE run_id = ?1 ORDER BY ordinal");
        let mut statement = self.connection.prepare(&sql).map_err(|e| self.explain(e))?;
        let rows = statement.query_map([run_id], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(|e| self.explain(e))
    }

    pub(crate) fn execute(
        &mut self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<(), StoreError> {
        // A run of ten thousand measurements uses the same few statements.
        let done = self.connection.prepare_cached(sql).and_then(|mut one| one.execute(values));
        done.map(drop).map_err(|error| self.explain(error))
    }

    /// Serializes a value and checks that it reads back. JSON has no NaN: it would become null, and
    /// the whole run could no longer be read.
    pub(crate) fn body<T: Serialize + DeserializeOwned>(
        &self,
        what: &'static str,
        value: &T,
    ) -> Result<String, StoreError> {
        let unstorable =
            |error: serde_json::Error| StoreError::Unstorable { what, reason: error.to_string() };
        let body = serde_json::to_string(value).map_err(unstorable)?;
        serde_json::from_str::<T>(&body).map_err(unstorable)?;
        Ok(body)
    }

    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        what: &'static str,
        body: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(body).map_err(|error| self.damaged(what, error))
    }
}
