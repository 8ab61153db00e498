//! Submitting threads without CPU time left.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::facts::Facts;
use crate::limiter;

pub(super) struct SubmitterSaturated;

impl Rule for SubmitterSaturated {
    fn id(&self) -> &'static str {
        "submitter-saturated"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "a submitting thread that used all of its CPU"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let look = |of: &Measurement| {
            let Some(saturated) = limiter::saturated(facts.host(), of) else {
                return Err("CPU time of the submitting threads is not recorded".into());
            };
            let share = limiter::cpu_share(facts.host(), of).filter(|_| saturated);
            Ok(share.map(|share| share.text()))
        };
        let words = [
            "a submitting thread had no CPU time left",
            "The figure is what this CPU can submit; the drive may be able to do more.",
            "Look for what else the CPUs do and at their governor; more threads (numjobs) or larger blocks ask less of each.",
        ];
        qualify(self, facts, look, words)
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let saturated = limiter::saturated(facts.host(), of) == Some(true);
        saturated.then(|| {
            Reservation::qualified("a submitting thread was saturated: the CPU may be the limit")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn a_full_cpu_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&SubmitterSaturated, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&SubmitterSaturated, &bench.record(), 1), None);
        assert_eq!(look(&SubmitterSaturated, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench
            .clone()
            .measurement(1, |of| {
                of.cpu = of.cpu.map(|cpu| iodyno_model::CpuUse { busiest_thread: 0.99, ..cpu });
            })
            .record();
        look(&SubmitterSaturated, &tripped).only(Severity::Info);
        assert!(reserves(&SubmitterSaturated, &tripped, 1).is_some());
        let blind = (0..3).fold(bench, |bench, n| bench.measurement(n, |of| of.cpu = None));
        assert_eq!(look(&SubmitterSaturated, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&SubmitterSaturated, &blind.record(), 1), None);
    }
}
