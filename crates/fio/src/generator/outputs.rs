//! Files that fio itself will write, looked at before it starts.

use std::path::Path;

use iodyno_files::{FileError, NamedBy, look, look_for_log, rename};
use iodyno_job::{IOLOG_HEAD, Job};

use crate::out::LogKind;

/// The same job for a fio that numbers the logs of its sections from 1 on, while `before` sections
/// of other fios were written: its logs have names of their own, until [`number_logs`].
pub(super) fn with_own_logs(job: &Job, before: usize) -> Job {
    let mut own = job.clone();
    let logs = &mut own.report.logs;
    // One log for all is written at its end.
    if before > 0 && logs.per_job {
        let all = [&mut logs.bandwidth, &mut logs.iops, &mut logs.latency, &mut logs.histogram];
        for log in all.into_iter().flatten() {
            let prefix = log.prefix.as_deref().unwrap_or(&job.name);
            log.prefix = Some(format!("{prefix}.iodyno-{before}"));
        }
    }
    own
}

/// Gives the logs of a section, with this number of its fio's, the number that they have where a
/// single fio carries out all.
///
/// # Errors
/// One has no other name now.
pub(super) fn number_logs(job: &Job, section: usize, before: usize) -> Result<(), FileError> {
    if before == 0 || !job.report.logs.per_job {
        return Ok(());
    }
    let numbered = logs(job, section + before);
    for (from, to) in logs(&with_own_logs(job, before), section).iter().zip(&numbered) {
        rename(Path::new(from), Path::new(to))?;
    }
    Ok(())
}

/// The names of the logs of a section with this number (from 1).
fn logs(job: &Job, section: usize) -> Vec<String> {
    let logs = &job.report.logs;
    let number = logs.per_job.then(|| u32::try_from(section).unwrap_or(u32::MAX));
    let mut names = Vec::new();
    for (log, kinds) in [
        (&logs.bandwidth, &[LogKind::Bandwidth][..]),
        (&logs.iops, &[LogKind::Iops]),
        (&logs.latency, &[LogKind::Latency, LogKind::Submission, LogKind::Completion]),
        (&logs.histogram, &[LogKind::Histogram]),
    ] {
        let Some(log) = log else { continue };
        let prefix = log.prefix.as_deref().unwrap_or(&job.name);
        for kind in kinds {
            let name = kind.file_name(prefix, number);
            // log_store_compressed
            names.extend([format!("{name}.fz"), name]);
        }
    }
    names
}

/// Refuses what a section of `job` would write beside its targets: the one with this number of
/// its fio's, after `before` of others.
///
/// # Errors
/// One of the files is a device, a link, or somebody else's.
pub(super) fn refuse(job: &Job, section: usize, before: usize) -> Result<(), FileError> {
    let own = logs(&with_own_logs(job, before), section);
    for name in logs(job, section + before).iter().chain(&own) {
        look(Path::new(name), NamedBy::Iodyno)?;
    }
    if let Some(path) = &job.replay.write_iolog {
        // As a name of ours: fio opens it again, and a link may lead elsewhere by then.
        look_for_log(Path::new(path), NamedBy::Iodyno, IOLOG_HEAD)?;
    }
    Ok(())
}
