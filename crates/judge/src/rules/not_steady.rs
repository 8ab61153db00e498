//! Rates that grew or fell while they were measured.

use iodyno_model::{Metric, RuleReport, Severity, format_duration_ns};

use super::{Affected, Reservation, Rule, Tally};
use crate::facts::Facts;
use crate::figures;

pub(super) struct NotSteady;

impl Rule for NotSteady {
    fn id(&self) -> &'static str {
        "not-steady"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "rates that grew or fell over the measured time"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let mut tally = Tally::new(self);
        let mut affected = Affected::default();
        for (_, of) in facts.finished() {
            let Some(result) = of.total.first() else { continue };
            let (Some(steady), Some(iops), Some(ns)) = (result.steady, result.iops, of.duration_ns)
            else {
                tally.unknown(of.title(), "it is too short to tell whether it is steady");
                continue;
            };
            tally.looked();
            if !steady {
                let rate = figures::estimate(Metric::Iops, &iops);
                let figure = format!("{rate} over {}", format_duration_ns(ns as f64));
                affected.add(of.title(), figure, facts.subjects(of));
            }
        }
        affected.tell(
            &mut tally,
            self,
            "the rate grew or fell while it was measured",
            "A rate that grows or falls has no mean worth the name: another moment gives another figure.",
            "Measure longer (--time 60); if it keeps falling, look at temperature and at what else uses the drive.",
        );
        tally.report()
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let unsteady = of.total.first()?.steady == Some(false);
        unsteady.then(|| Reservation::qualified("its rate grew or fell while it was measured"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn a_trend_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&NotSteady, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&NotSteady, &bench.record(), 1), None);
        assert_eq!(look(&NotSteady, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench.clone().measurement(1, |of| of.total[0].steady = Some(false)).record();
        look(&NotSteady, &tripped).only(Severity::Info);
        assert!(reserves(&NotSteady, &tripped, 1).is_some());
        let blind =
            (0..3).fold(bench, |bench, n| bench.measurement(n, |of| of.total[0].steady = None));
        assert_eq!(look(&NotSteady, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&NotSteady, &blind.record(), 1), None);
    }
}
