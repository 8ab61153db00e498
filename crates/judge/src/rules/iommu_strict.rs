//! Finds drives behind an IOMMU in strict mode.

use iodyno_model::{Host, Severity};

use super::{Affected, Checks, Rule, Tally};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "iommu-strict",
    severity: Severity::Info,
    summary: "drives behind an IOMMU in strict mode, which costs CPU time for every I/O",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let mut affected = Affected::default();
    let mut address: Option<&String> = None;
    for drive in host.drives.iter().filter(|drive| !drive.links.is_empty()) {
        let name = &drive.name;
        // Absent: no translation.
        let Some(iommu) = drive.iommu.get() else {
            match drive.iommu.why_unknown() {
                Some(why) if drive.iommu != iodyno_model::Fact::Absent => {
                    tally.unknown(name, format!("its IOMMU: {why}"));
                }
                _ => tally.checked(),
            }
            continue;
        };
        let Some(strict) = tally.known_or_note(name, "whether its IOMMU is strict", &iommu.strict)
        else {
            continue;
        };
        tally.checked();
        if *strict {
            let domain = iommu.domain.get().map_or("", String::as_str);
            address = address.or(drive.address.get());
            affected.add(name.clone(), format!("domain {domain}"), vec![name.clone()]);
        }
    }
    affected.report(
        tally,
        "the IOMMU is in strict mode (flushes every mapping)",
        "Each I/O waits until the IOMMU's caches are emptied of its buffer: at many IOPS that is CPU time, and a \
         lock that all CPUs share.",
        &format!(
            "Compare with iommu.strict=0 (or iommu=pt) on the kernel's command line, unless protection from a \
             drive's stray accesses matters more. Whether it took: \
             cat /sys/bus/pci/devices/{}/iommu_group/type",
            address.map_or("ADDRESS", String::as_str)
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::{Fact, Iommu};

    #[test]
    fn strict_mode_is_reported_once_for_all_drives() {
        let with = |strict: Fact<bool>| {
            let iommu = Iommu { group: 7, domain: known("DMA".into()), strict };
            (0..2).fold(Bench::new(2), |bench, n| {
                bench.drive(n, |drive| drive.iommu = known(iommu.clone()))
            })
        };
        assert_eq!(check_rule(&RULE, &Bench::new(0).record()), Outcome::NotApplicable);
        // No IOMMU.
        assert_eq!(check_rule(&RULE, &Bench::new(2).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(known(false)).record()), Outcome::Clear);
        let strict = check_rule(&RULE, &with(known(true)).record());
        assert_eq!(strict.only(Severity::Info).subjects, ["nvme0", "nvme1"]);
        assert_eq!(check_rule(&RULE, &with(Fact::Absent).record()), Outcome::CannotTell);
        let unread = Bench::new(1).drive(0, |drive| drive.iommu = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &unread.record()), Outcome::CannotTell);
    }
}
