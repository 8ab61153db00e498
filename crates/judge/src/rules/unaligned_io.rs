//! Qualifies I/O that is not aligned to the drive's blocks.

use iodyno_model::{Bytes, Direction, Measurement, format_count};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::limiter::ocp_grown;
use crate::measured::writes;
use crate::place::{bottom_devices, devices};
use crate::rule_context::RuleContext;

/// Options that may move offsets off block boundaries.
const OFFSETS: [&str; 3] = ["offset", "offset_increment", "blockalign"];

/// Fewer unaligned writes than these may be another's.
const LEAST: u64 = 1000;
/// So may a smaller share of the issued writes.
const SHARE: f64 = 0.1;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "unaligned-io",
    summary: "I/O smaller than, or not aligned to, the physical blocks",
    affected_by,
    what: "its I/O is not block-aligned",
    why: "To write a part of a block the drive reads it, changes it and writes it again; to read \
          across a boundary it reads two.",
    next: "Take block sizes and offsets that are multiples of the physical block \
           (cat /sys/block/DEVICE/queue/physical_block_size), or of the drive's unit of mapping where \
           its data sheet states one; blockalign defaults to the block size.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let Some(block_bytes) = of.workload.bs else {
        return Err("its block size is not known".into());
    };
    let host = context.known_host()?;
    for device in bottom_devices(host, of) {
        let Some(physical) = device.queue.physical_block_bytes.value().filter(|bytes| *bytes > 0)
        else {
            return Err(format!("the physical block size of {} is not known", device.name));
        };
        let physical = u64::from(physical);
        // Part of a block can be read, but not written, by itself.
        let unit = if writes(of) { physical } else { physical.min(block_bytes) };
        let odd = |bytes: u64| unit > 0 && !bytes.is_multiple_of(unit);
        let misfit = odd(block_bytes)
            || (block_bytes > 0 && unit < physical && !physical.is_multiple_of(block_bytes));
        let offset = OFFSETS.iter().find_map(|name| {
            let bytes = of.workload.options.get(*name)?.parse().ok().filter(|bytes| odd(*bytes))?;
            Some((*name, bytes))
        });
        let what = match offset {
            _ if misfit => format!("blocks of {}", Bytes(block_bytes).binary()),
            Some((name, bytes)) => format!("{name}={bytes}"),
            None => continue,
        };
        let physical = Bytes(physical).binary();
        return Ok(Some(format!("{what} on {}, whose blocks are of {physical}", device.name)));
    }
    Ok(counted(context, of))
}

/// Describes writes that the drives counted as not aligned to their mapping units, which may be
/// larger than the blocks that they state (OCP).
fn counted(context: &RuleContext<'_>, of: &Measurement) -> Option<String> {
    let issued = of.result(Direction::Write)?.whole_ios?;
    let names = devices(context.host(), of);
    let drives = names.iter().filter_map(|name| Some(&context.host()?.namespace(name)?.0.name));
    let grown = drives.filter_map(|drive| {
        Some((drive, ocp_grown(context.record(), of, drive, |log| log.unaligned_ios)?))
    });
    let (drive, count) = grown.max_by_key(|(_, count)| *count)?;
    (count >= LEAST && count as f64 >= SHARE * issued as f64).then(|| {
        format!(
            "{drive} counted {} writes off its units, of {} that were issued (OCP)",
            format_count(count as f64),
            format_count(issued as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::known;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::{Fact, OcpHealth, RunRecord, Severity};

    #[test]
    fn a_drive_that_counts_unaligned_writes_is_believed() {
        let log = |unaligned_ios| known(OcpHealth { unaligned_ios, ..OcpHealth::default() });
        let with = |counted: u64| -> RunRecord {
            let bench = Bench::new(1).measured().drive(0, |drive| drive.ocp_health = log(7));
            let bench = bench.after(|host| host.drives[0].ocp_health = log(7 + counted));
            let writes = each(bench, |of| {
                of.workload.rw = Some("randwrite".into());
                of.total[0].direction = Direction::Write;
                of.total[0].whole_ios = Some(50_000);
            });
            writes.record()
        };
        // Half of the writes are smaller than its units, though its blocks are 4 KiB.
        let why = reserves(&RULE, &with(25_000), 1).unwrap().why;
        assert_eq!(why, "nvme0 counted 25k writes off its units, of 50k that were issued (OCP)");
        assert_eq!(check_rule(&RULE, &with(900)), Outcome::Clear);
    }

    #[test]
    fn sizes_and_offsets_are_multiples_of_the_block() {
        let with = |rw: &str, bs: u64, option: Option<(&str, &str)>| {
            let bench = each(Bench::new(1).measured(), |of| {
                of.workload.rw = Some(rw.into());
                of.workload.bs = Some(bs);
                let owned = option.map(|(name, value)| (name.into(), value.into()));
                of.workload.options.extend(owned);
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &with("randwrite", 4096, None)), Outcome::Clear);
        assert_eq!(
            check_rule(&RULE, &with("write", 8192, Some(("offset", "4096")))),
            Outcome::Clear
        );
        // A sector of a block can be read alone.
        assert_eq!(check_rule(&RULE, &with("randread", 512, None)), Outcome::Clear);
        // fio's JESD219 example: 512 bytes with blockalign=4k.
        let small = with("randrw", 512, Some(("blockalign", "4096")));
        check_rule(&RULE, &small).only(Severity::Info);
        assert!(reserves(&RULE, &small, 0).unwrap().why.starts_with("blocks of 512 B on nvme0n1"));
        let offset = with("read", 4096, Some(("offset", "512")));
        assert!(reserves(&RULE, &offset, 0).unwrap().why.starts_with("offset=512"));
        check_rule(&RULE, &with("read", 3072, None)).only(Severity::Info);
        let blind = Bench::new(1)
            .measured()
            .host(|host| host.blocks[0].queue.physical_block_bytes = Fact::Absent);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
