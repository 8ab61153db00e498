//! Device stacks that this machine may not be able to build: simulated hosts, checked as by the
//! guard.

use iodyno_model::{
    BackingFile, BlockDevice, BlockKind, Bytes, Fact, Host, MappedDevice, MappedPlace,
    MappedSegment, Mount, Use,
};

use crate::TargetError;
use crate::in_use::write_blockers;
use crate::testing::{Faked, block, drive, host};
use crate::thin_pool::FullPool;

const MIB: u64 = 1 << 20;

/// Devices with numbers that no device of this machine has.
#[derive(Default)]
struct Stack(Vec<BlockDevice>);

impl Stack {
    fn add(&mut self, name: &str, kind: BlockKind, below: &[&str], size_mib: u64) -> &mut Self {
        let mut device = block(name, 4000, u32::try_from(self.0.len()).unwrap());
        device.kind = kind;
        device.size = Fact::Read(Bytes(size_mib * MIB));
        device.stands_on = below.iter().map(|name| (*name).to_owned()).collect();
        for lower in self.0.iter_mut().filter(|lower| below.contains(&lower.name.as_str())) {
            match device.kind {
                BlockKind::Partition => {}
                BlockKind::Loop { .. } => lower.used_by.push(Use::LoopBacking(name.into())),
                _ => lower.used_by.push(Use::HeldBy(name.into())),
            }
        }
        self.0.push(device);
        self
    }

    fn disk(&mut self, name: &str) -> &mut Self {
        self.add(name, BlockKind::Nvme, &[], 1024)
    }

    fn partition(&mut self, name: &str, disk: &str, start_mib: u64, size_mib: u64) -> &mut Self {
        self.add(name, BlockKind::Partition, &[disk], size_mib);
        self.last().start = Fact::Read(Bytes(start_mib * MIB));
        self
    }

    /// A device-mapper device of consecutive segments: target, length and places (MiB).
    fn mapped(&mut self, name: &str, segments: &[Segment<'_>], below: &[&str]) -> &mut Self {
        let mut start_bytes = 0;
        let mut table = Vec::new();
        for (target, size_mib, places) in segments {
            let place = |(device, start): &(&str, u64)| MappedPlace {
                device: (*device).into(),
                start_bytes: start * MIB,
            };
            table.push(MappedSegment {
                start_bytes,
                length_bytes: size_mib * MIB,
                target: (*target).into(),
                chunk_bytes: None,
                allocated_bytes: None,
                places: places.iter().map(place).collect(),
            });
            start_bytes += size_mib * MIB;
        }
        let kind = BlockKind::DeviceMapper(MappedDevice {
            name: format!("{name}-name"),
            owner: None,
            table: Fact::Read(table),
        });
        self.add(name, kind, below, start_bytes / MIB)
    }

    /// A volume over one range of a device.
    fn linear(&mut self, name: &str, on: &str, start_mib: u64, size_mib: u64) -> &mut Self {
        self.mapped(name, &[("linear", size_mib, &[(on, start_mib)])], &[on])
    }

    fn loop_over(&mut self, name: &str, file: BackingFile, size_mib: u64) -> &mut Self {
        let backing = Fact::Read(file);
        let kind = BlockKind::Loop { backing_file: Some("/somewhere".into()), backing };
        self.add(name, kind, &[], size_mib)
    }

    fn allocated(&mut self, name: &str, mib: u64) {
        let device = self.0.iter_mut().find(|device| device.name == name).unwrap();
        let BlockKind::DeviceMapper(mapped) = &mut device.kind else { unreachable!() };
        let Fact::Read(table) = &mut mapped.table else { unreachable!() };
        table[0].allocated_bytes = Some(mib * MIB);
    }

    fn last(&mut self) -> &mut BlockDevice {
        self.0.last_mut().unwrap()
    }

    fn mounted(&mut self) -> &mut Self {
        let mount = Mount { at: "/srv".into(), file_system: "xfs".into(), options: String::new() };
        self.last().used_by.push(Use::Mounted(mount));
        self
    }

    fn host(&mut self) -> Host {
        host(std::mem::take(&mut self.0))
    }
}

type Segment<'s> = (&'s str, u64, &'s [(&'s str, u64)]);

fn file(inode: u64) -> BackingFile {
    BackingFile { device: (4000, 0), inode, block: None, offset_bytes: 0 }
}

fn against(host: &Host, name: &str) -> Vec<String> {
    write_blockers(&Faked::new(), &[host], name).uses
}

/// Asserts that exactly these lines forbid writing it.
fn in_use(host: &Host, name: &str, lines: &[&str]) {
    assert_eq!(against(host, name), lines, "{name}");
}

fn free(host: &Host, name: &str) {
    in_use(host, name, &[]);
}

#[test]
fn a_volume_over_the_sectors_of_a_mounted_one_is_in_use_and_its_neighbour_is_not() {
    let host = Stack::default()
        .disk("nvme0n1")
        .partition("nvme0n1p1", "nvme0n1", 1, 1000)
        .linear("dm-0", "nvme0n1p1", 0, 100)
        .mounted()
        .linear("dm-1", "nvme0n1p1", 99, 100)
        .linear("dm-2", "nvme0n1p1", 400, 100)
        .host();
    in_use(&host, "dm-1", &["nvme0n1p1: dm-0 (dm-0-name)", "dm-0: mounted at /srv"]);
    free(&host, "dm-2");
    // An idle one is a use as well: somebody set it up over these sectors.
    in_use(
        &host,
        "dm-0",
        &["nvme0n1p1: dm-1 (dm-1-name)", "dm-0: mounted at /srv", "dm-1: overlaps it"],
    );
}

#[test]
fn volumes_on_different_devices_meet_on_the_disk_below() {
    let host = Stack::default()
        .disk("nvme0n1")
        // Two tables of the same disk: a partition, and a volume over the disk.
        .partition("nvme0n1p1", "nvme0n1", 100, 100)
        .linear("dm-0", "nvme0n1p1", 10, 10)
        .mounted()
        .linear("dm-1", "nvme0n1", 119, 10)
        .linear("dm-2", "nvme0n1", 120, 10)
        .host();
    assert!(against(&host, "dm-1").contains(&"dm-0: mounted at /srv".into()));
    let beside = against(&host, "dm-2");
    assert!(!beside.iter().any(|line| line.contains("mounted")), "{beside:?}");
}

#[test]
fn volumes_on_an_encrypted_partition_are_told_apart_and_the_partition_below_is_not() {
    let mut stack = Stack::default();
    stack
        .disk("nvme0n1")
        .partition("nvme0n1p1", "nvme0n1", 1, 500)
        .mapped("dm-0", &[("crypt", 500, &[])], &["nvme0n1p1"])
        .linear("dm-1", "dm-0", 0, 100)
        .mounted()
        .linear("dm-2", "dm-0", 100, 100)
        .linear("dm-3", "nvme0n1", 600, 1);
    let mut host = stack.host();
    free(&host, "dm-2");
    free(&host, "dm-3");
    // Its sectors that hold them are unknown.
    std::mem::swap(&mut stack.0, &mut host.blocks);
    let host = stack.linear("dm-4", "nvme0n1", 480, 1).host();
    assert!(against(&host, "dm-4").contains(&"dm-1: mounted at /srv".into()));
    in_use(&host, "dm-2", &["nvme0n1: dm-4 (dm-4-name)", "dm-4: overlaps it"]);
}

#[test]
fn stripes_and_tables_in_several_pieces_are_followed_to_each_disk() {
    let host = Stack::default()
        .disk("nvme0n1")
        .disk("nvme1n1")
        .mapped(
            "dm-0",
            &[("striped", 100, &[("nvme0n1", 0), ("nvme1n1", 500)])],
            &["nvme0n1", "nvme1n1"],
        )
        .mounted()
        .linear("dm-1", "nvme1n1", 549, 10)
        .linear("dm-2", "nvme1n1", 550, 10)
        .mapped(
            "dm-3",
            &[("linear", 10, &[("nvme1n1", 700)]), ("linear", 10, &[("nvme0n1", 49)])],
            &["nvme0n1", "nvme1n1"],
        )
        .host();
    let is_mounted: String = "dm-0: mounted at /srv".into();
    assert!(against(&host, "dm-1").contains(&is_mounted));
    assert!(!against(&host, "dm-2").contains(&is_mounted));
    assert!(against(&host, "dm-3").contains(&is_mounted));
}

#[test]
fn a_table_that_cannot_be_read_may_lie_anywhere() {
    let mut stack = Stack::default();
    stack
        .disk("nvme0n1")
        .linear("dm-0", "nvme0n1", 0, 10)
        .mounted()
        .linear("dm-1", "nvme0n1", 500, 10);
    let BlockKind::DeviceMapper(mapped) = &mut stack.last().kind else { unreachable!() };
    mapped.table = Fact::NeedsRoot;
    let host = stack.host();
    assert!(against(&host, "dm-1").contains(&"dm-0: mounted at /srv".into()));

    // So may devices opened for a table that is loaded but not active yet.
    let mut stack = Stack::default();
    stack.disk("nvme0n1").disk("nvme1n1").linear("dm-0", "nvme0n1", 0, 10).mounted();
    stack.mapped("dm-1", &[("linear", 10, &[("nvme1n1", 0)])], &["nvme1n1", "nvme0n1"]);
    assert!(against(&stack.host(), "dm-1").contains(&"dm-0: mounted at /srv".into()));
}

#[test]
fn thin_volumes_of_a_pool_are_kept_apart_and_what_is_under_the_pool_is_not() {
    let host = Stack::default()
        .disk("nvme0n1")
        .linear("dm-0", "nvme0n1", 0, 500)
        .mapped("dm-1", &[("thin-pool", 500, &[])], &["dm-0"])
        .mapped("dm-2", &[("thin", 100, &[])], &["dm-1"])
        .mounted()
        .mapped("dm-3", &[("thin", 100, &[])], &["dm-1"])
        // As LVM shows a pool under its own name.
        .linear("dm-4", "dm-1", 0, 500)
        .linear("dm-5", "nvme0n1", 499, 10)
        .host();
    free(&host, "dm-3");
    assert!(against(&host, "dm-5").contains(&"dm-2: mounted at /srv".into()));
    assert!(against(&host, "dm-4").contains(&"dm-2: mounted at /srv".into()));
}

#[test]
fn a_thin_pool_is_not_filled() {
    let pool_with = |allocated_mib: [u64; 3]| {
        let mut stack = Stack::default();
        stack.disk("nvme0n1").mapped("dm-0", &[("thin-pool", 500, &[])], &["nvme0n1"]);
        stack.mapped("dm-1", &[("thin", 400, &[])], &["dm-0"]);
        stack.mapped("dm-2", &[("thin", 400, &[])], &["dm-0"]);
        stack.partition("dm-2p1", "dm-2", 0, 200);
        for (name, allocated_mib) in ["dm-0", "dm-1", "dm-2"].into_iter().zip(allocated_mib) {
            stack.allocated(name, allocated_mib);
        }
        stack.host()
    };
    let needed = |allocated_mib, block, mib: u64| {
        let pool = FullPool::after(&pool_with(allocated_mib), block, mib * MIB)?;
        let TargetError::FillsPool { needed_bytes, pool, .. } = pool.error("t") else { panic!() };
        assert_eq!(pool, "dm-0-name");
        Some(needed_bytes / MIB)
    };
    assert_eq!(needed([100, 100, 0], "dm-2", 400), None, "400 are left");
    assert_eq!(needed([101, 101, 0], "dm-2", 400), Some(400));
    assert_eq!(needed([101, 101, 0], "dm-2", 399), None, "a file of that size fits");
    assert_eq!(needed([450, 50, 400], "dm-2", 400), None, "all of it has its blocks");
    assert_eq!(needed([450, 50, 390], "dm-2", 400), Some(400), "some of a volume out of sight");
    assert_eq!(needed([450, 100, 400], "dm-2", 400), Some(400), "some are shared");
    assert_eq!(needed([450, 50, 400], "nvme0n1", 1024), None, "below the pool");
    assert_eq!(needed([400, 390, 10], "dm-2p1", 200), Some(200), "a partition of it");
}

#[test]
fn devices_that_share_a_cache_are_kept_apart_by_their_driver() {
    let host = Stack::default()
        .disk("sda")
        .disk("sdb")
        .disk("nvme0n1")
        .add("bcache0", BlockKind::Other, &["sda", "nvme0n1"], 1024)
        .mounted()
        .add("bcache1", BlockKind::Other, &["sdb", "nvme0n1"], 1024)
        .host();
    free(&host, "bcache1");
}

#[test]
fn an_array_and_what_stands_on_it_hold_their_own_members() {
    let host = Stack::default()
        .disk("nvme0n1")
        .disk("nvme1n1")
        .partition("nvme0n1p1", "nvme0n1", 1, 500)
        .partition("nvme0n1p2", "nvme0n1", 501, 500)
        .mounted()
        .add("md0", BlockKind::Md(Box::default()), &["nvme0n1p1", "nvme1n1"], 999)
        .partition("md0p1", "md0", 1, 400)
        .partition("md0p2", "md0", 401, 400)
        .mounted()
        .linear("dm-0", "md0p1", 0, 10)
        .linear("dm-1", "nvme1n1", 0, 10)
        .mounted()
        .host();
    // The array's member is also under a volume: its blocks are unknown.
    let at_nvme1n1 = ["nvme1n1: dm-1 (dm-1-name)", "dm-1: mounted at /srv"];
    in_use(
        &host,
        "md0p1",
        &["nvme1n1: dm-1 (dm-1-name)", "md0p1: dm-0 (dm-0-name)", "dm-1: mounted at /srv"],
    );
    in_use(&host, "dm-0", &at_nvme1n1);
}

#[test]
fn loops_are_compared_by_their_file_and_by_what_is_under_it() {
    let at = |offset_mib| BackingFile { offset_bytes: offset_mib * MIB, ..file(7) };
    let mut stack = Stack::default();
    // The file system with the files is on the whole disk.
    stack.disk("nvme0n1").loop_over("loop0", at(0), 100);
    stack.partition("loop0p1", "loop0", 1, 50).mounted().loop_over("loop1", at(50), 100);
    stack.loop_over("loop2", at(150), 10).loop_over("loop3", file(8), 100);
    let host = stack.host();
    in_use(&host, "loop1", &["loop0: overlaps it", "loop0p1: mounted at /srv"]);
    free(&host, "loop2");
    free(&host, "loop3");
    // Writing the disk below overwrites them all.
    assert!(against(&host, "nvme0n1").contains(&"loop0p1: mounted at /srv".into()));
    // Neither the container of a file forbids it, nor other files in it.
    let host = Stack::default()
        .disk("nvme0n1")
        .mounted()
        .loop_over("loop0", file(7), 100)
        .loop_over("loop1", file(8), 100)
        .mounted()
        .host();
    free(&host, "loop0");
}

#[test]
fn a_loop_over_a_block_device_is_followed_by_the_devices_number() {
    let over = |offset_mib| BackingFile {
        device: (0, 6),
        inode: 300,
        block: Some((4000, 0)),
        offset_bytes: offset_mib * MIB,
    };
    let mut stack = Stack::default();
    stack.disk("nvme0n1").partition("nvme0n1p1", "nvme0n1", 100, 100).mounted();
    stack.loop_over("loop0", over(150), 10).loop_over("loop1", over(200), 10);
    let host = stack.host();
    in_use(&host, "loop0", &["nvme0n1p1: mounted at /srv"]);
    free(&host, "loop1");
}

#[test]
fn a_namespace_that_two_controllers_show_is_one() {
    let mut host = Stack::default()
        .disk("nvme0n1")
        .disk("nvme1n1")
        .partition("nvme1n1p1", "nvme1n1", 1, 10)
        .mounted()
        .disk("nvme2n1")
        .host();
    host.drives = vec![
        drive("nvme0", &["nvme0n1"]),
        drive("nvme1", &["nvme1n1"]),
        drive("nvme2", &["nvme2n1"]),
    ];
    for (drive, wwid) in host.drives.iter_mut().zip(["eui.01", "eui.01", "eui.02"]) {
        drive.namespaces[0].wwid = Fact::Read(wwid.into());
    }
    in_use(&host, "nvme0n1", &["nvme1n1p1: mounted at /srv"]);
    free(&host, "nvme2n1");
    // The other path alone is not a use.
    for device in &mut host.blocks {
        device.used_by.clear();
    }
    free(&host, "nvme0n1");
}

#[test]
fn a_partition_without_known_start_may_be_anywhere_on_its_disk() {
    let mut stack = Stack::default();
    stack.disk("sda").partition("sda1", "sda", 1, 10).mounted().partition("sda2", "sda", 20, 10);
    stack.last().start = Fact::NeedsRoot;
    stack.partition("sda3", "sda", 30, 10);
    let host = stack.host();
    in_use(&host, "sda2", &["sda1: mounted at /srv"]);
    free(&host, "sda3");
}

#[test]
fn a_cycle_terminates() {
    let mut stack = Stack::default();
    stack.linear("dm-0", "dm-1", 0, 10).linear("dm-1", "dm-0", 0, 10).disk("nvme0n1");
    let host = stack.host();
    assert!(!against(&host, "dm-0").is_empty());
    against(&host, "nvme0n1");
}
