//! Finds disks of a hypervisor.

use std::collections::{BTreeMap, BTreeSet};

use iodyno_model::{BlockKind, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

const WHY: &str =
    "It has no link and no data sheet: its speed is set by your provider, and it may be shared.";
const NEXT: &str =
    "Compare its rates with what was ordered (--volume) or with an earlier run (--baseline).";

pub(super) static RULE: Rule = Rule {
    id: "virtual-disk",
    severity: Severity::Info,
    summary: "disks of a cloud or hypervisor",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in &host.drives {
        if let Some(whose) = &drive.virtual_disk {
            tally.found(finding(
                Severity::Info,
                vec![drive.name.clone()],
                format!("{} is a virtual disk: {whose}.", drive.name),
                vec![Evidence::new("model", drive.model.value().unwrap_or_default())],
                WHY,
                NEXT,
            ));
        } else if tally.known_or_note(&drive.name, "model", &drive.model).is_some() {
            tally.checked();
        }
    }
    // Others only if they were measured: a machine may have dozens.
    let mut measured = BTreeMap::<String, BTreeSet<&str>>::new();
    for (_, of) in context.finished() {
        for target in &of.targets {
            let Some(bottom) = context.place(of, target).bottom else { continue };
            if host.block(&bottom).map(|block| &block.kind) == Some(&BlockKind::Virtual) {
                measured.entry(bottom).or_default().insert(target);
            }
        }
    }
    for (bottom, targets) in measured {
        let what = format!("{bottom} is a virtual disk.");
        let evidence = targets.into_iter().map(|target| Evidence::new("under", target)).collect();
        tally.found(finding(Severity::Info, vec![bottom], what, evidence, WHY, NEXT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule};
    use iodyno_model::Fact;

    #[test]
    fn virtual_disks_are_named_as_such() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let cloud = Bench::new(1).drive(0, |d| d.virtual_disk = Some("a cloud".into())).record();
        assert!(check_rule(&RULE, &cloud).only(Severity::Info).what.contains("a cloud"));
        let blind = Bench::new(1).drive(0, |d| d.model = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
        let virtio = Bench::new(1).measured().host(|host| {
            host.drives.clear();
            host.blocks[0].kind = BlockKind::Virtual;
        });
        assert_eq!(check_rule(&RULE, &virtio.record()).only(Severity::Info).subjects, ["nvme0n1"]);
    }
}
