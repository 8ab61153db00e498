//! Finds links whose target speed is set below what they can do.

use iodyno_model::{Evidence, Fact, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "link-target-speed",
    severity: Severity::Warn,
    summary: "links whose target speed was set below what both ends can do",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for link in links::real(host) {
        let target = match &link.port.target_generation {
            Fact::Absent => continue,
            fact => tally.known_or_note(link.name(), "target speed (Link Control 2)", fact),
        };
        let Some(target) = target else { continue };
        let Some(able) = link.able() else {
            tally.unknown(link.name(), "capability of both ends of the link");
            continue;
        };
        tally.checked();
        if *target >= able.generation {
            continue;
        }
        let mut evidence = vec![
            Evidence::new("target speed", format!("Gen{target}")),
            Evidence::new("able", able.label()),
        ];
        evidence.extend(link.current.get().map(|now| Evidence::new("in use", now.label())));
        evidence.push(Evidence::new("port", link.port.address.clone()));
        tally.found(finding(
            Severity::Warn,
            links::subjects(host, link),
            format!(
                "{} has its target speed set to Gen{target} by firmware, though both ends can do Gen{}.",
                links::title(host, link),
                able.generation
            ),
            evidence,
            "The link will not train faster than its target, with any drive.",
            format!(
                "Look for the slot's link speed in the BIOS settings (often: Auto or Gen{}); the register: \
                 sudo lspci -vv -s {} | grep LnkCtl2",
                able.generation, link.port.address
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};

    #[test]
    fn a_low_target_is_a_warning() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let low = Bench::new(1).link(0, |link| link.port.target_generation = known(3));
        check_rule(&RULE, &low.record()).only(Severity::Warn);
        let slow_drive = low.link(0, |link| link.device.max_generation = known(3));
        assert_eq!(check_rule(&RULE, &slow_drive.record()), Outcome::Clear);
        let blind = Bench::new(1).link(0, |link| link.port.target_generation = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
