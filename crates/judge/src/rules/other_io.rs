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
    why: "The drive was shared, so its figures may be too low.",
    next: "See who it is (sudo iotop -o, or sudo lsof /dev/DEVICE), and repeat when it is quiet.",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    limiter::other_io(of).ok_or_else(|| "no disk statistics were recorded".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Outcome, assert_qualifies, check_rule, reserves};
    use iodyno_model::Estimate;

    #[test]
    fn somebody_elses_io_qualifies() {
        let bench = assert_qualifies(
            &RULE,
            |of| {
                of.conditions.other_iops = Some(1e5);
                of.conditions.other_bytes_per_s = Some(5.12e7);
            },
            |of| of.conditions.other_iops = None,
        );
        // A mix is judged by reads and writes together.
        let mixed = bench.clone().measurement(1, |of| {
            of.conditions.other_iops = Some(1e5);
            of.conditions.other_bytes_per_s = Some(5.12e7);
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
        assert!(why(1e5, 5.12e7, true).unwrap().starts_with("other processes did 100k IOPS"));
        // No I/O is without bytes: these are pieces of the job's own.
        assert_eq!(why(1e5, 248.0, true), None);
        assert_eq!(why(0.0, 1e9, false), None);
        let little = bench.measurement(1, |of| of.conditions.other_iops = Some(90.0));
        assert_eq!(check_rule(&RULE, &little.record()), Outcome::Clear);
    }
}
