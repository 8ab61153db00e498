//! A cleared target, held while jobs work on it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use iodyno_model::Host;
use iodyno_target::{
    Access, FilePlan, FillBuffer, LaidOut, Permission, ReadClearance, Surveyed, Target,
    WriteClearance, resolve_even_in_memory,
};

use super::prepared::PreparedTarget;
use crate::error::CampaignError;
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

pub(super) fn lay_out(
    tools: &mut Tools<'_>,
    host: &Host,
    name: &str,
    surveyed: Surveyed,
    permission: &Permission,
    contents: Option<&mut FillBuffer>,
) -> Result<ClearedTarget, CampaignError> {
    let FilePlan { path, size_bytes, .. } = surveyed.plan().clone();
    let begun = Instant::now();
    let laid_out = surveyed.lay_out(host, permission, contents, &mut |written_bytes| {
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
    Ok(ClearedTarget::File(path, laid_out))
}
