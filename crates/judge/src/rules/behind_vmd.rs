//! Qualifies drives behind a VMD controller.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::place::devices;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "behind-vmd",
    summary: "drives behind Intel VMD, which handles their interrupts",
    affected_by,
    what: "its drives are behind a VMD controller",
    why: "Where VMD takes the drives' interrupts for them (before Ice Lake, and before Linux 5.13), \
          all drives of a domain share its few vectors: many small I/Os cost more CPU time, and \
          latencies rise.",
    next: "Where no VROC array needs it, switch VMD off for these slots in the BIOS (Volume \
           Management Device), and compare.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    let names = devices(Some(host), of);
    let behind = names.into_iter().find_map(|name| {
        let (drive, _) = host.namespace(name)?;
        Some(format!("{name} is behind the VMD controller {}", drive.vmd.as_ref()?))
    });
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves};
    use iodyno_model::Severity;

    #[test]
    fn a_drive_in_a_vmd_domain_is_reported() {
        let bench = Bench::new(2).measured();
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        let behind = bench.drive(0, |drive| drive.vmd = Some("0000:80:05.5".into())).record();
        check_rule(&RULE, &behind).only(Severity::Info);
        let why = reserves(&RULE, &behind, 0).unwrap().why;
        assert_eq!(why, "nvme0n1 is behind the VMD controller 0000:80:05.5");
        assert_eq!(reserves(&RULE, &behind, 3), None);
        let mut blind = behind;
        blind.snapshots.clear();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
