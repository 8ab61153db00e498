//! Finds equal drives of which some have their volatile write cache off.

use std::collections::BTreeMap;

use iodyno_model::{Drive, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "write-cache-differs",
    severity: Severity::Warn,
    summary: "equal drives of which some have their volatile write cache off",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let mut models: BTreeMap<&str, Vec<(&Drive, bool)>> = BTreeMap::new();
    for drive in &host.drives {
        // Drives without one cannot differ.
        if drive.identify.get().is_some_and(|page| !page.volatile_write_cache) {
            continue;
        }
        let Some(on) =
            tally.known_or_note(&drive.name, "volatile write cache", &drive.write_cache_on)
        else {
            continue;
        };
        let Some(model) = drive.model.get() else { continue };
        models.entry(model).or_default().push((drive, *on));
    }
    for (model, drives) in models.into_iter().filter(|(_, drives)| drives.len() > 1) {
        tally.checked();
        let names = |wanted: bool| -> Vec<String> {
            let some = drives.iter().filter(|(_, on)| *on == wanted);
            some.map(|(drive, _)| drive.name.clone()).collect()
        };
        let (on, off) = (names(true), names(false));
        if on.is_empty() || off.is_empty() {
            continue;
        }
        let (is, are) = (off.join(", "), on.join(", "));
        let next = format!(
            "Set all alike before comparing writes: sudo nvme set-feature -f 6 -V 1 /dev/{0} (-V 0 \
             switches off; what is not flushed is lost when the power fails)",
            off[0]
        );
        let subjects = if off.len() <= on.len() { off } else { on };
        tally.found(finding(
            Severity::Warn,
            subjects,
            format!(
                "The volatile write cache of {is} is off; that of {are}, the same model, is on."
            ),
            vec![
                Evidence::new("model", model),
                Evidence::new("off", is.clone()),
                Evidence::new("on", are.clone()),
            ],
            "Without its cache a drive answers a write when it is on flash: writes are slower, and \
             an array is as fast as its slowest member.",
            next,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::{Fact, IdentifyController};

    #[test]
    fn the_one_of_three_that_differs_stands_out() {
        let with = |all: [Fact<bool>; 3]| {
            Bench::new(3).host(|host| {
                for (drive, on) in host.drives.iter_mut().zip(all) {
                    drive.write_cache_on = on;
                }
            })
        };
        let (on, off) = (|| known(true), || known(false));
        assert_eq!(check_rule(&RULE, &with([on(), on(), on()]).record()), Outcome::Clear);
        let one = with([on(), off(), on()]);
        let found = check_rule(&RULE, &one.record());
        let found = found.only(Severity::Warn);
        assert_eq!(found.subjects, ["nvme1"]);
        assert!(
            found.what.starts_with("The volatile write cache of nvme1 is off"),
            "{}",
            found.what
        );
        let other = one.drive(1, |drive| drive.model = known("ANOTHER".into()));
        assert_eq!(check_rule(&RULE, &other.record()), Outcome::Clear);
        let unread = || Fact::NeedsRoot;
        let blind = with([unread(), unread(), unread()]);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
        let without = (0..3).fold(blind, |bench, n| {
            bench.drive(n, |drive| drive.identify = known(IdentifyController::default()))
        });
        assert_eq!(check_rule(&RULE, &without.record()), Outcome::NotApplicable);
    }
}
