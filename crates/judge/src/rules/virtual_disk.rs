//! Disks that are a hypervisor's.

use iodyno_model::{BlockKind, Evidence, RuleReport, Severity};

use super::{Rule, Tally, finding};
use crate::facts::Facts;

pub(super) struct VirtualDisk;

const WHY: &str = "It has no link and no data sheet: its limits are a contract's, and other tenants may share it.";
const NEXT: &str = "Compare its rates with what was ordered, or with an earlier run (--baseline).";

impl Rule for VirtualDisk {
    fn id(&self) -> &'static str {
        "virtual-disk"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "disks of a cloud or hypervisor"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let Some(host) = facts.host() else { return Tally::no_host(self) };
        let mut tally = Tally::new(self);
        for drive in &host.drives {
            if let Some(whose) = &drive.virtual_disk {
                tally.found(finding(
                    self,
                    Severity::Info,
                    vec![drive.name.clone()],
                    format!("{} is a virtual disk: {whose}.", drive.name),
                    vec![Evidence::new("model", drive.model.value().unwrap_or_default())],
                    WHY,
                    NEXT,
                ));
            } else if tally.know(&drive.name, "model", &drive.model).is_some() {
                tally.looked();
            }
        }
        // Others only where they were measured: a machine may have dozens.
        let mut told: Vec<String> = Vec::new();
        for (_, of) in facts.finished() {
            for target in &of.targets {
                let Some(bottom) = facts.place(of, target).bottom else { continue };
                let kind = host.block(&bottom).map(|block| &block.kind);
                if kind != Some(&BlockKind::Virtual) || told.contains(&bottom) {
                    continue;
                }
                tally.found(finding(
                    self,
                    Severity::Info,
                    vec![bottom.clone()],
                    format!("{bottom} is a virtual disk."),
                    vec![Evidence::new("under", target.clone())],
                    WHY,
                    NEXT,
                ));
                told.push(bottom);
            }
        }
        tally.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look};
    use iodyno_model::Fact;

    #[test]
    fn virtual_disks_are_named_as_such() {
        assert_eq!(look(&VirtualDisk, &Bench::new(1).record()), Outcome::Clear);
        let cloud = Bench::new(1).drive(0, |d| d.virtual_disk = Some("a cloud".into())).record();
        assert!(look(&VirtualDisk, &cloud).only(Severity::Info).what.contains("a cloud"));
        let blind = Bench::new(1).drive(0, |d| d.model = Fact::Absent).record();
        assert_eq!(look(&VirtualDisk, &blind), Outcome::CannotTell);
        let virtio = Bench::new(1).measured().host(|host| {
            host.drives.clear();
            host.blocks[0].kind = BlockKind::Virtual;
        });
        assert_eq!(look(&VirtualDisk, &virtio.record()).only(Severity::Info).subjects, ["nvme0n1"]);
    }
}
