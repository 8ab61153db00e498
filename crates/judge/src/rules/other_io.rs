//! Qualifies other I/O on the measured devices.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::limiter;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "other-io",
    summary: "I/O of others on the measured device",
    affected_by,
    what: "other processes used the device",
    why: "The drive was shared, so its figures are too low.",
    next: "See who it is (sudo iotop -o, or sudo lsof /dev/DEVICE), and repeat when it is quiet.",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    limiter::other_io(of).ok_or_else(|| "no disk statistics were recorded".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::{Estimate, Severity};

    #[test]
    fn somebody_elses_io_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &bench.record(), 1), None);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped =
            bench.clone().measurement(1, |of| of.conditions.other_iops = Some(1e5)).record();
        check_rule(&RULE, &tripped).only(Severity::Info);
        assert!(reserves(&RULE, &tripped, 1).is_some());
        // A mix is judged by reads and writes together.
        let mixed = bench.clone().measurement(1, |of| {
            of.conditions.other_iops = Some(1e5);
            let mut writes = of.total[0].clone();
            writes.iops = writes.iops.map(|iops| Estimate { value: 1e9, ..iops });
            of.total.push(writes);
        });
        assert_eq!(reserves(&RULE, &mixed.record(), 1), None);
        // Zeros are not reported.
        let why = |iops, bytes, direct| {
            let others = bench.clone().measurement(1, |of| {
                of.conditions.other_iops = Some(iops);
                of.conditions.other_bytes_per_s = Some(bytes);
                of.workload.direct = Some(direct);
            });
            reserves(&RULE, &others.record(), 1).map(|of| of.why)
        };
        assert!(why(0.0, 1e9, true).unwrap().starts_with("other processes did 1000 MB/s"));
        assert!(why(1e5, 0.0, true).unwrap().starts_with("other processes did 100k IOPS"));
        assert_eq!(why(0.0, 1e9, false), None);
        let blind = (0..3)
            .fold(bench, |bench, n| bench.measurement(n, |of| of.conditions.other_iops = None));
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&RULE, &blind.record(), 1), None);
        let little =
            Bench::new(1).measured().measurement(1, |of| of.conditions.other_iops = Some(90.0));
        assert_eq!(check_rule(&RULE, &little.record()), Outcome::Clear);
    }
}
