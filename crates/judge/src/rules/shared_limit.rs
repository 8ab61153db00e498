//! Finds drives that slow each other down without a link that explains it.

use iodyno_model::{Drive, Evidence, Host, Measurement, Metric, Severity};

use super::all_at_once::{FULL, is_cpu_busy};
use super::link_oversubscribed::has_reported_uplink;
use super::{Checks, Rule, Tally, finding};
use crate::limiter::figure;
use crate::measured::{figure_of, metric, unwritten};
use crate::place::{drives_below, shared_drives};
use crate::rule_context::RuleContext;
use crate::yardsticks::UNLIKE_WARN;

pub(super) static RULE: Rule = Rule {
    id: "shared-limit",
    severity: Severity::Warn,
    summary: "drives that slow each other down, but not others, without a full link",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (_, of) in context.finished() {
        // If all of them slow down it is the machine: all-at-once reports that.
        if of.targets.len() < 3 || metric(of) == Metric::LatencyMean {
            continue;
        }
        let Some(all) = shares(context, of) else {
            tally.unknown(of.title(), "rates of each target alone and at once");
            continue;
        };
        // Targets on the same drive share its time; no other limit is sought.
        let shares: Vec<&Share<'_>> = all.iter().filter(|share| share.has_own_drives).collect();
        if shares.len() < 3 {
            continue;
        }
        tally.checked();
        if is_cpu_busy(context, of) {
            continue;
        }
        let fell: Vec<&Share<'_>> = shares
            .iter()
            .filter(|share| share.fell && !below_a_full_link(context, share, &all, of))
            .copied()
            .collect();
        if fell.len() < 2 || fell.len() == shares.len() || have_reported_uplink(context, &fell) {
            continue;
        }
        let fell: Vec<Share<'_>> = fell.into_iter().cloned().collect();
        let names: Vec<&str> = fell.iter().map(|share| share.target).collect();
        match groups.iter_mut().find(|group| group.names == names) {
            Some(group) => group.steps.push((of, fell)),
            None => groups.push(Group { names, count: shares.len(), steps: vec![(of, fell)] }),
        }
    }
    groups.iter().for_each(|group| tally.found(limited(group)));
}

/// Targets that slow each other down, in one or more steps.
struct Group<'a> {
    names: Vec<&'a str>,
    /// Number of targets.
    count: usize,
    steps: Vec<(&'a Measurement, Vec<Share<'a>>)>,
}

/// Returns true if link-oversubscribed reports what these share.
pub(super) fn have_reported_uplink(context: &RuleContext<'_>, fell: &[&Share<'_>]) -> bool {
    let drives: Vec<Option<&Drive>> = fell.iter().map(|share| share.drive).collect();
    context.host().is_some_and(|host| has_reported_uplink(host, &drives))
}

fn limited(group: &Group<'_>) -> iodyno_model::Finding {
    let names = &group.names;
    let (mut evidence, mut gave): (Vec<Evidence>, Vec<String>) = (Vec::new(), Vec::new());
    for (of, fell) in &group.steps {
        let written = |value: f64| figure(metric(of), value);
        evidence.extend(fell.iter().map(|share| {
            let (alone, at_once) = (written(share.alone), written(share.at_once));
            Evidence::new(share.target, format!("{at_once} at once, {alone} alone"))
        }));
        let sum = written(fell.iter().map(|share| share.at_once).sum());
        evidence.push(Evidence::new("together", sum.clone()));
        gave.push(format!("{sum} together ({})", of.name));
    }
    let (count, others) = (group.count, group.count - names.len());
    evidence.push(Evidence::new("unaffected", format!("{others} of {count} targets")));
    finding(
        Severity::Warn,
        names.iter().map(|name| (*name).to_owned()).collect(),
        format!(
            "{} reach {}, less than each alone: they share a limit other than a visible link.",
            names.join(", "),
            gave.join(" and "),
        ),
        evidence,
        "Others at the same time were not slowed, so the whole machine does not share it.",
        "Look for what these have in common: an expander, a retimer card or switch without links of its own in \
         sysfs, one RAID card, one storage network path, one host disk below virtual drives. Measure pairs of them \
         to find the group.",
    )
}

/// One of several targets, alone and with the others.
#[derive(Clone)]
pub(super) struct Share<'a> {
    target: &'a str,
    drive: Option<&'a Drive>,
    alone: f64,
    at_once: f64,
    /// Significantly slower at once than alone.
    pub(super) fell: bool,
    /// None of the others is on its drives.
    has_own_drives: bool,
}

/// Returns all targets; `None` if one is not known alone or at once.
pub(super) fn shares<'a>(context: &RuleContext<'a>, of: &'a Measurement) -> Option<Vec<Share<'a>>> {
    let metric = metric(of);
    let shared = shared_drives(&context.index, of);
    let share = |target: &'a String| {
        let part = of.parts.iter().find(|part| part.clone.is_none() && part.target == *target)?;
        let at_once = figure_of(part.results.first()?, metric)?;
        let single = context.index.finished_step(&of.name, std::slice::from_ref(target))?;
        let alone = figure_of(single.total.first()?, metric)?;
        let below = drives_below(&context.index, of, target);
        let less = at_once.value < (1.0 - UNLIKE_WARN) * alone.value;
        Some(Share {
            target,
            drive: context.place(of, target).drive,
            alone: alone.value,
            at_once: at_once.value,
            // Reads of unwritten blocks have another limit than reads from flash.
            fell: less && at_once.high() < alone.low() && !unwritten(single),
            has_own_drives: !below.iter().any(|name| shared.contains(name)),
        })
    };
    of.targets.iter().map(share).collect()
}

/// Returns true if a link in its path is nearly full: link-oversubscribed reports that.
fn below_a_full_link(
    context: &RuleContext<'_>,
    share: &Share<'_>,
    all: &[Share<'_>],
    of: &Measurement,
) -> bool {
    let (Some(host), Some(drive)) = (context.host(), share.drive) else { return false };
    let bytes = |share: &Share<'_>| match metric(of) {
        Metric::Bandwidth => share.at_once,
        _ => share.at_once * of.workload.bs.unwrap_or(0) as f64,
    };
    drive.links.iter().any(|name| {
        let below = all.iter().filter(|other| is_below(other, name));
        let carried: f64 = below.map(bytes).sum();
        payload(host, name).is_some_and(|payload| carried >= FULL * payload)
    })
}

fn is_below(share: &Share<'_>, link: &String) -> bool {
    share.drive.is_some_and(|drive| drive.links.contains(link))
}

fn payload(host: &Host, link: &str) -> Option<f64> {
    host.link(link)?.payload_bytes_per_s()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, array, check_rule, known, link, set_written};
    use iodyno_model::LinkState;
    use iodyno_model::WrittenState;

    /// Sequential reads of four drives at once; the first `count` have half the rate.
    fn halved(bench: Bench, count: usize) -> Bench {
        bench.measurement(12, |of| {
            for part in &mut of.parts[..count] {
                let bandwidth = &mut part.results[0].bandwidth;
                *bandwidth = bandwidth.map(|rate| rate.scaled(0.5));
            }
        })
    }

    #[test]
    fn those_that_share_are_named() {
        let bench = || Bench::new(4).measured();
        assert_eq!(check_rule(&RULE, &bench().record()), Outcome::Clear);
        let outcome = check_rule(&RULE, &halved(bench(), 2).record());
        let found = outcome.only(Severity::Warn);
        assert_eq!(found.subjects, ["nvme0n1", "nvme1n1"]);
        assert_eq!(found.evidence[0].value, "3400 MB/s at once, 6800 MB/s alone");
        // A single one shares with nobody here, and all of them share the machine.
        for count in [1, 4] {
            assert_eq!(check_rule(&RULE, &halved(bench(), count).record()), Outcome::Clear);
        }
        assert_eq!(check_rule(&RULE, &Bench::new(2).measured().record()), Outcome::NotApplicable);
        let mut lone = bench().record();
        lone.measurements.drain(..3);
        assert_eq!(check_rule(&RULE, &lone), Outcome::CannotTell);
    }

    #[test]
    fn targets_on_the_same_drive_have_no_shared_limit() {
        // In the measurement, the array's name follows the drives'.
        let bench = || Bench::new(5).host(|host| host.blocks.push(array(&["nvme0n1", "nvme1n1"])));
        let halved = |names: &[&str]| {
            let bench = bench().measured().measurement(18, |of| {
                assert_eq!(of.targets.len(), 6);
                for part in of.parts.iter_mut().filter(|p| names.contains(&p.target.as_str())) {
                    let bandwidth = &mut part.results[0].bandwidth;
                    *bandwidth = bandwidth.map(|rate| rate.scaled(0.5));
                }
            });
            check_rule(&RULE, &bench.record())
        };
        assert_eq!(halved(&["nvme0n1", "nvme1n1", "md0"]), Outcome::Clear);
        let outcome = halved(&["nvme0n1", "nvme1n1", "md0", "nvme2n1", "nvme3n1"]);
        let found = outcome.only(Severity::Warn);
        assert_eq!(found.subjects, ["nvme2n1", "nvme3n1"]);
        assert_eq!(found.evidence.last().unwrap().value, "1 of 3 targets");
        // Of three, none is left to share anything.
        let few = Bench::new(2).host(|host| host.blocks.push(array(&["nvme0n1", "nvme1n1"])));
        assert_eq!(check_rule(&RULE, &few.measured().record()), Outcome::NotApplicable);
    }

    #[test]
    fn drives_that_hold_nothing_share_no_limit() {
        let empty =
            |n, bench: Bench| bench.measurement(n, |of| set_written(of, WrittenState::Unwritten));
        // The sequential reads, each alone, of the two that fell.
        let one = empty(0, halved(Bench::new(4).measured(), 2));
        assert_eq!(check_rule(&RULE, &empty(3, one).record()), Outcome::Clear);
    }

    #[test]
    fn a_full_link_or_a_busy_cpu_explains_it() {
        let shared = |width: u8| {
            halved(Bench::new(4).measured(), 2).host(|host| {
                let mut up = link("0000:00:01.0", "0000:01:00.0");
                up.current = known(LinkState { generation: 4, width });
                host.links.push(up);
                for drive in &mut host.drives[..2] {
                    drive.links.insert(0, "0000:01:00.0".into());
                }
            })
        };
        assert_eq!(check_rule(&RULE, &shared(4).record()), Outcome::Clear);
        check_rule(&RULE, &shared(16).record()).only(Severity::Warn);
        let busy = halved(Bench::new(4).measured(), 2).measurement(12, |of| {
            if let Some(cpu) = &mut of.cpu {
                cpu.busiest_thread = 1.0;
            }
        });
        assert_eq!(check_rule(&RULE, &busy.record()), Outcome::Clear);
    }
}
