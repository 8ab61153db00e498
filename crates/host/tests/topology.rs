//! Topology trees of rare machines, built by hand.

mod support;

use iodyno_host::{Depth, snapshot};
use iodyno_model::{Host, Node, NodeKind, topology};
use support::Machine;

fn tree(machine: &Machine) -> Node {
    topology(&snapshot(&machine.open(), Depth::Full))
}

/// `label: fact, fact ! concern`, indented by depth.
fn sketch(node: &Node) -> String {
    fn write(node: &Node, depth: usize, out: &mut String) {
        let facts = node.facts.join(", ");
        let concerns: String = node.concerns.iter().map(|words| format!(" ! {words}")).collect();
        let line = format!("{}{}: {facts}{concerns}", "  ".repeat(depth), node.label());
        out.push_str(line.trim_end_matches([' ', ':']));
        out.push('\n');
        node.children.iter().for_each(|child| write(child, depth + 1, out));
    }
    let mut out = String::new();
    write(node, 0, &mut out);
    out
}

#[test]
fn two_drives_share_a_switchs_uplink_and_one_is_degraded() {
    let tree = tree(&Machine::lab());
    assert_eq!(
        sketch(&tree).replace(" ! payloads of 128 bytes, both ends support 256", ""),
        "this machine
  root complex 0000:00
    port 0000:00:01.0: Gen4 x4, carries 6534 MB/s ! 2 drives share it and may need 2.0 times as much
      switch 0000:01:00.0
        port 0000:02:00.0: Gen4 x4, carries 6534 MB/s
          nvme0: INTEL SSDPE2KX020T8, 2.15 GB, at 0000:03:00.0
            nvme0n1: 2.15 GB
        port 0000:02:01.0: Gen4 x4, carries 6534 MB/s
          nvme1: Dell Ent NVMe P5600 MU U.2 3.2TB, 2.15 GB, at 0000:04:00.0
            nvme1n1: 2.15 GB
    port 0000:00:02.0: Gen3 x2, carries 1633 MB/s ! both ends can do Gen4 x4
      nvme2: Samsung SSD 970 EVO 500GB, 2.15 GB, at 0000:05:00.0
        nvme2n1: 2.15 GB
    port 0000:00:03.0: Gen5 x4, carries 13067 MB/s
      nvme3: Dell Ent NVMe PS1030 MU U.2 3.2TB, 2.15 GB, at 0000:06:00.0
        nvme3n1: 2.15 GB
    card 0000:00:1f.2: 8086:2922, SATA, no driver, shows no disk
"
    );
    let port = &tree.children[0].children[0];
    let load = port.link.as_ref().unwrap();
    assert_eq!((port.kind, load.drives), (NodeKind::Port, 2));
    assert!((load.oversubscription.unwrap() - 2.0).abs() < 0.01);
}

#[test]
fn vmd_has_its_own_domain_behind_it() {
    let (machine, drive) = Machine::vmd();
    let machine = machine.block(&format!("{drive}/nvme/nvme0/nvme0n1"), "259:0", 7_501_476_528);
    assert_eq!(
        sketch(&tree(&machine)),
        "this machine
  root complex 0000:80
    VMD 0000:80:05.5
      root complex 10000:e0: NUMA node 1
        port 10000:e0:02.0: Gen4 x4, carries about 7094 MB/s
          nvme0: SAMSUNG MZWLJ3T8HBLS-00007, 3.84 TB, at 10000:e1:00.0
            nvme0n1: 3.84 TB
"
    );
    let host = snapshot(&machine.open(), Depth::Quick);
    assert_eq!(host.drives[0].vmd.as_deref(), Some("0000:80:05.5"));
}

#[test]
fn a_raid_card_hides_drives_and_a_lent_drive_has_no_disk() {
    let root = "/sys/devices/pci0000:00/0000:00:01.0";
    let card = format!("{root}/0000:01:00.0");
    let disk = format!("{card}/host0/target0:2:0/0:2:0:0/block/sda");
    let lent = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0";
    let machine = Machine::default()
        .pci(root, "0x060400\n", "8.0 GT/s PCIe\n", "8\n")
        .pci(&card, "0x010400\n", "8.0 GT/s PCIe\n", "8\n")
        .link(&format!("{card}/driver"), "../../../../bus/pci/drivers/megaraid_sas")
        .block(&disk, "8:0", 7_501_476_528)
        .link(&format!("{disk}/device"), "../../../0:2:0:0")
        .folder(
            &format!("{card}/host0/target0:2:0/0:2:0:0"),
            &[("vendor", "DELL    \n"), ("model", "PERC H965i Front\n")],
        )
        .partition(&disk, "sda1", "8:1", 4096)
        .file(&format!("{disk}/sda1/start"), "63\n")
        .pci("/sys/devices/pci0000:00/0000:00:02.0", "0x060400\n", "8.0 GT/s PCIe\n", "4\n")
        .pci(lent, "0x010802\n", "8.0 GT/s PCIe\n", "4\n")
        .link(&format!("{lent}/driver"), "../../../../bus/pci/drivers/vfio-pci")
        .block("/sys/devices/pci0000:00/0000:00:05.0/virtio1/block/vda", "254:0", 4096)
        .block("/sys/devices/pci0000:00/0000:00:06.0/0000:08:00.0/virtio2/block/vdb", "254:16", 8)
        .block("/sys/devices/virtual/block/zram0", "253:0", 0)
        .file("/proc/swaps", "Filename Type\n/dev/sda1 partition 1 0 -2\n");
    assert_eq!(
        sketch(&tree(&machine)),
        "this machine
  root complex 0000:00: NUMA node 1
    port 0000:00:01.0: Gen3 x8, carries about 7094 MB/s
      card 0000:01:00.0: 144d:a824, RAID, megaraid_sas, hides the drives behind its disk
        sda: DELL PERC H965i Front, 3.84 TB, at 0000:01:00.0
          sda1: 2.1 MB ! starts at byte 32256, off 4 KiB
            swap
    port 0000:00:02.0: Gen3 x4, carries about 3547 MB/s
      NVMe function 0000:02:00.0: used by vfio-pci: no block device
    vda: 2.1 MB, virtual disk, at 0000:00:05.0
  bus 0000:08
    vdb: 4.1 kB, virtual disk, at 0000:08:00.0
"
    );
}

const SECOND: &str = "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0";

/// Two drives with a root port each, on two root complexes.
fn two_drives() -> Machine {
    let first = "/sys/devices/pci0000:00/0000:00:01.0";
    Machine::default()
        .pci(first, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
        .pci(&format!("{first}/0000:01:00.0"), "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .controller(&format!("{first}/0000:01:00.0"), "nvme0", "live\n")
        .pci("/sys/devices/pci0000:40/0000:40:01.0", "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
        .pci(SECOND, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .controller(SECOND, "nvme1", "live\n")
}

#[test]
fn a_multipath_head_is_listed_once_with_its_paths() {
    let first = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme3c0n1";
    let machine = two_drives()
        .block("/sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1", "259:9", 4096)
        .folder(first, &[("nsid", "1\n"), ("ana_state", "optimized\n")])
        .folder(
            &format!("{SECOND}/nvme/nvme1/nvme3c1n1"),
            &[("nsid", "1\n"), ("ana_state", "inaccessible\n")],
        )
        .folder("/sys/class/nvme-subsystem/nvme-subsys3", &[("iopolicy", "numa\n")])
        .link("/sys/class/nvme-subsystem/nvme-subsys3/nvme1", "x")
        .link("/sys/class/nvme-subsystem/nvme-subsys3/nvme0", "x");
    let sketch = sketch(&tree(&machine));
    for line in [
        "        path nvme3c0n1: to nvme3n1, optimized\n",
        "        path nvme3c1n1: to nvme3n1 ! inaccessible\n",
        "\n  nvme3n1: 2 paths through nvme0, nvme1, policy numa, 2.1 MB\n",
    ] {
        assert!(sketch.contains(line), "{line}\n{sketch}");
    }
}

/// md on both drives' partitions, crypt on it, a volume on that, xfs on top.
fn layers() -> Machine {
    let first = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1";
    let second = format!("{SECOND}/nvme/nvme1/nvme1n1");
    let virt = |name: &str| format!("/sys/devices/virtual/block/{name}");
    let (md, crypt, lv) = (virt("md0"), virt("dm-0"), virt("dm-1"));
    two_drives()
        .block(first, "259:0", 8 << 20)
        .partition(first, "nvme0n1p1", "259:1", 4 << 20)
        .file(&format!("{first}/nvme0n1p1/start"), "2048\n")
        .block(&second, "259:2", 8 << 20)
        .partition(&second, "nvme1n1p1", "259:3", 4 << 20)
        .file(&format!("{second}/nvme1n1p1/start"), "2048\n")
        .block(&md, "9:0", 4 << 20)
        .folder(
            &format!("{md}/md"),
            &[
                ("level", "raid1\n"),
                ("chunk_size", "0\n"),
                ("degraded", "0\n"),
                ("raid_disks", "2\n"),
                ("metadata_version", "1.2\n"),
                ("sync_action", "resync\n"),
                ("dev-nvme0n1p1/slot", "0\n"),
                ("dev-nvme0n1p1/state", "in_sync\n"),
                ("dev-nvme1n1p1/slot", "1\n"),
                ("dev-nvme1n1p1/state", "in_sync\n"),
            ],
        )
        .directory(&format!("{md}/slaves/nvme0n1p1"))
        .directory(&format!("{md}/slaves/nvme1n1p1"))
        .block(&crypt, "253:0", 4 << 20)
        .folder(&format!("{crypt}/dm"), &[("name", "secret\n"), ("uuid", "CRYPT-LUKS2-x\n")])
        .directory(&format!("{crypt}/slaves/md0"))
        .file("/ioctl/dm-0.table", "0 4194304 crypt\n")
        .block(&lv, "253:1", 2 << 20)
        .folder(&format!("{lv}/dm"), &[("name", "vg-da--ta\n"), ("uuid", "LVM-x\n")])
        .directory(&format!("{lv}/slaves/dm-0"))
        .file("/ioctl/dm-1.table", "0 2097152 linear 253:0 2048\n")
        .file(
            "/proc/self/mountinfo",
            "30 1 253:1 / /srv rw,noatime - xfs /dev/mapper/vg-da--ta rw,sunit=256,swidth=512\n",
        )
        .denied("/dev/dm-1")
}

#[test]
fn layers_on_several_drives_are_listed_once() {
    let sketch = sketch(&tree(&layers()));
    assert!(
        sketch.ends_with(
            "          nvme1n1p1: 2.15 GB, starts at 1 MiB
            in md0: member 1
  md0: raid1 of 2, 2.15 GB, metadata 1.2, on nvme0n1p1, nvme1n1p1 ! doing a resync
    dm-0: CRYPT secret, crypt, 2.15 GB
      dm-1: LVM vg/da-ta, linear, 1.07 GB
        xfs: at /srv, stripe unit 128 KiB, stripe width 256 KiB, rw,noatime,sunit=256,swidth=512
"
        ),
        "{sketch}"
    );
}

#[test]
fn a_stack_names_no_device_of_the_machine() {
    let host = snapshot(&layers().open(), Depth::Full);
    assert_eq!(
        host.stack_under("dm-1"),
        [
            "xfs, stripe unit 128 KiB, stripe width 256 KiB, rw,noatime,sunit=256,swidth=512",
            "LVM linear",
            "CRYPT crypt",
            "md raid1 of 2",
            "2 x partition from 1 MiB",
            "2 x SAMSUNG MZWLJ3T8HBLS-00007",
        ]
    );
    assert_eq!(host.stack_under("nvme9n1"), [""; 0]);
}

#[test]
fn circles_and_garbage_are_survived() {
    // A device that claims to stand on itself, and two that stand on each other.
    let mut host = Host::default();
    let block = |name: &str, on: &str| iodyno_model::BlockDevice {
        name: name.into(),
        stands_on: vec![on.into()],
        ..Default::default()
    };
    host.blocks = vec![block("a", "a"), block("b", "c"), block("c", "b"), block("d", "x")];
    topology(&host);
    for name in ["a", "b", "d"] {
        assert!(host.stack_under(name).len() <= 64);
    }
    let mut numbers = support::Numbers(99);
    let paths: Vec<String> = layers().0.keys().cloned().collect();
    for _ in 0..200 {
        let mut machine = layers();
        for _ in 0..numbers.next() % 20 {
            machine.0.remove(&paths[numbers.next() as usize % paths.len()]);
        }
        tree(&machine);
    }
}

#[test]
fn differing_link_ends_and_nodes_are_concerns() {
    let ends = |at: u32, port: &str, drive: &str, node: &str| {
        let root = format!("/sys/devices/pci0000:00/0000:00:0{at}.0");
        let function = format!("{root}/0000:0{at}:00.0");
        Machine::default()
            .pci(&root, "0x060400\n", "16.0 GT/s PCIe\n", "4\n")
            .pci(&function, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
            .file(&format!("{root}/max_link_speed"), port)
            .file(&format!("{function}/max_link_speed"), drive)
            .file(&format!("{function}/numa_node"), node)
            .controller(&function, &format!("nvme{at}"), "live\n")
    };
    let mut machine = ends(1, "32.0 GT/s PCIe\n", "16.0 GT/s PCIe\n", "0\n");
    machine.0.extend(ends(2, "16.0 GT/s PCIe\n", "32.0 GT/s PCIe\n", "1\n").0);
    let sketched = sketch(&tree(&machine));
    for line in [
        "  root complex 0000:00: NUMA node 0 and 1\n",
        "    port 0000:00:01.0: Gen4 x4 (port: Gen5 x4), carries about 7094 MB/s\n",
        "    port 0000:00:02.0: Gen4 x4, carries about 7094 MB/s ! device can do Gen5 x4\n",
        ", NUMA node 1\n",
    ] {
        assert!(sketched.contains(line), "{line}{sketched}");
    }
}
