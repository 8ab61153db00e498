//! What was found in a run before it became a document: it stands where the document lacks what it
//! was found by.

use iodyno_model::{EarlierJudgement, Finding, Reason, RuleOutcome, RuleReport, Run};

use crate::assess::RULESET;

/// Rules that compare with what a question names: a document answers another question.
const BY_QUESTION: [&str; 3] = ["below-claim", "above-claim", "unlike-baseline"];

/// What was found earlier, by the rules of which it stands.
pub(crate) struct Earlier<'r> {
    judged: Option<&'r EarlierJudgement>,
    /// Rules that the document does not let decide.
    undecided: Vec<&'r str>,
}

impl<'r> Earlier<'r> {
    /// `now`: what the rules say of the run as it was read.
    pub(crate) fn of(run: &'r Run, now: &'r [RuleReport]) -> Self {
        let undecided = now.iter().filter(|report| {
            let decided = matches!(report.outcome, RuleOutcome::Clear | RuleOutcome::Findings(_));
            !decided || !report.cannot_tell.is_empty()
        });
        let undecided = undecided.map(|report| report.rule.as_str()).collect();
        Self { judged: run.judged.as_deref(), undecided }
    }

    /// The earlier judgement, if that of this rule stands: it is by the same rules, which then knew
    /// more, or today's cannot tell.
    fn standing(&self, rule: &str) -> Option<&'r EarlierJudgement> {
        let judged = self.judged.filter(|_| !BY_QUESTION.contains(&rule))?;
        (judged.ruleset == RULESET || self.undecided.contains(&rule)).then_some(judged)
    }

    /// Returns the outcome of a rule.
    pub(crate) fn report(&self, now: &RuleReport) -> RuleReport {
        let Some(judged) = self.standing(&now.rule) else { return now.clone() };
        let found = judged.findings.iter().filter(|finding| finding.rule == now.rule);
        let found: Vec<Finding> = found.cloned().collect();
        let outcome = match &now.outcome {
            _ if !found.is_empty() => RuleOutcome::Findings(found),
            RuleOutcome::Findings(_) => return now.clone(),
            _ if judged.clear.contains(&now.rule) => RuleOutcome::Clear,
            _ => return now.clone(),
        };
        RuleReport { rule: now.rule.clone(), outcome, cannot_tell: Vec::new() }
    }

    /// True if this was found earlier.
    pub(crate) fn has(&self, finding: &Finding) -> bool {
        self.judged.is_some_and(|judged| judged.findings.contains(finding))
    }

    /// Returns the reservation of a rule about a measurement, if it had one.
    pub(crate) fn reason(&self, rule: &str, measurement: usize) -> Option<Reason> {
        let reasons = self.standing(rule)?.reasons.get(measurement)?;
        reasons.iter().find(|reason| reason.rule == rule).cloned()
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Assessment, DiskStats, Origin, RunRecord, Validity};

    use super::*;
    use crate::testing::{Bench, claims, each, log};
    use crate::{Question, assess};

    fn assessed(record: &RunRecord) -> Assessment {
        assess(&Question { record, claims: &claims(), baseline: None, expect: None })
    }

    /// The run as it is read from its document.
    fn read(record: &RunRecord, judged: &Assessment, ruleset: &str) -> RunRecord {
        let mut record = record.clone();
        record.snapshots.truncate(1);
        record.measurements.iter_mut().for_each(|of| of.after = None);
        let is_clear = |of: &&RuleReport| of.outcome == RuleOutcome::Clear;
        record.run.judged = Some(Box::new(EarlierJudgement {
            ruleset: ruleset.into(),
            findings: judged.findings.clone(),
            clear: judged.rules.iter().filter(is_clear).map(|of| of.rule.clone()).collect(),
            reasons: judged.measurements.iter().map(|of| of.reasons.clone()).collect(),
        }));
        record
    }

    #[test]
    fn what_later_snapshots_told_stands() {
        let stats =
            |read_bytes| DiskStats { name: "nvme0n1".into(), read_bytes, ..DiskStats::default() };
        let bench = Bench::new(1).measured().host(|host| host.disk_stats = vec![stats(0)]);
        let bench = bench.after(|host| {
            host.disk_stats = vec![stats(1)];
            log(&mut host.drives[0]).media_errors = 7;
        });
        let bench = each(bench, |of| of.total[0].whole_bytes = Some(10_000_000_000));
        let mut record = bench.record();
        record.run.origin = Origin::Measured;
        let judged = assessed(&record);
        assert!(judged.findings.iter().any(|of| of.rule == "media-errors-rising"));
        assert_eq!(judged.measurements[0].validity, Validity::Invalid);
        for ruleset in [RULESET, "7"] {
            let again = assessed(&read(&record, &judged, ruleset));
            assert_eq!(again.verdict, judged.verdict, "{ruleset}");
            assert_eq!(again.findings, judged.findings, "{ruleset}");
            assert_eq!(again.measurements, judged.measurements, "{ruleset}");
        }
    }

    #[test]
    fn other_rules_that_can_tell_are_asked_again() {
        let record = Bench::new(1).measured().record();
        let mut judged = assessed(&record);
        let false_alarm = Finding { rule: "link-degraded".into(), ..finding() };
        judged.findings.push(false_alarm.clone());
        assert!(assessed(&read(&record, &judged, RULESET)).findings.contains(&false_alarm));
        assert!(!assessed(&read(&record, &judged, "7")).findings.contains(&false_alarm));
    }

    fn finding() -> Finding {
        let severity = iodyno_model::Severity::Fail;
        let [rule, what, why, next] = Default::default();
        let (subjects, evidence) = (vec!["nvme0".into()], Vec::new());
        Finding { rule, severity, subjects, what, evidence, why, next, cause: None }
    }
}
