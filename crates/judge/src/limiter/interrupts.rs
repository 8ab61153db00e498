//! Interrupts handled by a single CPU, as a suspect.

use std::collections::BTreeMap;

use iodyno_model::{Host, Measurement, RunRecord};
use thiserror::Error;

use crate::control_group::cpuset_group;
use crate::figures::percent;
use crate::place::bottom_devices;

/// Fewer interrupts than these are no load.
const LEAST: u64 = 10_000;
/// A CPU with this share handles all but stray interrupts.
const ALL: f64 = 0.9;

/// The CPU that handled the interrupts of all queues of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneCpu {
    /// CPU number.
    pub cpu: u32,
    /// Description.
    pub why: String,
}

/// What is missing to tell, in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Missing(pub String);

impl From<&str> for Missing {
    fn from(what: &str) -> Self {
        Self(what.into())
    }
}

/// Returns the CPU that handled the interrupts of all queues although several threads submitted.
/// `Ok(None)`: there is none.
///
/// # Errors
/// What is missing to tell.
pub fn interrupts_on_one_cpu(
    record: &RunRecord,
    of: &Measurement,
) -> Result<Option<OneCpu>, Missing> {
    // A single thread gets its completions on its own CPU.
    let threads = of.conditions.threads.or(of.workload.numjobs);
    let Some(threads) = threads else {
        return Err("number of submitters is not known".into());
    };
    if threads < 2 || of.conditions.cpus.len() == 1 {
        return Ok(None);
    }
    let snapshot = |index: Option<usize>| record.snapshots.get(index?);
    let (Some(before), Some(after)) = (snapshot(of.before), snapshot(of.after)) else {
        return Err("no interrupt counts were recorded".into());
    };
    // So do threads that a cpuset confines to one CPU.
    if cpuset_group(before).is_some_and(|(_, cpus)| cpus == 1) {
        return Ok(None);
    }
    let mut looked = false;
    for device in bottom_devices(before, of) {
        let Some(function) = device.pci_function.as_deref() else { continue };
        let Some((queues, by_cpu)) = taken(before, after, function) else { continue };
        looked = true;
        let total = by_cpu.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let Some((cpu, most)) = by_cpu.iter().max_by_key(|(_, count)| **count) else { continue };
        let share = *most as f64 / total as f64;
        // A single queue cannot be spread.
        if queues > 1 && total >= LEAST && share >= ALL {
            let share = percent(share);
            let why = format!(
                "CPU {cpu} took {share} of the interrupts of {}'s {queues} queues",
                device.name
            );
            return Ok(Some(OneCpu { cpu: *cpu, why }));
        }
    }
    match looked {
        true => Ok(None),
        false => Err("interrupts of its devices are not known".into()),
    }
}

/// Interrupts that are no queue of I/Os: NVMe's admin queue, and those that virtio disks have beside
/// their queues.
const NO_QUEUES: [&str; 4] = ["q0", "-config", "-control", "-event"];

/// Returns the number of I/O interrupts of a PCI function, and their counts by CPU between two
/// snapshots; `None` if it has none.
fn taken(before: &Host, after: &Host, function: &str) -> Option<(usize, BTreeMap<u32, u64>)> {
    let mut by_cpu = BTreeMap::new();
    let mut queues = 0;
    for now in after.interrupts_of(function) {
        if NO_QUEUES.iter().any(|end| now.name.ends_with(end)) {
            continue;
        }
        let earlier = before.interrupts_of(function).find(|one| one.number == now.number)?;
        queues += 1;
        for (cpu, count) in now.since(earlier) {
            let sum: &mut u64 = by_cpu.entry(cpu).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    (queues > 0).then_some((queues, by_cpu))
}
