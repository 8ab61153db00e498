//! What uses a block device, or a file.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_host::{FileId, Source};
use iodyno_model::{BlockKind, Host, Use};
use rustix::fs::Mode;

use crate::lease::OpenElsewhere;
use crate::openers::{Look, ways_to};
use crate::{exported, openers, shared};

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

/// Everything that stands against writing `block`: what uses it, what stands
/// on it, what it is a part of, what is exported of it, and processes that
/// have any of these open; and what of that could not be looked at. `hosts`
/// are looked at one after another (a snapshot of now, and the one that the
/// target was resolved with).
pub(crate) fn against_writing(source: &dyn Source, hosts: &[&Host], block: &str) -> Look {
    let mut lines = Vec::new();
    for host in hosts {
        let above = uses(host, block).into_iter();
        let overlapping = overlapping(source, host, block).into_iter();
        let beside = overlapping.flat_map(|name| uses(host, name));
        for (on, by) in above.chain(uses_beneath(host, block)).chain(beside) {
            // What lies on it is no use, and who has it open is looked at now.
            if matches!(by, Use::Signature(_) | Use::OpenBy { .. }) {
                continue;
            }
            let line = format!("{on}: {}", by.label());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let Some(now) = hosts.first() else { return Look { uses: lines, ..Look::default() } };
    let ways = ways_to(source, now, block);
    let exported = exported::of_block(source, now, block, &ways);
    for line in exported.uses {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        return Look { uses: lines, ..Look::default() };
    }
    let mut look = openers::look(source, &ways);
    look.blind.extend(exported.blind);
    look.blind.extend(shared::unseen_controllers(source, now, block));
    look
}

/// What uses the devices that `block` is a part of or stands on, where the
/// kernel would not be in the way: the disk of a partition, and what is under
/// a loop device. Arrays and volumes hold their members themselves.
fn uses_beneath(host: &Host, block: &str) -> Vec<(String, Use)> {
    let mut found = Vec::new();
    let mut name = block;
    // Each is below the one before; a chain longer than all devices is a circle.
    for _ in &host.blocks {
        let Some(device) = host.block(name) else { break };
        let Some(below) = device.stands_on.first().and_then(|below| host.block(below)) else {
            break;
        };
        let theirs: Vec<(String, Use)> = match device.kind {
            // Other partitions of the disk are no hindrance.
            BlockKind::Partition => {
                below.used_by.iter().map(|by| (below.name.clone(), by.clone())).collect()
            }
            BlockKind::Loop { .. } => uses(host, &below.name),
            _ => break,
        };
        let own = Use::LoopBacking(name.to_owned());
        found.extend(theirs.into_iter().filter(|(_, by)| *by != own));
        name = &below.name;
    }
    found
}

/// The partitions that share sectors with the partition `block`: BSD slices,
/// a logical partition in an extended one. The kernel lets each be held alone.
fn overlapping<'h>(source: &dyn Source, host: &'h Host, block: &str) -> Vec<&'h str> {
    let Some(device) = host.block(block).filter(|block| block.kind == BlockKind::Partition) else {
        return Vec::new();
    };
    // In units of 512 bytes.
    let range = |name: &str| {
        let number = |file: &str| {
            let text = source.read(&format!("/sys/class/block/{name}/{file}"), 64).ok()?;
            String::from_utf8(text).ok()?.trim().parse::<u64>().ok()
        };
        Some((number("start")?, number("size")?))
    };
    let overlaps = |other: &str| match (range(block), range(other)) {
        (Some((start, size)), Some((other_start, other_size))) => {
            start < other_start.saturating_add(other_size)
                && other_start < start.saturating_add(size)
        }
        // What cannot be told apart may be the same sectors.
        _ => true,
    };
    let siblings = host.blocks.iter().filter(|other| {
        other.kind == BlockKind::Partition
            && other.name != block
            && other.stands_on == device.stands_on
    });
    siblings.map(|other| other.name.as_str()).filter(|other| overlaps(other)).collect()
}

/// Everything that stands against writing a file, by its device and inode
/// number: it backs a loop device, is swap space, is exported, or another
/// process has `file`, this process's own descriptor of it, open; and what of
/// that could not be looked at. `host` is an older snapshot, whose loop
/// devices count as well.
pub(crate) fn against_writing_file(
    source: &dyn Source,
    host: &Host,
    identity: (u64, u64),
    file: &OwnedFd,
) -> Look {
    let is_it =
        |path: &Path| fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == identity);
    let mut lines = Vec::new();
    let mut backing: Vec<(String, String)> = host
        .blocks
        .iter()
        .filter_map(|device| match &device.kind {
            BlockKind::Loop { backing_file: Some(file) } => {
                Some((device.name.clone(), file.clone()))
            }
            _ => None,
        })
        .collect();
    // A whole snapshot for each of a job's thousand files would take its time.
    for name in source.list("/sys/block").unwrap_or_default() {
        let file = source.read(&format!("/sys/block/{name}/loop/backing_file"), 4096);
        if let Some(file) = file.ok().and_then(|file| String::from_utf8(file).ok()) {
            backing.push((name, file.trim_end_matches('\n').to_owned()));
        }
    }
    for (name, file) in backing {
        let line = format!("backs {name}");
        if is_it(Path::new(&file)) && !lines.contains(&line) {
            lines.push(line);
        }
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let mut swap_files = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    if swap_files.any(|path| is_it(Path::new(&path.replace("\\040", " ")))) {
        lines.push("swap".into());
    }
    let exported = exported::of_file(source, identity);
    lines.extend(exported.uses);
    if !lines.is_empty() {
        return Look { uses: lines, ..Look::default() };
    }
    let elsewhere = OpenElsewhere::than(file);
    if elsewhere == OpenElsewhere::No {
        return Look::default();
    }
    let (device, inode) = identity;
    let id = FileId::Inode { device, inode };
    let mut look = openers::look(source, &[(String::new(), id)]);
    // Where the kernel does not say, or means this process, only root could
    // have it open unseen, if its owner alone may write it.
    let is_explained = elsewhere == OpenElsewhere::Unknown || openers::has_twice(id);
    if is_explained && is_ours_alone(file) {
        look.blind.clear();
    } else {
        look.blind.extend(exported.blind);
    }
    look
}

/// Whether no other user but root can have opened the file for writing: it is
/// this user's, and its mode (with an ACL: its mask) lets nobody else write.
fn is_ours_alone(file: &OwnedFd) -> bool {
    rustix::fs::fstat(file).is_ok_and(|stat| {
        let others = Mode::WGRP | Mode::WOTH;
        stat.st_uid == rustix::process::geteuid().as_raw()
            && !Mode::from_raw_mode(stat.st_mode).intersects(others)
    })
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
