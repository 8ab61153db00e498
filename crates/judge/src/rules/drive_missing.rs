//! Finds drives that are missing, or unexpected.

use std::collections::BTreeSet;

use iodyno_model::{Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

const WHY: &str = "Data on it is unavailable, and an array may have lost redundancy.";
const NEXT: &str = "Look for the drive in its bay and for its PCI function: lspci -nn | grep -i 'non-volatile'; \
                    then: sudo dmesg | grep -i -e nvme -e pcie";

pub(super) static RULE: Rule = Rule {
    id: "drive-missing",
    severity: Severity::Fail,
    summary: "drives that vanished, or differ from --expect or the baseline",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    vanished(context, host, tally);
    if let Some(expect) = context.question.expect {
        tally.checked();
        let found = host.drive_count();
        if let Some(count) = expect.drives.filter(|count| *count != found) {
            let what = format!("{found} NVMe drives found, expected {count}.");
            let evidence = vec![
                Evidence::new("expected", count.to_string()),
                Evidence::new("found", found.to_string()),
            ];
            let names = host.drives.iter().map(|drive| drive.name.clone());
            // Which ones are too many is not known; missing ones have no name.
            let subjects = if found > count { names.collect() } else { Vec::new() };
            tally.found(finding(Severity::Fail, subjects, what, evidence, WHY, NEXT));
        }
        if let Some(serials) = &expect.serials {
            compare(host, serials.iter().map(String::as_str), "as expected", tally);
        }
    }
    let baseline = context.question.baseline.and_then(|record| record.host());
    // Another machine has other drives.
    if let Some(earlier) = baseline.filter(|b| same_machine(b, host)) {
        tally.checked();
        let known = earlier.drives.iter().filter_map(|d| d.serial.get()).map(String::as_str);
        compare(host, known, "in the baseline", tally);
    }
}

/// Finds drives present at the start that are gone or being removed at the end.
fn vanished(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    if context.record().snapshots.len() < 2 || host.drives.is_empty() {
        return;
    }
    tally.checked();
    let last = context.record().host_after();
    for drive in &host.drives {
        let now = last.and_then(|last| last.drive(&drive.name));
        if now.is_some_and(|now| !now.is_being_removed() || drive.is_being_removed()) {
            continue;
        }
        let serial = drive.serial.value().unwrap_or_else(|| "unknown".into());
        let mut subjects = vec![drive.name.clone()];
        subjects.extend(drive.namespaces.iter().map(|namespace| namespace.name.clone()));
        tally.found(finding(
            Severity::Fail,
            subjects,
            format!("{} vanished during the run.", drive.name),
            vec![Evidence::new("serial", serial)],
            WHY,
            NEXT,
        ));
    }
}

fn compare<'s>(host: &Host, wanted: impl Iterator<Item = &'s str>, whose: &str, tally: &mut Tally) {
    let wanted: BTreeSet<&str> = wanted.collect();
    let mut there = BTreeSet::new();
    let mut all_known = true;
    for drive in &host.drives {
        match tally.known_or_note(&drive.name, "serial number", &drive.serial) {
            Some(serial) => {
                there.insert(serial.as_str());
            }
            None => all_known = false,
        }
    }
    if all_known {
        for serial in wanted.difference(&there) {
            tally.found(finding(
                Severity::Fail,
                vec![(*serial).to_owned()],
                format!("The drive with serial number {serial} is missing, unlike {whose}."),
                vec![Evidence::new("serial", *serial)],
                WHY,
                NEXT,
            ));
        }
    }
    for drive in &host.drives {
        let Some(serial) = drive.serial.get() else { continue };
        if !wanted.contains(serial.as_str()) {
            tally.found(finding(
                Severity::Fail,
                vec![drive.name.clone()],
                format!("{} with serial number {serial} is not {whose}.", drive.name),
                vec![
                    Evidence::new("serial", serial.clone()),
                    Evidence::new("model", drive.model.value().unwrap_or_default()),
                ],
                "An unknown drive may be another machine's, or an unrecorded replacement.",
                "If it belongs here, add it to the expectation or make a new baseline.",
            ));
        }
    }
}

/// Returns true unless they are known to be different machines.
fn same_machine(a: &Host, b: &Host) -> bool {
    match (a.hostname.get(), b.hostname.get()) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectation::Expectation;
    use crate::testing::{Bench, Outcome, check_rule, check_rule_with, known};

    fn expected(bench: &Bench, text: &str) -> Outcome {
        let record = bench.record();
        let expect = Expectation::parse(text, "e").unwrap();
        check_rule_with(&RULE, &record, None, Some(&expect))
    }

    #[test]
    fn serials_and_counts_are_compared_with_the_expectation() {
        let bench = Bench::new(2);
        let all = "drives = 2\nserials = ['S0', 'S1']";
        assert_eq!(expected(&bench, all), Outcome::Clear);
        let missing = expected(&bench, "serials = ['S0', 'S1', 'S2']");
        assert_eq!(missing.only(Severity::Fail).subjects, ["S2"]);
        let more = expected(&bench, "serials = ['S0']");
        assert_eq!(more.only(Severity::Fail).subjects, ["nvme1"]);
        assert!(expected(&bench, "drives = 3").only(Severity::Fail).what.contains("expected 3"));
        // Two controllers of one subsystem are two paths to one drive.
        let two_paths = Bench::new(2).host(|host| {
            host.subsystems.push(iodyno_model::Subsystem {
                name: "nvme-subsys0".into(),
                nqn: iodyno_model::Fact::Absent,
                io_policy: iodyno_model::Fact::Absent,
                controllers: vec!["nvme0".into(), "nvme1".into()],
            });
        });
        assert_eq!(expected(&two_paths, "drives = 1"), Outcome::Clear);
        expected(&two_paths, "drives = 2").only(Severity::Fail);
        let blind = Bench::new(1).drive(0, |drive| drive.serial = iodyno_model::Fact::Absent);
        assert_eq!(expected(&blind, "serials = ['S0']").unknown(), 1);
    }

    #[test]
    fn drives_of_the_baseline_are_missed_on_the_same_machine_only() {
        let (now, before) = (Bench::new(1).record(), Bench::new(2).record());
        let outcome = check_rule_with(&RULE, &now, Some(&before), None);
        assert!(outcome.only(Severity::Fail).what.contains("S1"));
        let mut other = before;
        other.snapshots[0].hostname = iodyno_model::Fact::Read("other".into());
        assert_eq!(check_rule_with(&RULE, &now, Some(&other), None), Outcome::NotApplicable);
    }

    #[test]
    fn a_drive_that_vanishes_is_missed() {
        let record = Bench::new(2).after(|host| host.drives.truncate(1)).record();
        assert_eq!(check_rule(&RULE, &record).only(Severity::Fail).subjects[0], "nvme1");
        assert_eq!(check_rule(&RULE, &Bench::new(2).after(|_| {}).record()), Outcome::Clear);
        let with = |state: &str| {
            let after = |host: &mut Host| host.drives[1].state = known(state.into());
            check_rule(&RULE, &Bench::new(2).after(after).record())
        };
        assert_eq!(with("deleting (no IO)").only(Severity::Fail).subjects[0], "nvme1");
        assert_eq!(with("dead"), Outcome::Clear, "it is there, and drive-dead's");
        let mut blind = record;
        blind.snapshots.clear();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
