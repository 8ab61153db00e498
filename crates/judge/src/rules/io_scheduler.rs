//! Qualifies an I/O scheduler in front of an NVMe drive.

use iodyno_model::{BlockKind, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::place::bottom_devices;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "io-scheduler",
    summary: "an I/O scheduler other than none on an NVMe drive",
    affected_by,
    what: "an I/O scheduler was in use",
    why: "A scheduler takes a lock and CPU time for every I/O, and holds some back; NVMe drives have \
          queues enough to do without, and do so unless somebody set it otherwise.",
    next: "echo none | sudo tee /sys/block/DEVICE/queue/scheduler. Where it is not the kernel's own \
           choice, look for the udev rule or tuned profile that set it; where it is wanted, keep it \
           and compare with such runs alone.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    for device in
        bottom_devices(host, of).into_iter().filter(|device| device.kind == BlockKind::Nvme)
    {
        match device.queue.scheduler.get() {
            // A multipath head has no queue, and so no scheduler.
            None if device.queue.nr_requests.get().is_none() => {}
            None => return Err(format!("the scheduler of {} is not known", device.name)),
            Some(scheduler) if scheduler != "none" => {
                // Default of devices with one hardware queue (Linux, block/elevator.c).
                let is_default =
                    scheduler == "mq-deadline" && device.queue.hardware_queues.get() == Some(&1);
                let whose = match is_default {
                    true => ", the kernel's default for one hardware queue",
                    false => "",
                };
                return Ok(Some(format!("{scheduler} on {}{whose}", device.name)));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Fact, Severity};

    #[test]
    fn nvme_is_to_have_none() {
        let with = |scheduler: Fact<String>, kind: BlockKind| {
            let bench = Bench::new(1).measured().host(|host| {
                host.blocks[0].queue.scheduler = scheduler;
                host.blocks[0].kind = kind;
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &with(known("none".into()), BlockKind::Nvme)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(known("bfq".into()), BlockKind::Scsi)), Outcome::Clear);
        let tripped = with(known("bfq".into()), BlockKind::Nvme);
        check_rule(&RULE, &tripped).only(Severity::Info);
        assert_eq!(reserves(&RULE, &tripped, 0).unwrap().why, "bfq on nvme0n1");
        let by_default = Bench::new(1).measured().host(|host| {
            host.blocks[0].queue.scheduler = known("mq-deadline".into());
            host.blocks[0].queue.hardware_queues = known(1);
        });
        let why = reserves(&RULE, &by_default.record(), 0).unwrap().why;
        assert!(why.contains("the kernel's default"), "{why}");
        assert_eq!(check_rule(&RULE, &with(Fact::Absent, BlockKind::Nvme)), Outcome::CannotTell);
    }
}
