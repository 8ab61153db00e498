//! What shares bytes with a target: which devices, what uses them, and the
//! files below it.

use iodyno_model::{BackingFile, BlockDevice, BlockKind, Host, Use};

use crate::BlindSpot;
use crate::extents::{below, files_below, share_bytes};
use crate::openers::Look;

/// How a device shares bytes with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the target, or stands on it.
    On,
    /// The target stands on it.
    Below,
    /// Neither.
    Beside,
}

/// The devices whose bytes writing `block` may change, itself among them.
fn sharing<'h>(host: &'h Host, block: &str) -> Vec<(&'h BlockDevice, Place)> {
    let (above, below) = (host.above(block), below(host, block));
    let place_of = |device: &BlockDevice| {
        if device.name == block || above.iter().any(|above| above.name == device.name) {
            return Some(Place::On);
        }
        let is_below = below.contains(&device.name.as_str());
        let place = if is_below { Place::Below } else { Place::Beside };
        share_bytes(host, block, &device.name).then_some(place)
    };
    host.blocks.iter().filter_map(|device| Some((device, place_of(device)?))).collect()
}

/// What uses the devices whose bytes writing `block` may change, and which of
/// them only root can tell from it.
pub(crate) fn uses_of_its_bytes(host: &Host, block: &str) -> Look {
    let sharing = sharing(host, block);
    // Of what is not on it, a part may be used that the target does not touch.
    let touches = |holder: &str| match sharing.iter().find(|(device, _)| device.name == holder) {
        Some((device, place)) => device.name != block && *place != Place::Below,
        None => host.block(holder).is_none(),
    };
    let is_guess = host.block(block).is_some_and(lies_nobody_knows_where);
    let mut look = Look::default();
    for (device, place) in &sharing {
        let counts = |by: &&Use| match by {
            // What lies on it is no use, and who has it open is looked at now.
            Use::Signature(_) | Use::OpenBy { .. } => false,
            Use::HeldBy(holder) | Use::LoopBacking(holder) => {
                *place == Place::On || touches(holder)
            }
            Use::Mounted(_) | Use::Swap | Use::FileSystemMember(_) | Use::Exported(_) => true,
        };
        let before = look.uses.len();
        let used = device.used_by.iter().filter(counts);
        look.uses.extend(used.map(|by| format!("{}: {}", device.name, by.label())));
        if *place == Place::Beside && was_set_up(device) {
            if is_guess || lies_nobody_knows_where(device) {
                look.blind.push(BlindSpot::Loop { name: device.name.clone() });
            } else if look.uses.len() == before {
                look.uses.push(format!("{}: lies on the same bytes", device.name));
            }
        }
    }
    look
}

/// Whether somebody made the device on purpose, over bytes of others: that
/// alone is a use of them. Partitions and the paths to a drive are just there.
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

/// Whether it is a loop device that this user may not ask for its file.
fn lies_nobody_knows_where(device: &BlockDevice) -> bool {
    matches!(&device.kind, BlockKind::Loop { backing_file: Some(_), backing }
        if backing.get().is_none() && device.stands_on.is_empty())
}

/// A file that a target lies on.
pub(crate) struct FileBelow {
    /// Device and inode number, as `stat` gives them.
    pub(crate) identity: (u64, u64),
    /// As the kernel says.
    pub(crate) path: String,
}

/// The files that `block` lies on.
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

/// The devices that nobody else may have open while `block` is written. Of
/// what is below it those alone that nothing holds for itself: the disk of a
/// partition, and what is under a loop device; arrays and volumes hold their
/// members, which their own daemons have open.
pub(crate) fn devices_to_watch<'h>(host: &'h Host, block: &str) -> Vec<&'h BlockDevice> {
    let not_held = not_held_below(host, block);
    let watched = |device: &BlockDevice, place| {
        place != Place::Below || not_held.contains(&device.name.as_str())
    };
    let sharing = sharing(host, block).into_iter();
    sharing.filter(|(device, place)| watched(device, *place)).map(|(device, _)| device).collect()
}

/// What is below `block` through partitions and loop devices alone.
fn not_held_below<'h>(host: &'h Host, block: &str) -> Vec<&'h str> {
    let mut below = Vec::new();
    let mut device = host.block(block);
    // Each is below the one before; a chain longer than all devices is a circle.
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
