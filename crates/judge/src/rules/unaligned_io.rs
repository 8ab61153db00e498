//! I/O that straddles the drive's blocks.

use iodyno_model::{Bytes, Measurement};

use super::qualifies::{Qualifies, Seen};
use crate::facts::{Facts, writes};
use crate::place::bottoms;

/// Options that may move offsets off the blocks' boundaries.
const OFFSETS: [&str; 3] = ["offset", "offset_increment", "blockalign"];

pub(super) static RULE: Qualifies = Qualifies {
    id: "unaligned-io",
    summary: "I/O smaller than the drive's physical blocks, or not on their boundaries",
    look,
    what: "its I/O does not fit the drive's blocks",
    why: "To write a part of a block the drive reads it, changes it and writes it again; to read \
          across a boundary it reads two.",
    next: "Take block sizes and offsets that are multiples of the physical block \
           (/sys/block/DEVICE/queue/physical_block_size); blockalign defaults to the block size.",
};

fn look(facts: &Facts<'_>, of: &Measurement) -> Seen {
    let Some(block_bytes) = of.workload.bs else {
        return Err("its block size is not known".into());
    };
    let host = facts.known_host()?;
    for device in bottoms(host, of) {
        let Some(physical) = device.queue.physical_block_bytes.value().filter(|bytes| *bytes > 0)
        else {
            return Err(format!("the physical block size of {} is not known", device.name));
        };
        let physical = u64::from(physical);
        // A part of a block can be read for itself, and not be written so.
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
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, each, look, reserves};
    use iodyno_model::{Fact, Severity};

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
        assert_eq!(look(&RULE, &with("randwrite", 4096, None)), Outcome::Clear);
        assert_eq!(look(&RULE, &with("write", 8192, Some(("offset", "4096")))), Outcome::Clear);
        // A sector of a block can be read alone.
        assert_eq!(look(&RULE, &with("randread", 512, None)), Outcome::Clear);
        // fio's JESD219 example: 512 bytes with blockalign=4k.
        let small = with("randrw", 512, Some(("blockalign", "4096")));
        look(&RULE, &small).only(Severity::Info);
        assert!(reserves(&RULE, &small, 0).unwrap().why.starts_with("blocks of 512 B on nvme0n1"));
        let offset = with("read", 4096, Some(("offset", "512")));
        assert!(reserves(&RULE, &offset, 0).unwrap().why.starts_with("offset=512"));
        look(&RULE, &with("read", 3072, None)).only(Severity::Info);
        let blind = Bench::new(1)
            .measured()
            .host(|host| host.blocks[0].queue.physical_block_bytes = Fact::Absent);
        assert_eq!(look(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
