//! Machine settings of a plan: applied before anything is measured, and restored after it.

mod applied;
#[allow(clippy::disallowed_methods, reason = "files of sysfs, and none but those of a list")]
mod sysfs;
#[cfg(test)]
mod tests;
mod write_cache;

use std::path::Path;

use iodyno_host::Source;
use iodyno_job::script::Script;
use iodyno_model::{BlockDevice, Fact, Host};
use iodyno_target::resolve;

use crate::error::CampaignError;
use crate::plan::{Settings, WriteCacheState};
use crate::targets::device_of;
use crate::tools::Tools;

pub(crate) use applied::Applied;
pub(crate) use sysfs::{Restored, Sysfs, restore, set_by_hand};
pub(crate) use write_cache::switch_back;

/// A file and its wanted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Path in sysfs, `/sys/block/nvme0n1/queue/scheduler`.
    path: String,
    value: String,
}

impl Settings {
    /// Sentences on the settings to be changed on `host` for these targets.
    ///
    /// # Errors
    /// A target is not found, or not on a disk.
    pub fn outline(&self, targets: &[String], host: &Host) -> Result<Vec<String>, CampaignError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let mut sentences = Vec::new();
        let disks = if self.is_of_queues() { disks(targets, host)? } else { Vec::new() };
        for disk in disks {
            let queue = &disk.queue;
            let is = |value: Option<String>| value.unwrap_or("not known".into());
            if let Some(scheduler) = &self.scheduler {
                let now = is(queue.scheduler.value());
                sentences.push(format!(
                    "Sets the scheduler of {} to {scheduler} (it is {now}).",
                    disk.name
                ));
            }
            if let Some(requests) = self.nr_requests {
                let now = is(queue.nr_requests.value().map(|now| now.to_string()));
                sentences.push(format!(
                    "Sets nr_requests of {} to {requests} (it is {now}).",
                    disk.name
                ));
            }
        }
        if let Some(governor) = &self.governor {
            let now = host.cpus.governor.value().unwrap_or("not known".into());
            sentences.push(format!(
                "Sets the governor of all CPUs to {governor} (that of CPU 0 is {now})."
            ));
        }
        if let Some(state) = self.write_cache {
            // A device that does not exist yet is an error only once something is measured.
            for drive in write_cache::drives(targets, host).unwrap_or_default() {
                let (name, state) = (&drive.name, state.name());
                let now = match &drive.write_cache_on {
                    Fact::Absent => {
                        sentences.push(format!("{name} has no volatile write cache."));
                        continue;
                    }
                    fact => fact.value().map_or("not known", |on| WriteCacheState::of(on).name()),
                };
                sentences.push(format!(
                    "Switches the volatile write cache of {name} {state} (it is {now})."
                ));
            }
        }
        if !sentences.is_empty() {
            sentences.push("The old values are restored at the end.".into());
        }
        Ok(sentences)
    }

    /// Files to write, in order.
    pub(crate) fn wanted(
        &self,
        targets: &[String],
        host: &Host,
        source: &dyn Source,
    ) -> Result<Vec<Wanted>, CampaignError> {
        let mut wanted = Vec::new();
        let disks = if self.is_of_queues() { disks(targets, host)? } else { Vec::new() };
        for disk in disks {
            for queue in iodyno_host::queue_owners(source, &disk.name) {
                let file = |name: &str| format!("/sys/block/{queue}/queue/{name}");
                if let Some(scheduler) = &self.scheduler {
                    wanted.push(Wanted { path: file("scheduler"), value: scheduler.clone() });
                }
                if let Some(requests) = self.nr_requests {
                    let (path, value) = (file("nr_requests"), requests.to_string());
                    wanted.push(Wanted { path, value });
                }
            }
        }
        if let Some(governor) = &self.governor {
            let Some(online) = host.cpus.online.get() else {
                return Err(CampaignError::Setting("the online CPUs are unknown".into()));
            };
            wanted.extend(online.iter().map(|cpu| Wanted {
                path: format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"),
                value: governor.clone(),
            }));
        }
        Ok(wanted)
    }
}

/// Disks at the bottom of all layers under `targets`, each once.
fn disks<'h>(targets: &[String], host: &'h Host) -> Result<Vec<&'h BlockDevice>, CampaignError> {
    let mut disks: Vec<&BlockDevice> = Vec::new();
    for target in targets {
        // A file that does not exist yet will be on the disk of its directory.
        let path = Path::new(target);
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let there = match path.exists() {
            true => target.clone(),
            false => parent.unwrap_or(Path::new(".")).display().to_string(),
        };
        let resolved = resolve(host, &there)?;
        let devices = resolved.iter().filter_map(|target| target.device());
        let found: Vec<&BlockDevice> = devices.flat_map(|device| host.bottom_of(device)).collect();
        if found.is_empty() {
            let what = format!("{target} is not on a disk with a request queue");
            return Err(CampaignError::Setting(what));
        }
        for disk in found {
            if disks.iter().all(|known| known.name != disk.name) {
                disks.push(disk);
            }
        }
    }
    Ok(disks)
}

/// Applies the settings for scripts.
pub(crate) fn apply<'s>(
    tools: &mut Tools<'_>,
    settings: &Settings,
    scripts: impl Iterator<Item = &'s Script>,
    host: &Host,
    run_id: &str,
) -> Result<Applied, CampaignError> {
    let mut paths: Vec<String> = Vec::new();
    for job in scripts.flat_map(|script| &script.phases).flat_map(|phase| &phase.jobs) {
        let own = job.job.files.paths.iter();
        paths.extend(own.map(|path| device_of(path).unwrap_or(path.clone())));
    }
    paths.sort();
    paths.dedup();
    let wanted = settings.wanted(&paths, host, tools.source)?;
    let caches = match settings.write_cache {
        Some(state) => Some((state, write_cache::caches(&write_cache::drives(&paths, host)?)?)),
        None => None,
    };
    let mut applied = Applied::new(Sysfs::default(), tools.store, run_id, &wanted)?;
    let switched = caches.iter().flat_map(|(state, caches)| caches.iter().map(|one| (*state, one)));
    for (state, cache) in switched {
        if let Err(error) = applied.switch(cache, state, tools.source, tools.store, run_id) {
            let left = applied.restore(tools.source, tools.store, run_id)?;
            return Err(left.into_iter().next().map_or(error, CampaignError::Setting));
        }
    }
    Ok(applied)
}
