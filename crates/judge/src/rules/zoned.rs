//! Finds zoned namespaces.

use iodyno_model::{Bytes, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "zoned",
    severity: Severity::Info,
    summary: "zoned devices, whose zones only take sequential writes",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let layers = |name: &String| host.block(name).is_some_and(|one| !one.stands_on.is_empty());
    for block in host.blocks.iter().filter(|block| !layers(&block.name)) {
        let Some(zone_bytes) = block.zones() else {
            // Not reported by old kernels, nor in old captures.
            if block.queue.zoned.get().is_some() {
                tally.checked();
            }
            continue;
        };
        let mut evidence = vec![Evidence::new("zones", "host-managed")];
        let size = zone_bytes.map(|bytes| Bytes(bytes).binary());
        evidence.extend(size.map(|size| Evidence::new("zone size", size)));
        let name = &block.name;
        tally.found(finding(
            Severity::Info,
            vec![name.clone()],
            format!("{name} is zoned: zones only take sequential writes."),
            evidence,
            "Any other write fails, and says nothing of the drive's health. Blocks behind a zone's \
             write pointer hold no data.",
            format!(
                "Fill it with: sudo iodyno prepare {name} --fill 1x. Write to it with zonemode=zbd, \
                 which fio does (iodyno run --generator fio). Its zones: sudo blkzone report \
                 /dev/{name}"
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, partition};

    #[test]
    fn zones_are_named_once_for_each_device() {
        let bench = Bench::new(2).host(|host| {
            host.blocks.iter_mut().for_each(|block| block.queue.zoned = known("none".into()));
        });
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::Clear);
        let zoned = bench.host(|host| {
            host.blocks[1].queue.zoned = known("host-managed".into());
            host.blocks[1].queue.zone_bytes = known(64 << 20);
            let mut part = partition("nvme1n1p1", "nvme1n1");
            part.queue = host.blocks[1].queue.clone();
            host.blocks.push(part);
        });
        let found = check_rule(&RULE, &zoned.record());
        let found = found.only(Severity::Info);
        assert_eq!(found.subjects, ["nvme1n1"]);
        assert_eq!(found.evidence[1].value, "64 MiB");
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
    }
}
