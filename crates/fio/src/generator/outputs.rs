//! Checks files that fio itself will write, before it starts.

use std::path::Path;

use iodyno_files::{FileError, NameOrigin, inspect_log, look, refuse_shared_folder, rename};
use iodyno_job::{IOLOG_HEAD, Job};

use crate::out::LogKind;

/// Returns the job with its own log names, for a fio that numbers the logs of its sections from 1,
/// after `before` sections of earlier fios. [`number_logs`] renames them.
pub(super) fn with_own_logs(job: &Job, before: usize) -> Job {
    let mut own = job.clone();
    let logs = &mut own.report.logs;
    // A common log is written at the end.
    if before > 0 && logs.per_job {
        let all = [&mut logs.bandwidth, &mut logs.iops, &mut logs.latency, &mut logs.histogram];
        for log in all.into_iter().flatten() {
            let prefix = log.prefix.as_deref().unwrap_or(&job.name);
            log.prefix = Some(format!("{prefix}.iodyno-{before}"));
        }
    }
    own
}

/// Renames the logs of a section, with this number in its fio, to the number they would have if a
/// single fio ran all.
///
/// # Errors
/// A log cannot be renamed.
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

/// Names of the logs of a section with this number (from 1).
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

/// Refuses unsafe output files of a section of `job` other than its targets: the one with this
/// number in its fio, after `before` of earlier ones.
///
/// # Errors
/// One of the files is a device, a link, or belongs to somebody else.
pub(super) fn check(job: &Job, section: usize, before: usize) -> Result<(), FileError> {
    let own = logs(&with_own_logs(job, before), section);
    for name in logs(job, section + before).iter().chain(&own) {
        look(Path::new(name), NameOrigin::Iodyno)?;
        // fio opens its logs at its end.
        refuse_shared_folder(Path::new(name))?;
    }
    if let Some(path) = &job.replay.write_iolog {
        refuse_shared_folder(Path::new(path))?;
        // Checked like a name made by iodyno: fio opens it again, and a link may lead elsewhere by
        // then.
        inspect_log(Path::new(path), NameOrigin::Iodyno, IOLOG_HEAD)?;
    }
    Ok(())
}
