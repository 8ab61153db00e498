use iodyno_model::{Bytes, MappedDevice, MdArray};

use super::*;
use crate::testing::{Faked, block, drive, host};

/// Two drives, the second with two namespaces.
fn drives() -> Host {
    let mut host =
        host(vec![block("nvme0n1", 259, 0), block("nvme1n1", 259, 1), block("nvme1n2", 259, 2)]);
    let mut one = drive("nvme0", &["nvme0n1"]);
    one.serial = Fact::Read("S4EWNX0N123456".into());
    let mut two = drive("nvme1", &["nvme1n1", "nvme1n2"]);
    two.serial = Fact::Read("BTLN 9050".into());
    host.drives = vec![one, two];
    for (drive, wwid) in [(0, "eui.0025385b71b00a2f"), (1, "uuid.5f2b")] {
        for (index, namespace) in host.drives[drive].namespaces.iter_mut().enumerate() {
            namespace.nsid = Fact::Read(u32::try_from(index).unwrap() + 1);
            namespace.wwid = Fact::Read(format!("{wwid}{index}"));
        }
    }
    host
}

fn of(host: &Host, name: &str) -> Identity {
    Identity::of(&Faked::new(), host, host.block(name).unwrap())
}

#[test]
fn a_namespace_is_named_by_serial_number_and_world_wide_id() {
    let host = drives();
    let named = |name, word| of(&host, name).is_named_by(&Faked::new(), word);
    assert_eq!(of(&host, "nvme0n1").best(), Some("S4EWNX0N123456"));
    for word in ["S4EWNX0N123456", "S4EWNX0N123456:1", "eui.0025385b71b00a2f0"] {
        assert!(named("nvme0n1", word), "{word}");
        assert!(!named("nvme1n1", word), "{word}");
    }
    // A serial number alone names all namespaces; the suggested word names one.
    assert_eq!(of(&host, "nvme1n2").best(), Some("BTLN 9050:2"));
    assert!(named("nvme1n1", "BTLN 9050") && named("nvme1n2", "BTLN 9050"));
    assert!(!named("nvme1n1", "BTLN 9050:2"));
    for word in ["nvme0n1", "/dev/nvme0n1", "nvme0", "nvme0n1:1G", "", "S4EWNX0N", ":1"] {
        assert!(!named("nvme0n1", word), "{word}");
    }
}

#[test]
fn a_value_shared_by_two_drives_names_neither() {
    let mut host = drives();
    host.drives[1].serial = host.drives[0].serial.clone();
    let words = of(&host, "nvme0n1").words;
    assert_eq!(words, ["eui.0025385b71b00a2f0"]);
    host.drives[1].namespaces[0].wwid = host.drives[0].namespaces[0].wwid.clone();
    assert_eq!(of(&host, "nvme0n1").best(), None);

    // Two controllers of one drive are not two drives.
    let mut host = drives();
    host.drives[1].serial = host.drives[0].serial.clone();
    for drive in &mut host.drives {
        drive.subsystem_nqn = Fact::Read("nqn.x".into());
    }
    assert_eq!(of(&host, "nvme0n1").best(), Some("S4EWNX0N123456"));
    // A serial number that cannot be typed.
    host.drives[0].serial = Fact::Read("a\x1b[2J".into());
    assert_eq!(of(&host, "nvme0n1").best(), Some("eui.0025385b71b00a2f0"));
}

#[test]
fn a_partition_is_named_by_its_disks_word_or_its_partuuid() {
    let mut host = drives();
    let mut part = block("nvme0n1p2", 259, 7);
    part.kind = BlockKind::Partition;
    part.stands_on = vec!["nvme0n1".into()];
    host.blocks.push(part);
    let uuid = "0a1b2c3d-02";
    let mut source = Faked::new()
        .file("/sys/class/block/nvme0n1p2/partition".into(), "2\n")
        .folder("/dev/disk/by-partuuid".into(), &[uuid]);
    source.numbers.insert(format!("/dev/disk/by-partuuid/{uuid}"), (259, 7));
    let identity = Identity::of(&source, &host, host.block("nvme0n1p2").unwrap());
    assert_eq!(identity.best(), Some(uuid));
    for word in [uuid, "PARTUUID=0a1b2c3d-02", "S4EWNX0N123456:1-part2", "S4EWNX0N123456-part2"] {
        assert!(identity.is_named_by(&source, word), "{word}");
    }
    // The named partition does not permit its whole disk.
    for word in ["S4EWNX0N123456", "S4EWNX0N123456:1", "S4EWNX0N123456:1-part1"] {
        assert!(!identity.is_named_by(&source, word), "{word}");
    }
}

#[test]
fn arrays_and_volumes_are_named_by_uuid_or_name_with_size() {
    let mut array = block("md0", 9, 0);
    array.kind = BlockKind::Md(Box::new(MdArray { level: "raid0".into(), ..MdArray::default() }));
    array.size = Fact::Read(Bytes(3_958_241_361_920));
    let mut volume = block("dm-0", 253, 0);
    volume.kind = BlockKind::DeviceMapper(MappedDevice {
        name: "vg-data".into(),
        owner: Some("LVM".into()),
        ..MappedDevice::default()
    });
    let mut disk = block("sda", 8, 0);
    disk.kind = BlockKind::Scsi;
    let mut virt = block("vdy", 254, 0);
    virt.kind = BlockKind::Virtual;
    let twin = BlockDevice { name: "vdz".into(), minor: 16, ..virt.clone() };
    let host = host(vec![array, volume, disk, virt, twin]);
    let source = Faked::new()
        .file("/sys/class/block/md0/md/uuid".into(), "6d1f5f0a-8d5c-4d1e-9f5a-0a1b2c3d4e5f\n")
        .file("/sys/class/block/dm-0/dm/uuid".into(), "LVM-q1w2e3\n")
        .file("/sys/class/block/sda/device/wwid".into(), "naa.5000c500a1b2c3d4\n")
        .file("/sys/class/block/vdy/serial".into(), "disk")
        .file("/sys/class/block/vdz/serial".into(), "disk");
    let of = |name| Identity::of(&source, &host, host.block(name).unwrap());
    let named = |name, word| of(name).is_named_by(&source, word);

    assert_eq!(of("md0").best(), Some("6d1f5f0a-8d5c-4d1e-9f5a-0a1b2c3d4e5f"));
    assert!(named("md0", "6d1f5f0a:8d5c4d1e:9f5a0a1b:2c3d4e5f"));
    assert!(named("md0", "md0:3.6T") && named("md0", "md0:3958241361920"));
    assert!(!named("md0", "md0:3.7T") && !named("md0", "md1:3.6T") && !named("md0", "md0"));
    assert_eq!(of("dm-0").best(), Some("LVM-q1w2e3"));
    assert!(named("dm-0", "vg-data:1G") && !named("dm-0", "dm-0:1G"));
    // sda may be another disk after the next boot, whatever its size.
    assert_eq!(of("sda").best(), Some("naa.5000c500a1b2c3d4"));
    assert!(!named("sda", "sda:1G"));
    // A virtual disk without its own serial number has nothing better.
    assert_eq!(of("vdy").best(), Some("vdy:1G"));
    assert!(!named("vdy", "disk") && !named("vdy", "vdz:1G"));
}

#[test]
fn a_volume_with_two_paths_is_named_by_neither() {
    let mut paths = vec![block("sda", 8, 0), block("sdb", 8, 16), block("sdc", 8, 32)];
    for path in &mut paths {
        path.kind = BlockKind::Scsi;
    }
    let mut part = block("sdb1", 8, 17);
    part.kind = BlockKind::Partition;
    part.stands_on = vec!["sdb".into()];
    paths.push(part);
    let host = host(paths);
    let mut source = Faked::new()
        .file("/sys/class/block/sda/device/wwid".into(), "naa.5000c500a1b2c3d4\n")
        .file("/sys/class/block/sdb/device/wwid".into(), "naa.5000c500a1b2c3d4\n")
        .file("/sys/class/block/sdc/device/wwid".into(), "naa.5000c500a1b2c3d5\n")
        .folder("/dev/disk/by-id".into(), &["wwn-0x5", "wwn-0x6"])
        .folder("/dev/disk/by-partuuid".into(), &["0a1b2c3d-01"]);
    source.numbers.insert("/dev/disk/by-id/wwn-0x5".into(), (8, 16));
    source.numbers.insert("/dev/disk/by-id/wwn-0x6".into(), (8, 32));
    source.numbers.insert("/dev/disk/by-partuuid/0a1b2c3d-01".into(), (8, 17));
    let of = |name| Identity::of(&source, &host, host.block(name).unwrap());

    let words = ["naa.5000c500a1b2c3d4", "/dev/disk/by-id/wwn-0x5", "wwn-0x5", "0a1b2c3d-01"];
    for name in ["sda", "sdb", "sdb1"] {
        assert_eq!(of(name).best(), None, "{name}");
        let error = of(name).refusal(name.into(), None, Vec::new());
        assert!(error.next_step().contains("dm-multipath"), "{name}: {}", error.next_step());
        assert!(!words.iter().any(|word| of(name).is_named_by(&source, word)), "{name}");
    }
    assert!(of("sdc").is_named_by(&source, "wwn-0x6"));
    assert_eq!(of("sdc").best(), Some("naa.5000c500a1b2c3d5"));
    let next = of("sdc").refusal("sdc".into(), None, Vec::new()).next_step();
    assert_eq!(next, "if all data on it may be lost: --allow-write naa.5000c500a1b2c3d5");
}

#[test]
fn sizes_are_exact_or_rounded_to_what_was_typed() {
    assert_eq!(exact_size(64 << 20), "64M");
    assert_eq!(exact_size(1_000_204_886_016), "976762584K");
    assert_eq!(exact_size(4096 * 3 + 512), "12800");
    assert_eq!(exact_size(0), "0");
    let bytes = 1_000_204_886_016;
    for typed in ["1000204886016", "976762584K", "931.5G", "932G", "932GiB", "932g", "0.91T"] {
        assert!(is_size(typed, bytes), "{typed}");
    }
    let wrong = [
        "1000204886017",
        "931G",
        "931.6G",
        "0.92T",
        "0.9T",
        "1T",
        "0.0P",
        "0P",
        "",
        "G",
        ".",
        ".9T",
        "0.9.1T",
        "-1T",
    ];
    for typed in
        wrong.into_iter().chain(["1e3G", "0.90000T", "99999999999999999999999999999999999999999T"])
    {
        assert!(!is_size(typed, bytes), "{typed}");
    }
    // One digit suffices for what it says exactly.
    assert!(is_size("1T", 1 << 40) && is_size("0.5T", 1 << 39) && is_size("8G", 8 << 30));
    assert!(!is_size("1T", (1 << 40) + 4096) && !is_size("0G", 0) && !is_size("0P", 64 << 20));
}

#[test]
fn only_a_whole_namespace_has_a_generic_device() {
    assert_eq!(generic_of("nvme10n2").as_deref(), Some("ng10n2"));
    for name in ["nvme0n1p1", "nvme0c1n1", "nvme0", "sda", "nvmen", "nvme0n", "ng0n1", ""] {
        assert_eq!(generic_of(name), None, "{name}");
    }
}
