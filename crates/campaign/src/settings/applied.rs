//! Settings in effect, and how to restore them.

use std::io;

use iodyno_host::Source;
use iodyno_model::{Setting, add_missing, own_command};
use iodyno_store::{JournalEntry, SettingChange, Store, WriteCacheChange, boot_id};

use super::{Restored, Sysfs, Wanted, restore, switch_back};
use crate::error::CampaignError;
use crate::plan::WriteCacheState;

/// Settings changed by a run, with their journal entries.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    sysfs: Sysfs,
    changed: Vec<(i64, SettingChange)>,
    /// Switched write caches, likewise.
    pub(super) switched: Vec<(i64, WriteCacheChange)>,
    /// Settings reported as conditions of the measurements.
    pub(crate) conditions: Vec<Setting>,
}

impl Applied {
    /// Applies all `wanted` settings; each is in the journal before it is changed.
    ///
    /// # Errors
    /// A setting cannot be applied; all others are restored.
    pub(crate) fn new(
        sysfs: Sysfs,
        store: &mut Store,
        run_id: &str,
        wanted: &[Wanted],
    ) -> Result<Self, CampaignError> {
        let mut applied = Self { sysfs, ..Self::default() };
        // Read all before setting any: setting one may change another.
        let before: Vec<Option<String>> =
            wanted.iter().map(|one| applied.sysfs.value(&one.path).ok()).collect();
        for (one, before) in wanted.iter().zip(before) {
            if let Err(error) = applied.set(store, run_id, one, before) {
                let left = applied.restore_sysfs(store, run_id)?;
                return Err(left.into_iter().next().map_or(error, CampaignError::Setting));
            }
        }
        Ok(applied)
    }

    fn set(
        &mut self,
        store: &mut Store,
        run_id: &str,
        wanted: &Wanted,
        at_first: Option<String>,
    ) -> Result<(), CampaignError> {
        let Wanted { path, value } = wanted;
        let refused = |error: io::Error| {
            let choice = self.sysfs.choice(path);
            let choice = choice.map_or(String::new(), |choice| format!("; it takes {choice}"));
            let why = match error.kind() {
                io::ErrorKind::NotFound => "this machine does not have it".to_owned(),
                io::ErrorKind::PermissionDenied => "only root may set it".to_owned(),
                _ => format!("{error}{choice}"),
            };
            CampaignError::Setting(format!("{path} cannot be set to {value}: {why}"))
        };
        let before = self.sysfs.value(path).map_err(refused)?;
        let setting = Setting {
            path: of_all(path),
            before: at_first.unwrap_or_else(|| before.clone()),
            value: value.clone(),
        };
        let mut change = SettingChange {
            path: path.clone(),
            before: before.clone(),
            value: value.clone(),
            with_it: None,
            resets: self.sysfs.reset_with(path),
            boot_id: Some(boot_id()),
            disk: self.sysfs.disk_of(path),
        };
        let ordinal = match before == *value {
            true => None,
            false => Some(store.journal_add(run_id, &JournalEntry::Setting(change.clone()))?),
        };
        // After it is in the journal: of two runs at the same moment at least one sees the other.
        let shared = set_by_another(store, run_id, path)?;
        let is_before = self.sysfs.value(path).is_ok_and(|now| now == before);
        if shared.is_some() || !is_before {
            ordinal.map_or(Ok(()), |ordinal| store.journal_mark_undone(run_id, ordinal))?;
            let why = shared.unwrap_or_else(|| "it is being changed by others; repeat".into());
            return Err(CampaignError::Setting(format!("{path} cannot be set to {value}: {why}")));
        }
        if let Some(ordinal) = ordinal {
            self.changed.push((ordinal, change.clone()));
            self.sysfs.set(path, value).map_err(refused)?;
            let now = self.sysfs.value(path).map_err(refused)?;
            // The kernel's own choice is our change, too.
            change.value.clone_from(&now);
            for reset in &mut change.resets {
                reset.after = self.sysfs.value(&reset.path).ok();
            }
            if let Some((_, changed)) = self.changed.last_mut() {
                changed.clone_from(&change);
            }
            store.journal_update(run_id, ordinal, &JournalEntry::Setting(change))?;
            if now != *value {
                let what = format!("{path} cannot be set to {value}: the kernel made {now} of it");
                return Err(CampaignError::Setting(what));
            }
        }
        add_missing(&mut self.conditions, [setting]);
        Ok(())
    }

    /// Restores settings that are still as they were set, the last one first. Those that cannot be
    /// restored stay in the journal and are reported.
    pub(crate) fn restore(
        &mut self,
        source: &dyn Source,
        store: &mut Store,
        run_id: &str,
    ) -> Result<Vec<String>, CampaignError> {
        let mut warnings = Vec::new();
        while let Some((ordinal, change)) = self.switched.pop() {
            match switch_back(source, &change) {
                Ok(_) => store.journal_mark_undone(run_id, ordinal)?,
                Err(error) => warnings.push(format!(
                    "the volatile write cache of {} is not {} as before: {error}; retry with {}",
                    change.controller,
                    WriteCacheState::of(!change.on).name(),
                    own_command("clean-up")
                )),
            }
        }
        warnings.extend(self.restore_sysfs(store, run_id)?);
        Ok(warnings)
    }

    pub(super) fn restore_sysfs(
        &mut self,
        store: &mut Store,
        run_id: &str,
    ) -> Result<Vec<String>, CampaignError> {
        let mut warnings = Vec::new();
        while let Some((ordinal, change)) = self.changed.pop() {
            let SettingChange { path, before, .. } = &change;
            match restore(&self.sysfs, &change) {
                Ok(restored) => {
                    if restored == Restored::NotOurs {
                        warnings.push(format!(
                            "{path} was set by somebody else meanwhile: not restored"
                        ));
                    }
                    store.journal_mark_undone(run_id, ordinal)?;
                }
                Err(error) => {
                    warnings.push(format!(
                        "{path} is not {before} as before: {error}; retry with {}",
                        own_command("clean-up")
                    ));
                }
            }
        }
        Ok(warnings)
    }
}

/// Why a setting cannot be changed if another run has changed one of the same device or CPU and not
/// restored it: each would restore what the other set.
fn set_by_another(
    store: &Store,
    run_id: &str,
    path: &str,
) -> Result<Option<String>, CampaignError> {
    let (folder, boot) = (path.rsplit_once('/').map(|(folder, _)| folder), boot_id());
    let other = store.journal_other_run(run_id, |entry| match entry {
        JournalEntry::Setting(change) => {
            change.boot_id.as_ref() == Some(&boot)
                && change.path.rsplit_once('/').map(|(folder, _)| folder) == folder
        }
        _ => false,
    })?;
    let why = |other| {
        format!(
            "run {other} has set it and not restored it yet: wait for its end, or after a kill: {}",
            own_command(&format!("clean-up {other}"))
        )
    };
    Ok(other.map(why))
}

/// Path with `cpu*` for the CPU number: hundreds of equal CPUs are reported once.
fn of_all(path: &str) -> String {
    let is_cpu =
        |part: &&str| part.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    let part = |part| if is_cpu(&part) { "cpu*" } else { part };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}
