//! Finds what uses block devices: mounts, swap, loop devices, members of file systems.

use iodyno_model::{BlockDevice, BlockKind, Mount, Use, add_missing};

use crate::block::Block;
use crate::exports::exports;
use crate::mounts::mounts;
use crate::read;
use crate::source::Source;

/// Adds to the holders mounts (of this process and of init), swap, loop devices, members of btrfs
/// and the kernel's exports. Open descriptors ([`crate::openers`]) and signatures are not included.
pub(crate) fn add_uses(source: &dyn Source, blocks: &mut [Block]) {
    for mount in mounts(source) {
        let used = Use::Mounted(Mount { at: read::clean(&mount.mount.at), ..mount.mount });
        if mount.major != 0 {
            let number = (mount.major, mount.minor);
            add(blocks, |device| (device.major, device.minor) == number, used);
            continue;
        }
        // An anonymous device: the source names the device below it, several joined by colons if
        // the file system lists all members (bcachefs).
        for path in mount.source.split(':').filter(|path| path.starts_with("/dev/")) {
            if let Some(name) = at_path(source, blocks, path) {
                add(blocks, |device| device.name == name, used.clone());
            }
        }
    }

    let swaps = read::file(source, "/proc/swaps").unwrap_or_default();
    for line in swaps.lines().skip(1) {
        let Some(path) = line.split_ascii_whitespace().next() else { continue };
        if let Some(name) = at_path(source, blocks, &read::unescape(path)) {
            add(blocks, |device| device.name == name, Use::Swap);
        }
    }

    let backed: Vec<(String, String)> = blocks
        .iter()
        .filter_map(|block| match &block.device.kind {
            // If the number is known, the path may name anything by now.
            BlockKind::Loop { backing, .. } if backing.get().is_some() => {
                let number = backing.get()?.block?;
                Some((block.device.name.clone(), of_number(blocks, number)?))
            }
            BlockKind::Loop { backing_file: Some(file), .. } => {
                Some((block.device.name.clone(), at_path(source, blocks, file)?))
            }
            _ => None,
        })
        .collect();
    for (on_top, name) in backed {
        if let Some(block) = blocks.iter_mut().find(|block| block.device.name == on_top) {
            block.device.stands_on = vec![name.clone()];
        }
        add(blocks, |device| device.name == name, Use::LoopBacking(on_top));
    }

    for system in source.list("/sys/fs/btrfs").unwrap_or_default() {
        let members = source.list(&format!("/sys/fs/btrfs/{system}/devices")).unwrap_or_default();
        for name in members {
            let used = Use::FileSystemMember(format!("btrfs {}", read::clean(&system)));
            add(blocks, |device| device.name == name, used);
        }
    }

    for export in exports(source).found {
        // By number: its path may be any link or node.
        let Ok(number) = source.block_number(&export.path) else { continue };
        let used = Use::Exported(export.by);
        add(blocks, |device| (device.major, device.minor) == number, used);
    }
}

fn add(blocks: &mut [Block], is_it: impl Fn(&BlockDevice) -> bool, used: Use) {
    let Some(block) = blocks.iter_mut().find(|block| is_it(&block.device)) else { return };
    add_missing(&mut block.device.used_by, [used]);
}

/// Name of the block device whose node is at `path`: by the kernel's or device mapper's name, which
/// avoids accessing the node, else by its number.
fn at_path(source: &dyn Source, blocks: &[Block], path: &str) -> Option<String> {
    let node = path.strip_prefix("/dev/")?;
    // A `/` in a device's name is a `!` in sysfs (cciss!c0d0).
    let kernel_name = node.replace('/', "!");
    let by_name = blocks.iter().map(|block| &block.device).find(|device| {
        device.name == kernel_name
            || matches!(&device.kind, BlockKind::DeviceMapper(mapped)
                if node.strip_prefix("mapper/") == Some(mapped.name.as_str()))
    });
    by_name
        .map(|device| device.name.clone())
        .or_else(|| of_number(blocks, source.block_number(path).ok()?))
}

/// Name of the block device with this number.
fn of_number(blocks: &[Block], number: (u32, u32)) -> Option<String> {
    let mut devices = blocks.iter().map(|block| &block.device);
    let found = devices.find(|device| (device.major, device.minor) == number)?;
    Some(found.name.clone())
}
