//! Rare machines, built by hand.

mod support;

use iodyno_host::{
    Captured, Depth, Exports, FileId, Openers, capture, exports, mounts, openers, snapshot,
};
use iodyno_model::{BlockKind, Bytes, Fact, Host, Use};
use support::Machine;

const ROOT: &str = "/sys/devices/pci0000:00/0000:00:01.0";
const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0";

/// One drive below a root port; `nvme0n1` is not created.
fn one_drive(state: &str) -> Machine {
    Machine::default()
        .pci(ROOT, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
        .pci(DRIVE, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .link(&format!("{DRIVE}/driver"), "../../../../bus/pci/drivers/nvme")
        .controller(DRIVE, "nvme0", state)
}

fn uses(host: &Host, block: &str) -> Vec<String> {
    let device = host.block(block).expect("the machine has it");
    device.used_by.iter().map(Use::label).collect()
}

#[test]
fn layers_and_uses_are_found() {
    let disk = format!("{DRIVE}/nvme/nvme0/nvme0n1");
    let array = "/sys/devices/virtual/block/md0";
    let volume = "/sys/devices/virtual/block/dm-0";
    let source = one_drive("live\n")
        .block(&disk, "259:0", 4096)
        .file(&format!("{disk}/queue/scheduler"), "mq-deadline kyber [none]\n")
        .file(&format!("{disk}/nsid"), "1\n")
        .partition(&disk, "nvme0n1p1", "259:1", 1024)
        .partition(&disk, "nvme0n1p2", "259:2", 1024)
        .partition(&disk, "nvme0n1p10", "259:3", 512)
        .partition(&disk, "nvme0n1p3", "259:4", 512)
        .directory(&format!("{disk}/nvme0n1p1/holders/md0"))
        .block(array, "9:0", 1024)
        .folder(&format!("{array}/md"), &[("level", "raid1\n"), ("chunk_size", "0\n"), ("degraded", "1\n")])
        .directory(&format!("{array}/slaves/nvme0n1p1"))
        .directory(&format!("{array}/holders/dm-0"))
        .block(volume, "253:0", 1000)
        .folder(&format!("{volume}/dm"), &[("name", "vg-data\n"), ("uuid", "LVM-abcdef\n")])
        .directory(&format!("{volume}/slaves/md0"))
        .block("/sys/devices/virtual/block/loop0", "7:0", 64)
        .file("/sys/devices/virtual/block/loop0/loop/backing_file", "/dev/disk/by-id/the-third\n")
        .block_node("/dev/disk/by-id/the-third", 259, 4)
        .file(
            "/proc/swaps",
            "Filename Type Size Used Priority\n/dev/nvme0n1p2 partition 1 0 -2\n/swapfile file 1 0 -3\n",
        )
        .file(
            "/proc/self/mountinfo",
            "30 1 253:0 / /srv/my\\040data rw,noatime shared:1 - xfs /dev/mapper/vg-data rw\n\
             31 1 0:40 /@ /home rw - btrfs /dev/nvme0n1p10 rw,compress=zstd:3\n\
             32 1 0:41 / /tmp rw - tmpfs tmpfs rw\n",
        )
        .file("/proc/1/mountinfo", "40 1 253:0 / /elsewhere rw - xfs /dev/mapper/vg-data rw\n")
        // A container sees what is mounted here, and mounts a device for itself alone.
        .link("/proc/1/ns/mnt", "mnt:[1]")
        .link("/proc/70/ns/mnt", "mnt:[1]")
        .link("/proc/700/ns/mnt", "mnt:[7]")
        .link("/proc/701/ns/mnt", "mnt:[7]")
        .file(
            "/proc/700/mountinfo",
            "50 1 253:0 / /data rw - xfs /dev/mapper/vg-data rw\n\
             51 1 0:41 / /tmp rw - tmpfs tmpfs rw\n\
             52 1 259:0 / /its\\040own rw - ext4 /dev/nvme0n1 rw\n\
             53 1 259:0 / /again rw - ext4 /dev/nvme0n1 rw\n",
        )
        .directory("/sys/fs/btrfs/0f0e-uuid/devices/nvme0n1p10")
        .directory("/sys/fs/btrfs/features")
        .open();
    let host = snapshot(&source, Depth::Full);

    let names: Vec<_> = host.blocks.iter().map(|block| block.name.as_str()).collect();
    let expected =
        ["dm-0", "loop0", "md0", "nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme0n1p3", "nvme0n1p10"];
    assert_eq!(names, expected);
    let BlockKind::Md(array) = &host.block("md0").unwrap().kind else { panic!("an array") };
    assert_eq!((array.level.as_str(), array.chunk_bytes, array.degraded), ("raid1", None, Some(1)));
    let BlockKind::DeviceMapper(mapped) = &host.block("dm-0").unwrap().kind else {
        panic!("a mapped device")
    };
    assert_eq!(mapped.volume(), Some(("vg".into(), "data".into())));
    assert_eq!(mapped.table, Fact::Absent);
    let part = host.block("nvme0n1p1").unwrap();
    assert_eq!((&part.kind, part.size.value()), (&BlockKind::Partition, Some(Bytes::kib(512))));
    assert_eq!(part.queue.scheduler, Fact::Read("none".into()));

    assert_eq!(uses(&host, "dm-0"), ["mounted at /srv/my data", "mounted at /elsewhere"]);
    assert_eq!(uses(&host, "md0"), ["dm-0"]);
    assert_eq!(uses(&host, "nvme0n1p1"), ["md0"]);
    assert_eq!(uses(&host, "nvme0n1p2"), ["swap"]);
    assert_eq!(uses(&host, "nvme0n1p3"), ["backs loop0"]);
    assert_eq!(uses(&host, "nvme0n1p10"), ["mounted at /home", "member of btrfs 0f0e-uuid"]);
    assert_eq!(uses(&host, "nvme0n1"), ["mounted at /proc/700/root/its own"]);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("captured.json");
    capture(&source, &to, false).unwrap();
    assert_eq!(snapshot(&Captured::open(&to).unwrap(), Depth::Full), host);

    let bottom: Vec<_> = host.bottom_of("dm-0").iter().map(|block| block.name.clone()).collect();
    assert_eq!(bottom, ["nvme0n1"]);
    assert_eq!(host.bottom_of("loop0")[0].name, "nvme0n1");
    assert_eq!(host.block("dm-0").map(|dm| (dm.major, dm.minor)), Some((253, 0)));
    let mounts = mounts(&source);
    assert_eq!((mounts[1].root.as_str(), mounts[1].source.as_str()), ("/@", "/dev/nvme0n1p10"));
    assert_eq!(mounts[1].mount.options, "rw,compress=zstd:3");
}

#[test]
fn a_multipath_drive_is_its_head() {
    let path = format!("{DRIVE}/nvme/nvme0/nvme0c0n1");
    let head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
    let source = one_drive("live\n")
        .link("/sys/block/nvme0c0n1", &path)
        .folder(
            &path,
            &[("size", "4096"), ("hidden", "1\n"), ("nsid", "1\n"), ("wwid", "eui.01\n")],
        )
        .directory(&format!("{path}/mq/0"))
        .directory(&format!("{path}/mq/1"))
        .block(head, "259:0", 4096)
        .open();
    let host = snapshot(&source, Depth::Full);
    assert_eq!(host.blocks.len(), 1);
    assert_eq!(host.blocks[0].queue.hardware_queues, Fact::Read(2));
    let (drive, namespace) = host.namespace("nvme0n1").unwrap();
    assert_eq!((drive.name.as_str(), namespace.nsid.value()), ("nvme0", Some(1)));
    assert_eq!(namespace.size, Fact::Read(Bytes::mib(2)));
    assert_eq!(drive.links, ["0000:01:00.0"]);
    assert_eq!(drive.numa_node, Fact::Read(1));
}

#[test]
fn a_drive_behind_vmd_has_its_link() {
    let source = Machine::vmd().0.open();
    let host = snapshot(&source, Depth::Full);
    assert_eq!(host.drives[0].links, ["10000:e1:00.0"]);
    assert_eq!(host.drives[0].address, Fact::Read("10000:e1:00.0".into()));
    assert_eq!(host.links[0].port.address, "10000:e0:02.0");
    assert_eq!(host.links[0].able().unwrap().label(), "Gen4 x4");
    assert_eq!(host.cards[0].driver, Fact::Read("vmd".into()));
}

#[test]
fn a_dead_controller_is_not_asked() {
    let source = support::Watched::new(one_drive("dead\n").open());
    let host = snapshot(&source, Depth::Full);
    let drive = &host.drives[0];
    assert_eq!(drive.state, Fact::Read("dead".into()));
    assert_eq!(drive.health, Fact::Unreadable("the controller is dead".into()));
    assert!(drive.namespaces.is_empty());
    assert_eq!(drive.capacity, Fact::Absent);
    assert!(source.commands.lock().unwrap().is_empty());
}

#[test]
fn a_drive_lent_to_a_virtual_machine_is_a_function_without_controller() {
    let source = Machine::default()
        .pci(ROOT, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
        .pci(DRIVE, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .link(&format!("{DRIVE}/driver"), "../../../../bus/pci/drivers/vfio-pci")
        .open();
    let host = snapshot(&source, Depth::Full);
    assert!(host.drives.is_empty());
    let function = &host.nvme_functions[0];
    assert_eq!(
        (function.address.as_str(), function.pci_id.as_str()),
        ("0000:01:00.0", "144d:a824")
    );
    assert_eq!(function.driver, Fact::Read("vfio-pci".into()));
    assert_eq!(function.controller, None);
}

/// Configuration space of a port with a slot.
fn port_config(kind: u16, link_status: u16, slot_status: u16) -> Vec<u8> {
    let mut bytes = vec![0_u8; 256];
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x40;
    bytes[0x40] = 0x10;
    let mut word = |offset: usize, value: u16| {
        bytes[0x40 + offset..0x42 + offset].copy_from_slice(&value.to_le_bytes());
    };
    word(0x02, kind << 4 | 1 << 8 | 2);
    word(0x08, 2 << 5);
    word(0x0e, 1 << 4);
    word(0x12, link_status);
    word(0x1a, slot_status);
    word(0x30, 3);
    bytes
}

#[test]
fn an_occupied_slot_without_link_is_found() {
    let empty = "/sys/devices/pci0000:00/0000:00:02.0";
    let machine = one_drive("live\n")
        .file(&format!("{ROOT}/secondary_bus_number"), "1\n")
        .bytes(&format!("{ROOT}/config"), &port_config(4, 1 << 13, 1 << 6))
        .pci(empty, "0x060400\n", "Unknown\n", "0\n")
        .file(&format!("{empty}/secondary_bus_number"), "18\n")
        .bytes(&format!("{empty}/config"), &port_config(4, 0, 1 << 6))
        .file("/sys/bus/pci/slots/7/address", "0000:01:00\n")
        .file("/sys/bus/pci/slots/8/address", "0000:12:00\n")
        .file("/sys/bus/pci/slots/9/address", "0000:99:00\n");
    let host = snapshot(&machine.open(), Depth::Full);
    let facts = |i: usize| (host.slots[i].present.clone(), host.slots[i].link_active.clone());
    assert_eq!(facts(0), (Fact::Read(true), Fact::Read(true)));
    assert_eq!(facts(1), (Fact::Read(true), Fact::Read(false)));
    assert_eq!(facts(2), (Fact::Absent, Fact::Absent));
    let link = host.link("0000:01:00.0").unwrap();
    assert_eq!(link.slot.as_deref(), Some("7"));
    assert_eq!(link.port.target_generation, Fact::Read(3));
    assert_eq!(link.port.max_payload_bytes, Fact::Read(512));

    let path = format!("{empty}/config");
    let host = snapshot(&machine.bytes(&path, &port_config(4, 0, 0)[..64]).open(), Depth::Full);
    assert_eq!(host.slots[1].present, Fact::NeedsRoot);
}

#[test]
fn a_port_that_does_not_know_its_link_leaves_it_open() {
    let source = one_drive("live\n")
        .file(&format!("{ROOT}/max_link_speed"), "Unknown\n")
        .file(&format!("{ROOT}/max_link_width"), "255\n")
        .file(&format!("{DRIVE}/current_link_speed"), "Unknown\n")
        .file(&format!("{DRIVE}/aer_dev_correctable"), "RxErr 3\nBadTLP 1\nTOTAL_ERR_COR 4\n")
        .file(&format!("{DRIVE}/aer_dev_nonfatal"), "CmpltTO 1\nTOTAL_ERR_NONFATAL 1\n")
        .file(&format!("{DRIVE}/aer_dev_fatal"), "TOTAL_ERR_FATAL 2\n")
        .open();
    let host = snapshot(&source, Depth::Full);
    let link = &host.links[0];
    assert_eq!((&link.port.max_generation, &link.port.max_width), (&Fact::Absent, &Fact::Absent));
    assert_eq!(link.able(), None);
    assert_eq!(link.device.correctable_errors, Fact::Read(4));
    assert_eq!(link.device.uncorrectable_errors, Fact::Read(3));
    // The port reports what the drive does not.
    assert_eq!(link.current.value().unwrap().label(), "Gen4 x4");
}

#[test]
fn a_raid_card_has_its_firmware_links_and_disks() {
    let disk = format!("{DRIVE}/host0/target0:2:0/0:2:0:0/block/sda");
    let source = Machine::default()
        .pci(ROOT, "0x060400\n", "8.0 GT/s PCIe\n", "8\n")
        .pci(DRIVE, "0x010700\n", "8.0 GT/s PCIe\n", "8\n")
        .link(&format!("{DRIVE}/driver"), "../../../../bus/pci/drivers/mpt3sas")
        .block(&disk, "8:0", 4096)
        .link(&format!("{disk}/device"), "../../../0:2:0:0")
        .folder(
            &format!("{DRIVE}/host0/target0:2:0/0:2:0:0"),
            &[("vendor", "DELL    \n"), ("model", "PERC H965i Front\n")],
        )
        .folder(
            "/sys/class/scsi_host/host0",
            &[("board_name", "SAS9300-8i\n"), ("version_fw", "16.00.12.00\n")],
        )
        .folder("/sys/module/mpt3sas", &[("version", "43.100.00.00\n"), ("taint", "OE\n")])
        .directory("/sys/module/nvme")
        .open();
    let host = snapshot(&source, Depth::Full);
    let card = &host.cards[0];
    assert_eq!((card.kind.as_str(), card.name.value()), ("SAS", Some("SAS9300-8i".into())));
    assert_eq!(card.firmware, Fact::Read("16.00.12.00".into()));
    assert_eq!(card.links, ["0000:01:00.0"]);
    assert_eq!(card.blocks, ["sda"]);
    let disk = host.block("sda").unwrap();
    assert_eq!(
        (&disk.kind, disk.model.value()),
        (&BlockKind::Scsi, Some("DELL PERC H965i Front".into()))
    );
    let driver = |name: &str| host.drivers.iter().find(|driver| driver.name == name).unwrap();
    assert_eq!(driver("mpt3sas").version, Fact::Read("43.100.00.00".into()));
    assert_eq!(driver("mpt3sas").out_of_tree, Fact::Read(true));
    assert_eq!(driver("nvme").out_of_tree, Fact::Read(false));
}

#[test]
fn disks_of_hypervisors_are_virtual() {
    let scsi = "/sys/devices/VMBUS:00/host1/target1:0:0/1:0:0:0";
    let source = Machine::default()
        .block("/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "254:0", 4096)
        .block("/sys/devices/vbd-51712/block/xvda", "202:0", 4096)
        .block(&format!("{scsi}/block/sda"), "8:0", 4096)
        .link(&format!("{scsi}/block/sda/device"), "../..")
        .folder(scsi, &[("vendor", "Msft    \n"), ("model", "Virtual Disk    \n")])
        .block("/sys/devices/virtual/block/zram0", "253:0", 4096)
        .open();
    let host = snapshot(&source, Depth::Full);
    let kinds: Vec<_> =
        host.blocks.iter().map(|block| (block.name.as_str(), &block.kind)).collect();
    let expected = [
        ("sda", &BlockKind::Virtual),
        ("vda", &BlockKind::Virtual),
        ("xvda", &BlockKind::Virtual),
        ("zram0", &BlockKind::Zram),
    ];
    assert_eq!(kinds, expected);
    assert!(host.drives.is_empty() && host.links.is_empty() && host.cards.is_empty());
}

#[test]
fn a_controller_without_data_is_no_drive() {
    let path = format!("{DRIVE}/nvme/nvme0/cntrltype");
    let host = snapshot(&one_drive("live\n").file(&path, "discovery\n").open(), Depth::Full);
    assert!(host.drives.is_empty());
}

#[test]
fn processes_that_have_a_device_open_are_found() {
    let base = || {
        Machine::default()
            .directory("/sys")
            .link("/proc/self", "40")
            .link("/proc/self/ns/pid", "pid:[4026531836]")
            .directory("/proc/1/fd")
            .block_node("/dev/nvme0n1", 259, 0)
            .link("/proc/40/fd/3", "/dev/nvme0n1")
            .file("/proc/7/comm", "qemu-system-x86\n")
    };
    let disk = FileId::Block(259, 0);
    let source = base()
        .link("/proc/7/fd/9", "/dev/nvme0n1")
        .link("/proc/8/fd/1", "/dev/null")
        .link("/proc/9/fd/0", "socket:[1]")
        .denied("/proc/11/fd")
        .open();
    let by = |pid| vec![(disk, Use::OpenBy { pid, command: "qemu-system-x86".into() })];
    let found = openers(&source, &[FileId::Block(8, 0), disk]);
    assert_eq!(found, Openers { found: by(7), unreadable: 1, hidden: false });
    assert_eq!(openers(&source, &[FileId::Block(259, 1)]).found, []);

    // Its first thread has ended.
    let source = base().directory("/proc/7/fd").link("/proc/7/task/9/fd/3", "/dev/nvme0n1").open();
    assert_eq!(openers(&source, &[disk]), Openers { found: by(7), ..Openers::default() });

    // Mapped, and closed since: `maps` has the node's inode, not the device's number.
    let line = "7f0000000000-7f0000001000 rw-s 00000000 00:06 77    /dev/nvme0n1\n";
    let source = base()
        .directory("/proc/7/fd")
        .file("/proc/7/maps", &format!("00400000-00401000 r-xp 00000000 00:00 0\n{line}"))
        .link("/proc/7/map_files/7f0000000000-7f0000001000", "/dev/nvme0n1")
        .open();
    assert_eq!(openers(&source, &[disk]), Openers { found: by(7), ..Openers::default() });
}

#[test]
fn hidden_processes_are_reported() {
    let hidden = |machine: Machine| openers(&machine.open(), &[]).hidden;
    let base = || Machine::default().directory("/sys");
    assert!(!hidden(base().directory("/proc/1/fd")));
    // hidepid=2 lists only the user's own processes.
    assert!(hidden(base().directory("/proc/7/fd")));
    // A container.
    let contained = base().directory("/proc/1/fd").link("/proc/self/ns/pid", "pid:[4026532201]");
    assert!(hidden(contained));
}

const NVMET: &str = "/sys/kernel/config/nvmet/subsystems";

#[test]
fn exported_devices_are_in_use() {
    let exporting = |enabled: &str| {
        one_drive("live\n")
            .block(&format!("{DRIVE}/nvme/nvme0/nvme0n1"), "259:0", 4096)
            .block_node("/dev/disk/by-id/a", 259, 0)
            .file(&format!("{NVMET}/nqn.a/namespaces/1/enable"), enabled)
            .file(&format!("{NVMET}/nqn.a/namespaces/1/device_path"), "/dev/disk/by-id/a\n")
            .open()
    };
    let used = |enabled| uses(&snapshot(&exporting(enabled), Depth::Quick), "nvme0n1");
    assert_eq!(used("1\n"), ["exported by nvmet as nqn.a/1"]);
    assert!(used("0\n").is_empty());
}

#[test]
fn unreadable_exports_are_reported() {
    let base = || Machine::default().directory("/sys/module/nvmet").directory("/proc");
    assert_eq!(exports(&base().open()).unreadable, ["/sys/kernel/config/nvmet"]);
    let mounted = || base().directory(NVMET);
    assert_eq!(exports(&mounted().open()), Exports::default());
    let denied = mounted().denied(&format!("{NVMET}/nqn.a/namespaces/1/enable")).open();
    assert_eq!(exports(&denied).unreadable, [format!("{NVMET}/nqn.a/namespaces/1")]);
    // Without the server there is nothing to read.
    assert_eq!(exports(&Machine::default().directory("/sys").open()), Exports::default());
}
