//! Finds submitting threads without CPU time left.

use iodyno_model::{Measurement, Severity};

use super::{Checks, Reservation, Rule, Tally, qualify};
use crate::limiter;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "submitter-saturated",
    severity: Severity::Info,
    summary: "a submitting thread at 100 % CPU",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let affected_by = |of: &Measurement| {
        let Some(saturated) = limiter::saturated(context.host(), of) else {
            return Err("CPU time of the submitting threads is not recorded".into());
        };
        let share = limiter::cpu_share(context.host(), of).filter(|_| saturated);
        Ok(share.map(|share| share.text()))
    };
    let words = [
        "a submitting thread had no CPU time left",
        "The figure is the CPU's limit; the drive may be faster.",
        "Look for what else the CPUs do and at their governor; more threads (numjobs) or larger blocks ask less of each.",
    ];
    qualify(tally, context, affected_by, words);
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let saturated = limiter::saturated(context.host(), of) == Some(true);
    saturated.then(|| {
        Reservation::qualified("a submitting thread was saturated: the CPU may be the limit")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_qualifies;

    #[test]
    fn a_full_cpu_qualifies() {
        let saturate = |of: &mut Measurement| {
            of.cpu = of.cpu.map(|cpu| iodyno_model::CpuUse { busiest_thread: 0.99, ..cpu });
        };
        assert_qualifies(&RULE, saturate, |of| of.cpu = None);
    }
}
