//! Qualifies completions of many threads on a single CPU.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::limiter::{Missing, interrupts_on_one_cpu};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "interrupts-on-one-cpu",
    summary: "interrupts of all queues of a drive on one CPU, although several submit",
    affected_by,
    what: "one CPU took the interrupts of all queues",
    why: "It handles the completions of all others: once it is busy the rate grows no more, and \
          latencies contain the way between the CPUs.",
    next: "See where they go: grep INTERRUPT /proc/interrupts; \
           sudo grep . /proc/irq/*/INTERRUPT*/../effective_affinity_list. Then look for what bound \
           them: isolcpus or nr_cpus on the kernel's command line, irqbalance, a script.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    Ok(interrupts_on_one_cpu(context.record(), of)
        .map_err(|Missing(what)| what)?
        .map(|one| one.why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, interrupts, reserves};
    use iodyno_model::{RunRecord, Severity};

    /// Four queues whose interrupts went to the CPUs given by `cpu`.
    fn run(cpu: fn(u32) -> u32, threads: u32, count: u64) -> RunRecord {
        let bench = Bench::new(1).measured().host(|host| {
            host.blocks[0].pci_function = Some("0000:10:00.0".into());
            host.interrupts = interrupts(cpu, 7);
        });
        let bench = bench.after(|host| host.interrupts = interrupts(cpu, 7 + count));
        each(bench, |of| of.conditions.threads = Some(threads)).record()
    }

    #[test]
    fn one_cpu_for_all_queues_is_reported() {
        assert_eq!(check_rule(&RULE, &run(|queue| queue, 8, 10_000)), Outcome::Clear);
        // One thread, or almost no interrupts.
        assert_eq!(check_rule(&RULE, &run(|_| 3, 1, 10_000)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &run(|_| 3, 8, 10)), Outcome::Clear);
        let one = run(|_| 3, 8, 10_000);
        check_rule(&RULE, &one).only(Severity::Info);
        let why = reserves(&RULE, &one, 0).unwrap().why;
        assert_eq!(why, "CPU 3 took 100 % of the interrupts of nvme0n1's 4 queues");
        // The one queue of a virtual disk, whose other interrupt tells of changes of its size.
        let mut virtio = one.clone();
        for (n, host) in virtio.snapshots.iter_mut().enumerate() {
            host.interrupts = interrupts(|_| 3, 7 + 10_000 * (n.min(1) as u64));
            host.interrupts.truncate(2);
            host.interrupts[0].name = "virtio1-config".into();
            host.interrupts[0].counts.clear();
            host.interrupts[1].name = "virtio1-req.0".into();
        }
        assert_eq!(check_rule(&RULE, &virtio), Outcome::Clear);
        // The effect of a cpuset is not an interrupt setting.
        let mut cpuset_group = one.clone();
        for host in &mut cpuset_group.snapshots {
            let cpus = crate::testing::known(vec![3]);
            let group = iodyno_model::ControlGroup { cpus, ..Default::default() };
            host.control_groups = crate::testing::known(vec![group]);
        }
        assert_eq!(check_rule(&RULE, &cpuset_group), Outcome::Clear);
        let mut blind = one;
        blind.snapshots.iter_mut().for_each(|host| host.interrupts.clear());
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
