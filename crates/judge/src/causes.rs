//! Attributes findings to others that cause them: the effects of a degraded link or an empty drive
//! are no faults of their own.

use std::collections::HashSet;

use iodyno_model::{Finding, Verdict};

use crate::rule_context::RuleContext;

/// Causing rules and the rules they may explain, by id.
const CAUSES: [(&str, &[&str]); 9] = [
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

/// Rules that find a drive too slow; a link explains them only if the drive reaches what the link
/// carries.
const SLOW_RULES: [&str; 4] = ["below-claim", "unlike-peers", "unlike-baseline", "better-bay"];

/// A drive limited by its link reaches this share of what the link carries.
const REACHED: f64 = 0.8;

/// Returns true if `effect` would go away with `cause`. Both must be about the same drive, unless
/// `effect` is about no drive.
pub fn explains(cause: &Finding, effect: &Finding) -> bool {
    let drives = |of: &Finding| -> HashSet<String> {
        of.subjects.iter().map(|name| drive(name).to_owned()).collect()
    };
    effect.cause.as_ref() == Some(&cause.rule)
        && (effect.subjects.is_empty() || !drives(effect).is_disjoint(&drives(cause)))
}

/// Sets the cause of each finding: another finding about the same drive or, for a finding about no
/// drive, one about something that drives share.
pub(crate) fn attribute(findings: &mut [Finding], context: &RuleContext<'_>) {
    let mut known: HashSet<(&'static str, Option<&str>)> = HashSet::new();
    for finding in findings.iter() {
        if let Some((rule, _)) = CAUSES.iter().find(|(rule, _)| *rule == finding.rule) {
            known.insert((rule, None));
            known.extend(finding.subjects.iter().map(|name| (*rule, Some(drive(name)))));
        }
    }
    if known.is_empty() {
        return;
    }
    let cause = |finding: &Finding| {
        let may = CAUSES.iter().filter(|(_, effects)| effects.contains(&finding.rule.as_str()));
        let explains = |rule: &&'static str| {
            let mut subjects = finding.subjects.iter();
            let is_about = match finding.subjects.is_empty() {
                true => known.contains(&(*rule, None)),
                false => subjects.any(|name| known.contains(&(*rule, Some(drive(name))))),
            };
            let is_of_link =
                *rule == "link-degraded" && SLOW_RULES.contains(&finding.rule.as_str());
            is_about && (!is_of_link || fills_its_link(finding, context))
        };
        may.map(|(rule, _)| *rule).find(explains)
    };
    let causes: Vec<Option<&'static str>> = findings.iter().map(cause).collect();
    for (finding, cause) in findings.iter_mut().zip(causes) {
        finding.cause = cause.map(str::to_owned);
    }
}

/// Returns `nvme1` for `/dev/nvme1n1`; any other name is returned unchanged.
fn drive(name: &str) -> &str {
    let name = name.trim_start_matches("/dev/");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    match parts.filter(|(controller, space)| is_number(controller) && is_number(space)) {
        Some((controller, _)) => &name[.."nvme".len() + controller.len()],
        None => name,
    }
}

/// Returns true if a rate of the finding's target that is too low reaches what its link carries.
fn fills_its_link(finding: &Finding, context: &RuleContext<'_>) -> bool {
    context.compared.iter().any(|compared| {
        let of = &context.record().measurements[compared.measurement];
        let full = compared.ceiling.as_ref();
        matches!(of.targets.as_slice(), [only] if finding.subjects.contains(only))
            && compared.judgements().any(|judgement| judgement.verdict >= Verdict::Warn)
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
    fn an_empty_drive_explains_only_its_own_findings() {
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
    fn a_shared_link_explains_slow_aggregates() {
        let uplink = finding("link-oversubscribed", "nvme0");
        let together = Finding { subjects: Vec::new(), ..finding("all-at-once", "") };
        assert_eq!(causes(vec![uplink, together])[1].as_deref(), Some("link-oversubscribed"));
    }
}
