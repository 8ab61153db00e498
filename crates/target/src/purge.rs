//! Purges drives by their own commands: Format NVM and Sanitize.
//!
//! Such a command may reach further than the named namespace. Everything that it reaches is cleared
//! for writing first, so that it is unused, named and held, before anything is sent.

mod reach;

use std::ops::ControlFlow;
use std::time::Duration;

use iodyno_host::{
    AdminRead, Live, NamespaceFormat, SanitizeState, SanitizeStatus, Source, parse_format_in_use,
    parse_identify_namespace, parse_sanitize_status,
};
use iodyno_model::{Host, Namespace, PurgeMethod};
use rustix::fs::{Advice, SeekFrom};

use crate::nvme::{Command, SanitizeAction, SecureErase, send};
use crate::target::Target;
use crate::{BlindSpot, Permission, TargetError, WriteClearance, resolve};
use reach::Reach;

/// Polling interval of a sanitize's progress.
const POLL: Duration = Duration::from_millis(500);

/// Predicted effect of a purge.
#[derive(Debug, Clone, PartialEq)]
pub struct PurgeEstimate {
    /// Namespaces whose data it destroys, by block device name; the target first.
    pub reaches: Vec<String>,
    /// The drive's own estimate of the duration, s; `None`: not reported.
    pub estimated_s: Option<u32>,
}

/// Result of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurgeEnd {
    /// The drive is empty.
    Done,
    /// Waiting was stopped; the drive continues by itself, whatever happens.
    LeftGoing,
}

/// A purge by a command of the drive, with everything that it reaches cleared for writing and held.
#[derive(Debug)]
pub struct Purge {
    controller: String,
    command: Command,
    is_sanitize: bool,
    reached: Vec<Reached>,
}

/// A namespace that a purge reaches.
#[derive(Debug)]
struct Reached {
    clearance: WriteClearance,
    nsid: u32,
    geometry: Geometry,
}

/// Properties that a purge must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Geometry {
    size_blocks: u64,
    format: NamespaceFormat,
}

/// Predicts what `method` would do to `target`. Only reads.
///
/// # Errors
/// The drive does not support it, or its reach is unknown.
pub fn estimate_purge(
    host: &Host,
    target: &Target,
    method: PurgeMethod,
) -> Result<PurgeEstimate, TargetError> {
    if method == PurgeMethod::Discard {
        let reaches = vec![target.name().to_owned()];
        return Ok(PurgeEstimate { reaches, estimated_s: None });
    }
    let reach = Reach::of(&Live::new(), host, target.name(), method)?;
    let reaches = reach.namespaces.iter().map(|one| one.name.clone()).collect();
    Ok(PurgeEstimate { reaches, estimated_s: reach.estimated_s })
}

/// Clears everything that `method` reaches from `targets`, and makes one purge for each drive or
/// namespace: a command that reaches two targets is sent once. Empty for [`PurgeMethod::Discard`],
/// which is a job.
///
/// # Errors
/// As [`estimate_purge`] and [`Target::clear_for_writing`], for everything that it reaches.
pub fn clear_for_purge(
    targets: &[Target],
    host: &Host,
    permission: &Permission,
    method: PurgeMethod,
) -> Result<Vec<Purge>, TargetError> {
    clear_with(&Live::new(), targets, host, permission, method)
}

/// As [`clear_for_purge`], with facts supplied by a test.
pub(crate) fn clear_with(
    source: &dyn Source,
    targets: &[Target],
    host: &Host,
    permission: &Permission,
    method: PurgeMethod,
) -> Result<Vec<Purge>, TargetError> {
    let mut purges: Vec<Purge> = Vec::new();
    if method == PurgeMethod::Discard {
        return Ok(purges);
    }
    for target in targets {
        if purges.iter().flat_map(Purge::reached).any(|one| one.as_read().name() == target.name()) {
            continue;
        }
        let reach = Reach::of(source, host, target.name(), method)?;
        let mut reached = Vec::with_capacity(reach.namespaces.len());
        for namespace in &reach.namespaces {
            let found = resolve(host, &namespace.name)?;
            let clearance = found.first().map(|one| one.clear_with(source, host, permission));
            let changed = || TargetError::Changed { name: namespace.name.clone() };
            let clearance = clearance.ok_or_else(changed)?.map_err(|error| {
                if namespace.name == target.name() {
                    return error;
                }
                TargetError::Beside { name: target.name().into(), error: Box::new(error) }
            })?;
            let nsid = nsid_of(namespace)?;
            let geometry = geometry(source, &reach.drive.name, namespace, nsid)?;
            reached.push(Reached { clearance, nsid, geometry });
        }
        if let (Some(blind), Some(first)) = (reach.blind, reached.first()) {
            verify_visibility(permission, first, blind)?;
        }
        let (erase, sanitize) = nvme_action(method);
        let command = match (sanitize, reached.first()) {
            (Some(action), _) => Command::sanitize(action),
            (None, Some(first)) => Command::format(first.nsid, first.geometry.format, erase),
            (None, None) => return Err(TargetError::Changed { name: target.name().into() }),
        };
        purges.push(Purge {
            controller: reach.drive.name.clone(),
            command,
            is_sanitize: sanitize.is_some(),
            reached,
        });
    }
    Ok(purges)
}

/// Verifies that everything a purge reaches is visible here, or that the user takes responsibility
/// for the rest.
fn verify_visibility(
    permission: &Permission,
    target: &Reached,
    blind: BlindSpot,
) -> Result<(), TargetError> {
    let words = target.clearance.words();
    if permission.assume_unused.iter().any(|word| words.contains(word)) {
        return Ok(());
    }
    Err(TargetError::NotKnown {
        name: target.clearance.as_read().name().into(),
        word: words.first().cloned().unwrap_or_default(),
        blind: vec![blind],
    })
}

/// Maps a method to the drive's parameters.
const fn nvme_action(method: PurgeMethod) -> (SecureErase, Option<SanitizeAction>) {
    match method {
        PurgeMethod::Discard | PurgeMethod::Format => (SecureErase::None, None),
        PurgeMethod::FormatUserErase => (SecureErase::UserData, None),
        PurgeMethod::FormatCrypto => (SecureErase::Cryptographic, None),
        PurgeMethod::SanitizeBlock => (SecureErase::None, Some(SanitizeAction::BlockErase)),
        PurgeMethod::SanitizeCrypto => (SecureErase::None, Some(SanitizeAction::CryptoErase)),
    }
}

fn query(
    source: &dyn Source,
    name: &str,
    controller: &str,
    command: AdminRead,
) -> Result<Vec<u8>, TargetError> {
    source.admin(controller, command).map_err(|error| {
        let action = "query its controller about purging";
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                TargetError::NoPermission { name: name.into(), action }
            }
            _ => TargetError::Io { name: name.into(), action, error },
        }
    })
}

fn sanitize_status(
    source: &dyn Source,
    name: &str,
    controller: &str,
) -> Result<SanitizeStatus, TargetError> {
    let page = query(source, name, controller, AdminRead::SanitizeStatus)?;
    parse_sanitize_status(&page).ok_or_else(|| TargetError::CannotPurge {
        name: name.into(),
        why: "its Sanitize Status log is invalid".into(),
        offered: Vec::new(),
    })
}

fn nsid_of(namespace: &Namespace) -> Result<u32, TargetError> {
    namespace.nsid.value().ok_or_else(|| TargetError::CannotPurge {
        name: namespace.name.clone(),
        why: "its namespace id is unknown".into(),
        offered: vec![PurgeMethod::Discard],
    })
}

fn geometry(
    source: &dyn Source,
    controller: &str,
    namespace: &Namespace,
    nsid: u32,
) -> Result<Geometry, TargetError> {
    let name = &namespace.name;
    let page = query(source, name, controller, AdminRead::IdentifyNamespace(nsid))?;
    let geometry = || {
        let size_blocks = parse_identify_namespace(&page)?.size_blocks;
        Some(Geometry { size_blocks, format: parse_format_in_use(&page)? })
    };
    geometry().ok_or_else(|| TargetError::CannotPurge {
        name: name.clone(),
        why: "its format is unknown".into(),
        offered: vec![PurgeMethod::Discard],
    })
}

impl Purge {
    /// Everything that it destroys: cleared, and held until the purge is dropped.
    pub fn reached(&self) -> impl Iterator<Item = &WriteClearance> {
        self.reached.iter().map(|one| &one.clearance)
    }

    /// Purges, and waits for the end. `progress` gets the completed share if the drive reports it,
    /// and returns whether to go on waiting; a format reports no progress and cannot be left.
    ///
    /// # Errors
    /// The drive refuses or fails, or its format changed.
    pub fn carry_out(
        &self,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<PurgeEnd, TargetError> {
        let Some(first) = self.reached.first() else { return Ok(PurgeEnd::Done) };
        let action = if self.is_sanitize { "sanitize it" } else { "format it" };
        let name = first.clearance.as_read().name();
        send(&first.clearance, self.command).map_err(|error| TargetError::Io {
            name: name.into(),
            action,
            error,
        })?;
        let source = Live::new();
        if self.is_sanitize && self.wait(&source, name, progress)? == PurgeEnd::LeftGoing {
            return Ok(PurgeEnd::LeftGoing);
        }
        self.reached.iter().try_for_each(|one| one.verify(&source, &self.controller))?;
        Ok(PurgeEnd::Done)
    }

    /// Waits until a sanitize ends.
    fn wait(
        &self,
        source: &dyn Source,
        name: &str,
        progress: &dyn Fn(f64) -> ControlFlow<()>,
    ) -> Result<PurgeEnd, TargetError> {
        loop {
            let status = sanitize_status(source, name, &self.controller)?;
            match status.state {
                SanitizeState::Going => {}
                SanitizeState::Done => return Ok(PurgeEnd::Done),
                SanitizeState::Failed | SanitizeState::Never => {
                    return Err(TargetError::CannotPurge {
                        name: name.into(),
                        why: "its drive reports a failed sanitize".into(),
                        offered: vec![PurgeMethod::SanitizeBlock, PurgeMethod::Format],
                    });
                }
            }
            if progress(status.done).is_break() {
                return Ok(PurgeEnd::LeftGoing);
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Reached {
    /// Verifies that the namespace has its former size and format. Drops the page cache, which
    /// still holds the old data.
    fn verify(&self, source: &dyn Source, controller: &str) -> Result<(), TargetError> {
        let read = self.clearance.as_read();
        let name = read.name();
        let failed = |errno| TargetError::of(name, "look at it", errno);
        rustix::fs::fadvise(read, 0, None, Advice::DontNeed).map_err(failed)?;
        let size_bytes = rustix::fs::seek(read, SeekFrom::End(0)).map_err(failed)?;
        let page = query(source, name, controller, AdminRead::IdentifyNamespace(self.nsid))?;
        let is_same = size_bytes == read.size_bytes()
            && parse_format_in_use(&page) == Some(self.geometry.format)
            && parse_identify_namespace(&page)
                .is_some_and(|now| now.size_blocks == self.geometry.size_blocks);
        is_same.then_some(()).ok_or_else(|| TargetError::Reshaped { name: name.into() })
    }
}

#[cfg(test)]
#[path = "purge_tests.rs"]
mod tests;
