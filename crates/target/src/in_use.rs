//! Detects uses of a block device or a file.

use std::borrow::Cow;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iodyno_host::{FileId, Source, loop_devices};
use iodyno_model::{BlockDevice, BlockKind, Host, Use};
use rustix::fs::Mode;

use crate::file_system::unescape;
use crate::lease::OpenElsewhere;
use crate::openers::{Usage, entry_points_to};
use crate::same_file::Mounts;
use crate::sharing::{backing_files, uses_of_shared_bytes};
use crate::target::printable;
use crate::{BlindSpot, exported, foreign_controllers, openers};

/// Returns all uses of `block` and of everything that stands on it (partitions, arrays, volumes),
/// as pairs of the block device in use and the use, the device itself first. Empty: the snapshot
/// knows of no use, which does not prove that there is none (a process may have it open).
pub fn uses(host: &Host, block: &str) -> Vec<(String, Use)> {
    let itself = host.block(block).into_iter();
    itself
        .chain(host.above(block))
        .flat_map(|device| device.used_by.iter().map(|by| (device.name.clone(), by.clone())))
        .collect()
}

/// Finds everything that forbids writing `block`: its uses, what stands on it, what it is a part
/// of, other devices that share bytes with it, the files that it lies on, exports of these, and
/// processes that have any of them open; and the checks that could not be made. All `hosts` are
/// checked (a snapshot of now, and the one that the target was resolved with).
pub(crate) fn write_blockers(source: &dyn Source, hosts: &[&Host], block: &str) -> Usage {
    let mut found = Usage::default();
    let is_loop =
        |device: &BlockDevice| matches!(device.kind, BlockKind::Loop { backing_file: Some(_), .. });
    let has_loops = hosts.iter().any(|host| host.blocks.iter().any(is_loop));
    let mounts = if has_loops { Mounts::read() } else { Mounts::default() };
    let hosts: Vec<Cow<'_, Host>> = hosts.iter().map(|host| mounts.under_overlays(host)).collect();
    for host in &hosts {
        found.merge(uses_of_shared_bytes(host, block));
    }
    let Some(now) = hosts.first() else { return found };
    let mut entry_points = Vec::new();
    let files = backing_files(now, block);
    for file in &files {
        let path = Path::new(&file.path);
        let same = mounts.same_as(path, file.identity);
        if is_swap(&|path| is_file(path, file.identity)) {
            found.add_use(format!("{}: swap", file.path));
        }
        if let Some(at) = mounts.mounted_from(path, &same) {
            found.add_use(format!("{}: {}", file.path, mounted(at)));
        }
        entry_points.extend(same.into_iter().map(|file_id| (file.path.clone(), inode(file_id))));
    }
    entry_points.extend(entry_points_to(source, now, block));
    found.merge(exported::of_block(source, now, block, &entry_points));
    if found.uses.is_empty() {
        found.merge(openers::find(source, &entry_points));
        found.add_blind(foreign_controllers::unseen_controllers(source, now, block));
    }
    found
}

fn inode((device, inode): (u64, u64)) -> FileId {
    FileId::Inode { device, inode }
}

fn mounted(at: &Path) -> String {
    format!("mounted at {}", printable(&at.display().to_string()))
}

/// Finds everything that forbids writing the file at `path`, by its device and inode number: it
/// backs a loop device, is swap space, is mounted, is exported, or is open elsewhere, also through
/// an overlay (`file` is this process's own descriptor of it); and the checks that could not be
/// made. `host` is an older snapshot, whose loop devices count as well.
pub(crate) fn file_write_blockers(
    source: &dyn Source,
    host: &Host,
    (path, identity): (&Path, (u64, u64)),
    file: &OwnedFd,
) -> Usage {
    let is_it = |path: &Path| is_file(path, identity);
    let mut found = Usage::default();
    let before = host.blocks.iter().map(|device| (device.name.clone(), device.kind.clone()));
    // A whole snapshot for each of a job's thousand files would take too long.
    let loops: Vec<_> = loop_devices(source).into_iter().chain(before).collect();
    let mut may_back = Vec::new();
    for (name, kind) in &loops {
        match backs(kind, identity) {
            Some(true) => found.add_use(format!("backs {name}")),
            Some(false) => {}
            None => may_back.push(BlindSpot::Loop { name: name.clone() }),
        }
    }
    if is_swap(&is_it) {
        found.uses.push("swap".into());
    }
    let exported = exported::of_file(source, identity);
    found.uses.extend(exported.uses);
    if !found.uses.is_empty() {
        return found;
    }
    // A loop device keeps its file open: if nobody has it open, there is no loop device.
    if OpenElsewhere::check(file) == OpenElsewhere::No {
        return Usage::default();
    }
    let mounts = Mounts::read();
    for (name, kind) in &loops {
        let kind = mounts.under_overlay(kind);
        if kind.is_some_and(|kind| backs(&kind, identity) == Some(true)) {
            found.add_use(format!("backs {name}"));
        }
    }
    let same = mounts.same_as(path, identity);
    found.uses.extend(mounts.mounted_from(path, &same).map(mounted));
    if !found.uses.is_empty() {
        return found;
    }
    let ids: Vec<FileId> = same.into_iter().map(inode).collect();
    let Some((mut usage, is_explained)) = openers::of_file(source, file, &ids) else {
        return found;
    };
    // If the kernel does not say, or means this process, only root could have it open unseen,
    // provided that only its owner may write it.
    if is_explained && is_ours_alone(file) {
        usage.blind.clear();
    } else {
        usage.add_blind(exported.blind);
    }
    usage.add_blind(may_back);
    usage
}

/// True if a device is a loop device over this file. If only root may query its file, its recorded
/// path is followed; `None`: it leads nowhere.
fn backs(kind: &BlockKind, identity: (u64, u64)) -> Option<bool> {
    let BlockKind::Loop { backing_file, backing } = kind else { return Some(false) };
    if let Some(file) = backing.get() {
        let (major, minor) = file.device;
        return Some((rustix::fs::makedev(major, minor), file.inode) == identity);
    }
    let Some(path) = backing_file else { return Some(false) };
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()) == identity)
}

fn is_file(path: &Path, identity: (u64, u64)) -> bool {
    fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == identity)
}

fn is_swap(is_it: &dyn Fn(&Path) -> bool) -> bool {
    swap_paths(&fs::read("/proc/swaps").unwrap_or_default()).any(|path| is_it(&path))
}

/// The paths of /proc/swaps, in which the kernel escapes blanks, tabs, newlines and backslashes.
fn swap_paths(table: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = table.split(|byte| *byte == b'\n').skip(1);
    let paths = lines.filter_map(|line| line.split(u8::is_ascii_whitespace).next());
    paths.filter(|path| !path.is_empty()).map(unescape)
}

/// True if no other user but root can have opened the file for writing: this user owns it, and its
/// mode (with an ACL: its mask) lets nobody else write.
fn is_ours_alone(file: &OwnedFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| {
        let others = Mode::WGRP | Mode::WOTH;
        stat.st_uid == rustix::process::geteuid().as_raw()
            && !Mode::from_raw_mode(stat.st_mode).intersects(others)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    use iodyno_model::{BlockKind, Mount};

    use super::*;
    use crate::testing::{block, host};

    #[test]
    fn swap_files_have_any_name() {
        let table = b"Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /a\\040b\\011c\\134d\\012\xff                file\t\t1048572\t\t0\t\t-2\n\
            /dev/dm-1                               partition\t1048572\t\t0\t\t-3\n";
        let paths: Vec<PathBuf> = swap_paths(table).collect();
        let first = std::ffi::OsStr::from_bytes(b"/a b\tc\\d\n\xff");
        assert_eq!(paths, [Path::new(first), Path::new("/dev/dm-1")]);
    }

    #[test]
    fn a_file_that_others_may_write_is_not_ours_alone() {
        let file = tempfile::tempfile().unwrap();
        let changed = |change: &dyn Fn(&fs::File)| {
            change(&file);
            is_ours_alone(&file.try_clone().unwrap().into())
        };
        let mode =
            |bits| move |of: &fs::File| of.set_permissions(Permissions::from_mode(bits)).unwrap();
        assert!(changed(&mode(0o644)));
        assert!(!changed(&mode(0o664)) && !changed(&mode(0o646)));
        if rustix::process::geteuid().is_root() {
            mode(0o600)(&file);
            assert!(!changed(&|of| std::os::unix::fs::fchown(of, Some(1), None).unwrap()));
        }
    }

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
