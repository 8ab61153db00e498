//! Findings that follow from others: what a degraded link or an empty drive causes is no fault of
//! its own.

use std::collections::HashSet;

use iodyno_model::{Finding, Verdict};

use crate::rule_context::RuleContext;

/// Causes before what they may explain, by the rules' ids.
const FOLLOWS: [(&str, &[&str]); 9] = [
    ("drive-dead", &["measurement-failed", "io-errors"]),
    ("drive-missing", &["measurement-failed"]),
    ("measurement-failed", &["io-errors"]),
    ("blocks-not-written", &["above-claim", "latency-too-low", "below-claim", "unlike-peers"]),
    ("link-degraded", &["below-claim", "unlike-peers", "unlike-baseline", "better-bay"]),
    ("link-degraded", &["link-unlike-peers", "link-target-speed", "link-limited-by-slot"]),
    ("link-oversubscribed", &["all-at-once", "shared-limit", "layer-below-members"]),
    ("shared-limit", &["all-at-once", "layer-below-members"]),
    ("thermal-throttling", &["temperature", "not-steady", "rate-cliff"]),
];

/// Rules by which a drive is too slow, which a link explains only where the drive reaches what the
/// link carries.
const SLOW: [&str; 4] = ["below-claim", "unlike-peers", "unlike-baseline", "better-bay"];

/// Of what its link carries, a drive that the link holds back reaches this share.
const REACHED: f64 = 0.8;

/// Whether `effect` goes away with `cause`, which is about the same drive or, of what is about no
/// drive, about any.
pub fn explains(cause: &Finding, effect: &Finding) -> bool {
    let drives = |of: &Finding| -> HashSet<String> {
        of.subjects.iter().map(|name| drive(name).to_owned()).collect()
    };
    effect.cause.as_ref() == Some(&cause.rule)
        && (effect.subjects.is_empty() || !drives(effect).is_disjoint(&drives(cause)))
}

/// Says of each finding which other one explains it: one about the same drive, and of what is about
/// no drive one about what drives share.
pub(crate) fn attribute(findings: &mut [Finding], facts: &RuleContext<'_>) {
    let mut known: HashSet<(&'static str, Option<&str>)> = HashSet::new();
    for finding in findings.iter() {
        if let Some((rule, _)) = FOLLOWS.iter().find(|(rule, _)| *rule == finding.rule) {
            known.insert((rule, None));
            known.extend(finding.subjects.iter().map(|name| (*rule, Some(drive(name)))));
        }
    }
    if known.is_empty() {
        return;
    }
    let cause = |finding: &Finding| {
        let may = FOLLOWS.iter().filter(|(_, effects)| effects.contains(&finding.rule.as_str()));
        let explains = |rule: &&'static str| {
            let mut subjects = finding.subjects.iter();
            let is_about = match finding.subjects.is_empty() {
                true => known.contains(&(*rule, None)),
                false => subjects.any(|name| known.contains(&(*rule, Some(drive(name))))),
            };
            let is_of_link = *rule == "link-degraded" && SLOW.contains(&finding.rule.as_str());
            is_about && (!is_of_link || fills_its_link(finding, facts))
        };
        may.map(|(rule, _)| *rule).find(explains)
    };
    let causes: Vec<Option<&'static str>> = findings.iter().map(cause).collect();
    for (finding, cause) in findings.iter_mut().zip(causes) {
        finding.cause = cause.map(str::to_owned);
    }
}

/// `nvme1` of `/dev/nvme1n1`; anything else is itself.
fn drive(name: &str) -> &str {
    let name = name.trim_start_matches("/dev/");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    match parts.filter(|(controller, space)| is_number(controller) && is_number(space)) {
        Some((controller, _)) => &name[.."nvme".len() + controller.len()],
        None => name,
    }
}

/// A rate of it that is too low is what its link carries.
fn fills_its_link(finding: &Finding, facts: &RuleContext<'_>) -> bool {
    facts.compared.iter().any(|compared| {
        let of = &facts.record().measurements[compared.measurement];
        let full = compared.ceiling.as_ref();
        matches!(of.targets.as_slice(), [only] if finding.subjects.contains(only))
            && compared.held().any(|held| held.verdict >= Verdict::Warn)
            && full.is_some_and(|(most, _)| compared.estimate.value >= REACHED * most)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::ClaimBook;
    use crate::question::Question;
    use crate::testing::Bench;

    fn finding(rule: &str, subject: &str) -> Finding {
        Finding {
            rule: rule.into(),
            severity: iodyno_model::Severity::Warn,
            subjects: vec![subject.into()],
            what: String::new(),
            evidence: Vec::new(),
            why: String::new(),
            next: String::new(),
            cause: None,
        }
    }

    fn causes(mut findings: Vec<Finding>) -> Vec<Option<String>> {
        let (record, claims) = (Bench::new(2).measured().record(), ClaimBook::default());
        let question = Question { record: &record, claims: &claims, baseline: None, expect: None };
        attribute(&mut findings, &RuleContext::gather(&question));
        findings.into_iter().map(|one| one.cause).collect()
    }

    #[test]
    fn what_an_empty_drive_causes_is_said_of_that_drive_alone() {
        let empty = finding("blocks-not-written", "nvme1n1");
        let of = |subject| finding("above-claim", subject);
        let found = causes(vec![empty, of("nvme1"), of("nvme11n1"), of("nvme0n1")]);
        assert_eq!(found, [None, Some("blocks-not-written".into()), None, None]);
    }

    #[test]
    fn a_link_explains_a_slow_drive_only_where_the_drive_fills_it() {
        let (link, slow) = (finding("link-degraded", "nvme0"), finding("below-claim", "nvme0n1"));
        assert_eq!(causes(vec![link.clone(), slow]), [None, None]);
        let peers = finding("link-unlike-peers", "nvme0");
        assert_eq!(causes(vec![link, peers])[1].as_deref(), Some("link-degraded"));
    }

    #[test]
    fn what_drives_share_explains_what_they_give_together() {
        let uplink = finding("link-oversubscribed", "nvme0");
        let together = Finding { subjects: Vec::new(), ..finding("all-at-once", "") };
        assert_eq!(causes(vec![uplink, together])[1].as_deref(), Some("link-oversubscribed"));
    }
}
