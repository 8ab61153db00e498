//! `--trigger-file` and `--trigger-timeout`: end a run early and run a command then.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::fs::FileType;

/// Trigger of a run.
pub(super) struct Trigger {
    asked: iodyno_job::syntax::Trigger,
    begun: Instant,
    interrupted: Arc<AtomicBool>,
    pub(super) fired: bool,
}

impl Trigger {
    /// Creates a trigger that ends the run by setting `interrupted`.
    pub(super) fn new(asked: &iodyno_job::syntax::Trigger, interrupted: Arc<AtomicBool>) -> Self {
        Self { asked: asked.clone(), begun: Instant::now(), interrupted, fired: false }
    }

    /// Ends the run if the trigger has fired.
    pub(super) fn look(&mut self) {
        let over = Duration::from_nanos(self.asked.timeout_ns);
        let is_time = self.asked.timeout_ns > 0 && self.begun.elapsed() >= over;
        let is_there = || self.asked.file.as_deref().is_some_and(|file| Path::new(file).exists());
        if self.fired || !(is_time || is_there()) {
            return;
        }
        self.fired = true;
        self.interrupted.store(true, Ordering::Relaxed);
        if let Some(file) = &self.asked.file {
            remove_trigger_file(Path::new(file));
        }
    }

    /// Runs the trigger's command if it fired, and waits for it; as in fio its exit status is
    /// ignored. The states of all jobs have been written before: the command may cut the power.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn finish(&self) -> Result<()> {
        if let Some(command) = self.asked.command.as_ref().filter(|_| self.fired) {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]).stdin(Stdio::null());
            shell.status().with_context(|| format!("cannot start --trigger={command}"))?;
        }
        Ok(())
    }
}

/// Removes the trigger file, as fio does, so that it triggers no other run. A file with data stays.
fn remove_trigger_file(file: &Path) {
    let is_empty = |stat: &rustix::fs::Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size == 0
    };
    if let Ok(path) = std::path::absolute(file) {
        let _ = iodyno_files::remove(&path, is_empty);
    }
}
