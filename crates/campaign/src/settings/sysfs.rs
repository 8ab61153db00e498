//! The only code that writes to sysfs.

use std::io;
use std::path::PathBuf;

use iodyno_model::shell_word;
use iodyno_store::{Reset, SettingChange};

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

    /// Files that the kernel resets when this one is set, with their values: a scheduler's own
    /// tunables are gone with it.
    pub(super) fn reset_with(&self, path: &str) -> Vec<Reset> {
        let Some(queue) = path.strip_suffix("scheduler") else { return Vec::new() };
        let folder = self.file(path).map(|file| file.with_file_name("iosched"));
        let entries = folder.and_then(std::fs::read_dir).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| format!("iosched/{}", entry.file_name().display())).collect();
        names.sort();
        // They depend on the number of requests.
        let all = ["nr_requests", "wbt_lat_usec"].map(String::from).into_iter().chain(names);
        let readable = all.map(|name| format!("{queue}{name}")).filter_map(|path| {
            let before = self.value(&path).ok()?;
            Some(Reset { path, before, after: None })
        });
        readable.collect()
    }

    /// Identity of the disk that a setting belongs to; `None` for a CPU.
    pub(super) fn disk_of(&self, path: &str) -> Option<String> {
        let file = self.file(path).ok()?;
        let disk = file.parent()?.parent()?;
        // The last one is new for each disk that the kernel finds.
        let names = ["wwid", "device/wwid", "serial", "device/serial", "diskseq"];
        names.iter().find_map(|name| {
            let text = std::fs::read_to_string(disk.join(name)).ok()?;
            Some(format!("{name} {}", text.trim())).filter(|_| !text.trim().is_empty())
        })
    }

    pub(super) fn set(&self, path: &str, value: &str) -> io::Result<()> {
        // The files exist already: nothing is created.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(self.file(path)?)?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    /// Path of a file that a plan may set, or that is reset with it. All others are refused, since
    /// anybody may have written the journal.
    fn file(&self, path: &str) -> io::Result<PathBuf> {
        match is_of_a_plan(path) || is_reset_with_another(path) {
            true => Ok(self.root.join(&path[1..])),
            false => Err(unknown()),
        }
    }
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a setting of a plan")
}

/// True for the path of a setting that a plan may name.
fn is_of_a_plan(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "sys", "block", disk, "queue", "scheduler" | "nr_requests"] => is_name(disk),
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
    }
}

/// True for the path of a setting that no plan names, and that the kernel resets with one.
fn is_reset_with_another(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "sys", "block", disk, "queue", "wbt_lat_usec"] => is_name(disk),
        ["", "sys", "block", disk, "queue", "iosched", name] => is_name(disk) && is_name(name),
        _ => false,
    }
}

/// True for the name of a file of its own, not `..`.
fn is_name(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.')
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
    /// The device or CPU is gone, and the setting with it; another one may have its name.
    Gone,
}

/// Restores a setting from the journal, if it still has the value that was set, and what the kernel
/// reset with it. Values that others set meanwhile stay: the kernel resets these again, so they are
/// set again.
///
/// # Errors
/// The kernel refuses the old value.
pub(crate) fn restore(sysfs: &Sysfs, change: &SettingChange) -> io::Result<Restored> {
    let SettingChange { path, before, value, with_it, resets, disk, .. } = change;
    if !is_of_a_plan(path) {
        return Err(unknown());
    }
    let now = match sysfs.value(path) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Restored::Gone),
        Err(error) => return Err(error),
    };
    if disk.is_some() && *disk != sysfs.disk_of(path) {
        return Ok(Restored::Gone);
    }
    if now == *before {
        return Ok(Restored::Yes);
    }
    if now != *value {
        return Ok(Restored::NotOurs);
    }
    let earlier = with_it.iter().map(|(path, before)| (path, before, &None));
    let resets = resets.iter().map(|Reset { path, before, after }| (path, before, after));
    let with_it: Vec<(&String, String)> = earlier
        .chain(resets)
        .map(|(path, before, after)| {
            let now = sysfs.value(path).ok();
            let by_others =
                now.filter(|_| after.is_some()).filter(|now| after.as_ref() != Some(now));
            (path, by_others.unwrap_or_else(|| before.clone()))
        })
        .collect();
    sysfs.set(path, before)?;
    for (path, value) in with_it {
        // Writing the same value may have an effect (wbt_lat_usec).
        if sysfs.value(path)? != value {
            sysfs.set(path, &value)?;
        }
    }
    Ok(Restored::Yes)
}
