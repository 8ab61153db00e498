//! Runs in rounds whose drive did not come to its steady state.

use iodyno_model::{RuleReport, Severity};

use super::{Affected, Reservation, Rule, Tally};
use crate::facts::Facts;

pub(super) struct SteadyStateNotReached;

impl Rule for SteadyStateNotReached {
    fn id(&self) -> &'static str {
        "steady-state-not-reached"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "rounds that ended before the drive was steady"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let mut tally = Tally::new(self);
        let Some((asked, targets)) = &facts.rounds else { return tally.report() };
        let mut affected = Affected::default();
        for (targets, found) in targets {
            tally.looked();
            if found.steady_in.is_none() {
                let rounds = format!("{} rounds of at most {}", found.rounds(), asked.most);
                affected.add(targets.join(" "), rounds, targets.to_vec());
            }
        }
        affected.tell(
            &mut tally,
            self,
            "the rounds ended before the drive was steady",
            "What a drive does before its steady state depends on what it went through before, and does not last.",
            "iodyno resume goes on with a run that was stopped; else prepare the drive (docs/prepare.md), and see that nothing else uses it.",
        );
        tally.report()
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let (asked, targets) = facts.rounds.as_ref()?;
        let (_, found) = targets.iter().find(|(targets, _)| *targets == of.targets)?;
        let window = found.window(asked)?;
        let is_in_window = of.round.is_some_and(|round| window.contains(&round));
        (is_in_window && found.steady_in.is_none())
            .then(|| Reservation::qualified("the drive was not in its steady state"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, in_rounds, look, reserves};

    #[test]
    fn windows_that_are_not_steady_qualify() {
        let rule = SteadyStateNotReached;
        assert_eq!(look(&rule, &Bench::new(1).measured().record()), Outcome::NotApplicable);
        let steady = in_rounds(&[900.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        assert_eq!(look(&rule, &steady), Outcome::Clear);
        assert_eq!(reserves(&rule, &steady, 5), None);
        let unsteady = in_rounds(&[900.0, 100.0, 100.0, 200.0, 100.0, 100.0]);
        look(&rule, &unsteady).only(Severity::Info);
        assert!(reserves(&rule, &unsteady, 5).is_some());
        // The first round is not in the window.
        assert_eq!(reserves(&rule, &unsteady, 0), None);
        look(&rule, &in_rounds(&[100.0, 100.0])).only(Severity::Info);
    }
}
