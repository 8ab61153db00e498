//! Finds new media errors during the run.

use iodyno_model::{Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "media-errors-rising",
    severity: Severity::Fail,
    summary: "media errors that the drive counted during the run",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        let name = &drive.name;
        // The last log that was read: quick snapshots have none.
        let later = context.record().snapshots.iter().skip(1);
        let Some(last) = later.rev().find_map(|host| host.drive(name)?.health.get()) else {
            if context.record().snapshots.len() > 1 && drive.health.get().is_none() {
                tally.known_or_note(name, "SMART log", &drive.health);
            }
            continue;
        };
        let Some(first) = tally.known_or_note(name, "SMART log", &drive.health) else { continue };
        tally.checked();
        if last.media_errors <= first.media_errors {
            continue;
        }
        let grown = last.media_errors - first.media_errors;
        tally.found(finding(
            Severity::Fail,
            vec![name.clone()],
            format!("{name} counted {grown} media errors during the run."),
            vec![
                Evidence::new("before", first.media_errors.to_string()),
                Evidence::new("after", last.media_errors.to_string()),
            ],
            "The drive lost data while it was being read.",
            format!("Save its data and replace it. Its log: sudo nvme error-log /dev/{name}"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, log};
    use iodyno_model::Fact;

    #[test]
    fn only_growth_counts() {
        let bench = Bench::new(1).drive(0, |d| log(d).media_errors = 5);
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::NotApplicable);
        assert_eq!(check_rule(&RULE, &bench.clone().after(|_| {}).record()), Outcome::Clear);
        let grown = bench.clone().after(|host| log(&mut host.drives[0]).media_errors = 7).record();
        assert!(check_rule(&RULE, &grown).only(Severity::Fail).what.contains("2 media"));
        let blind = bench.drive(0, |d| d.health = Fact::NeedsRoot).after(|_| {}).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
