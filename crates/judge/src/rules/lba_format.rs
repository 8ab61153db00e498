//! Finds namespaces with a slower LBA format than available.

use iodyno_model::{Evidence, Host, LbaFormat, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

/// Names of Relative Performance (NVM Command Set Specification 1.0, figure 98).
const PERFORMANCE: [&str; 4] = ["best", "better", "good", "degraded"];

pub(super) static RULE: Rule = Rule {
    id: "lba-format",
    severity: Severity::Info,
    summary: "namespaces formatted with a slower LBA format than offered",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for namespace in host.drives.iter().flat_map(|drive| &drive.namespaces) {
        let name = &namespace.name;
        let identified = tally.known_or_note(name, "Identify Namespace", &namespace.identify);
        let Some(identified) = identified else { continue };
        let (Some(used), Some(best)) = (identified.format(), identified.best_format()) else {
            tally.unknown(name, "Identify Namespace names a format that it does not list");
            continue;
        };
        tally.checked();
        if best.relative_performance >= used.relative_performance {
            continue;
        }
        let index = identified.formats.iter().position(|format| format == best).unwrap_or(0);
        tally.found(finding(
            Severity::Info,
            vec![name.clone()],
            format!(
                "{name} is formatted with blocks of {} bytes; the drive states that {} are faster.",
                used.data_bytes, best.data_bytes
            ),
            vec![Evidence::new("in use", words(used)), Evidence::new("best offered", words(best))],
            "Small writes may cost the drive more than they need to.",
            format!(
                "When it is next emptied (this erases everything on it): sudo nvme format /dev/{name} \
                 --lbaf={index}"
            ),
        ));
    }
}

fn words(format: &LbaFormat) -> String {
    let performance =
        PERFORMANCE.get(usize::from(format.relative_performance)).unwrap_or(&"unknown");
    match format.metadata_bytes {
        0 => format!("{} bytes, {performance}", format.data_bytes),
        metadata => format!("{} + {metadata} bytes, {performance}", format.data_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule};
    use iodyno_model::{Drive, Fact, IdentifyNamespace};

    fn identified(drive: &mut Drive) -> &mut IdentifyNamespace {
        match &mut drive.namespaces[0].identify {
            Fact::Read(identified) => identified,
            _ => panic!("the builder's drives have it"),
        }
    }

    #[test]
    fn a_slower_format_is_worth_knowing() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let slow = Bench::new(1).drive(0, |d| identified(d).format_in_use = 0).record();
        let outcome = check_rule(&RULE, &slow);
        assert!(outcome.only(Severity::Info).next.contains("/dev/nvme0n1 --lbaf=1"));
        let even = Bench::new(1).drive(0, |d| {
            identified(d).format_in_use = 0;
            identified(d).formats[0].relative_performance = 0;
        });
        assert_eq!(check_rule(&RULE, &even.record()), Outcome::Clear);
        let odd = Bench::new(1).drive(0, |d| identified(d).format_in_use = 9).record();
        assert_eq!(check_rule(&RULE, &odd), Outcome::CannotTell);
        let blind = Bench::new(1).drive(0, |d| d.namespaces[0].identify = Fact::NeedsRoot).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
