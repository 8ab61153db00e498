//! Finds equal drives with different firmware.

use std::collections::BTreeMap;

use iodyno_model::{Drive, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "firmware-differs",
    severity: Severity::Warn,
    summary: "different firmware among drives of one model",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let mut models: BTreeMap<&str, BTreeMap<&str, Vec<&Drive>>> = BTreeMap::new();
    for drive in &host.drives {
        let Some(model) = tally.known_or_note(&drive.name, "model", &drive.model) else { continue };
        let Some(firmware) = tally.known_or_note(&drive.name, "firmware", &drive.firmware) else {
            continue;
        };
        models.entry(model).or_default().entry(firmware).or_default().push(drive);
    }
    for (model, versions) in models {
        if versions.values().map(Vec::len).sum::<usize>() < 2 {
            continue;
        }
        tally.checked();
        if versions.len() < 2 {
            continue;
        }
        let names =
            |drives: &[&Drive]| drives.iter().map(|drive| drive.name.clone()).collect::<Vec<_>>();
        // The fewest are named; all if they are equal in number.
        let most = versions.values().map(Vec::len).max().unwrap_or(0);
        let fewer = versions.values().filter(|drives| drives.len() < most);
        let mut subjects: Vec<String> = fewer.flat_map(|drives| names(drives)).collect();
        if subjects.is_empty() {
            subjects = versions.values().flat_map(|drives| names(drives)).collect();
        }
        let evidence = versions
            .iter()
            .map(|(firmware, drives)| Evidence::new(*firmware, names(drives).join(", ")))
            .collect();
        let next = format!(
            "Update all to one version; firmware slots: sudo nvme fw-log /dev/{}",
            subjects.first().map_or("nvme0", String::as_str)
        );
        tally.found(finding(
            Severity::Warn,
            subjects,
            format!("Drives of the model {model} have {} versions of firmware.", versions.len()),
            evidence,
            "Equal drives with different firmware may differ in speed and in fixed bugs.",
            next,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::Fact;

    #[test]
    fn one_of_three_stands_out() {
        assert_eq!(check_rule(&RULE, &Bench::new(3).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        let bench = Bench::new(3).drive(1, |d| d.firmware = known("F0".into()));
        let outcome = check_rule(&RULE, &bench.record());
        assert_eq!(outcome.only(Severity::Warn).subjects, ["nvme1"]);
        let other = bench.drive(1, |d| d.model = known("OTHER".into())).record();
        assert_eq!(check_rule(&RULE, &other), Outcome::Clear);
        let blind = Bench::new(1).drive(0, |d| d.firmware = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
