//! Blocks that the kernel cuts into several requests.

use iodyno_model::{Bytes, Measurement};

use super::qualifies::{Qualifies, Seen};
use crate::facts::Facts;
use crate::place::bottoms;

pub(super) static RULE: Qualifies = Qualifies {
    id: "blocks-split",
    summary: "blocks larger than max_sectors_kb, though the hardware takes larger requests",
    look,
    what: "its blocks were cut into several requests",
    why: "The drive got more and smaller commands than the job made, and a block is done when the \
          last of its parts is.",
    next: "Allow what the hardware takes: cat /sys/block/DEVICE/queue/max_hw_sectors_kb | sudo tee \
           /sys/block/DEVICE/queue/max_sectors_kb; or measure with blocks of that size.",
};

fn look(facts: &Facts<'_>, of: &Measurement) -> Seen {
    let Some(block_bytes) = of.workload.bs else {
        return Err("its block size is not known".into());
    };
    let host = facts.known_host()?;
    for device in bottoms(host, of) {
        let queue = &device.queue;
        let (Some(most), Some(hardware)) =
            (queue.max_sectors_kib.value(), queue.max_hw_sectors_kib.value())
        else {
            return Err(format!("the largest request of {} is not known", device.name));
        };
        // What the hardware itself takes at most is no setting to be blamed.
        if most < hardware && block_bytes > Bytes::kib(most.into()).0 {
            return Ok(Some(format!(
                "blocks of {} became requests of {}, and {} takes {}",
                Bytes(block_bytes).binary(),
                Bytes::kib(most.into()).binary(),
                device.name,
                Bytes::kib(hardware.into()).binary()
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, known, look, reserves};
    use iodyno_model::{Fact, Severity};

    #[test]
    fn only_a_setting_is_blamed() {
        let limits = |most: u32, hardware: u32| {
            let bench = Bench::new(1).measured().host(|host| {
                host.blocks[0].queue.max_sectors_kib = known(most);
                host.blocks[0].queue.max_hw_sectors_kib = known(hardware);
            });
            bench.record()
        };
        assert_eq!(look(&RULE, &limits(1280, 2048)), Outcome::Clear);
        assert_eq!(look(&RULE, &limits(128, 128)), Outcome::Clear);
        let tripped = limits(128, 512);
        look(&RULE, &tripped).only(Severity::Info);
        assert!(reserves(&RULE, &tripped, 0).unwrap().why.contains("256 KiB became"));
        assert_eq!(reserves(&RULE, &tripped, 1), None);
        let blind = Bench::new(1)
            .measured()
            .host(|host| host.blocks[0].queue.max_sectors_kib = Fact::Absent)
            .record();
        assert_eq!(look(&RULE, &blind), Outcome::CannotTell);
    }
}
