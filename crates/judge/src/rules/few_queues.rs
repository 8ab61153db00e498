//! Finds drives with a single I/O queue for all CPUs.

use iodyno_model::{Drive, Evidence, Host, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "few-queues",
    severity: Severity::Info,
    summary: "NVMe drives with one I/O queue for all CPUs",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let cpus = host.cpus.online.get().map_or(0, Vec::len);
    let is_local = |drive: &&Drive| drive.transport.get().is_none_or(|name| name == "pcie");
    let drives = host.drives.iter().filter(|drive| drive.virtual_disk.is_none());
    let drives = drives.filter(is_local);
    for drive in drives.filter(|_| cpus > 1) {
        let blocks = drive.namespaces.iter().filter_map(|one| host.block(&one.name));
        let Some(queues) = blocks.map(|block| &block.queue.hardware_queues).next() else {
            continue;
        };
        let Some(queues) = tally.known_or_note(&drive.name, "hardware queues", queues) else {
            continue;
        };
        tally.checked();
        if *queues != 1 {
            continue;
        }
        let name = &drive.name;
        tally.found(finding(
            Severity::Info,
            vec![name.clone()],
            format!("{name} has one I/O queue for {cpus} CPUs."),
            vec![
                Evidence::new("I/O queues", queues.to_string()),
                Evidence::new("CPUs", cpus.to_string()),
            ],
            "All CPUs submit through one lock and one interrupt: small I/Os of several threads \
             slow each other down, and one CPU takes all completions.",
            format!(
                "See how many the drive grants (sudo nvme get-feature -f 7 -H /dev/{name}) and \
                 whether its interrupts were cut: sudo dmesg | grep -i 'nvme {name}'"
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::Fact;

    #[test]
    fn one_queue_for_many_cpus_is_reported() {
        let with =
            |queues| Bench::new(2).host(|host| host.blocks[1].queue.hardware_queues = queues);
        assert_eq!(check_rule(&RULE, &with(known(2)).record()), Outcome::Clear);
        let one = with(known(1));
        assert_eq!(check_rule(&RULE, &one.record()).only(Severity::Info).subjects, ["nvme1"]);
        let one_cpu = one.clone().host(|host| host.cpus.online = known(vec![0]));
        assert_eq!(check_rule(&RULE, &one_cpu.record()), Outcome::NotApplicable);
        let cloud = one.drive(1, |drive| drive.virtual_disk = Some("a cloud".into()));
        assert_eq!(check_rule(&RULE, &cloud.record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(Fact::Absent).record()), Outcome::ClearBut(1));
    }
}
