//! Drives near the end of their endurance.

use iodyno_model::{Bytes, Evidence, RuleReport, Severity};

use super::{Rule, Tally, finding};
use crate::facts::Facts;

pub(super) struct WornOut;

/// Percentage Used from which on a replacement should be planned.
const USED_PERCENT: u8 = 90;

impl Rule for WornOut {
    fn id(&self) -> &'static str {
        "worn-out"
    }

    fn severity(&self) -> Severity {
        Severity::Warn
    }

    fn summary(&self) -> &'static str {
        "90 % or more of the rated endurance used"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        for drive in &host.drives {
            let name = &drive.name;
            let Some(log) = tally.know(name, "SMART log", &drive.health) else { continue };
            tally.looked();
            if log.used_percent < USED_PERCENT {
                continue;
            }
            let written = Bytes(u64::try_from(log.host_written_bytes).unwrap_or(u64::MAX));
            tally.found(finding(
                self,
                Severity::Warn,
                vec![name.clone()],
                format!("{name} has used {} % of its rated endurance.", log.used_percent),
                vec![
                    Evidence::new("used", format!("{} %", log.used_percent)),
                    Evidence::new("written", written.decimal()),
                    Evidence::new("spare", format!("{} %", log.available_spare_percent)),
                ],
                "Beyond 100 % the maker no longer answers for errors and for how long data keeps without power.",
                "Plan its replacement.",
            ));
        }
        tally.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, log, look};
    use iodyno_model::Fact;

    #[test]
    fn from_90_percent_on() {
        let with =
            |used| look(&WornOut, &Bench::new(1).drive(0, |d| log(d).used_percent = used).record());
        assert_eq!(with(89), Outcome::Clear);
        with(90).only(Severity::Warn);
        with(255).only(Severity::Warn);
        let blind = Bench::new(1).drive(0, |d| d.health = Fact::Absent).record();
        assert_eq!(look(&WornOut, &blind), Outcome::CannotTell);
    }
}
