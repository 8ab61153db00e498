//! Refuses jobs on files that the run itself reads or writes: its outputs would replace what was
//! measured, or its jobs what is kept.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use iodyno_files::{NameOrigin, folder_of, inspect_log};
use iodyno_job::script::Script;
use iodyno_job::{IOLOG_HEAD, Job};

use super::logs::LogFiles;
use crate::context::{Context, Usage, bail_usage};
use crate::output::{overwrites_target, refuse_store};

/// A file, by which others of the same name are known.
#[derive(PartialEq, Eq, Hash)]
enum Named {
    /// Device and inode number.
    File(u64, u64),
    New(PathBuf),
}

impl Named {
    /// `None`: no regular file.
    fn of(path: &Path) -> Option<Self> {
        match path.metadata() {
            Ok(found) => found.is_file().then(|| Self::File(found.dev(), found.ino())),
            Err(_) => {
                let folder = folder_of(path).canonicalize().ok()?;
                Some(Self::New(folder.join(path.file_name()?)))
            }
        }
    }
}

/// Refuses early jobs on what will be written as `outputs` and `logs`, jobs that write one of
/// `job_files` or the store, and a log of I/O (`write_iolog`) that could not be created.
pub(super) fn refuse_own_files(
    context: &Context,
    script: &Script,
    job_files: &[String],
    outputs: &[Option<&Path>],
    logs: &LogFiles,
) -> Result<()> {
    let jobs = || script.phases.iter().flat_map(|phase| &phase.jobs).map(|job| &job.job);
    let names = |job: &'_ Job| job.files.paths.clone();
    let with_files = || jobs().filter(|job| !job.engine.ioengine.is_diskless());
    let written: Vec<String> = with_files().filter(|job| job.writes()).flat_map(names).collect();
    for path in &written {
        refuse_store(context, Path::new(path))?;
    }
    let known = |names: Vec<String>| -> HashSet<Named> {
        names.iter().filter_map(|name| Named::of(Path::new(name))).collect()
    };
    let (written, used) = (known(written), known(with_files().flat_map(names).collect()));
    let is_in = |files: &HashSet<Named>, path: &Path| {
        Named::of(path).is_some_and(|named| files.contains(&named))
    };
    let io_logs = || jobs().filter_map(|job| job.replay.write_iolog.as_deref());
    for log in io_logs() {
        inspect_log(Path::new(log), NameOrigin::User, IOLOG_HEAD)
            .map_err(|error| Usage(format!("write_iolog: {error}")))?;
    }
    let logs = logs.paths().chain(io_logs().map(PathBuf::from));
    let outputs = outputs.iter().flatten().map(|path| (*path).to_owned()).chain(logs);
    let job_files: Vec<String> = job_files.iter().filter(|file| *file != "-").cloned().collect();
    let read = known(job_files.clone());
    for output in outputs {
        if is_in(&used, &output) {
            return Err(overwrites_target(&output).into());
        }
        if is_in(&read, &output) {
            bail_usage!("{}: it is the job file; name another output", output.display());
        }
    }
    if let Some(file) = job_files.iter().find(|file| is_in(&written, Path::new(file))) {
        bail_usage!("{file}: its jobs would write the job file itself; name another target");
    }
    Ok(())
}
