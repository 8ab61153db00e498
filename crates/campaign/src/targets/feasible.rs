//! Checks a script before anything is opened or made: does the machine have what its jobs name?
//! Errors name the option.

use std::collections::HashSet;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use iodyno_job::Job;
use iodyno_job::script::{Script, ScriptJob};
use iodyno_model::Host;
use iodyno_target::{Permission, TargetError, is_laid_out, is_sink, resolve_even_in_memory};

use super::requirements::{Device, Requirements, device_of, devices, wanted};
use super::{Targets, jobs};
use crate::error::CampaignError;
use crate::work::Work;

/// Checks what is known of `work` without opening a target: a dry run refuses it as the run would.
///
/// # Errors
/// See [`crate::carry_out`].
pub fn foresee(host: &Host, work: &Work, permission: &Permission) -> Result<(), CampaignError> {
    work.scripts().try_for_each(|script| {
        foresee_script(host, script, permission).map_err(|error| error.placed(script))
    })
}

fn foresee_script(
    host: &Host,
    script: &Script,
    permission: &Permission,
) -> Result<(), CampaignError> {
    check(host, script)?;
    let mut wanted = wanted(script);
    // Without a word all that writes is shown.
    let is_checked = !permission.allow_write.is_empty();
    for Device { target, writes, .. } in devices(host, &wanted)? {
        if writes && is_checked {
            target.verify_named(host, permission)?;
        }
    }
    wanted.retain(|name, _| device_of(name).is_none());
    let mut none = Targets::default();
    let is_file = |path: &String| device_of(path).is_none();
    for ScriptJob { job, .. } in jobs(script).filter(|one| one.job.files.paths.iter().all(is_file))
    {
        let grown = none.grow_files(&mut wanted, job);
        grown.map_err(|what| CampaignError::of_job(&job.name, what))?;
    }
    for (name, Requirements { writes, size_bytes: wanted_bytes, .. }) in wanted {
        let there = std::fs::metadata(&name).ok().filter(std::fs::Metadata::is_file);
        let Some(holds_bytes) = there.map(|file| file.len()) else { continue };
        let needs_word = if writes { is_checked } else { holds_bytes < wanted_bytes };
        // With a `/` it is a path and never a device's kernel name.
        let path = std::path::absolute(&name).ok().filter(|path| needs_word && !is_laid_out(path));
        let Some(path) = path.as_deref().and_then(Path::to_str) else { continue };
        for target in resolve_even_in_memory(host, path)? {
            target.verify_named(host, permission).map_err(|error| match error {
                TargetError::NotAllowed { name, .. } if !writes => {
                    TargetError::TooShort { name, holds_bytes, wanted_bytes }
                }
                error => error,
            })?;
        }
    }
    Ok(())
}

/// Checks that `host` has the CPUs and files that the jobs of `script` ask for.
///
/// # Errors
/// The first job that cannot be carried out, and why.
pub(crate) fn check(host: &Host, script: &Script) -> Result<(), CampaignError> {
    // Files sized by a job so far.
    let mut sized: HashSet<&str> = HashSet::new();
    let jobs = script.phases.iter().flat_map(|phase| &phase.jobs);
    for ScriptJob { job, needs_size, .. } in jobs {
        // Their names are of no files, and their size is unlimited.
        let engine = job.engine.ioengine;
        let diskless = engine.is_diskless() || engine.creates_entries();
        let what = cpus(host, job)
            .or_else(|| names(host, job, &sized).filter(|_| !diskless))
            .or_else(|| size(job, &sized).filter(|_| *needs_size && !diskless));
        if let Some(what) = what {
            return Err(CampaignError::of_job(&job.name, what));
        }
        if !needs_size && !job.space.fill_device && !diskless {
            sized.extend(job.files.paths.iter().map(String::as_str));
        }
    }
    Ok(())
}

/// CPUs that the machine does not have.
fn cpus(host: &Host, job: &Job) -> Option<String> {
    let last = host.cpus.online.get()?.iter().max()?;
    let allowed = job.threads.cpus_allowed.iter().map(|cpu| ("cpus_allowed", cpu));
    let polling = job.engine.sqthread_poll_cpu.iter().map(|cpu| ("sqthread_poll_cpu", cpu));
    let (option, cpu) = allowed.chain(polling).find(|(_, cpu)| *cpu > last)?;
    Some(format!("`{option}` names CPU {cpu}, but the last one here is CPU {last}"))
}

/// Names that do not exist, or are not what they seem.
fn names(host: &Host, job: &Job, sized: &HashSet<&str>) -> Option<String> {
    job.files.paths.iter().filter(|name| !is_sink(name)).find_map(|name| {
        let metadata = std::fs::metadata(name).ok();
        let is_special = |metadata: &std::fs::Metadata| {
            metadata.file_type().is_char_device() && device_of(name).as_ref() == Some(name)
        };
        if metadata.as_ref().is_some_and(is_special) {
            return Some(format!(
                "`filename={name}`: is a character device; name a file or a block device"
            ));
        }
        if metadata.is_some() || sized.contains(name.as_str()) {
            return None;
        }
        if host.block(name).is_some() {
            // fio makes a file of this name and measures that.
            return Some(format!(
                "`filename={name}` would be a file in this directory; use /dev/{name}, or for a file ./{name}"
            ));
        }
        (!job.files.allow_file_create).then(|| {
            format!("`allow_file_create=0`: {name} does not exist; the job may not create it")
        })
    })
}

/// Empty or missing files whose size neither the job nor one before it sets.
fn size(job: &Job, sized: &HashSet<&str>) -> Option<String> {
    let is_empty = |name: &String| {
        !sized.contains(name.as_str())
            && match std::fs::metadata(name) {
                Ok(metadata) => metadata.is_file() && metadata.len() == 0,
                Err(_) => device_of(name).is_none(),
            }
    };
    let name = job.files.paths.first().filter(|_| job.files.paths.iter().all(is_empty))?;
    Some(format!(
        "`size` is missing: {name} does not exist or is empty; set size=1g (run --size=1g, sweep --set size=1g)"
    ))
}
