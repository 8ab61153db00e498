//! Targets given by name, on each of which all jobs work.

use iodyno_model::{Host, Run};
use iodyno_target::{Target, TargetError, unmatched_permissions};

use super::Targets;
use super::cleared::{ClearedTarget, clear};
use super::prepared::PreparedTarget;
use super::scratch::Scratches;
use crate::error::CampaignError;
use crate::tools::{Options, Tools};

/// Targets to be cleared.
pub(crate) struct NamedTargets<'t> {
    pub(crate) targets: Vec<&'t Target>,
    /// Devices that background load may write.
    pub(crate) neighbours: Vec<&'t Target>,
    /// Either all targets are usable, or none is used.
    pub(crate) all_or_none: bool,
    /// The targets are written.
    pub(crate) writes: bool,
    /// Largest block of the jobs, bytes.
    pub(crate) block_bytes: u64,
    /// Time to write a scratch file for, ns.
    pub(crate) scratch_ns: u64,
}

impl NamedTargets<'_> {
    /// Clears them; directories get a scratch file. Unusable targets are skipped unless all are
    /// needed.
    ///
    /// # Errors
    /// A needed target or a neighbour cannot be cleared, or a word of the permission names nothing
    /// that is written.
    pub(crate) fn clear(
        &self,
        tools: &mut Tools<'_>,
        host: &Host,
        run: &mut Run,
        options: &Options,
        scratches: &mut Scratches,
    ) -> Result<Targets, CampaignError> {
        let permission = &options.permission;
        let mut cleared: Vec<(&Target, ClearedTarget)> = Vec::new();
        let mut refused = None;
        for target in &self.targets {
            if tools.is_interrupted() {
                break;
            }
            let held = match target.is_directory() && !self.writes {
                true => scratches
                    .make(tools, &run.id, (target, host), self.scratch_ns)
                    .map(|clearance| ClearedTarget::Read((*target).clone(), clearance)),
                false => clear(host, (*target).clone(), self.writes, permission),
            };
            match held.and_then(|held| self.holding_a_block(held)) {
                Ok(held) => cleared.push((target, held)),
                Err(CampaignError::Interrupted) => break,
                Err(error) if self.all_or_none => {
                    refused = Some(error);
                    break;
                }
                Err(error) => {
                    let (why, next) = (error.to_string(), error.next_step());
                    tools.skip_failed(run, target.name(), None, &why, &next);
                }
            }
        }
        let count = cleared.len();
        for target in &self.neighbours {
            match clear(host, (*target).clone(), true, permission) {
                Ok(held) => cleared.push((target, held)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let written = cleared.iter().filter_map(|(_, held)| held.access().write());
        let unused = unmatched_permissions(permission, written).first().cloned();
        if let Some(error) = refused.or(unused.map(CampaignError::UnusedAllowance)) {
            return Err(error);
        }
        let mut targets = Targets::default();
        for (n, (target, held)) in cleared.into_iter().enumerate() {
            let (access, is_neighbour) = (held.access(), n >= count);
            let mut remarks = if is_neighbour { Vec::new() } else { target.remarks() };
            remarks.extend(access.read().remark().filter(|_| !is_neighbour));
            let (name, scratch) = (target.name(), target.is_directory());
            let device = target.device();
            targets.prepared.push(PreparedTarget {
                is_neighbour,
                has_character_device: self.all_or_none && access.open_character().is_ok(),
                ..PreparedTarget::new(host, name, access.read(), device, scratch, remarks)
            });
            targets.held.push(held);
        }
        targets.set_indices();
        Ok(targets)
    }

    /// Refuses a target smaller than the largest block, e.g. a defective drive.
    fn holding_a_block(&self, held: ClearedTarget) -> Result<ClearedTarget, CampaignError> {
        let clearance = held.access().read();
        let size = clearance.size_bytes();
        if size >= self.block_bytes {
            return Ok(held);
        }
        let name = clearance.name().to_owned();
        let block_bytes = u32::try_from(self.block_bytes).unwrap_or(u32::MAX);
        Err(TargetError::TooSmall { name, size, block_bytes }.into())
    }
}
