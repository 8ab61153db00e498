//! Runs in rounds whose drive did not come to its steady state.

use iodyno_model::{RuleReport, Severity, format_duration_ns};

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
        "rounds, and jobs with steadystate, that ended before the drive was steady"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let mut tally = Tally::new(self);
        let mut affected = Affected::default();
        if let Some((asked, targets)) = &facts.rounds {
            for (targets, found) in targets {
                tally.looked();
                if found.steady_in.is_none() {
                    let rounds = format!("{} rounds of at most {}", found.rounds(), asked.most);
                    affected.add(targets.join(" "), rounds, targets.to_vec());
                }
            }
        }
        for (_, of) in facts.finished() {
            let Some(attained) = of.account.as_ref().and_then(|of| of.steadystate_attained) else {
                continue;
            };
            tally.looked();
            if !attained {
                let time = of.duration_ns.map_or_else(
                    || "not attained".into(),
                    |ns| format!("not attained in {}", format_duration_ns(ns as f64)),
                );
                affected.add(of.title(), time, facts.subjects(of));
            }
        }
        affected.tell(
            &mut tally,
            self,
            "it ended before the drive was steady",
            "What a drive does before its steady state depends on what it went through before, and does not last.",
            "iodyno resume goes on with a run that was stopped; else prepare the drive (docs/prepare.md), and see that nothing else uses it.",
        );
        tally.report()
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        if of.account.as_ref().and_then(|of| of.steadystate_attained) == Some(false) {
            return Some(Reservation::qualified("its steadystate was not attained"));
        }
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
    use iodyno_model::Account;

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
        let attained = |attained| {
            let job = Bench::new(1).measured().measurement(0, |of| {
                of.account = Some(Account { steadystate_attained: attained, ..Account::default() });
            });
            job.record()
        };
        assert_eq!(look(&rule, &attained(Some(true))), Outcome::Clear);
        assert_eq!(look(&rule, &attained(None)), Outcome::NotApplicable);
        look(&rule, &attained(Some(false))).only(Severity::Info);
        assert!(reserves(&rule, &attained(Some(false)), 0).is_some());
        // The first round is not in the window.
        assert_eq!(reserves(&rule, &unsteady, 0), None);
        look(&rule, &in_rounds(&[100.0, 100.0])).only(Severity::Info);
    }
}
