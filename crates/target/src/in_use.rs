//! What uses a block device.

use iodyno_model::{Host, Use};

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
