//! Qualifies measurements during which iodyno itself did not run.

use iodyno_model::{Measurement, format_duration_ns};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::is_fio;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "process-stopped",
    summary: "measurements during which iodyno itself did not run: stopped, migrated, asleep",
    affected_by,
    what: "the measuring process was stopped meanwhile",
    why: "The time is cut out of the measurement, and so are the I/Os that were in flight. The drive \
          rested meanwhile.",
    next: "Repeat it without the pause: no SIGSTOP or Ctrl-Z, no live migration or snapshot of the \
           virtual machine, no sleep (systemd-inhibit).",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    if is_fio(of) {
        return Err("stops of its process are not recorded".into());
    }
    let lapses = &of.conditions.lapses_ns;
    let longest = lapses.iter().max().map(|ns| format_duration_ns(*ns as f64));
    Ok(longest.map(|longest| match lapses.len() {
        1 => format!("iodyno was stopped for {longest}, cut out"),
        count => format!("iodyno did not run {count} times, {longest} at most, which is cut out"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn a_lapse_qualifies() {
        let bench = Bench::new(1).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        let stopped =
            bench.clone().measurement(1, |of| of.conditions.lapses_ns = vec![5_000_000_000]);
        check_rule(&RULE, &stopped.record()).only(Severity::Info);
        assert_eq!(reserves(&RULE, &stopped.record(), 0), None);
        let why = reserves(&RULE, &stopped.record(), 1).unwrap().why;
        assert_eq!(why, "iodyno was stopped for 5 s, cut out");
        let fio = each(bench, |of| of.source = "fio 3.36".into());
        assert_eq!(check_rule(&RULE, &fio.record()), Outcome::CannotTell);
    }
}
