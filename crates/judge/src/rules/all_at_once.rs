//! Compares all drives at once with the sum of each alone.

use iodyno_model::{
    Evidence, Measurement, Metric, Severity, Verdict, WrittenState, format_count, format_mb_per_s,
};

use super::shared_limit::{Share, have_reported_uplink, shares};
use super::{Checks, Rule, Tally, finding};
use crate::figures::percent;
use crate::limiter;
use crate::place::shared_drives;
use crate::rule_context::RuleContext;

/// At this share of all CPUs' time there is none left for more I/O.
const BUSY: f64 = 0.9;
/// Below this rate memory and sockets are not suspected, bytes per second: one channel of the
/// oldest memory that serves NVMe drives (DDR3-1066) carries 8.5 GB/s, and data read passes it at
/// most twice.
const MEMORY_BYTES_PER_S: f64 = 4e9;
/// A link is full from this share of its ceiling on.
pub(super) const FULL: f64 = 0.9;

pub(super) static RULE: Rule = Rule {
    id: "all-at-once",
    severity: Severity::Warn,
    summary: "several drives at once slower than the sum of each alone",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let record = context.record();
    let mut found: Vec<AtOnce<'_>> = Vec::new();
    for compared in &context.compared {
        let of = &record.measurements[compared.measurement];
        let is_sum = of.targets.len() > 1 && shared_drives(&context.index, of).is_empty();
        if !is_sum || compared.metric == Metric::LatencyMean {
            continue;
        }
        let Some((sum, judgement)) = &compared.alone else {
            tally.unknown(of.title(), "not every target measured alone");
            continue;
        };
        if of.conditions.written.iter().any(|one| one.state == WrittenState::Unwritten) {
            tally.unknown(of.title(), "its blocks were never written");
            continue;
        }
        if judgement.verdict == Verdict::Unjudged {
            tally.unknown(of.title(), judgement.reason.to_string());
            continue;
        }
        tally.checked();
        // Drives named for a shared uplink or limit are not named again.
        if judgement.verdict != Verdict::Warn || is_reported_elsewhere(context, of) {
            continue;
        }
        let written = |value: f64| match compared.metric {
            Metric::Bandwidth => format_mb_per_s(value),
            _ => format!("{} IOPS", format_count(value)),
        };
        let mut evidence = vec![
            Evidence::new("at once", written(compared.estimate.value)),
            Evidence::new("sum of each alone", written(*sum)),
            Evidence::new("share", percent(judgement.ratio)),
        ];
        if let Some((ceiling, what)) = &compared.ceiling {
            evidence.push(Evidence::new(what.clone(), written(*ceiling)));
        }
        if let Some(cpu) = &of.cpu {
            evidence.push(Evidence::new("CPUs busy", format!("{:.1}", cpu.user + cpu.system)));
            evidence.push(Evidence::new("busiest thread", percent(cpu.busiest_thread)));
        }
        let full = compared
            .ceiling
            .as_ref()
            .is_some_and(|(ceiling, _)| compared.estimate.value >= FULL * ceiling);
        let (suspect, next) = suspect(context, of, full);
        let gave = format!("{} of the sum of each alone ({})", percent(judgement.ratio), of.name);
        match found.iter_mut().find(|one| (one.suspect, one.targets) == (suspect, &of.targets)) {
            Some(one) => {
                one.gave.push(gave);
                one.evidence.extend(evidence);
            }
            None => {
                let (targets, gave) = (&of.targets, vec![gave]);
                found.push(AtOnce { targets, suspect, next, gave, evidence });
            }
        }
    }
    for AtOnce { targets, suspect, next, gave, evidence } in found {
        let what = format!(
            "{} targets at once give {}; suspect: {suspect}.",
            targets.len(),
            gave.join(" and ")
        );
        tally.found(finding(
            Severity::Warn,
            // The finding is about what they share; none of them is to blame.
            Vec::new(),
            what,
            evidence,
            "A shared limit slows the drives together, although each alone is fast enough.",
            next,
        ));
    }
}

/// Targets that are too slow at once, in one or more steps.
struct AtOnce<'a> {
    targets: &'a Vec<String>,
    suspect: &'static str,
    next: String,
    gave: Vec<String>,
    evidence: Vec<Evidence>,
}

/// Returns true if the slowed targets are named for an oversubscribed uplink, or for a limit that
/// only they share.
fn is_reported_elsewhere(context: &RuleContext<'_>, of: &Measurement) -> bool {
    let Some(all) = shares(context, of).filter(|_| !is_cpu_busy(context, of)) else { return false };
    let fell: Vec<&Share<'_>> = all.iter().filter(|share| share.fell).collect();
    let is_group = fell.len() >= 2 && fell.len() < all.len();
    is_group || (!fell.is_empty() && have_reported_uplink(context, &fell))
}

/// Returns true if the submitting threads, or all CPUs together, were saturated.
pub(super) fn is_cpu_busy(context: &RuleContext<'_>, of: &Measurement) -> bool {
    let cpus = context.host().and_then(|host| host.cpus.online.get()).map(Vec::len);
    let used = of.cpu.map(|cpu| cpu.user + cpu.system);
    let all = matches!((cpus, used), (Some(cpus), Some(used)) if used >= BUSY * cpus as f64);
    all || limiter::saturated(context.host(), of) == Some(true)
}

/// Returns the first suspect and the advice: the CPU, then memory and socket; a link only if it is
/// full.
fn suspect(
    context: &RuleContext<'_>,
    of: &Measurement,
    link_is_full: bool,
) -> (&'static str, String) {
    if is_cpu_busy(context, of) {
        return (
            "this machine's CPUs",
            "Look at their load meanwhile (mpstat -P ALL 1) and at the governor; the drives' own rates are those \
             of each alone."
                .into(),
        );
    }
    if link_is_full {
        return (
            "the links that they share",
            "See the finding on oversubscribed links, and iodyno list --tree".into(),
        );
    }
    let is_of_memory = bytes_per_s(of).is_some_and(|rate| rate >= MEMORY_BYTES_PER_S);
    (
        match is_of_memory {
            true => "memory bandwidth or the link between sockets, then a link not visible here",
            false => {
                "a link, expander or card that is not visible here, or one host disk below virtual drives"
            }
        },
        match first_node(context, of) {
            Some(targets) => format!(
                "Repeat with the drives of one NUMA node (sudo iodyno check {targets}), then with the others; less \
                 than the sum within one node points to what that node's drives share."
            ),
            None => format!(
                "Repeat with half of them (sudo iodyno check {}), then with the others: what goes with a half is \
                 shared by it.",
                of.targets[..of.targets.len() / 2].join(" ")
            ),
        },
    )
}

/// Bytes per second over all targets.
fn bytes_per_s(of: &Measurement) -> Option<f64> {
    of.total.iter().map(|result| Some(result.bandwidth?.value)).sum()
}

/// Targets on one NUMA node, if there are several nodes and all are known.
fn first_node(context: &RuleContext<'_>, of: &Measurement) -> Option<String> {
    let node = |target: &String| context.place(of, target).drive?.numa_node.value();
    let nodes: Vec<u32> = of.targets.iter().map(node).collect::<Option<_>>()?;
    let first = nodes.iter().min().copied()?;
    let targets = of.targets.iter().zip(&nodes).filter(|(_, node)| **node == first);
    let targets: Vec<&str> = targets.map(|(target, _)| target.as_str()).collect();
    (targets.len() < nodes.len()).then(|| targets.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, partition, scale};
    use iodyno_model::Estimate;

    #[test]
    fn less_than_the_sum_is_a_warning_and_names_the_cpu_first() {
        let bench = Bench::new(2).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::NotApplicable);
        let slow = bench.clone().measurement(6, |of| scale(of, 0.6));
        let outcome = check_rule(&RULE, &slow.record());
        assert!(outcome.only(Severity::Warn).what.contains("memory bandwidth"));
        assert!(outcome.only(Severity::Warn).next.contains("iodyno check nvme0n1)"));
        // At 50 MB/s memory is not suspected.
        let crawl = slow.clone().measurement(6, |of| {
            of.total[0].bandwidth = of.total[0].bandwidth.map(|rate| rate.scaled(0.01));
        });
        let what = check_rule(&RULE, &crawl.record()).only(Severity::Warn).what.clone();
        assert!(!what.contains("memory") && !what.contains("socket"), "{what}");
        // Both steps are one finding.
        let both = slow.clone().measurement(7, |of| scale(of, 0.6));
        let what = check_rule(&RULE, &both.record()).only(Severity::Warn).what.clone();
        assert!(what.contains("(seq-read) and 60 % of") && what.contains("(rand-read)"), "{what}");
        let busy = slow.measurement(6, |of| {
            if let Some(cpu) = &mut of.cpu {
                cpu.busiest_thread = 1.0;
            }
        });
        assert!(check_rule(&RULE, &busy.record()).only(Severity::Warn).what.contains("CPUs"));
        let vague = bench.clone().measurement(6, |of| {
            let value = of.total[0].bandwidth.unwrap().value * 0.8;
            of.total[0].bandwidth =
                Some(Estimate::confident(value, value * 0.5, value * 1.5, 0.95));
        });
        assert_eq!(check_rule(&RULE, &vague.record()), Outcome::ClearBut(1), "it cannot tell");
        // A drive and its partition share the drive's time: their sum is no reference.
        let split = Bench::new(1).host(|host| host.blocks.push(partition("nvme0n1p1", "nvme0n1")));
        let split = split.measured().measurement(6, |of| scale(of, 0.5)).record();
        assert_eq!(split.measurements[6].targets, ["nvme0n1", "nvme0n1p1"]);
        assert_eq!(check_rule(&RULE, &split), Outcome::NotApplicable);
        let mut lone = bench.record();
        lone.measurements.drain(..3);
        assert_eq!(check_rule(&RULE, &lone), Outcome::CannotTell);
    }
}
