//! Interrupts that one CPU takes, as a suspect.

use std::collections::BTreeMap;

use iodyno_model::{Host, Measurement, RunRecord};
use thiserror::Error;

use crate::control_group::confined;
use crate::figures::percent;
use crate::place::bottoms;

/// Fewer interrupts than these are no load.
const LEAST: u64 = 10_000;
/// One CPU that takes this share has all of them but for stray ones.
const ALL: f64 = 0.9;

/// The CPU that took the interrupts of all queues of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneCpu {
    /// Its number.
    pub cpu: u32,
    /// What it took, a sentence.
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

/// The CPU that took the interrupts of all queues though several threads
/// submitted. `Ok(None)`: there is none.
///
/// # Errors
/// What is missing to tell.
pub fn interrupts_on_one_cpu(
    record: &RunRecord,
    of: &Measurement,
) -> Result<Option<OneCpu>, Missing> {
    // One thread gets its completions where it runs.
    let threads = of.conditions.threads.or(of.workload.numjobs);
    let Some(threads) = threads else {
        return Err("how many threads submitted is not known".into());
    };
    if threads < 2 || of.conditions.cpus.len() == 1 {
        return Ok(None);
    }
    let snapshot = |index: Option<usize>| record.snapshots.get(index?);
    let (Some(before), Some(after)) = (snapshot(of.before), snapshot(of.after)) else {
        return Err("interrupts around it are not recorded".into());
    };
    // Threads that a cpuset keeps on one CPU get their completions there, too.
    if confined(before).is_some_and(|(_, cpus)| cpus == 1) {
        return Ok(None);
    }
    let mut looked = false;
    for device in bottoms(before, of) {
        let Some(function) = device.pci_function.as_deref() else { continue };
        let Some((queues, by_cpu)) = taken(before, after, function) else { continue };
        looked = true;
        let total = by_cpu.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let Some((cpu, most)) = by_cpu.iter().max_by_key(|(_, count)| **count) else { continue };
        let share = *most as f64 / total as f64;
        // With one queue there is nothing to be spread.
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

/// How many interrupts for I/O a PCI function has, and how many of them each
/// CPU took between two snapshots; `None` where it has none.
fn taken(before: &Host, after: &Host, function: &str) -> Option<(usize, BTreeMap<u32, u64>)> {
    let mut by_cpu = BTreeMap::new();
    let mut queues = 0;
    for now in after.interrupts_of(function) {
        // Queue 0 is the admin queue.
        if now.name.ends_with("q0") {
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
