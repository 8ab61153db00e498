//! Equal drives with different firmware.

use std::collections::BTreeMap;

use iodyno_model::{Drive, Evidence, RuleReport, Severity};

use super::{Rule, Tally, finding};
use crate::facts::Facts;

pub(super) struct FirmwareDiffers;

impl Rule for FirmwareDiffers {
    fn id(&self) -> &'static str {
        "firmware-differs"
    }

    fn severity(&self) -> Severity {
        Severity::Warn
    }

    fn summary(&self) -> &'static str {
        "different firmware among drives of one model"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        let mut models: BTreeMap<&str, BTreeMap<&str, Vec<&Drive>>> = BTreeMap::new();
        for drive in &host.drives {
            let Some(model) = tally.know(&drive.name, "model", &drive.model) else { continue };
            let Some(firmware) = tally.know(&drive.name, "firmware", &drive.firmware) else {
                continue;
            };
            models.entry(model).or_default().entry(firmware).or_default().push(drive);
        }
        for (model, versions) in models {
            if versions.values().map(Vec::len).sum::<usize>() < 2 {
                continue;
            }
            tally.looked();
            if versions.len() < 2 {
                continue;
            }
            let names = |drives: &[&Drive]| {
                drives.iter().map(|drive| drive.name.clone()).collect::<Vec<_>>()
            };
            // The fewest stand out; where they are equal in number, all do.
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
                "Bring all to the version that the vendor recommends; what its slots hold: \
                 sudo nvme fw-log /dev/{}",
                subjects.first().map_or("nvme0", String::as_str)
            );
            tally.found(finding(
                self,
                Severity::Warn,
                subjects,
                format!("Drives of the model {model} have {} versions of firmware.", versions.len()),
                evidence,
                "Equal drives with different firmware may differ in speed and in faults that were mended.",
                next,
            ));
        }
        tally.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, known, look};
    use iodyno_model::Fact;

    #[test]
    fn one_of_three_stands_out() {
        assert_eq!(look(&FirmwareDiffers, &Bench::new(3).record()), Outcome::Clear);
        assert_eq!(look(&FirmwareDiffers, &Bench::new(1).record()), Outcome::NotApplicable);
        let bench = Bench::new(3).drive(1, |d| d.firmware = known("F0".into()));
        let outcome = look(&FirmwareDiffers, &bench.record());
        assert_eq!(outcome.only(Severity::Warn).subjects, ["nvme1"]);
        let other = bench.drive(1, |d| d.model = known("OTHER".into())).record();
        assert_eq!(look(&FirmwareDiffers, &other), Outcome::Clear);
        let blind = Bench::new(1).drive(0, |d| d.firmware = Fact::Absent).record();
        assert_eq!(look(&FirmwareDiffers, &blind), Outcome::CannotTell);
    }
}
