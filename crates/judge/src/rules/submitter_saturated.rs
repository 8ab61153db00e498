//! Finds submitting threads without CPU time left.

use iodyno_model::{Measurement, Severity};

use super::{Look, Reservation, Rule, Tally, qualify};
use crate::limiter;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "submitter-saturated",
    severity: Severity::Info,
    summary: "a submitting thread that used all of its CPU",
    look: Look::RunAndEach(check, reservation),
};

fn check(facts: &RuleContext<'_>, tally: &mut Tally) {
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
    qualify(tally, facts, look, words);
}

fn reservation(facts: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = facts.record().measurements.get(measurement)?;
    let saturated = limiter::saturated(facts.host(), of) == Some(true);
    saturated.then(|| {
        Reservation::qualified("a submitting thread was saturated: the CPU may be the limit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

    #[test]
    fn a_full_cpu_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(look(&RULE, &bench.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &bench.record(), 1), None);
        assert_eq!(look(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let tripped = bench
            .clone()
            .measurement(1, |of| {
                of.cpu = of.cpu.map(|cpu| iodyno_model::CpuUse { busiest_thread: 0.99, ..cpu });
            })
            .record();
        look(&RULE, &tripped).only(Severity::Info);
        assert!(reserves(&RULE, &tripped, 1).is_some());
        let blind = (0..3).fold(bench, |bench, n| bench.measurement(n, |of| of.cpu = None));
        assert_eq!(look(&RULE, &blind.record()), Outcome::CannotTell);
        assert_eq!(reserves(&RULE, &blind.record(), 1), None);
    }
}
