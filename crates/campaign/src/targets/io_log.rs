//! Logs of I/O that jobs write.

use std::path::{Path, absolute};

use iodyno_files::{NameOrigin, inspect_log};
use iodyno_job::script::Script;
use iodyno_job::{IOLOG_HEAD, Job};

/// Checks that the log of `job` (`write_iolog`) can be created, and is no target of a job.
///
/// # Errors
/// Why not.
pub(super) fn check_io_log(script: &Script, job: &Job) -> Result<(), String> {
    let Some(log) = &job.replay.write_iolog else { return Ok(()) };
    inspect_log(Path::new(log), NameOrigin::User, IOLOG_HEAD)
        .map_err(|error| format!("write_iolog: {error}"))?;
    let is_log = |name: &String| absolute(name).ok() == absolute(log).ok();
    match super::jobs(script).any(|other| other.job.files.paths.iter().any(is_log)) {
        true => Err(format!("write_iolog={log}: a job has it as its file")),
        false => Ok(()),
    }
}
