//! Interrupts of storage devices, and the CPUs that took them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

/// Interrupt of a PCI function; NVMe has one per queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Interrupt number, as in /proc/interrupts.
    pub number: u32,
    /// PCI address of the function.
    pub function: String,
    /// Name of the requester: `nvme0q1`.
    pub name: String,
    /// Interrupts taken by each CPU since boot; CPUs without any are left out.
    pub counts: BTreeMap<u32, u64>,
    /// CPUs that it is currently routed to.
    pub effective_cpus: Fact<Vec<u32>>,
}

impl Interrupt {
    /// Total since boot.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Interrupts taken by each CPU since `earlier`; CPUs without any are left out.
    pub fn since(&self, earlier: &Self) -> BTreeMap<u32, u64> {
        let before = |cpu: &u32| earlier.counts.get(cpu).copied().unwrap_or(0);
        let grown = self.counts.iter().map(|(cpu, now)| (*cpu, now.saturating_sub(before(cpu))));
        grown.filter(|(_, count)| *count > 0).collect()
    }
}
