//! Completions of many threads that one CPU has to handle.

use std::collections::BTreeMap;

use iodyno_model::{Host, Measurement};

use super::qualifies::{Qualifies, Seen};
use crate::compare::percent;
use crate::facts::Facts;
use crate::place::bottoms;

/// Fewer interrupts than these are no load.
const LEAST: u64 = 10_000;
/// One CPU that takes this share has all of them but for stray ones.
const ALL: f64 = 0.9;

pub(super) static RULE: Qualifies = Qualifies {
    id: "interrupts-on-one-cpu",
    summary: "interrupts of all of a drive's queues on one CPU, though several submit",
    look,
    what: "one CPU took the interrupts of all queues",
    why: "It handles the completions of all others: once it is busy the rate grows no more, and \
          latencies contain the way between the CPUs.",
    next: "See where they go: grep INTERRUPT /proc/interrupts; \
           sudo grep . /proc/irq/*/INTERRUPT*/../effective_affinity_list. Then look for what bound \
           them: isolcpus or nr_cpus on the kernel's command line, irqbalance, a script.",
};

fn look(facts: &Facts<'_>, of: &Measurement) -> Seen {
    // One thread gets its completions where it runs.
    let threads = of.conditions.threads.or(of.workload.numjobs);
    let Some(threads) = threads else {
        return Err("how many threads submitted is not known".into());
    };
    if threads < 2 || of.conditions.cpus.len() == 1 {
        return Ok(None);
    }
    let snapshot = |index: Option<usize>| facts.record().snapshots.get(index?);
    let (Some(before), Some(after)) = (snapshot(of.before), snapshot(of.after)) else {
        return Err("interrupts around it are not recorded".into());
    };
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
            return Ok(Some(format!(
                "CPU {cpu} took {} of the interrupts of {}'s {queues} queues",
                percent(share),
                device.name
            )));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, each, look, reserves};
    use iodyno_model::{Fact, Interrupt, RunRecord, Severity};

    /// Four queues whose interrupts went to the CPUs that `cpu` says.
    fn run(cpu: fn(u32) -> u32, threads: u32, count: u64) -> RunRecord {
        let interrupts = |count: u64| -> Vec<Interrupt> {
            (0..5)
                .map(|queue| Interrupt {
                    number: 40 + queue,
                    function: "0000:10:00.0".into(),
                    name: format!("nvme0q{queue}"),
                    counts: [(cpu(queue), count)].into(),
                    effective_cpus: Fact::Absent,
                })
                .collect()
        };
        let bench = Bench::new(1).measured().host(|host| {
            host.blocks[0].pci_function = Some("0000:10:00.0".into());
            host.interrupts = interrupts(7);
        });
        let bench = bench.after(|host| host.interrupts = interrupts(7 + count));
        each(bench, |of| of.conditions.threads = Some(threads)).record()
    }

    #[test]
    fn one_cpu_for_the_queues_of_many_is_told() {
        assert_eq!(look(&RULE, &run(|queue| queue, 8, 10_000)), Outcome::Clear);
        // One thread, or next to none.
        assert_eq!(look(&RULE, &run(|_| 3, 1, 10_000)), Outcome::Clear);
        assert_eq!(look(&RULE, &run(|_| 3, 8, 10)), Outcome::Clear);
        let one = run(|_| 3, 8, 10_000);
        look(&RULE, &one).only(Severity::Info);
        let why = reserves(&RULE, &one, 0).unwrap().why;
        assert_eq!(why, "CPU 3 took 100 % of the interrupts of nvme0n1's 4 queues");
        let mut blind = one;
        blind.snapshots.iter_mut().for_each(|host| host.interrupts.clear());
        assert_eq!(look(&RULE, &blind), Outcome::CannotTell);
    }
}
