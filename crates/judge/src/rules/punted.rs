//! I/O that kernel threads ran.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::facts::Facts;

pub(super) struct Punted;

impl Rule for Punted {
    fn id(&self) -> &'static str {
        "punted"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "I/O that the kernel handed to worker threads"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let look = |of: &Measurement| {
            let Some(punted) = of.conditions.punted else {
                return Err("whether kernel threads ran the I/O is not recorded".into());
            };
            let engine = || of.workload.ioengine.clone().unwrap_or_else(|| "unknown".into());
            Ok(punted.then(engine))
        };
        let words = [
            "the kernel handed the I/O to worker threads",
            "Such targets cannot take I/O without waiting (NOWAIT); each I/O costs a thread switch, so latencies are higher and rates lower.",
            "Measure the device below directly, or compare with another engine.",
        ];
        qualify(self, facts, look, words)
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let punted = of.conditions.punted == Some(true);
        punted.then(|| {
            Reservation::qualified("kernel threads ran the I/O: the target has no NOWAIT support")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn punting_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&Punted, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&Punted, &bench.record(), 1), None);
        assert_eq!(look(&Punted, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench.clone().measurement(1, |of| of.conditions.punted = Some(true)).record();
        look(&Punted, &tripped).only(Severity::Info);
        assert!(reserves(&Punted, &tripped, 1).is_some());
        let blind =
            (0..3).fold(bench, |bench, n| bench.measurement(n, |of| of.conditions.punted = None));
        assert_eq!(look(&Punted, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&Punted, &blind.record(), 1), None);
    }
}
