//! Qualifies partitions, volumes and arrays that are not aligned to blocks or chunks.

use iodyno_model::{BlockDevice, BlockKind, Host, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::place::stacked_devices;
use crate::rule_context::RuleContext;

/// Flash is mapped in units of 4 KiB or more, whatever a drive reports.
const MAPPED_BYTES: u64 = 4096;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "misaligned-layers",
    summary: "partitions, volumes or arrays not aligned to blocks or chunks below",
    affected_by,
    what: "a layer below it is misaligned",
    why: "I/O that is aligned above lies across two blocks or chunks below: reads become two, and \
          writes read what they do not overwrite.",
    next: "Only making it anew mends it: partitions at multiples of 1 MiB (what parted and fdisk \
           take by themselves), volumes and file systems made on the array and not before it.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    for device in stacked_devices(host, of) {
        if let Some(what) = misaligned(host, device)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Describes where a device is not aligned to the devices below it.
fn misaligned(host: &Host, device: &BlockDevice) -> AffectedBy {
    let name = &device.name;
    let mut places: Vec<(&str, u64)> = Vec::new();
    match &device.kind {
        BlockKind::Partition => match (device.start.value(), device.stands_on.as_slice()) {
            (Some(start), [disk]) => places.push((disk, start.0)),
            _ => return Err(format!("the start of {name} on its disk is not known")),
        },
        BlockKind::Md(array) => places.extend(array.members.iter().filter_map(|member| {
            Some((member.device.as_str(), member.data_offset_bytes.value()?))
        })),
        // The table needs root; without it this layer is not checked.
        BlockKind::DeviceMapper(mapped) => {
            let segments = mapped.table.get().into_iter().flatten();
            let all = segments.flat_map(|segment| &segment.places);
            places.extend(all.map(|place| (place.device.as_str(), place.start_bytes)));
        }
        _ => {}
    }
    for (below, start_bytes) in places {
        let Some((unit, what)) = host.block(below).map(unit) else { continue };
        if !start_bytes.is_multiple_of(unit) {
            return Ok(Some(format!(
                "{name} begins at byte {start_bytes} of {below}, with {what} of {unit}"
            )));
        }
    }
    Ok(file_system(device))
}

/// Alignment unit of a device: an array's chunks, a drive's blocks.
fn unit(below: &BlockDevice) -> (u64, &'static str) {
    if let Some(chunk) = chunk_bytes(below) {
        return (chunk, "chunks");
    }
    let physical = below.queue.physical_block_bytes.value().unwrap_or(0);
    (u64::from(physical).max(MAPPED_BYTES), "blocks")
}

fn chunk_bytes(device: &BlockDevice) -> Option<u64> {
    let chunk = match &device.kind {
        BlockKind::Md(array) => array.chunk_bytes,
        BlockKind::DeviceMapper(mapped) => mapped.stripes().map(|(_, chunk)| chunk),
        _ => None,
    };
    chunk.filter(|chunk| *chunk > 0)
}

/// Describes a file system made for another chunk size than its array's.
fn file_system(device: &BlockDevice) -> Option<String> {
    let chunk = chunk_bytes(device)?;
    let file_system = device.file_system.as_ref()?;
    let unit = file_system.stripe_unit_bytes.value().filter(|unit| *unit > 0)?;
    let fits = unit.is_multiple_of(chunk) || chunk.is_multiple_of(unit);
    (!fits).then(|| {
        format!(
            "{} on {} was made for chunks of {unit} bytes, and they are of {chunk}",
            file_system.kind, device.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, known, reserves};
    use iodyno_model::{Bytes, Fact, FileSystem, MdArray, RunRecord, Severity};

    /// nvme0n1p1 at this byte, md0 on it, and the file system's stripe unit.
    fn stack(start: Fact<Bytes>, chunk: u64, unit: u64) -> RunRecord {
        let bench = Bench::new(1).measured().host(|host| {
            let disk = host.blocks[0].clone();
            host.blocks.push(BlockDevice {
                name: "nvme0n1p1".into(),
                kind: BlockKind::Partition,
                stands_on: vec![disk.name.clone()],
                start,
                ..disk.clone()
            });
            let array =
                MdArray { level: "raid0".into(), chunk_bytes: Some(chunk), ..MdArray::default() };
            host.blocks.push(BlockDevice {
                name: "md0".into(),
                kind: BlockKind::Md(Box::new(array)),
                stands_on: vec!["nvme0n1p1".into()],
                file_system: Some(FileSystem {
                    kind: "xfs".into(),
                    stripe_unit_bytes: known(unit),
                    ..FileSystem::default()
                }),
                ..disk
            });
        });
        let bench = each(bench, |of| of.conditions.device = Some("md0".into()));
        bench.record()
    }

    #[test]
    fn misaligned_layers_are_reported() {
        let aligned = known(Bytes::mib(1));
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        let fits = stack(aligned.clone(), 512 << 10, 512 << 10);
        assert_eq!(check_rule(&RULE, &fits), Outcome::Clear);
        // As in DOS times: sector 63.
        let old = stack(known(Bytes(63 * 512)), 512 << 10, 512 << 10);
        check_rule(&RULE, &old).only(Severity::Info);
        let why = reserves(&RULE, &old, 0).unwrap().why;
        assert_eq!(why, "nvme0n1p1 begins at byte 32256 of nvme0n1, with blocks of 4096");
        let other = reserves(&RULE, &stack(aligned, 192 << 10, 512 << 10), 0).unwrap();
        assert!(other.why.starts_with("xfs on md0 was made for chunks"), "{other:?}");
        let blind = stack(Fact::Absent, 512 << 10, 512 << 10);
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
