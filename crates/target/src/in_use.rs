//! What uses a block device, or a file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use iodyno_host::{Source, loop_devices, open_by};
use iodyno_model::{BlockKind, Host, Use};

use crate::sharing::{FileBelow, backing_files, devices_to_watch, uses_of_its_bytes};

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

/// The processes that have open what shares bytes with `block`, or the files
/// below it, and keep it open.
fn still_open(source: &dyn Source, host: &Host, block: &str, files: &[FileBelow]) -> Vec<String> {
    let devices = devices_to_watch(host, block);
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
        Err(_) => Some(format!("may back {name}, root can tell")),
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
