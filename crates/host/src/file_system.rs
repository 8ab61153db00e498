//! Reads the layout of mounted file systems on their device.

use iodyno_model::{BlockDevice, Fact, FileSystem, Mount};
use zerocopy::byteorder::{big_endian, little_endian};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::block::Block;
use crate::read;
use crate::source::{Depth, Source};

/// Bytes that contain the fields of both kinds: ext4's superblock begins at 1024.
const SUPERBLOCK_BYTES: usize = 2048;

/// Beginning of an ext4 superblock (kernel documentation, filesystems/ext4/super.rst).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Ext4 {
    _counts: [u8; 24],
    log_block: little_endian::U32,
    _to_magic: [u8; 28],
    magic: little_endian::U16,
    _to_stride: [u8; 298],
    /// In blocks.
    stride: little_endian::U16,
    _checks: [u8; 10],
    /// In blocks.
    stripe_width: little_endian::U32,
}

/// Beginning of an xfs superblock (XFS Algorithms and Data Structures, section 13.1).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Xfs {
    magic: [u8; 4],
    block_bytes: big_endian::U32,
    _to_unit: [u8; 176],
    /// In blocks.
    unit: big_endian::U32,
    /// In blocks.
    width: big_endian::U32,
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Ext4, magic) == 0x38);
    assert!(offset_of!(Ext4, stride) == 0x164);
    assert!(offset_of!(Ext4, stripe_width) == 0x170);
    assert!(offset_of!(Xfs, unit) == 184);
};

/// Adds the mounted file systems of block devices. Superblocks are on the drives: a quick snapshot
/// does not read them.
pub(crate) fn add_file_systems(source: &dyn Source, depth: Depth, blocks: &mut [Block]) {
    for block in blocks {
        let device = &mut block.device;
        let Some(mount) = device.mount() else { continue };
        let from_mount = by_options(mount);
        let by_itself = match (depth, mount.file_system.as_str()) {
            // sysfs has it, readable by everybody.
            (_, "btrfs") => btrfs(source, &device.name),
            (Depth::Quick, _) => Fact::NotAsked,
            (Depth::Full, "ext2" | "ext3" | "ext4" | "xfs") => superblock(source, device, mount),
            _ => Fact::Absent,
        };
        device.file_system = Some(match by_itself {
            Fact::Read(file_system) | Fact::Stated(file_system) => file_system,
            unknown => FileSystem { block_bytes: unknown.map(|_| 0), ..from_mount },
        });
    }
}

/// File system properties from mount options, readable by everybody: xfs gives its stripes there,
/// in sectors of 512 bytes (xfs(5)).
fn by_options(mount: &Mount) -> FileSystem {
    let sectors = |name: &str| {
        let value = mount.options.split(',').find_map(|option| option.strip_prefix(name))?;
        value.parse::<u64>().ok()?.checked_mul(512).filter(|bytes| *bytes > 0)
    };
    let fact = |name| match mount.file_system.as_str() {
        "xfs" => sectors(name).map_or(Fact::Absent, Fact::Read),
        _ => Fact::Absent,
    };
    FileSystem {
        kind: mount.file_system.clone(),
        block_bytes: Fact::Absent,
        stripe_unit_bytes: fact("sunit="),
        stripe_width_bytes: fact("swidth="),
        ..FileSystem::default()
    }
}

/// Reads the btrfs that this device is a member of (kernel documentation, btrfs(5), "SYSFS
/// INTERFACE").
fn btrfs(source: &dyn Source, device: &str) -> Fact<FileSystem> {
    const ROOT: &str = "/sys/fs/btrfs";
    let members = |system: &String| source.list(&format!("{ROOT}/{system}/devices")).ok();
    let systems = source.list(ROOT).unwrap_or_default();
    let mut found = systems.iter().filter_map(|system| Some((system, members(system)?)));
    let own = found.find(|(_, members)| members.iter().any(|name| name == device));
    let Some((system, members)) = own else { return Fact::Absent };
    let folder = format!("{ROOT}/{system}/allocation/data");
    let mut profiles = source.list(&folder).unwrap_or_default();
    profiles.retain(|name| name == "single" || name == "dup" || name.starts_with("raid"));
    profiles.sort();
    Fact::Read(FileSystem {
        kind: "btrfs".into(),
        block_bytes: read::number(source, &format!("{ROOT}/{system}/sectorsize")),
        data_profile: match profiles.is_empty() {
            true => Fact::Absent,
            false => Fact::Read(profiles.join(" and ")),
        },
        devices: u32::try_from(members.len()).map_or(Fact::Absent, Fact::Read),
        ..FileSystem::default()
    })
}

fn superblock(source: &dyn Source, device: &BlockDevice, mount: &Mount) -> Fact<FileSystem> {
    // A suspended device would block the read.
    let path = format!("/sys/block/{}/dm/suspended", device.name);
    if read::number::<u8>(source, &path).get().is_some_and(|suspended| *suspended != 0) {
        return Fact::Unreadable("the device is suspended".into());
    }
    // A `!` in a sysfs name is a `/` in /dev.
    let path = format!("/dev/{}", device.name.replace('!', "/"));
    let bytes = match source.read(&path, SUPERBLOCK_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => return read::unknown(&error),
    };
    let parsed = match mount.file_system.as_str() {
        "xfs" => xfs(&bytes),
        _ => ext4(&bytes),
    };
    match parsed {
        Some((block_bytes, unit, width)) => {
            let stripe = |blocks: u32| match u64::from(blocks) * u64::from(block_bytes) {
                0 => Fact::Absent,
                bytes => Fact::Read(bytes),
            };
            Fact::Read(FileSystem {
                kind: mount.file_system.clone(),
                block_bytes: Fact::Read(block_bytes),
                stripe_unit_bytes: stripe(unit),
                stripe_width_bytes: stripe(width),
                ..FileSystem::default()
            })
        }
        None => Fact::Unreadable("no superblock at its beginning".into()),
    }
}

/// Block size in bytes, stripe unit and width in blocks.
fn ext4(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let (page, _) = Ext4::ref_from_prefix(bytes.get(1024..)?).ok()?;
    let block = 1024_u32.checked_shl(page.log_block.get()).filter(|_| page.log_block.get() <= 6);
    (page.magic.get() == 0xef53).then_some((
        block?,
        page.stride.get().into(),
        page.stripe_width.get(),
    ))
}

/// Block size in bytes, stripe unit and width in blocks, of xfs.
fn xfs(bytes: &[u8]) -> Option<(u32, u32, u32)> {
    let (page, _) = Xfs::ref_from_prefix(bytes).ok()?;
    let block = page.block_bytes.get();
    let is_block = block.is_power_of_two() && (512..=65536).contains(&block);
    (&page.magic == b"XFSB" && is_block).then(|| (block, page.unit.get(), page.width.get()))
}
