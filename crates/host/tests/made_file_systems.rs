//! Reads file systems made by their own tools with a stripe geometry.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::Read;
use std::process::Command;

use iodyno_host::{Depth, snapshot};
use iodyno_model::{Fact, FileSystem};
use support::Machine;

/// Beginning of a sparse file of 1 GiB in which `program` made a file system.
fn made(program: &str, arguments: &[&str]) -> Vec<u8> {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(1 << 30).unwrap();
    let output = Command::new(program)
        .args(arguments)
        .arg(image.path())
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let mut bytes = Vec::new();
    image.reopen().unwrap().take(4096).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Such a file system, mounted with options that reveal nothing.
fn looked_at(kind: &str, bytes: &[u8]) -> FileSystem {
    let machine = Machine::default()
        .block("/sys/devices/virtual/block/md0", "9:0", 1 << 20)
        .file("/proc/self/mountinfo", &format!("30 1 9:0 / /srv rw - {kind} /dev/md0 rw\n"))
        .bytes("/dev/md0", bytes);
    let host = snapshot(&machine.open(), Depth::Full);
    host.block("md0").unwrap().file_system.clone().unwrap()
}

fn geometry(of: &FileSystem) -> (Option<u32>, Option<u64>, Option<u64>) {
    (of.block_bytes.value(), of.stripe_unit_bytes.value(), of.stripe_width_bytes.value())
}

#[test]
fn stride_and_stripe_of_ext4_are_read() {
    // 64 KiB chunks on three data disks, in blocks of 4 KiB.
    let options = ["-q", "-F", "-b", "4096", "-E", "stride=16,stripe_width=48"];
    let striped = looked_at("ext4", &made("mkfs.ext4", &options));
    assert_eq!(geometry(&striped), (Some(4096), Some(64 << 10), Some(192 << 10)));
    let small = ["-q", "-F", "-b", "1024", "-E", "stride=64,stripe_width=128"];
    let small = looked_at("ext4", &made("mkfs.ext4", &small));
    assert_eq!(geometry(&small), (Some(1024), Some(64 << 10), Some(128 << 10)));
    let plain = looked_at("ext4", &made("mkfs.ext4", &["-q", "-F", "-b", "4096"]));
    assert_eq!(geometry(&plain), (Some(4096), None, None));
    assert_eq!(plain.stripe_unit_bytes, Fact::Absent, "made without");
}

#[test]
fn unit_and_width_of_xfs_are_read() {
    let xfs =
        |options: &[&str]| looked_at("xfs", &made("mkfs.xfs", &[&["-q", "-f"], options].concat()));
    let striped = xfs(&["-d", "su=64k,sw=3"]);
    assert_eq!(geometry(&striped), (Some(4096), Some(64 << 10), Some(192 << 10)));
    let in_sectors = xfs(&["-d", "sunit=1024,swidth=4096"]);
    assert_eq!(geometry(&in_sectors), (Some(4096), Some(512 << 10), Some(2 << 20)));
    let small = xfs(&["-b", "size=1024", "-d", "su=128k,sw=2"]);
    assert_eq!(geometry(&small), (Some(1024), Some(128 << 10), Some(256 << 10)));
    assert_eq!(geometry(&xfs(&["-d", "noalign"])), (Some(4096), None, None));
}

#[test]
fn another_kinds_superblock_is_none() {
    let ext4 = made("mkfs.ext4", &["-q", "-F"]);
    let wrong = looked_at("xfs", &ext4);
    assert!(matches!(wrong.block_bytes, Fact::Unreadable(_)), "{wrong:?}");
    assert_eq!(looked_at("ext4", &ext4[..1024]).stripe_unit_bytes, Fact::Absent);
}

#[test]
fn profile_and_devices_of_btrfs_are_read() {
    let system = "/sys/fs/btrfs/6d8c9b5e-0000-4000-8000-000000000001";
    let machine = Machine::default()
        .block("/sys/devices/virtual/block/loop1", "7:1", 1 << 20)
        .block("/sys/devices/virtual/block/loop2", "7:2", 1 << 20)
        .file("/sys/fs/btrfs/features/raid1c34", "0\n")
        .file(&format!("{system}/sectorsize"), "4096\n")
        .file(&format!("{system}/allocation/data/bytes_used"), "65536\n")
        .file(&format!("{system}/allocation/data/raid1/used_bytes"), "65536\n")
        .link(&format!("{system}/devices/loop1"), "../../../../devices/virtual/block/loop1")
        .link(&format!("{system}/devices/loop2"), "../../../../devices/virtual/block/loop2")
        .file("/proc/self/mountinfo", "30 1 0:50 / /srv rw - btrfs /dev/loop1 rw,space_cache=v2\n");
    let host = snapshot(&machine.open(), Depth::Quick);
    let of = host.block("loop1").unwrap().file_system.as_ref().unwrap();
    assert_eq!((of.kind.as_str(), of.block_bytes.value()), ("btrfs", Some(4096)));
    assert_eq!((of.data_profile.value(), of.devices.value()), (Some("raid1".into()), Some(2)));
    let stack = host.stack_under("loop1");
    assert!(stack[0].starts_with("btrfs, data raid1 over 2 devices, block 4 KiB"), "{stack:?}");
    assert_eq!(host.block("loop2").unwrap().file_system, None, "mounted by its first");
}
