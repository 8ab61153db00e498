//! Others' I/O on the devices that were measured.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Reservation, Rule, qualify};
use crate::facts::Facts;
use crate::limiter;

pub(super) struct OtherIo;

impl Rule for OtherIo {
    fn id(&self) -> &'static str {
        "other-io"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "I/O on the device that was not the measurement's"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let look = |of: &Measurement| {
            limiter::other_io(of).ok_or_else(|| "disk statistics around it are not recorded".into())
        };
        let words = [
            "somebody else used the device",
            "The drive shared its time between us and somebody else, so its figures are too low.",
            "See who it is (iotop -o, or lsof on the device), and repeat when it is quiet.",
        ];
        qualify(self, facts, look, words)
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let why = limiter::other_io(of)??;
        Some(Reservation::qualified(format!("somebody else used the device: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn somebody_elses_io_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&OtherIo, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&OtherIo, &bench.record(), 1), None);
        assert_eq!(look(&OtherIo, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped =
            bench.clone().measurement(1, |of| of.conditions.other_iops = Some(1e5)).record();
        look(&OtherIo, &tripped).only(Severity::Info);
        assert!(reserves(&OtherIo, &tripped, 1).is_some());
        let blind = (0..3)
            .fold(bench, |bench, n| bench.measurement(n, |of| of.conditions.other_iops = None));
        assert_eq!(look(&OtherIo, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&OtherIo, &blind.record(), 1), None);
        let little =
            Bench::new(1).measured().measurement(1, |of| of.conditions.other_iops = Some(90.0));
        assert_eq!(look(&OtherIo, &little.record()), Outcome::Clear);
    }
}
