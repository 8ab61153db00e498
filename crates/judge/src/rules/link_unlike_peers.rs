//! Finds a drive whose link is slower than those of its equals.

use std::collections::BTreeMap;

use iodyno_model::{Drive, Evidence, Host, Link, LinkState, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;
use crate::yardsticks::LEAST_PEERS;

pub(super) static RULE: Rule = Rule {
    id: "link-unlike-peers",
    severity: Severity::Fail,
    summary: "a drive whose link is narrower or slower than those of its equals",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let mut models: BTreeMap<&str, Vec<(&Drive, &Link, LinkState)>> = BTreeMap::new();
    for drive in host.drives.iter().filter(|drive| drive.virtual_disk.is_none()) {
        let own = host.own_link(drive);
        let (Some(link), Some(model)) = (own, drive.model.get()) else { continue };
        match links::state(context.record(), link) {
            Some((state, _)) => models.entry(model).or_default().push((drive, link, state)),
            None => {
                tally.known_or_note(&drive.name, "link in use", &link.current);
            }
        }
    }
    for (model, drives) in models {
        if drives.len() < LEAST_PEERS {
            continue;
        }
        tally.checked();
        let alike = |state: LinkState| drives.iter().filter(|(.., s)| *s == state).count();
        let usual = drives.iter().map(|(.., state)| *state).find(|s| 2 * alike(*s) > drives.len());
        let Some(usual) = usual else { continue };
        for (drive, link, state) in &drives {
            // If it is below what its own ends can do, link-degraded reports it.
            let degraded = link.able().is_some_and(|able| links::is_less(*state, able));
            if links::raw(*state) >= links::raw(usual) || degraded {
                continue;
            }
            tally.found(finding(
                Severity::Fail,
                vec![drive.name.clone(), link.name().to_owned()],
                format!(
                    "The link of {} runs at {}, those of most drives of its model at {}.",
                    drive.name,
                    state.label(),
                    usual.label()
                ),
                vec![
                    Evidence::new("in use", state.label()),
                    Evidence::new("its peers", usual.label()),
                    Evidence::new("peers", format!("{} of {}", alike(usual), drives.len())),
                    Evidence::new("model", model),
                ],
                "Equal drives in unequal bays slow down any array of them.",
                format!(
                    "Swap it with one of its peers: if the fault stays with the bay, the slot is narrower; \
                     else the drive is. Look at: sudo lspci -vv -s {} | grep Lnk",
                    link.name()
                ),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::Fact;

    fn narrow(bench: Bench, n: usize) -> Bench {
        bench.link(n, |link| {
            link.port.max_width = known(2);
            link.current = known(LinkState { generation: 4, width: 2 });
        })
    }

    #[test]
    fn one_narrower_than_its_peers_fails() {
        assert_eq!(check_rule(&RULE, &Bench::new(3).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &narrow(Bench::new(2), 0).record()), Outcome::NotApplicable);
        let outcome = check_rule(&RULE, &narrow(Bench::new(3), 2).record());
        assert_eq!(outcome.only(Severity::Fail).subjects[0], "nvme2");
        // Degraded: link-degraded reports it.
        let degraded = narrow(Bench::new(3), 2).link(2, |link| link.port.max_width = known(4));
        assert_eq!(check_rule(&RULE, &degraded.record()), Outcome::Clear);
        let even = narrow(narrow(Bench::new(4), 2), 3);
        assert_eq!(check_rule(&RULE, &even.record()), Outcome::Clear);
        let blind = Bench::new(1).link(0, |link| link.current = Fact::Absent);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
