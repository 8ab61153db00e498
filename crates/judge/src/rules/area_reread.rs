//! Finds repeated reads of a small area.

use iodyno_model::{Bytes, Direction, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::reach::reach_bytes;
use crate::rule_context::RuleContext;

/// A drive's memory is about 1/1024 of its capacity: its map takes 4 bytes per 4 KiB.
const MEMORY_SHARE: u64 = 1024;
/// Cache size of a RAID card or hypervisor, assumed if the capacity is not a drive's, bytes.
const SMALL: u64 = 1 << 30;
/// From this mean number of reads per block on, most reads are repeated.
const TIMES: u64 = 2;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "area-reread",
    summary: "repeated reads of the same few blocks, which a cache may hold",
    affected_by,
    what: "the same blocks were read several times",
    why: "What was read before may come from the drive's own memory or a controller's, and its map \
          of so small an area is always at hand: other blocks are slower.",
    next: "Read a larger area (size), best the whole drive, and across runs other offsets \
           (randrepeat=0): by default each run repeats the same ones.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let Some(read) = of.result(Direction::Read) else { return Ok(None) };
    let Some(read_bytes) = read.whole_bytes.or(read.bytes) else {
        return Err("how much was read is not known".into());
    };
    let Some(reach) = reach_bytes(context.host(), of).filter(|bytes| *bytes > 0) else {
        return Err("the size of the tested range is not known".into());
    };
    let capacity = match of.targets.as_slice() {
        [target] => context.place(of, target).drive.filter(|drive| drive.virtual_disk.is_none()),
        _ => None,
    }
    .and_then(|drive| drive.capacity.value());
    let small = capacity.map_or(SMALL, |bytes| bytes.0 / MEMORY_SHARE);
    let times = read_bytes / reach;
    Ok((reach < small && times >= TIMES)
        .then(|| format!("{} were read {times} times", Bytes(reach).binary())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn a_small_area_read_often_may_be_cached() {
        let with = |reach: Option<u64>, read: Option<u64>| {
            let bench = each(Bench::new(1).measured(), |of| {
                of.conditions.ranges = reach.map(|bytes| (0, bytes)).into_iter().collect();
                of.total[0].whole_bytes = read;
                of.total[0].bytes = read;
            });
            bench.record()
        };
        let tripped = with(Some(1 << 28), Some(10 << 28));
        check_rule(&RULE, &tripped).only(Severity::Info);
        assert_eq!(reserves(&RULE, &tripped, 0).unwrap().why, "256 MiB were read 10 times");
        // Once over it, or over more than such a drive's memory.
        assert_eq!(check_rule(&RULE, &with(Some(1 << 28), Some(1 << 28))), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(Some(1 << 33), Some(10 << 33))), Outcome::Clear);
        // No ranges: the whole drive.
        assert_eq!(check_rule(&RULE, &with(None, Some(10 << 28))), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(Some(1 << 28), None)), Outcome::CannotTell);
        let mut nowhere = with(None, Some(1 << 28));
        nowhere.snapshots.clear();
        assert_eq!(check_rule(&RULE, &nowhere), Outcome::CannotTell);
    }
}
