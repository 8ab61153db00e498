//! `--trigger-file` and `--trigger-timeout`: what ends a run before its time, and the
//! command that is run then.

use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    command: Option<Child>,
    pub(super) pulled: bool,
}

impl Trigger {
    /// What ends the run by setting `interrupted`.
    pub(super) fn new(asked: &iodyno_job::syntax::Trigger, interrupted: Arc<AtomicBool>) -> Self {
        Self {
            asked: asked.clone(),
            begun: Instant::now(),
            interrupted,
            command: None,
            pulled: false,
        }
    }

    /// Ends the run where it is time, and starts the command.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn look(&mut self) -> Result<()> {
        let over = Duration::from_nanos(self.asked.timeout_ns);
        let is_time = self.asked.timeout_ns > 0 && self.begun.elapsed() >= over;
        let is_there = || self.asked.file.as_deref().is_some_and(|file| Path::new(file).exists());
        if self.pulled || !(is_time || is_there()) {
            return Ok(());
        }
        self.pulled = true;
        self.interrupted.store(true, Ordering::Relaxed);
        if let Some(file) = &self.asked.file {
            take_away(Path::new(file));
        }
        if let Some(command) = &self.asked.command {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]).stdin(Stdio::null());
            self.command =
                Some(shell.spawn().with_context(|| format!("cannot start --trigger={command}"))?);
        }
        Ok(())
    }

    /// Waits for the command, as fio does. How it ended is nobody's concern there.
    pub(super) fn finish(&mut self) {
        if let Some(command) = &mut self.command {
            let _ = command.wait();
        }
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
