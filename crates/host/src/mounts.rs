//! Lists mounts.

use std::collections::HashSet;

use iodyno_model::Mount;

use crate::read;
use crate::source::Source;

/// A mount, with what identifies the block device below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountPoint {
    /// Mount point, file system and options.
    pub mount: Mount,
    /// Device number, major, as `stat` gives it for files on it; 0 for file systems with an
    /// anonymous device (btrfs, tmpfs, network).
    pub major: u32,
    /// Device number, minor.
    pub minor: u32,
    /// Mounted part of the file system, `/` for all of it.
    pub root: String,
    /// Source of the mount as the file system gives it: `/dev/nvme0n1p2`, `tmpfs`.
    pub source: String,
}

impl MountPoint {
    /// Identifies the file system: by its device's number or, if that is anonymous, its source.
    fn file_system(&self) -> ((u32, u32), String) {
        match self.major {
            0 => ((0, 0), self.source.clone()),
            _ => ((self.major, self.minor), String::new()),
        }
    }
}

/// Lists all mounts in the order of mounting (the last one at a mount point hides the others):
/// those visible to this process, those of init's mount namespace that are not, and of all others
/// (containers, services) the file systems of devices that are mounted nowhere else, by the path
/// that leads there (`/proc/PID/root/data`); as far as readable (proc(5), /proc/PID/mountinfo).
/// Mount points are as the kernel gives them and may contain any character.
pub fn mounts(source: &dyn Source) -> Vec<MountPoint> {
    let mut mounts: Vec<MountPoint> = Vec::new();
    for process in ["self", "1"] {
        let text = read::file(source, &format!("/proc/{process}/mountinfo")).unwrap_or_default();
        for mount in text.lines().filter_map(parse) {
            let same = |known: &MountPoint| {
                (known.major, known.minor, &known.mount.at)
                    == (mount.major, mount.minor, &mount.mount.at)
            };
            if !mounts.iter().any(same) {
                mounts.push(mount);
            }
        }
    }
    let mut known: HashSet<_> = mounts.iter().map(MountPoint::file_system).collect();
    for process in source.mount_namespaces() {
        let text = read::file(source, &format!("/proc/{process}/mountinfo")).unwrap_or_default();
        for mut mount in text.lines().filter_map(parse) {
            let is_on_device = mount.major != 0 || mount.source.starts_with("/dev/");
            if is_on_device && known.insert(mount.file_system()) {
                mount.mount.at = format!("/proc/{process}/root{}", mount.mount.at);
                mounts.push(mount);
            }
        }
    }
    mounts
}

/// Parses `id parent major:minor root at options [optional…] - type source super-options`.
fn parse(line: &str) -> Option<MountPoint> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (major, minor) = read::device_number(before.next()?)?;
    let (root, at, per_mount) = (before.next()?, before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (file_system, source) = (after.next()?, after.next()?);
    let per_superblock = after.next().unwrap_or_default();
    Some(MountPoint {
        mount: Mount {
            at: read::unescape(at),
            file_system: read::clean(&read::unescape(file_system)),
            options: merged(per_mount, per_superblock),
        },
        major,
        minor,
        root: read::unescape(root),
        source: read::unescape(source),
    })
}

/// Options of mount and superblock, each once.
fn merged(per_mount: &str, per_superblock: &str) -> String {
    let mut options: Vec<String> = Vec::new();
    for option in per_mount.split(',').chain(per_superblock.split(',')) {
        let option = read::clean(&read::unescape(option));
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_and_blanks_are_understood() {
        let line = r"36 35 98:0 /mnt1 /mnt/a\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!((mount.major, mount.minor), (98, 0));
        assert_eq!(mount.mount.at, "/mnt/a b");
        assert_eq!(mount.mount.file_system, "ext3");
        assert_eq!(mount.mount.options, "rw,noatime,errors=continue");
        assert_eq!((mount.root.as_str(), mount.source.as_str()), ("/mnt1", "/dev/root"));
        assert_eq!(parse("36 35 98:0 / /x rw"), None);
        assert_eq!(parse(""), None);
    }
}
