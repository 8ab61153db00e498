//! Finds drives near the end of their endurance.

use iodyno_model::{Bytes, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

/// Percentage Used from which a replacement should be planned.
const USED_PERCENT: u8 = 90;

pub(super) static RULE: Rule = Rule {
    id: "worn-out",
    severity: Severity::Warn,
    summary: "90 % or more of the rated endurance used",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        let Some(log) = tally.known_or_note(name, "SMART log", &drive.health) else { continue };
        tally.checked();
        if log.used_percent < USED_PERCENT {
            continue;
        }
        let written = Bytes(u64::try_from(log.host_written_bytes).unwrap_or(u64::MAX));
        tally.found(finding(
            Severity::Warn,
            vec![name.clone()],
            format!("{name} has used {} % of its rated endurance.", log.used_percent),
            vec![
                Evidence::new("used", format!("{} %", log.used_percent)),
                Evidence::new("written", written.decimal()),
                Evidence::new("spare", format!("{} %", log.available_spare_percent)),
            ],
            "Beyond 100 % the vendor no longer guarantees error rates and data retention.",
            "Plan its replacement.",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, log};
    use iodyno_model::Fact;

    #[test]
    fn from_90_percent_on() {
        let with = |used| {
            check_rule(&RULE, &Bench::new(1).drive(0, |d| log(d).used_percent = used).record())
        };
        assert_eq!(with(89), Outcome::Clear);
        with(90).only(Severity::Warn);
        with(255).only(Severity::Warn);
        let blind = Bench::new(1).drive(0, |d| d.health = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
