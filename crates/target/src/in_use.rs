//! What uses a block device, or a file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use iodyno_host::{Source, loop_devices, open_by};
use iodyno_model::{BackingFile, BlockDevice, BlockKind, Host, Use};

use crate::extents::{below, files_below, share_bytes};

/// A process that only looks at a device, as udev does whenever one changes,
/// has this long to end.
const LOOKING: Duration = Duration::from_secs(2);
/// So often it is looked whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Everything that uses `block`, itself and all that stands on it (partitions,
/// arrays, volumes), as pairs of the block device in use and the use, the
/// device itself first. Empty: the snapshot knows of no use, which is no proof
/// that there is none (a process may have it open).
pub fn uses(host: &Host, block: &str) -> Vec<(String, Use)> {
    let itself = host.block(block).into_iter();
    itself
        .chain(host.above(block))
        .flat_map(|device| device.used_by.iter().map(|by| (device.name.clone(), by.clone())))
        .collect()
}

/// Everything that stands against writing `block`, a line each: what uses it,
/// what stands on it, what it is a part of, any other device that shares bytes
/// with it, the files that it lies on, and processes that have any of these
/// open. `hosts` are looked at one after another (a snapshot of now, and the
/// one that the target was resolved with).
pub(crate) fn against_writing(source: &dyn Source, hosts: &[&Host], block: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for host in hosts {
        for line in uses_of_its_bytes(host, block) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let Some(now) = hosts.first().filter(|_| lines.is_empty()) else { return lines };
    let files = backing_files(now, block);
    for file in &files {
        let is_it = |path: &Path| is_file(path, file.identity);
        lines.extend(is_swap(&is_it).then(|| format!("{}: swap", file.path)));
    }
    if lines.is_empty() {
        lines = still_open(source, now, block, &files);
    }
    lines
}

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

/// What uses these devices, a line each.
fn uses_of_its_bytes(host: &Host, block: &str) -> Vec<String> {
    let sharing = sharing(host, block);
    // Of what is not on it, a part may be used that the target does not touch.
    let touches = |holder: &str| match sharing.iter().find(|(device, _)| device.name == holder) {
        Some((device, place)) => device.name != block && *place != Place::Below,
        None => host.block(holder).is_none(),
    };
    let mut lines = Vec::new();
    for (device, place) in &sharing {
        let counts = |by: &&Use| match by {
            // What lies on it is no use, and who has it open is looked at now.
            Use::Signature(_) | Use::OpenBy { .. } => false,
            Use::HeldBy(holder) | Use::LoopBacking(holder) => {
                *place == Place::On || touches(holder)
            }
            Use::Mounted(_) | Use::Swap | Use::FileSystemMember(_) => true,
        };
        let before = lines.len();
        let used = device.used_by.iter().filter(counts);
        lines.extend(used.map(|by| format!("{}: {}", device.name, by.label())));
        if lines.len() == before && *place == Place::Beside && was_set_up(device) {
            lines.push(format!("{}: {}", device.name, beside(device)));
        }
    }
    lines
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

/// Why an idle device beside the target stands against it.
fn beside(device: &BlockDevice) -> &'static str {
    match &device.kind {
        BlockKind::Loop { backing, .. } if backing.get().is_none() => {
            "may lie on the same bytes, which only root can tell"
        }
        _ => "lies on the same bytes",
    }
}

/// A file that a target lies on.
struct FileBelow {
    /// Device and inode number, as `stat` gives them.
    identity: (u64, u64),
    /// As the kernel says.
    path: String,
}

/// The files that `block` lies on.
fn backing_files(host: &Host, block: &str) -> Vec<FileBelow> {
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

/// The processes that have open what shares bytes with `block`, and keep it
/// open. Of what is below it those alone that nothing holds for itself: the
/// disk of a partition, and what is under a loop device; arrays and volumes
/// hold their members, which their own daemons have open.
fn still_open(source: &dyn Source, host: &Host, block: &str, files: &[FileBelow]) -> Vec<String> {
    let not_held = not_held_below(host, block);
    let devices: Vec<&BlockDevice> = sharing(host, block)
        .into_iter()
        .filter(|(device, place)| {
            *place != Place::Below || not_held.contains(&device.name.as_str())
        })
        .map(|(device, _)| device)
        .collect();
    let start = Instant::now();
    loop {
        let mut lines = Vec::new();
        for device in &devices {
            for by in open_by(source, device.major, device.minor) {
                lines.push(format!("{}: {}", device.name, by.label()));
            }
        }
        for file in files {
            let open = file_open_by(&|path| is_file(path, file.identity));
            lines.extend(open.iter().map(|by| format!("{}: {by}", file.path)));
        }
        if lines.is_empty() || start.elapsed() > LOOKING {
            return lines;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
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

/// Everything that stands against writing the file with this device and inode
/// number, a line each: it backs a loop device, is swap space, or another
/// process has it open. `host` is an older snapshot, whose loop devices count
/// as well.
pub(crate) fn against_writing_file(
    source: &dyn Source,
    host: &Host,
    identity: (u64, u64),
) -> Vec<String> {
    let is_it = |path: &Path| is_file(path, identity);
    let mut lines = Vec::new();
    let before = host.blocks.iter().map(|device| (device.name.clone(), device.kind.clone()));
    // A whole snapshot for each of a job's thousand files would take its time.
    for (name, kind) in loop_devices(source).into_iter().chain(before) {
        if let Some(line) = backs(&name, &kind, identity).filter(|line| !lines.contains(line)) {
            lines.push(line);
        }
    }
    if is_swap(&is_it) {
        lines.push("swap".into());
    }
    let start = Instant::now();
    while lines.is_empty() {
        let open = file_open_by(&is_it);
        if open.is_empty() {
            break;
        }
        if start.elapsed() > LOOKING {
            lines = open;
            break;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    lines
}

/// Whether a device is a loop device over this file, in a few words. Where only
/// root may ask which file it is over, its path has to lead to another one.
fn backs(name: &str, kind: &BlockKind, identity: (u64, u64)) -> Option<String> {
    let BlockKind::Loop { backing_file, backing } = kind else { return None };
    if let Some(file) = backing.get() {
        let (major, minor) = file.device;
        let is_it = (rustix::fs::makedev(major, minor), file.inode) == identity;
        return is_it.then(|| format!("backs {name}"));
    }
    match fs::metadata(backing_file.as_ref()?) {
        Ok(found) if (found.dev(), found.ino()) != identity => None,
        Ok(_) => Some(format!("backs {name}")),
        Err(_) => Some(format!("may back {name}, which only root can tell")),
    }
}

fn is_file(path: &Path, identity: (u64, u64)) -> bool {
    fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == identity)
}

fn is_swap(is_it: &dyn Fn(&Path) -> bool) -> bool {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let mut files = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    files.any(|path| is_it(Path::new(&path.replace("\\040", " "))))
}

/// The other processes that have a file open, as far as they may be looked at.
fn file_open_by(is_it: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let myself = std::process::id();
    let others = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok().filter(|pid| *pid != myself)
    });
    others
        .filter(|pid| {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            open.into_iter().any(|descriptor| is_it(&descriptor.path()))
        })
        .map(|pid| {
            let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let command: String = command.chars().filter(|c| !c.is_control()).collect();
            Use::OpenBy { pid, command }.label()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use iodyno_model::{BlockKind, Mount};

    use super::*;
    use crate::testing::{block, host};

    #[test]
    fn a_use_of_what_stands_on_a_device_is_a_use_of_the_device() {
        let mut disk = block("nvme0n1", 259, 0);
        disk.used_by.push(Use::HeldBy("bcache0".into()));
        let mut part = block("nvme0n1p1", 259, 1);
        part.kind = BlockKind::Partition;
        part.stands_on.push("nvme0n1".into());
        let mut volume = block("dm-0", 253, 0);
        volume.stands_on.push("nvme0n1p1".into());
        volume.used_by.push(Use::Mounted(Mount {
            at: "/srv".into(),
            file_system: "xfs".into(),
            options: "rw".into(),
        }));
        let mut other = block("nvme1n1", 259, 2);
        other.used_by.push(Use::Swap);
        let host = host(vec![disk, part, volume, other]);

        let labels = |name| -> Vec<String> {
            uses(&host, name).iter().map(|(on, by)| format!("{on}: {}", by.label())).collect()
        };
        assert_eq!(labels("nvme0n1"), ["nvme0n1: bcache0", "dm-0: mounted at /srv"]);
        assert_eq!(labels("nvme0n1p1"), ["dm-0: mounted at /srv"]);
        assert_eq!(labels("nvme1n1"), ["nvme1n1: swap"]);
        assert!(labels("nvme9n1").is_empty());
    }
}
