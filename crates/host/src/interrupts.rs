//! Reads interrupts of storage.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::Interrupt;

use crate::read;
use crate::source::Source;

/// Reads the interrupts of these PCI functions, by number. Message-signalled ones only: a legacy
/// line is shared, and its interrupts cannot be attributed.
pub(crate) fn read(source: &dyn Source, functions: &BTreeSet<String>) -> Vec<Interrupt> {
    let mut owners: BTreeMap<u32, &String> = BTreeMap::new();
    for function in functions {
        let folder = format!("/sys/bus/pci/devices/{function}/msi_irqs");
        let numbers = source.list(&folder).unwrap_or_default();
        owners.extend(numbers.iter().filter_map(|name| Some((name.parse().ok()?, function))));
    }
    if owners.is_empty() {
        return Vec::new();
    }
    let text = read::file(source, "/proc/interrupts").unwrap_or_default();
    let mut lines = text.lines();
    let cpus = lines.next().and_then(columns).unwrap_or_default();
    let interrupt = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        let function = owners.get(&number)?;
        let (counts, name) = counts(rest, &cpus)?;
        let effective = format!("/proc/irq/{number}/effective_affinity_list");
        Some(Interrupt {
            number,
            function: (*function).clone(),
            name,
            counts,
            effective_cpus: read::parsed(source, &effective, read::cpu_list),
        })
    };
    let mut found: Vec<Interrupt> = lines.filter_map(interrupt).collect();
    found.sort_by_key(|interrupt| interrupt.number);
    found
}

/// Parses `CPU0 CPU1 CPU3`: the columns' CPUs, those that are online.
fn columns(header: &str) -> Option<Vec<u32>> {
    header.split_ascii_whitespace().map(|name| name.strip_prefix("CPU")?.parse().ok()).collect()
}

/// Parses `22 0 PCI-MSIX-0000:01:00.0 1-edge nvme0q1`: the counts of each CPU, and the name at the
/// end.
fn counts(rest: &str, cpus: &[u32]) -> Option<(BTreeMap<u32, u64>, String)> {
    let mut words = rest.split_ascii_whitespace();
    let mut counts = BTreeMap::new();
    for cpu in cpus {
        let count = words.next()?.parse().ok()?;
        if count > 0 {
            counts.insert(*cpu, count);
        }
    }
    Some((counts, read::clean(words.next_back()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_the_cpus_that_took_it() {
        let cpus = columns("           CPU0       CPU2").unwrap();
        assert_eq!(cpus, [0, 2]);
        let line = "       0   22800365 PCI-MSIX-0000:00:02.0   1-edge      nvme0q1";
        assert_eq!(counts(line, &cpus), Some(([(2, 22_800_365)].into(), "nvme0q1".into())));
        assert_eq!(counts(" 0 1", &cpus), None);
        assert_eq!(counts(" 0 x nvme", &cpus), None);
        assert_eq!(columns("garbage"), None);
    }
}
