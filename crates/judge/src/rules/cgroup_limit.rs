//! Finds control group limits that were reached.

use iodyno_model::{Evidence, Severity};

use super::{Checks, Reservation, Rule, Tally, finding};
use crate::control_group::{CgroupEffect, cgroup_effect};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "cgroup-limit",
    severity: Severity::Warn,
    summary: "control group limits (io.max, cpu.max, io.latency, io.cost) that were reached",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut groups: Vec<(CgroupEffect, Vec<Evidence>, Vec<String>)> = Vec::new();
    for (_, of) in context.finished() {
        let effect = match cgroup_effect(&context.index, of) {
            Err(missing) => {
                tally.unknown(of.title(), missing);
                continue;
            }
            Ok(effect) => effect,
        };
        tally.checked();
        let Some(effect) = effect else { continue };
        let evidence = Evidence::new(of.title(), effect.to_string());
        let is_same = |known: &CgroupEffect| {
            let kind = |of: &CgroupEffect| (of.group().to_owned(), of.setting(), of.is_known());
            kind(known) == kind(&effect)
        };
        match groups.iter_mut().find(|(known, ..)| is_same(known)) {
            Some((_, all, subjects)) => {
                all.push(evidence);
                subjects.extend(context.subjects(of));
                subjects.sort_unstable();
                subjects.dedup();
            }
            None => groups.push((effect, vec![evidence], context.subjects(of))),
        }
    }
    for (effect, evidence, subjects) in groups {
        let whose = match evidence.as_slice() {
            [only] => only.what.clone(),
            several => format!("{} measurements", several.len()),
        };
        let (setting, group) = (effect.setting(), effect.group());
        let (severity, how) = match effect.is_known() {
            true => (Severity::Warn, "held back by"),
            false => (Severity::Info, "may be held back by"),
        };
        let what = format!("{whose}: {how} {setting} of control group {group}.");
        let why = "The figures show the limit, not the drive or the CPU.";
        tally.found(finding(severity, subjects, what, evidence, why, effect.next()));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let effect = cgroup_effect(&context.index, of).ok()??;
    Some(Reservation::qualified(effect.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess;
    use crate::question::Question;
    use crate::testing::{Bench, Outcome, check_rule, claims, known, reserves, scale};
    use iodyno_model::{ControlGroup, Fact, IoMax};

    #[test]
    fn a_drive_below_its_claim_is_not_to_blame_for_a_limit() {
        let slow = |limit: Option<u64>| {
            let bench = Bench::new(1).measured().measurement(1, |of| scale(of, 0.5));
            let bench = bench.host(|host| {
                let read_iops = limit;
                let io_max =
                    vec![IoMax { device: "nvme0n1".into(), read_iops, ..IoMax::default() }];
                let group = ControlGroup { path: "/a".into(), io_max, ..ControlGroup::default() };
                host.control_groups = known(vec![group]);
            });
            let mut record = bench.record();
            record.run.origin = iodyno_model::Origin::Measured;
            record
        };
        let free = slow(None);
        assert_eq!(check_rule(&RULE, &free), Outcome::Clear);
        let severity = |record: &iodyno_model::RunRecord| {
            let claims = claims();
            let question = Question { record, claims: &claims, baseline: None, expect: None };
            let all = assess(&question).findings;
            all.into_iter().find(|found| found.rule == "below-claim").map(|found| found.severity)
        };
        assert_eq!(severity(&free), Some(Severity::Fail));
        let limited = slow(Some(500_000));
        let outcome = check_rule(&RULE, &limited);
        let found = outcome.only(Severity::Warn);
        assert!(found.what.ends_with("held back by io.max of control group /a."), "{}", found.what);
        assert!(found.next.contains("/sys/fs/cgroup/a/io.max"), "{}", found.next);
        assert!(reserves(&RULE, &limited, 1).is_some());
        assert_eq!(severity(&limited), Some(Severity::Warn));
        let mut earlier = limited;
        for host in &mut earlier.snapshots {
            let Fact::Read(groups) = &mut host.control_groups else { continue };
            groups[0].path = "blkio:/docker/a".into();
        }
        let outcome = check_rule(&RULE, &earlier);
        let next = &outcome.only(Severity::Warn).next;
        assert!(
            next.contains("/sys/fs/cgroup/blkio/docker/a/blkio.throttle.read_iops_device"),
            "{next}"
        );
    }
}
