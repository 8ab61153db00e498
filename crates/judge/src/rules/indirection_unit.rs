//! Qualifies random writes smaller than the drive's indirection unit.

use iodyno_model::{BlockKind, Bytes, Measurement, format_count};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::{is_random, writes};
use crate::place::bottom_devices;
use crate::rule_context::RuleContext;
use crate::write_rates::rate;

/// Rates of two block sizes are equal within this share.
const SAME: f64 = 0.1;
/// Largest unit of any drive, bytes.
const LARGEST: u64 = 64 << 10;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "indirection-unit",
    summary: "random writes smaller than the drive's indirection unit",
    affected_by,
    what: "its random writes are below its mapping unit",
    why: "Drives of much and cheap flash (QLC) map it in units of 16 KiB or more: a smaller write makes \
          the drive read, change and write a whole unit, which costs as much as writing all of it.",
    next: "Write in multiples of the unit: cat /sys/block/DEVICE/queue/minimum_io_size, or its data \
           sheet's indirection unit; check the file system's block size.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    if !is_random(of) || !writes(of) {
        return Ok(None);
    }
    let Some(bs) = of.workload.bs else { return Err("its block size is not known".into()) };
    if let Some((larger, rate)) = costs_as_much(context, of, bs) {
        return Ok(Some(format!(
            "{} writes of {} a second, and as many of {}: a unit of at least that, or a limit of \
             commands",
            format_count(rate),
            Bytes(bs).binary(),
            Bytes(larger).binary()
        )));
    }
    let host = context.known_host()?;
    let stated = bottom_devices(host, of).into_iter().find_map(|device| {
        let unit = u64::from(device.queue.minimum_io_bytes.value()?);
        let finer =
            device.queue.physical_block_bytes.value().is_some_and(|bytes| u64::from(bytes) < unit);
        let is_nvme = device.kind == BlockKind::Nvme;
        (is_nvme && finer && bs < unit).then_some((device, unit))
    });
    Ok(stated.map(|(device, unit)| {
        let (bs, unit) = (Bytes(bs).binary(), Bytes(unit).binary());
        format!("blocks of {bs}, where {} prefers to write {unit} (NPWG)", device.name)
    }))
}

/// Returns the largest block size with as many writes per second, from other measurements on the
/// same targets, and that rate.
fn costs_as_much(context: &RuleContext<'_>, of: &Measurement, bs: u64) -> Option<(u64, f64)> {
    let own = rate(context, of)?;
    let off = |theirs: f64| theirs / own - 1.0;
    let by_size = context.write_rates.beside(of)?;
    let mut larger = by_size.range(..=LARGEST).rev().take_while(|(larger, _)| **larger > bs);
    let (larger, _) = larger.find(|(_, rates)| {
        let nearest = rates.partition_point(|theirs| off(*theirs) < -SAME);
        rates.get(nearest).is_some_and(|theirs| off(*theirs).abs() <= SAME)
    })?;
    Some((*larger, own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Direction, Estimate, RunRecord, Severity};

    /// Random writes of 4 and of 16 KiB.
    fn writes_of(rates: [f64; 2], depth: u32) -> RunRecord {
        let mut record = Bench::new(1).measured().record();
        record.measurements.truncate(2);
        let rows = record.measurements.iter_mut().zip([4096, 16384]).zip(rates);
        for ((of, bs), iops) in rows {
            of.name = "write".into();
            (of.workload.rw, of.workload.bs) = (Some("randwrite".into()), Some(bs));
            of.total[0].direction = Direction::Write;
            of.total[0].iops = Some(Estimate::bare(iops));
            of.total[0].latency_mean = Some(Estimate::bare(f64::from(depth) * 1e9 / iops));
        }
        record
    }

    #[test]
    fn small_writes_as_costly_as_large_ones_are_reported() {
        assert_eq!(check_rule(&RULE, &writes_of([200e3, 60e3], 64)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &writes_of([20e3, 20e3], 1)), Outcome::Clear, "one at a time");
        let qlc = writes_of([21e3, 20e3], 64);
        check_rule(&RULE, &qlc).only(Severity::Info);
        let why = reserves(&RULE, &qlc, 0).unwrap().why;
        assert!(why.starts_with("21k writes of 4 KiB a second, and as many of 16 KiB"), "{why}");
        assert_eq!(reserves(&RULE, &qlc, 1), None);
        let mut paced = qlc.clone();
        for of in &mut paced.measurements {
            of.workload.options.insert("rate_iops".into(), "20k".into());
        }
        assert_eq!(check_rule(&RULE, &paced), Outcome::Clear, "as many as were asked for");
        let mut large = qlc;
        large.measurements[0].workload.bs = Some(2 * LARGEST);
        assert_eq!(check_rule(&RULE, &large), Outcome::Clear, "no unit is as large");
    }

    #[test]
    fn the_stated_unit_is_sufficient() {
        let mut stated = writes_of([200e3, 60e3], 64);
        stated.snapshots[0].blocks[0].queue.minimum_io_bytes = known(16384);
        let why = reserves(&RULE, &stated, 0).unwrap().why;
        assert_eq!(why, "blocks of 4 KiB, where nvme0n1 prefers to write 16 KiB (NPWG)");
        assert_eq!(reserves(&RULE, &stated, 1), None);
    }
}
