//! What stands on a drive, in words.

use iodyno_model::{BlockDevice, BlockKind, Drive, Host, Use, add_missing};

/// The kind of a block device in a few words: `md raid1`, `LVM vg-root`.
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

/// What a drive is used for, walking up from its namespaces: mount points and
/// swap first, then the layers between. `Some(empty)`: free; `None`: not known,
/// because none of its namespaces is among the host's block devices.
pub(crate) fn uses(host: &Host, drive: &Drive) -> Option<Vec<String>> {
    let blocks: Vec<&BlockDevice> =
        drive.namespaces.iter().filter_map(|namespace| host.block(&namespace.name)).collect();
    (!blocks.is_empty()).then(|| uses_of(host, &blocks))
}

/// What block devices are used for, as [`uses`] says it.
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
                    // What holds it is among the host's block devices and has been met on
                    // the way up; where it is not, its name is all that is known.
                    Use::HeldBy(name) | Use::LoopBacking(name) if host.block(name).is_none() => {
                        note(&mut layers, name.clone());
                    }
                    Use::HeldBy(_) | Use::LoopBacking(_) => {}
                    // Unused, but not empty: worth knowing before anybody writes to it.
                    Use::Signature(what) if device.used_by.len() == 1 => {
                        note(&mut layers, format!("holds {what}"));
                    }
                    Use::Signature(_) => {}
                }
            }
        }
    }
    // `/` before `/boot/efi`: what people look for first is short.
    ends.sort_by_key(String::len);
    ends.extend(layers);
    ends
}
