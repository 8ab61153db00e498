//! Interrupts of storage, and the CPUs that they went to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

/// An interrupt of a PCI function: of NVMe, one for each queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its number, as in /proc/interrupts.
    pub number: u32,
    /// PCI address of the function that raises it.
    pub function: String,
    /// Who asked for it: `nvme0q1`.
    pub name: String,
    /// How many each CPU took since boot; CPUs that took none are left out.
    pub counts: BTreeMap<u32, u64>,
    /// CPUs that it goes to now.
    pub effective_cpus: Fact<Vec<u32>>,
}

impl Interrupt {
    /// How many were taken since boot.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// How many each CPU took since `earlier`; CPUs that took none are left out.
    pub fn since(&self, earlier: &Self) -> BTreeMap<u32, u64> {
        let before = |cpu: &u32| earlier.counts.get(cpu).copied().unwrap_or(0);
        let grown = self.counts.iter().map(|(cpu, now)| (*cpu, now.saturating_sub(before(cpu))));
        grown.filter(|(_, count)| *count > 0).collect()
    }
}
