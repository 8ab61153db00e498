//! The only code that writes to sysfs.

use std::io;
use std::path::PathBuf;

use iodyno_model::shell_word;
use iodyno_store::SettingChange;

use crate::undone::Outcome;

/// sysfs of this machine, or a test's directory instead.
#[derive(Debug, Clone)]
pub(crate) struct Sysfs {
    root: PathBuf,
}

impl Default for Sysfs {
    fn default() -> Self {
        Self { root: PathBuf::from("/") }
    }
}

impl Sysfs {
    #[cfg(test)]
    pub(super) fn at(root: &std::path::Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Value of a file; for a choice (`mq-deadline [none]`) the selected one.
    pub(super) fn value(&self, path: &str) -> io::Result<String> {
        let text = std::fs::read_to_string(self.file(path)?)?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Ok(chosen.map_or(text.trim(), |(chosen, _)| chosen).to_owned())
    }

    /// Values to choose from, if the file lists them.
    pub(super) fn choice(&self, path: &str) -> Option<String> {
        let beside = path.replace("scaling_governor", "scaling_available_governors");
        let text = std::fs::read_to_string(self.file(&beside).ok()?).ok()?;
        let words: Vec<&str> = text.split_whitespace().collect();
        (words.len() > 1).then(|| words.join(", ").replace(['[', ']'], ""))
    }

    pub(super) fn set(&self, path: &str, value: &str) -> io::Result<()> {
        // The files exist already: nothing is created.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(self.file(path)?)?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    /// Path of a file that a plan may set. All others are refused, since anybody may have written
    /// the journal.
    fn file(&self, path: &str) -> io::Result<PathBuf> {
        let parts: Vec<&str> = path.split('/').collect();
        let is_known = match parts.as_slice() {
            ["", "sys", "block", disk, "queue", "scheduler" | "nr_requests"] => {
                !disk.is_empty() && !disk.starts_with('.')
            }
            [
                "",
                "sys",
                "devices",
                "system",
                "cpu",
                cpu,
                "cpufreq",
                "scaling_governor" | "scaling_available_governors",
            ] => cpu.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok()),
            _ => false,
        };
        match is_known {
            true => Ok(self.root.join(&path[1..])),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a setting of a plan")),
        }
    }
}

/// Outcome for a setting in an earlier version's journal, which does not say of which machine and
/// boot it is: never changed here, only the command is given.
pub(crate) fn set_by_hand(sysfs: &Sysfs, change: &SettingChange) -> Outcome {
    let SettingChange { path, before, value, .. } = change;
    match sysfs.value(path) {
        Ok(now) if now == *before => Outcome::Restored(now),
        Ok(now) if now == *value => {
            let by_hand = format!("echo {} >{path}", shell_word(before));
            Outcome::Unproven { by_hand }
        }
        Ok(_) => Outcome::LeftAlone("changed by others since".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Outcome::Gone,
        Err(error) => Outcome::LeftAlone(error.to_string()),
    }
}

/// Outcome of restoring a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restored {
    /// It has its old value.
    Yes,
    /// Set to something else by others meanwhile, and left so.
    NotOurs,
    /// The device or CPU is gone, and the setting with it.
    Gone,
}

/// Restores a setting from the journal, if it still has the value that was set.
///
/// # Errors
/// The kernel refuses the old value.
pub(crate) fn restore(sysfs: &Sysfs, change: &SettingChange) -> io::Result<Restored> {
    let SettingChange { path, before, value, with_it, .. } = change;
    let now = match sysfs.value(path) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Restored::Gone),
        Err(error) => return Err(error),
    };
    if now == *before {
        return Ok(Restored::Yes);
    }
    if now != *value {
        return Ok(Restored::NotOurs);
    }
    sysfs.set(path, before)?;
    if let Some((path, before)) = with_it {
        sysfs.set(path, before)?;
    }
    Ok(Restored::Yes)
}
