//! Finds the devices that share bytes with a target, their uses, and the files below it.

use iodyno_model::{BackingFile, BlockDevice, BlockKind, Host, Use};

use crate::BlindSpot;
use crate::extents::{below, files_below, share_bytes};
use crate::openers::Usage;

/// Position of a device relative to a target with shared bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The target itself, or above it.
    On,
    /// Below the target.
    Below,
    /// Neither.
    Beside,
}

/// Returns the devices whose bytes writing `block` may change, itself included.
fn sharing<'h>(host: &'h Host, block: &str) -> Vec<(&'h BlockDevice, Position)> {
    let (above, below) = (host.above(block), below(host, block));
    let position_of = |device: &BlockDevice| {
        if device.name == block || above.iter().any(|above| above.name == device.name) {
            return Some(Position::On);
        }
        let is_below = below.contains(&device.name.as_str());
        let position = if is_below { Position::Below } else { Position::Beside };
        share_bytes(host, block, &device.name).then_some(position)
    };
    host.blocks.iter().filter_map(|device| Some((device, position_of(device)?))).collect()
}

/// Finds uses of the devices whose bytes writing `block` may change, and those that only root can
/// tell to be separate.
pub(crate) fn uses_of_shared_bytes(host: &Host, block: &str) -> Usage {
    let sharing = sharing(host, block);
    // A part of a device that is not above may be used without touching the target.
    let touches = |holder: &str| match sharing.iter().find(|(device, _)| device.name == holder) {
        Some((device, position)) => device.name != block && *position != Position::Below,
        None => host.block(holder).is_none(),
    };
    let is_guess = host.block(block).is_some_and(has_unknown_backing);
    let mut usage = Usage::default();
    for (device, position) in &sharing {
        let counts = |by: &&Use| match by {
            // Content is not a use, and openers are checked afresh.
            Use::Signature(_) | Use::OpenBy { .. } => false,
            Use::HeldBy(holder) | Use::LoopBacking(holder) => {
                *position == Position::On || touches(holder)
            }
            Use::Mounted(_) | Use::Swap | Use::FileSystemMember(_) | Use::Exported(_) => true,
        };
        let before = usage.uses.len();
        let used = device.used_by.iter().filter(counts);
        usage.uses.extend(used.map(|by| format!("{}: {}", device.name, label(host, by))));
        if *position == Position::Beside && was_set_up(device) {
            if is_guess || has_unknown_backing(device) {
                usage.blind.push(BlindSpot::Loop { name: device.name.clone() });
            } else if usage.uses.len() == before {
                usage.uses.push(format!("{}: overlaps it", device.name));
            }
        }
    }
    usage
}

/// Names a use, and a holder of the device mapper as its owner knows it: `dm-0 (vg-data)`.
fn label(host: &Host, by: &Use) -> String {
    let holder = match by {
        Use::HeldBy(holder) => host.block(holder),
        _ => None,
    };
    match holder.map(|holder| &holder.kind) {
        Some(BlockKind::DeviceMapper(mapped)) => format!("{} ({})", by.label(), mapped.name),
        _ => by.label(),
    }
}

/// True if the device was set up on purpose over bytes of others, which is a use of them in itself.
/// Partitions and paths to a drive exist without that.
fn was_set_up(device: &BlockDevice) -> bool {
    match device.kind {
        BlockKind::DeviceMapper(_) | BlockKind::Loop { .. } | BlockKind::Md(_) => true,
        BlockKind::Other => !device.stands_on.is_empty(),
        BlockKind::Partition
        | BlockKind::Nvme
        | BlockKind::Scsi
        | BlockKind::Virtual
        | BlockKind::Zram => false,
    }
}

/// True if it is a loop device whose file this user may not query.
fn has_unknown_backing(device: &BlockDevice) -> bool {
    matches!(&device.kind, BlockKind::Loop { backing_file: Some(_), backing }
        if backing.get().is_none() && device.stands_on.is_empty())
}

/// A file that a target lies on.
pub(crate) struct FileBelow {
    /// Device and inode number, as in stat(2).
    pub(crate) identity: (u64, u64),
    /// Path reported by the kernel.
    pub(crate) path: String,
}

/// Returns the files that `block` lies on.
pub(crate) fn backing_files(host: &Host, block: &str) -> Vec<FileBelow> {
    let path_of = |device, inode| {
        host.blocks.iter().find_map(|block| match &block.kind {
            BlockKind::Loop { backing_file, backing } => {
                let is_it = |file: &BackingFile| (file.device, file.inode) == (device, inode);
                backing.get().filter(|file| is_it(file)).and(backing_file.clone())
            }
            _ => None,
        })
    };
    let files = files_below(host, block).into_iter();
    files
        .map(|((major, minor), inode)| FileBelow {
            identity: (rustix::fs::makedev(major, minor), inode),
            path: path_of((major, minor), inode).unwrap_or_else(|| "its backing file".into()),
        })
        .collect()
}

/// Returns the devices that nobody else may have open while `block` is written. Of those below it
/// only the ones without an exclusive holder: the disk of a partition, and what is under a loop
/// device; arrays and volumes hold their members, which their own daemons have open.
pub(crate) fn devices_to_watch<'h>(host: &'h Host, block: &str) -> Vec<&'h BlockDevice> {
    let not_held = unclaimed_below(host, block);
    let watched = |device: &BlockDevice, position| {
        position != Position::Below || not_held.contains(&device.name.as_str())
    };
    let sharing = sharing(host, block).into_iter();
    sharing
        .filter(|(device, position)| watched(device, *position))
        .map(|(device, _)| device)
        .collect()
}

/// Returns what is below `block` through partitions and loop devices only.
fn unclaimed_below<'h>(host: &'h Host, block: &str) -> Vec<&'h str> {
    let mut below = Vec::new();
    let mut device = host.block(block);
    // Each is below the one before; a chain longer than all devices is a cycle.
    for _ in &host.blocks {
        let holds_nothing =
            |of: &&BlockDevice| matches!(of.kind, BlockKind::Partition | BlockKind::Loop { .. });
        let Some(name) = device.filter(holds_nothing).and_then(|of| of.stands_on.first()) else {
            break;
        };
        below.push(name.as_str());
        device = host.block(name);
    }
    below
}
