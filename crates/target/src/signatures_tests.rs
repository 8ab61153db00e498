use std::fs::File;
use std::os::unix::fs::FileExt;

use super::*;
use crate::random::Random;

const SIZE: u64 = 70 * MIB + 512;

fn names(file: File) -> Vec<&'static str> {
    let size = file.metadata().unwrap().len();
    find(&mut Bytes::of(&file.into(), size)).into_iter().map(|(name, _)| name).collect()
}

fn sparse(size: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(size).unwrap();
    file
}

#[test]
fn every_magic_is_found_where_it_belongs_and_only_there() {
    for (name, place, magic) in MAGICS {
        let offset = match place {
            Start(offset) => *offset,
            End(before) => SIZE - before,
        };
        let file = sparse(SIZE);
        file.write_all_at(magic, offset).unwrap();
        let found = names(file);
        assert!(found.contains(name), "{name} at {offset:#x}: {found:?}");

        let file = sparse(SIZE);
        file.write_all_at(magic, offset + 1).unwrap();
        let beside = names(file);
        assert!(!beside.contains(name), "{name} at {offset:#x} + 1: {beside:?}");
    }
}

#[test]
fn what_is_verified_by_more_than_a_magic() {
    let with = |writes: &[(u64, &[u8])]| {
        let file = sparse(SIZE);
        writes.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        names(file)
    };
    assert_eq!(with(&[(0x438, &[0x53, 0xef])]), ["ext2, ext3 or ext4"]);
    assert!(with(&[(0x438, &[0x53, 0xef]), (0x418, &[7])]).is_empty());
    assert_eq!(with(&[(0x406, &[0x34, 0x34]), (0x400, &[2])]), ["NILFS2"]);

    // The last but one whole 64 KiB, and 8 KiB before the end.
    assert_eq!(with(&[(70 * MIB - 64 * KIB, &MD)]), ["md array member (0.90)"]);
    assert_eq!(with(&[(70 * MIB - 8 * KIB, &MD)]), ["md array member (1.0)"]);

    let uberblock = UBERBLOCK.to_le_bytes();
    let labels = [0, 256 * KIB, 70 * MIB - 512 * KIB, 70 * MIB - 256 * KIB];
    for label in labels {
        assert_eq!(with(&[(label + 200 * KIB, &uberblock)]), ["ZFS pool member"]);
    }
    assert!(with(&[(MIB + 200 * KIB, &uberblock)]).is_empty());

    let entry = [0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0];
    assert_eq!(with(&[(446, &entry), (510, &[0x55, 0xaa])]), ["DOS partition table"]);
    // A boot sector without partitions, an invalid entry.
    assert!(with(&[(510, &[0x55, 0xaa])]).is_empty());
    let mut insane = entry;
    insane[0] = 7;
    assert!(with(&[(446, &insane), (510, &[0x55, 0xaa])]).is_empty());
    // GPT's protective one is not reported twice.
    let mut protective = entry;
    protective[4] = 0xee;
    let gpt = with(&[(446, &protective), (510, &[0x55, 0xaa]), (512, b"EFI PART")]);
    assert_eq!(gpt, ["GPT partition table"]);
}

#[test]
fn a_device_of_any_size_and_noise_hold_no_signature() {
    for size in [0, 1, 511, 512, 513, 1024, 4095, 4096, 65_535, 65_536, 300_000, 600_000] {
        assert!(names(sparse(size)).is_empty(), "{size}");
        let mut noise = vec![0; usize::try_from(size).unwrap()];
        Random::new(size).fill(&mut noise);
        let file = sparse(size);
        file.write_all_at(&noise, 0).unwrap();
        assert!(names(file).is_empty(), "{size}");
    }
}
