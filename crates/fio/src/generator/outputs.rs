//! Files that fio itself will write, looked at before it starts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use iodyno_files::{FileError, NamedBy, There, look};
use iodyno_job::Job;
use thiserror::Error;

use crate::out::LogKind;

/// How fio's logs of I/Os begin (fio's HOWTO, "Trace file format").
const IOLOG_HEAD: &[u8] = b"fio version";

/// A file that fio would write, and must not.
#[derive(Debug, Error)]
pub(super) enum OutputError {
    #[error(transparent)]
    File(#[from] FileError),
    /// fio would write behind what is there.
    #[error(
        "write_iolog={0}: there is another file already, which is no log of fio's; name a new one"
    )]
    Foreign(String),
}

/// Refuses what the sections of `job`, the first of which has this number (from 1),
/// would write beside their targets.
///
/// # Errors
/// One of the files is a device, a link, or somebody else's.
pub(super) fn refuse(job: &Job, section: usize) -> Result<(), OutputError> {
    let logs = &job.report.logs;
    let number = logs.per_job.then(|| u32::try_from(section).unwrap_or(u32::MAX));
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
            look(Path::new(&name), NamedBy::Iodyno)?;
            // log_store_compressed
            look(Path::new(&format!("{name}.fz")), NamedBy::Iodyno)?;
        }
    }
    if let Some(path) = &job.replay.write_iolog {
        // As a name of ours: fio opens it again, and a link may lead elsewhere by then.
        let there = look(Path::new(path), NamedBy::Iodyno)?;
        if matches!(there, There::File(_)) && !is_iolog(Path::new(path)) {
            return Err(OutputError::Foreign(path.clone()));
        }
    }
    Ok(())
}

/// Whether it is empty or one of fio's.
fn is_iolog(path: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(IOLOG_HEAD.len() as u64).read_to_end(&mut head));
    read.is_ok() && (head.is_empty() || head == IOLOG_HEAD)
}
