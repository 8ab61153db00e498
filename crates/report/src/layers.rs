//! Describes in words what uses a drive.

use iodyno_model::{BlockDevice, BlockKind, Drive, Host, Use, add_missing};

/// Returns the kind of a block device: `md raid1`, `LVM vg-root`.
pub(crate) fn kind(kind: &BlockKind) -> String {
    match kind {
        BlockKind::Nvme => "nvme".into(),
        BlockKind::Partition => "partition".into(),
        BlockKind::Md(array) => format!("md {}", array.level),
        BlockKind::DeviceMapper(mapped) => {
            format!("{} {}", mapped.owner.as_deref().unwrap_or("dm"), mapped.name)
        }
        BlockKind::Loop { .. } => "loop".into(),
        BlockKind::Virtual => "virtual disk".into(),
        BlockKind::Scsi => "SCSI disk".into(),
        BlockKind::Zram => "zram".into(),
        BlockKind::Other => "other".into(),
    }
}

/// Lists the uses of a drive, going up from its namespaces: mount points and swap first, then the
/// layers between. `Some(empty)`: unused; `None`: not known, because none of its namespaces is
/// among the host's block devices.
pub(crate) fn uses(host: &Host, drive: &Drive) -> Option<Vec<String>> {
    let blocks: Vec<&BlockDevice> =
        drive.namespaces.iter().filter_map(|namespace| host.block(&namespace.name)).collect();
    (!blocks.is_empty()).then(|| uses_of(host, &blocks))
}

/// Lists the uses of block devices, as [`uses`] does.
pub(crate) fn uses_of(host: &Host, blocks: &[&BlockDevice]) -> Vec<String> {
    let mut ends: Vec<String> = Vec::new();
    let mut layers: Vec<String> = Vec::new();
    let note = |list: &mut Vec<String>, word: String| add_missing(list, [word]);
    for bottom in blocks {
        for device in std::iter::once(*bottom).chain(host.above(&bottom.name)) {
            match &device.kind {
                BlockKind::Md(_) => note(&mut layers, device.name.clone()),
                BlockKind::DeviceMapper(mapped) => {
                    note(&mut layers, mapped.owner.clone().unwrap_or_else(|| mapped.name.clone()));
                }
                _ => {}
            }
            for usage in &device.used_by {
                match usage {
                    Use::Mounted(mount) => note(&mut ends, mount.at.clone()),
                    Use::Swap => note(&mut ends, "swap".into()),
                    Use::Exported(_) => note(&mut ends, usage.label()),
                    Use::OpenBy { command, .. } => note(&mut ends, format!("open by {command}")),
                    Use::FileSystemMember(_) => note(&mut layers, "btrfs".into()),
                    // A holder among the host's block devices has been visited on the way up; of
                    // any other only the name is known.
                    Use::HeldBy(name) | Use::LoopBacking(name) if host.block(name).is_none() => {
                        note(&mut layers, name.clone());
                    }
                    Use::HeldBy(_) | Use::LoopBacking(_) => {}
                    // Not in use, but not empty: important to know before writing to it.
                    Use::Signature(what) if device.used_by.len() == 1 => {
                        note(&mut layers, format!("holds {what}"));
                    }
                    Use::Signature(_) => {}
                }
            }
        }
    }
    // `/` before `/boot/efi`: the most important mount points are short.
    ends.sort_by_key(String::len);
    ends.extend(layers);
    ends
}
