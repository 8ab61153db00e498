//! Finds media errors in a drive's lifetime.

use iodyno_model::{Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "media-errors",
    severity: Severity::Warn,
    summary: "lifetime media errors",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        let Some(log) = tally.known_or_note(name, "SMART log", &drive.health) else { continue };
        tally.checked();
        if log.media_errors == 0 {
            continue;
        }
        tally.found(finding(
            Severity::Warn,
            vec![name.clone()],
            format!("{name} has lifetime media errors."),
            vec![
                Evidence::new("media errors", log.media_errors.to_string()),
                Evidence::new("power-on", format!("{} h", log.power_on_hours)),
            ],
            "Each is a lost block, unless a layer above the drive repaired it.",
            format!(
                "Watch whether they grow, and compare with a later run (--baseline). Its log: \
                 sudo nvme error-log /dev/{name}"
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, log};
    use iodyno_model::Fact;

    #[test]
    fn any_is_a_warning() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let some = Bench::new(1).drive(0, |d| log(d).media_errors = 1).record();
        check_rule(&RULE, &some).only(Severity::Warn);
        let blind = Bench::new(1).drive(0, |d| d.health = Fact::NeedsRoot).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
