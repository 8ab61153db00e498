//! `--trigger-file` and `--trigger-timeout`: what ends a run before its time, and the
//! command that is run then.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::fs::FileType;

/// Waits for a trigger.
pub(super) struct Trigger {
    asked: iodyno_job::syntax::Trigger,
    begun: Instant,
    interrupted: Arc<AtomicBool>,
    pub(super) pulled: bool,
}

impl Trigger {
    /// What ends the run by setting `interrupted`.
    pub(super) fn new(asked: &iodyno_job::syntax::Trigger, interrupted: Arc<AtomicBool>) -> Self {
        Self { asked: asked.clone(), begun: Instant::now(), interrupted, pulled: false }
    }

    /// Ends the run where it is time.
    pub(super) fn look(&mut self) {
        let over = Duration::from_nanos(self.asked.timeout_ns);
        let is_time = self.asked.timeout_ns > 0 && self.begun.elapsed() >= over;
        let is_there = || self.asked.file.as_deref().is_some_and(|file| Path::new(file).exists());
        if self.pulled || !(is_time || is_there()) {
            return;
        }
        self.pulled = true;
        self.interrupted.store(true, Ordering::Relaxed);
        if let Some(file) = &self.asked.file {
            take_away(Path::new(file));
        }
    }

    /// Runs the command, if it was pulled, and waits for it, as fio does. How it ended is nobody's
    /// concern there. By now the states of all jobs are on the disk: it may cut the power.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn finish(&self) -> Result<()> {
        if let Some(command) = self.asked.command.as_ref().filter(|_| self.pulled) {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]).stdin(Stdio::null());
            shell.status().with_context(|| format!("cannot start --trigger={command}"))?;
        }
        Ok(())
    }
}

/// Removes the file, as fio does, so that it triggers no other run. What holds data stays.
fn take_away(file: &Path) {
    let is_empty = |stat: &rustix::fs::Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size == 0
    };
    if let Ok(path) = std::path::absolute(file) {
        let _ = iodyno_files::remove(&path, is_empty);
    }
}
