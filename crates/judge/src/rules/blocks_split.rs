//! Qualifies blocks that the kernel splits into several requests.

use iodyno_model::{Bytes, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::only_trims;
use crate::place::bottom_devices;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "blocks-split",
    summary: "blocks larger than the largest request (max_sectors_kb, or the drive's MDTS)",
    affected_by,
    what: "its blocks were split into requests",
    why: "The drive got more and smaller commands than the job made, and a block is done when the \
          last of its parts is.",
    next: "Measure with blocks of that size. Where the drive takes larger ones, allow them: cat /sys/block/DEVICE/queue/max_hw_sectors_kb | sudo tee \
           /sys/block/DEVICE/queue/max_sectors_kb",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    // Trims are split by another limit (discard_max_bytes).
    if only_trims(of) {
        return Ok(None);
    }
    let Some(block_bytes) = of.workload.bs else {
        return Err("its block size is not known".into());
    };
    let host = context.known_host()?;
    for device in bottom_devices(host, of) {
        let queue = &device.queue;
        let (Some(most), Some(hardware)) =
            (queue.max_sectors_kib.value(), queue.max_hw_sectors_kib.value())
        else {
            return Err(format!("maximum request of {} is not known", device.name));
        };
        let (most, hardware) = (Bytes::kib(most.into()), Bytes::kib(hardware.into()));
        if block_bytes <= most.0 {
            continue;
        }
        let became = format!(
            "blocks of {} became requests of {}",
            Bytes(block_bytes).binary(),
            most.binary()
        );
        let name = &device.name;
        return Ok(Some(match most < hardware {
            true => format!("{became}, and {name} takes {}", hardware.binary()),
            false => format!("{became}, the largest that {name} takes (MDTS)"),
        }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Fact, Severity};

    #[test]
    fn settings_and_mdts_are_distinguished() {
        let limits = |most: u32, hardware: u32| {
            let bench = Bench::new(1).measured().host(|host| {
                host.blocks[0].queue.max_sectors_kib = known(most);
                host.blocks[0].queue.max_hw_sectors_kib = known(hardware);
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &limits(1280, 2048)), Outcome::Clear);
        let own = reserves(&RULE, &limits(128, 128), 0).unwrap().why;
        assert!(
            own.ends_with("requests of 128 KiB, the largest that nvme0n1 takes (MDTS)"),
            "{own}"
        );
        let tripped = limits(128, 512);
        check_rule(&RULE, &tripped).only(Severity::Info);
        assert!(reserves(&RULE, &tripped, 0).unwrap().why.contains("256 KiB became"));
        assert_eq!(reserves(&RULE, &tripped, 1), None);
        let mut trims = tripped;
        trims.measurements[0].total[0].direction = iodyno_model::Direction::Trim;
        assert_eq!(check_rule(&RULE, &trims), Outcome::Clear);
        let blind = Bench::new(1)
            .measured()
            .host(|host| host.blocks[0].queue.max_sectors_kib = Fact::Absent)
            .record();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
