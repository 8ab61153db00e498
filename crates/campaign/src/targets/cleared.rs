//! A cleared target, held while jobs work on it.

use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use iodyno_model::Host;
use iodyno_store::JournalEntry;
use iodyno_target::{
    Access, FilePlan, FillBuffer, LaidOut, Permission, ReadClearance, Surveyed, Target,
    WriteClearance, resolve_even_in_memory,
};

use super::prepared::PreparedTarget;
use crate::error::CampaignError;
use crate::profiles::is_made;
use crate::tools::Tools;
use crate::watch::Event;

#[derive(Debug)]
pub(crate) enum ClearedTarget {
    /// A device, or a file that is not laid out.
    Read(Target, ReadClearance),
    /// A device that may be written.
    Write(Target, WriteClearance),
    File(PathBuf, LaidOut),
    /// No storage.
    Nothing(WriteClearance),
}

impl ClearedTarget {
    /// Access that jobs have.
    pub(crate) const fn access(&self) -> Access<'_> {
        match self {
            Self::Read(_, clearance) => Access::Read(clearance),
            Self::Write(_, clearance) => Access::Write(clearance),
            Self::File(_, laid_out) => laid_out.access(),
            Self::Nothing(clearance) => Access::Write(clearance),
        }
    }

    /// Facts about it on `host`.
    pub(super) fn prepared(&self, host: &Host) -> PreparedTarget {
        let access = self.access();
        let clearance = access.read();
        let resolved;
        let target: Option<&Target> = match self {
            Self::Read(target, _) | Self::Write(target, _) => Some(target),
            Self::Nothing(clearance) if clearance.entry().is_none() => None,
            Self::File(..) | Self::Nothing(_) => {
                let path = match self {
                    Self::File(path, _) => path.display().to_string(),
                    _ => access.name().to_owned(),
                };
                resolved = resolve_even_in_memory(host, &path)
                    .ok()
                    .and_then(|targets| targets.into_iter().next());
                resolved.as_ref()
            }
        };
        let mut remarks = target.map(Target::remarks).unwrap_or_default();
        remarks.extend(clearance.remark());
        let device = target.and_then(|target| target.device());
        PreparedTarget::new(host, clearance.name(), clearance, device, false, remarks)
    }
}

/// Clears a device, for writing if `writes`.
pub(super) fn clear(
    host: &Host,
    target: Target,
    writes: bool,
    permission: &Permission,
) -> Result<ClearedTarget, CampaignError> {
    Ok(if writes {
        let clearance = target.clear_for_writing(host, permission)?;
        ClearedTarget::Write(target, clearance)
    } else {
        let clearance = target.clear_for_reading()?;
        ClearedTarget::Read(target, clearance)
    })
}

/// Lays out a file; one that a profile makes is in the journal of `run_id` before.
pub(super) fn lay_out(
    tools: &mut Tools<'_>,
    (host, run_id): (&Host, &str),
    name: &str,
    surveyed: Surveyed,
    permission: &Permission,
    contents: Option<&mut FillBuffer>,
) -> Result<ClearedTarget, CampaignError> {
    let FilePlan { path, size_bytes, .. } = surveyed.plan().clone();
    let begun = Instant::now();
    let mut noted = match is_made(name) && path.symlink_metadata().is_err() {
        true => Some(note(tools, run_id, &path)?),
        false => None,
    };
    let laid_out = surveyed.lay_out(host, permission, contents, &mut |written_bytes| {
        // On failure it is noted again below.
        noted = noted.take().filter(|noted| !identify(tools, run_id, noted).unwrap_or(false));
        tools.watcher.event(&Event::Scratch {
            directory: name,
            written_bytes,
            most_bytes: size_bytes,
            elapsed_ns: begun.elapsed().as_nanos() as u64,
        });
        match tools.interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    if let Some(noted) = &noted {
        identify(tools, run_id, noted)?;
    }
    Ok(ClearedTarget::File(path, laid_out))
}

/// Number of a journal entry, and the absolute path of its file.
type Noted = (i64, PathBuf);

/// Notes in the journal that a file is about to be made.
fn note(tools: &mut Tools<'_>, run_id: &str, path: &Path) -> Result<Noted, CampaignError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let entry = JournalEntry::FitFile { path: path.display().to_string(), identity: None };
    Ok((tools.store.journal_add(run_id, &entry)?, path))
}

/// Adds the identity of the file to its journal entry, once it exists.
fn identify(tools: &mut Tools<'_>, run_id: &str, noted: &Noted) -> Result<bool, CampaignError> {
    let (ordinal, path) = noted;
    let Ok(found) = path.symlink_metadata() else { return Ok(false) };
    let identity = Some((found.dev(), found.ino()));
    let entry = JournalEntry::FitFile { path: path.display().to_string(), identity };
    tools.store.journal_update(run_id, *ordinal, &entry)?;
    Ok(true)
}
