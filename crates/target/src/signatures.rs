//! Signatures by which the kernel and libblkid recognize a partition table, a file system, or an
//! array member.

use crate::contents::Bytes;

/// Position of a signature.
#[derive(Debug, Clone, Copy)]
enum Anchor {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
}

use Anchor::{End, Start};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// From libblkid (util-linux, libblkid/src/superblocks and src/partitions; wipefs(8) prints the
/// same offsets) and the kernel (include/uapi/linux/magic.h and the file systems' own headers).
/// Magics of two bytes are left out, except for those that [`others`] verifies by more: noise would
/// match them, and data that is not noise is protected without a name.
const MAGICS: &[(&str, Anchor, &[u8])] = &[
    // Partition tables.
    ("GPT partition table", Start(512), b"EFI PART"),
    ("GPT partition table", Start(4096), b"EFI PART"),
    ("GPT partition table (backup)", End(512), b"EFI PART"),
    ("GPT partition table (backup)", End(4096), b"EFI PART"),
    ("BSD disk label", Start(64), &[0x57, 0x45, 0x56, 0x82]),
    ("BSD disk label", Start(128), &[0x57, 0x45, 0x56, 0x82]),
    ("BSD disk label", Start(512), &[0x57, 0x45, 0x56, 0x82]),
    ("SGI disk label", Start(0), &[0x0b, 0xe5, 0xa9, 0x41]),
    // Members of arrays and volume groups.
    ("md array member (1.1)", Start(0), &MD),
    ("md array member (1.2)", Start(4096), &MD),
    ("LVM physical volume", Start(0), b"LABELONE"),
    ("LVM physical volume", Start(512), b"LABELONE"),
    ("LVM physical volume", Start(1024), b"LABELONE"),
    ("LVM physical volume", Start(1536), b"LABELONE"),
    ("Intel RAID member", End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("Intel RAID member", End(8192), b"Intel Raid ISM Cfg Sig. "),
    ("DDF RAID member", End(512), &[0xde, 0x11, 0xde, 0x11]),
    ("DDF RAID member", End(131_584), &[0xde, 0x11, 0xde, 0x11]),
    ("LSI RAID member", End(512), b"$XIDE$"),
    ("NVIDIA RAID member", End(1024), b"NVIDIA  "),
    ("Adaptec RAID member", End(512), &[0x37, 0xfc, 0x4d, 0x1e]),
    ("Promise RAID member", End(63 * 512), b"Promise Technology, Inc."),
    ("HighPoint RAID member", Start(4096 + 544), &[0xf0, 0x16, 0x78, 0x5a]),
    ("DRBD device", End(4096 - 60), &[0x83, 0x74, 0x02, 0x6b]),
    ("DRBD device", End(4096 - 60), &[0x83, 0x74, 0x02, 0x6c]),
    ("DRBD device", End(4096 - 60), &[0x83, 0x74, 0x02, 0x6d]),
    ("DRBD control volume", Start(0), b"$DRBDmgr=q"),
    ("DRBD proxy log", Start(0), b"DRBDdlh*"),
    ("bcache device", Start(4096 + 24), &BCACHE),
    ("bcachefs", Start(4096 + 24), &BCACHEFS),
    ("Ceph BlueStore", Start(0), b"bluestore block device"),
    ("VDO volume", Start(0), b"dmvdo001"),
    ("Stratis pool member", Start(512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("Stratis pool member", Start(9 * 512 + 4), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("device-mapper snapshot", Start(0), b"SnAp"),
    ("dm-verity hashes", Start(0), b"verity\0\0"),
    ("dm-integrity device", Start(0), b"integrt\0"),
    ("Oracle ASM disk", Start(32), b"ORCLDISK"),
    ("VMware volume member", Start(MIB), &[0x0d, 0xd0, 0x01, 0xc0]),
    // Encryption.
    ("LUKS", Start(0), b"LUKS\xba\xbe"),
    ("LUKS", Start(16 * KIB), b"SKUL\xba\xbe"),
    ("BitLocker", Start(3), b"-FVE-FS-"),
    // Swap space, also with a hibernation image: the end of the first page.
    ("swap space", Start(4 * KIB - 10), b"SWAPSPACE2"),
    ("swap space", Start(8 * KIB - 10), b"SWAPSPACE2"),
    ("swap space", Start(16 * KIB - 10), b"SWAPSPACE2"),
    ("swap space", Start(32 * KIB - 10), b"SWAPSPACE2"),
    ("swap space", Start(64 * KIB - 10), b"SWAPSPACE2"),
    ("swap space", Start(4 * KIB - 10), b"SWAP-SPACE"),
    ("hibernated machine", Start(4 * KIB - 10), b"S1SUSPEND"),
    ("hibernated machine", Start(4 * KIB - 10), b"S2SUSPEND"),
    ("hibernated machine", Start(64 * KIB - 10), b"S1SUSPEND"),
    ("hibernated machine", Start(0), &[0xed, 0xc3, 0x02, 0xe9, 0x98, 0x56, 0xe5, 0x0c]),
    ("hibernated machine", Start(4 * KIB - 10), b"ULSUSPEND"),
    ("hibernated machine", Start(4 * KIB - 10), b"LINHIB0001"),
    // File systems.
    ("XFS", Start(0), b"XFSB"),
    ("btrfs", Start(64 * KIB + 0x40), b"_BHRfS_M"),
    ("btrfs", Start(64 * MIB + 0x40), b"_BHRfS_M"),
    ("F2FS", Start(KIB), &[0x10, 0x20, 0xf5, 0xf2]),
    ("EROFS", Start(KIB), &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("squashfs", Start(0), b"hsqs"),
    ("squashfs", Start(0), b"sqsh"),
    ("cramfs", Start(0), &[0x45, 0x3d, 0xcd, 0x28]),
    ("romfs", Start(0), b"-rom1fs-"),
    ("zonefs", Start(0), b"SFOZ"),
    ("UBI", Start(0), b"UBI#"),
    ("NTFS", Start(3), b"NTFS    "),
    ("exFAT", Start(3), b"EXFAT   "),
    ("ReFS", Start(3), b"ReFS\0"),
    ("FAT", Start(0x36), b"FAT1"),
    ("FAT", Start(0x36), b"FAT     "),
    ("FAT", Start(0x36), b"MSDOS"),
    ("FAT", Start(0x52), b"MSWIN"),
    ("FAT", Start(0x52), b"FAT32   "),
    ("ISO 9660", Start(32 * KIB + 1), b"CD001"),
    ("UDF", Start(32 * KIB + 1), b"BEA01"),
    ("UDF", Start(32 * KIB + 1), b"NSR02"),
    ("UDF", Start(32 * KIB + 1), b"NSR03"),
    ("HPFS", Start(8 * KIB), &[0x49, 0xe8, 0x95, 0xf9]),
    ("NetWare", Start(4 * KIB), b"SPB5"),
    ("OCFS", Start(8 * KIB), b"OracleCFS"),
    ("UBIFS", Start(0), &[0x31, 0x18, 0x10, 0x06]),
    ("ReiserFS", Start(64 * KIB + 0x34), b"ReIsEr"),
    ("ReiserFS", Start(8 * KIB + 0x34), b"ReIsEr"),
    ("Reiser4", Start(64 * KIB), b"ReIsEr4"),
    ("JFS", Start(32 * KIB), b"JFS1"),
    ("GFS2", Start(64 * KIB), &[0x01, 0x16, 0x19, 0x70]),
    ("OCFS2", Start(KIB), b"OCFSV2"),
    ("OCFS2", Start(2 * KIB), b"OCFSV2"),
    ("OCFS2", Start(4 * KIB), b"OCFSV2"),
    ("APFS", Start(32), b"NXSB"),
    ("VxFS", Start(KIB), &[0xf5, 0xfc, 0x01, 0xa5]),
    ("VMFS", Start(2 * MIB), &[0x5e, 0xf1, 0xab, 0x2f]),
    ("BeFS", Start(544), b"BFS1"),
    ("BFS", Start(0), &[0xce, 0xfa, 0xad, 0x1b]),
    ("UFS", Start(8 * KIB + 0x55c), &[0x54, 0x19, 0x01, 0x00]),
    ("UFS", Start(64 * KIB + 0x55c), &[0x19, 0x01, 0x54, 0x19]),
];

/// MD_SB_MAGIC, little endian (include/uapi/linux/raid/md_p.h).
const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
/// Magic of bcache, and of older bcachefs.
const BCACHE: [u8; 16] = 0xc685_73f6_4e1a_45ca_8265_f57f_48ba_6d81_u128.to_be_bytes();
const BCACHEFS: [u8; 16] = 0xc685_73f6_66ce_90a9_d96a_60cf_803d_f7ef_u128.to_be_bytes();
/// Magic of a ZFS uberblock (include/sys/uberblock_impl.h).
const UBERBLOCK: u64 = 0x00ba_b10c;

/// Returns the signatures on a device, as names with their offset in bytes, each name once.
pub(crate) fn find(device: &mut Bytes<'_>) -> Vec<(&'static str, u64)> {
    let mut found: Vec<(&'static str, u64)> = Vec::new();
    let mut add = |name, offset| {
        if !found.iter().any(|(known, _)| *known == name) {
            found.push((name, offset));
        }
    };
    let size = device.size_bytes();
    for (name, place, magic) in MAGICS {
        let offset = match place {
            Start(offset) => Some(*offset),
            End(before) => size.checked_sub(*before),
        };
        if let Some(offset) = offset
            && device.has(offset, magic)
        {
            add(name, offset);
        }
    }
    others(device, &mut add);
    found
}

/// Finds signatures that need more than a magic at a fixed offset.
fn others(device: &mut Bytes<'_>, add: &mut dyn FnMut(&'static str, u64)) {
    let size = device.size_bytes();
    if is_mbr(device) {
        add("DOS partition table", 0);
    }
    // s_magic with a plausible s_log_block_size and s_rev_level (fs/ext4/ext4.h).
    if device.has(0x438, &[0x53, 0xef])
        && device.u32_le(0x418).is_some_and(|log| log <= 6)
        && device.u32_le(0x44c).is_some_and(|revision| revision <= 1)
    {
        add("ext2, ext3 or ext4", 0x438);
    }
    // s_magic with s_rev_level 2 (include/uapi/linux/nilfs2_ondisk.h).
    if device.has(0x406, &[0x34, 0x34]) && device.u32_le(0x400) == Some(2) {
        add("NILFS2", 0x406);
    }
    // 0.90: the last but one whole 64 KiB; 1.0: 8 to 12 KiB before the end (md_p.h:
    // MD_NEW_SIZE_SECTORS; drivers/md/md.c: super_1_load).
    let old = (size & !0xffff).checked_sub(64 * KIB);
    let new = (size / 512).checked_sub(16).map(|sectors| (sectors & !7) * 512);
    for (name, offset) in [("md array member (0.90)", old), ("md array member (1.0)", new)] {
        if let Some(offset) = offset
            && (device.has(offset, &MD) || device.has(offset, &0xa92b_4efc_u32.to_be_bytes()))
        {
            add(name, offset);
        }
    }
    // Four labels of 256 KiB, two at each end; the second half of each is a
    // ring of uberblocks (module/zfs/vdev_label.c).
    let end = size & !(256 * KIB - 1);
    let labels = [Some(0), Some(256 * KIB), end.checked_sub(512 * KIB), end.checked_sub(256 * KIB)];
    for label in labels.into_iter().flatten() {
        let mut ring = (128..256).map(|slot| label + slot * KIB);
        let magic = [UBERBLOCK.to_le_bytes(), UBERBLOCK.to_be_bytes()];
        if let Some(at) = ring.find(|at| magic.iter().any(|magic| device.has(*at, magic))) {
            add("ZFS pool member", at);
        }
    }
}

/// True for a master boot record: its signature and four plausible entries, not all of them empty.
/// A protective one belongs to its GPT.
fn is_mbr(device: &mut Bytes<'_>) -> bool {
    const PROTECTIVE: u8 = 0xee;
    let Some(sector) = device.get(0, 512) else { return false };
    let entries: Vec<&[u8]> = sector[446..510].chunks(16).collect();
    let sane = entries.iter().all(|entry| matches!(entry[0], 0 | 0x80));
    let filled = entries.iter().any(|entry| {
        let sectors = &entry[12..16];
        entry[4] != 0 && entry[4] != PROTECTIVE && sectors != [0; 4]
    });
    sector[510..] == [0x55, 0xaa] && sane && filled
}

#[cfg(test)]
#[path = "signatures_tests.rs"]
mod tests;
