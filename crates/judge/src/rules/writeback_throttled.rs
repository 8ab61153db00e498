//! Qualifies writes that the kernel throttles in favour of reads.

use iodyno_model::{Direction, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::writes;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "writeback-throttled",
    summary: "buffered writes or trims with write-back throttling (wbt_lat_usec)",
    affected_by,
    what: "the kernel may have throttled its writes",
    why: "While reads take longer than the target, the kernel lets fewer buffered writes and trims \
          through: their rate is a setting's and not the drive's.",
    next: "Write with direct=1, which is not throttled; or switch it off while measuring: \
           echo 0 | sudo tee /sys/block/DEVICE/queue/wbt_lat_usec (-1 sets the default again).",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let rw = of.workload.rw.as_deref().unwrap_or_default();
    // Direct writes are not throttled: block/blk-wbt.c, wbt_should_throttle.
    let buffered = match of.workload.is_buffered() {
        _ if !writes(of) => false,
        Some(is_buffered) => is_buffered,
        None => return Err("whether its writes were direct is not known".into()),
    };
    // A file's trims are holes that its file system punches.
    let trims = rw.contains("trim") && of.conditions.device.is_none();
    if !(buffered || trims) || !has_reads_beside(context, of) {
        return Ok(None);
    }
    let (_, devices) = context.devices_under(of)?;
    let throttled = devices.iter().find_map(|device| {
        let target_us = device.queue.wbt_lat_us.value().filter(|target_us| *target_us > 0)?;
        let name = &device.name;
        Some(format!("writes may be throttled: wbt_lat_usec is {target_us} on {name}"))
    });
    Ok(throttled)
}

/// Returns true if it, or what ran at the same time, reads: without reads nothing is too slow.
fn has_reads_beside(context: &RuleContext<'_>, of: &Measurement) -> bool {
    let reads = |one: &Measurement| one.result(Direction::Read).is_some();
    let mut at_once = context.record().measurements.iter().filter(|one| one.phase == of.phase);
    reads(of)
        || at_once.any(reads)
        || of.conditions.beside.iter().any(|one| one.rw.contains("read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, known, reserves};
    use iodyno_model::{Fact, Severity};

    #[test]
    fn only_buffered_writes_and_trims_are_throttled() {
        let with = |rw: &str, direct: Option<bool>, target: Fact<u64>| {
            let bench =
                Bench::new(1).measured().host(|host| host.blocks[0].queue.wbt_lat_us = target);
            let bench = each(bench, |of| {
                of.workload.rw = Some(rw.into());
                of.workload.direct = direct;
            });
            bench.record()
        };
        let passed = each(Bench::new(1).measured(), |of| {
            of.workload.rw = Some("write".into());
            of.workload.direct = Some(false);
            of.workload.ioengine = Some("io_uring_cmd".into());
        });
        assert_eq!(check_rule(&RULE, &passed.record()), Outcome::Clear);
        for (rw, direct, target) in [
            ("randread", Some(false), known(2000)),
            ("write", Some(true), known(2000)),
            ("write", Some(false), known(0)),
            ("write", Some(false), Fact::Absent),
        ] {
            assert_eq!(check_rule(&RULE, &with(rw, direct, target)), Outcome::Clear, "{rw}");
        }
        for (rw, direct) in [("randwrite", Some(false)), ("trim", Some(true))] {
            let record = with(rw, direct, known(2000));
            check_rule(&RULE, &record).only(Severity::Info);
            assert_eq!(
                reserves(&RULE, &record, 0).unwrap().why,
                "writes may be throttled: wbt_lat_usec is 2000 on nvme0n1"
            );
        }
        assert_eq!(check_rule(&RULE, &with("write", None, known(2000))), Outcome::CannotTell);
        let alone = |record: &mut iodyno_model::RunRecord| {
            let results = record.measurements.iter_mut().flat_map(|of| &mut of.total);
            results.for_each(|result| result.direction = Direction::Write);
        };
        let mut unread = with("randwrite", Some(false), known(2000));
        alone(&mut unread);
        assert_eq!(check_rule(&RULE, &unread), Outcome::Clear, "no read is kept waiting");
        let mut of_file = with("trim", Some(true), known(2000));
        for of in &mut of_file.measurements {
            of.conditions.device = Some("nvme0n1".into());
        }
        assert_eq!(check_rule(&RULE, &of_file), Outcome::Clear, "a file's holes");
    }
}
