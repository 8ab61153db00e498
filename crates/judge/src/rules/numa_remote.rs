//! Qualifies jobs on another NUMA node than the drive.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "numa-remote",
    summary: "jobs on CPUs of another NUMA node than the drive's",
    affected_by,
    what: "most of its CPUs are far from the drive",
    why: "Every block crosses the link between the sockets, which costs latency at low depth and \
          bandwidth where many drives do so.",
    next: "Keep the jobs on CPUs near the drive (cpus_allowed, numa_cpu_nodes) and compare: near is \
           mostly faster, not always.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    let nodes = &host.cpus.nodes;
    if nodes.len() < 2 {
        return Ok(None);
    }
    let cpus = &of.conditions.cpus;
    if cpus.is_empty() {
        return Err("its threads were not pinned, so their CPUs are not known".into());
    }
    for target in &of.targets {
        let Some(drive) = context.place(of, target).drive else {
            return Err(format!("the drive below {target} is not known"));
        };
        let Some(node) = drive.numa_node.value() else {
            return Err(format!("the NUMA node of {} is not known", drive.name));
        };
        let near = nodes.iter().find(|of| of.id == node).map_or(&[][..], |of| &of.cpus);
        let far = cpus.iter().filter(|cpu| !near.contains(cpu)).count();
        if far * 2 > cpus.len() {
            return Ok(Some(format!(
                "{far} of its {} CPUs are not on node {node}, where {} is",
                cpus.len(),
                drive.name
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, known, reserves};
    use iodyno_model::{Fact, NumaNode, Severity};

    #[test]
    fn remote_cpus_are_reported() {
        let bench = |cpus: &[u32]| {
            let bench = Bench::new(1).measured().host(|host| {
                host.cpus.nodes = vec![
                    NumaNode { id: 0, cpus: (0..8).collect() },
                    NumaNode { id: 1, cpus: (8..16).collect() },
                ];
            });
            each(bench, |of| of.conditions.cpus = cpus.to_vec())
        };
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        // On both nodes, as for a load on all CPUs.
        for near in [&[0, 1][..], &[7, 8], &(0..16).collect::<Vec<_>>()] {
            assert_eq!(check_rule(&RULE, &bench(near).record()), Outcome::Clear);
        }
        let far = bench(&[8, 9]).record();
        check_rule(&RULE, &far).only(Severity::Info);
        assert!(reserves(&RULE, &far, 0).unwrap().why.contains("node 0, where nvme0 is"));
        assert_eq!(check_rule(&RULE, &bench(&[]).record()), Outcome::CannotTell);
        let nowhere = bench(&[8]).drive(0, |drive| drive.numa_node = Fact::Absent);
        assert_eq!(check_rule(&RULE, &nowhere.record()), Outcome::CannotTell);
        let moved = bench(&[8]).drive(0, |drive| drive.numa_node = known(1));
        assert_eq!(check_rule(&RULE, &moved.record()), Outcome::Clear);
    }
}
