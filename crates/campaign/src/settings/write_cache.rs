//! Switches volatile write caches of NVMe drives by feature 06h, and back.

use std::io;

use iodyno_host::Source;
use iodyno_model::{Drive, Fact, Host, Setting};
use iodyno_store::{JournalEntry, Store, WriteCacheChange, boot_id};
use iodyno_target::{Target, WriteCache, resolve};

use super::{Applied, Restored};
use crate::error::CampaignError;
use crate::plan::WriteCacheState;
use crate::targets::device_of;

/// Next step if it cannot be switched.
const KEEP: &str = "--write-cache keep leaves it as is";

/// NVMe controllers of those `targets` that are devices. A file's drive serves others, too, and is
/// left alone.
pub(super) fn drives<'h>(
    targets: &[String],
    host: &'h Host,
) -> Result<Vec<&'h Drive>, CampaignError> {
    let mut found: Vec<&Drive> = Vec::new();
    for target in targets.iter().filter(|target| device_of(target).is_some()) {
        let resolved = resolve(host, target)?;
        let blocks = resolved.iter().filter(|target| matches!(target, Target::Block(_)));
        let devices = blocks.filter_map(|target| target.device());
        for disk in devices.flat_map(|device| host.bottom_of(device)) {
            // Each path of a multipath head has its own controller and cache.
            let has_it = |drive: &&Drive| drive.namespaces.iter().any(|one| one.name == disk.name);
            for drive in host.drives.iter().filter(has_it) {
                if found.iter().all(|known| known.name != drive.name) {
                    found.push(drive);
                }
            }
        }
    }
    Ok(found)
}

/// Caches of `drives` to be switched; drives without one are skipped.
pub(super) fn caches(drives: &[&Drive]) -> Result<Vec<WriteCache>, CampaignError> {
    let mut caches = Vec::new();
    for drive in drives {
        let name = &drive.name;
        let serial = match (&drive.write_cache_on, drive.serial.get()) {
            (Fact::Absent, _) => continue,
            (Fact::Read(_), Some(serial)) => serial.clone(),
            (fact, _) => {
                let why = fact.why_unknown().unwrap_or("its serial number is not known".into());
                return Err(CampaignError::Setting(format!(
                    "whether the volatile write cache of {name} is on is unknown: {why}; {KEEP}"
                )));
            }
        };
        caches.push(WriteCache { controller: name.clone(), serial });
    }
    Ok(caches)
}

impl Applied {
    /// Switches `cache` unless it is as `wanted`; the change is in the journal first.
    pub(super) fn switch(
        &mut self,
        cache: &WriteCache,
        wanted: WriteCacheState,
        source: &dyn Source,
        store: &mut Store,
        run_id: &str,
    ) -> Result<(), CampaignError> {
        let WriteCache { controller, serial } = cache;
        let refused = |error: io::Error| {
            let wanted = wanted.name();
            let what = "the volatile write cache of";
            CampaignError::Setting(format!(
                "{what} {controller} cannot be switched {wanted}: {error}; {KEEP}"
            ))
        };
        let on = wanted == WriteCacheState::On;
        let before = cache.is_on(source).map_err(refused)?;
        self.conditions.push(Setting {
            path: format!("/dev/{controller} feature 06h (volatile write cache)"),
            before: WriteCacheState::of(before).name().into(),
            value: wanted.name().into(),
        });
        if before == on {
            return Ok(());
        }
        let (controller, serial) = (controller.clone(), serial.clone());
        let change = WriteCacheChange { controller, serial, on, boot_id: boot_id() };
        let ordinal = store.journal_add(run_id, &JournalEntry::WriteCache(change.clone()))?;
        self.switched.push((ordinal, change));
        cache.switch(on).map_err(refused)?;
        match cache.is_on(source).map_err(refused)? == on {
            true => Ok(()),
            false => Err(refused(io::Error::other("the drive left it as it was"))),
        }
    }
}

/// Switches a cache back, if it is still as it was switched.
///
/// # Errors
/// The drive refuses.
pub(crate) fn switch_back(source: &dyn Source, change: &WriteCacheChange) -> io::Result<Restored> {
    let WriteCacheChange { controller, serial, on, .. } = change;
    let cache = WriteCache { controller: controller.clone(), serial: serial.clone() };
    match cache.is_on(source) {
        Ok(now) if now != *on => Ok(Restored::Yes),
        Ok(_) => cache.switch(!on).map(|()| Restored::Yes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Restored::Gone),
        Err(error) => Err(error),
    }
}
