//! Facts that rules use beyond drives: interrupts, translation, power, paths, arrays, tables and
//! file systems.

mod support;

use iodyno_host::{Captured, Depth, capture, snapshot, temperature_c};
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Fact, Host, LatencyMonitor, MappedDevice, MdArray, PowerState,
    VolumeLimits,
};
use serde_json::json;
use support::{DRIVE, Machine, Watched, one_drive};

fn full(machine: &Machine) -> Host {
    snapshot(&machine.open(), Depth::Full)
}

#[test]
fn interrupts_are_found_with_the_cpus_that_took_them() {
    let machine = one_drive()
        .directory(&format!("{DRIVE}/msi_irqs/33"))
        .directory(&format!("{DRIVE}/msi_irqs/34"))
        .file(
            "/proc/interrupts",
            "            CPU0       CPU1       CPU3\n  \
             9:          5          0          0  IO-APIC   9-fasteoi   acpi\n \
             33:         27          0          0  PCI-MSIX-0000:01:00.0   0-edge      nvme0q0\n \
             34:          0        100      70000  PCI-MSIX-0000:01:00.0   1-edge      nvme0q1\n\
             NMI:          0          0          0  Non-maskable interrupts\n",
        )
        .file("/proc/irq/34/effective_affinity_list", "3\n")
        .denied("/proc/irq/33/effective_affinity_list");
    let host = full(&machine);
    let found: Vec<_> = host.interrupts_of("0000:01:00.0").collect();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].name.as_str(), found[0].total()), ("nvme0q0", 27));
    assert_eq!(found[0].effective_cpus, Fact::NeedsRoot);
    assert_eq!((found[1].number, found[1].name.as_str()), (34, "nvme0q1"));
    assert_eq!(found[1].counts, [(1, 100), (3, 70_000)].into());
    assert_eq!(found[1].effective_cpus, Fact::Read(vec![3]));
    let mut later = found[1].clone();
    later.counts.insert(3, 70_500);
    assert_eq!(later.since(found[1]), [(3, 500)].into());
    assert_eq!(host.block("nvme0n1").unwrap().pci_function.as_deref(), Some("0000:01:00.0"));
}

#[test]
fn iommu_facts_match_the_kernels() {
    let group = "/sys/kernel/iommu_groups/14";
    let machine = |kind: &str, release: &str| {
        one_drive()
            .link(&format!("{DRIVE}/iommu_group"), "../../../../kernel/iommu_groups/14")
            .file(&format!("{group}/type"), kind)
            .file("/proc/sys/kernel/osrelease", release)
            .file("/sys/module/pcie_aspm/parameters/policy", "[default] performance powersave\n")
            .file("/sys/module/nvme/parameters/poll_queues", "2\n")
    };
    let iommu = |kind: &str, release: &str| {
        full(&machine(kind, release)).drives[0].iommu.value().expect("it has a group")
    };
    let strict = |kind: &str, release: &str| iommu(kind, release).strict;
    assert_eq!(
        (iommu("DMA\n", "6.1.0").group, strict("DMA\n", "6.1.0-9\n")),
        (14, Fact::Read(true))
    );
    assert_eq!(strict("DMA-FQ\n", "6.1.0\n"), Fact::Read(false));
    assert_eq!(strict("identity\n", "4.18.0\n"), Fact::Read(false));
    assert_eq!(strict("DMA\n", "5.4.0\n"), Fact::Absent);
    let host = full(&machine("DMA\n", "6.1.0\n"));
    let parameters = &host.kernel.parameters;
    assert_eq!(parameters["pcie_aspm.policy"], "default");
    assert_eq!(parameters["nvme.poll_queues"], "2");
    assert_eq!(parameters.len(), 2, "{parameters:?}");
    assert_eq!(full(&one_drive()).drives[0].iommu, Fact::Absent);
}

/// Identify Controller page that announces further commands.
fn identify(uuid_list: bool, power_states: u8, autonomous: bool) -> Vec<u8> {
    let mut page = vec![0_u8; 4096];
    page[97] = u8::from(uuid_list) << 1;
    page[263] = power_states;
    page[265] = u8::from(autonomous);
    // 25 W; 8.25 W; 0.05 W, non-operational, exit latency 8 ms.
    page[2048..2050].copy_from_slice(&2500_u16.to_le_bytes());
    page[2080..2082].copy_from_slice(&825_u16.to_le_bytes());
    page[2112..2114].copy_from_slice(&500_u16.to_le_bytes());
    page[2115] = 3;
    page[2116..2120].copy_from_slice(&2000_u32.to_le_bytes());
    page[2120..2124].copy_from_slice(&8000_u32.to_le_bytes());
    page
}

fn ocp_pages() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let ocp = 0xc194_d55b_e094_4794_a21d_2999_8f56_be6f_u128;
    let mut list = vec![0_u8; 4096];
    list[32 + 16..64].fill(0x11);
    list[64 + 16..96].copy_from_slice(&ocp.to_be_bytes());
    let mut health = vec![0_u8; 512];
    health[0..16].copy_from_slice(&123_456_789_u128.to_le_bytes());
    health[64] = 7;
    health[96..98].copy_from_slice(&[2, 1]);
    health[104] = 5;
    health[120] = 97;
    health[192] = 3;
    health[496..].copy_from_slice(&0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5_u128.to_le_bytes());
    let mut latency = vec![0_u8; 512];
    latency[0] = 1;
    latency[6..10].copy_from_slice(&[0, 1, 5, 19]);
    // The first bucket's reads, the last one's writes.
    latency[0x20 + 12] = 40;
    latency[0x20 + 48 + 8] = 2;
    latency[496..].copy_from_slice(&0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92_u128.to_le_bytes());
    (list, health, latency)
}

#[test]
fn power_states_and_the_logs_of_data_centers_are_read() {
    let (list, health, latency) = ocp_pages();
    let mut controller = identify(true, 2, true);
    controller[525] = 1; // VWC
    let machine = one_drive()
        .bytes("/ioctl/nvme0.idctrl", &controller)
        .bytes("/ioctl/nvme0.vwc", &[0, 0, 0, 0])
        .bytes("/ioctl/nvme0.power", &[0x22, 0, 0, 0])
        .bytes("/ioctl/nvme0.apst", &[1, 0, 0, 0])
        .bytes("/ioctl/nvme0.uuids", &list)
        .bytes("/ioctl/nvme0.ocpsmart", &health)
        .bytes("/ioctl/nvme0.latmon", &latency);
    let host = full(&machine);
    let drive = &host.drives[0];
    let states = &drive.identify.get().unwrap().power_states;
    let state = |mw, operational, entry_us, exit_us| PowerState {
        max_power_mw: Some(mw),
        operational,
        entry_us,
        exit_us,
    };
    assert_eq!(
        *states,
        [state(25_000, true, 0, 0), state(8_250, true, 0, 0), state(50, false, 2000, 8000)]
    );
    assert_eq!(drive.power_state, Fact::Read(2));
    assert_eq!(drive.write_cache_on, Fact::Read(false));
    assert_eq!(drive.autonomous_power_states, Fact::Read(true));
    let health = drive.ocp_health.get().unwrap();
    assert_eq!((health.media_written_bytes, health.soft_ecc_errors), (123_456_789, 7));
    assert_eq!((health.thermal_throttling_count, health.thermal_throttling_now), (2, 1));
    assert_eq!((health.pcie_correctable_errors, health.pcie_retrainings), (5, 3));
    assert_eq!(health.free_blocks_percent, 97);
    assert_eq!(
        drive.latency_monitor,
        Fact::Read(LatencyMonitor {
            enabled: true,
            thresholds_ms: [5, 10, 30, 100],
            counts: [[40, 0, 0], [0; 3], [0; 3], [0, 2, 0]],
        })
    );

    // Another vendor's page with the same number.
    let other = full(&machine.clone().bytes("/ioctl/nvme0.ocpsmart", &[1; 512]));
    assert!(matches!(other.drives[0].ocp_health, Fact::Unreadable(_)));

    // A quick snapshot sends no commands.
    let quick = snapshot(&machine.open(), Depth::Quick);
    assert_eq!(quick.drives[0].power_state, Fact::NotAsked);
    assert_eq!(quick.drives[0].ocp_health, Fact::NotAsked);
}

#[test]
fn unsupported_commands_are_not_sent() {
    let machine = one_drive().bytes("/ioctl/nvme0.idctrl", &identify(false, 0, false));
    let source = Watched::new(machine.open());
    let host = snapshot(&source, Depth::Full);
    assert_eq!(host.drives[0].power_state, Fact::Absent);
    assert_eq!(host.drives[0].write_cache_on, Fact::Absent);
    assert_eq!(host.drives[0].latency_monitor, Fact::Absent);
    let asked = source.commands.into_inner().unwrap();
    assert_eq!(asked, ["/ioctl/nvme0.idctrl", "/ioctl/nvme0.smart", "/ioctl/nvme0n1.idns"]);

    // Without OCP in the UUID List its pages are not requested either.
    let machine = one_drive()
        .bytes("/ioctl/nvme0.idctrl", &identify(true, 0, false))
        .bytes("/ioctl/nvme0.uuids", &[0; 4096]);
    let source = Watched::new(machine.open());
    assert_eq!(snapshot(&source, Depth::Full).drives[0].ocp_health, Fact::Absent);
    assert!(!source.commands.into_inner().unwrap().iter().any(|asked| asked.contains("ocp")));
}

#[test]
fn paths_of_a_multipath_drive_have_their_states() {
    let second = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0";
    let head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1";
    let path = |function: &str, controller: &str, name: &str| {
        format!("{function}/nvme/{controller}/{name}")
    };
    let machine = one_drive()
        .pci(second, "0x010802\n", "16.0 GT/s PCIe\n", "4\n")
        .controller(second, "nvme1", "live\n")
        .block(head, "259:9", 4096)
        .folder(
            &path(DRIVE, "nvme0", "nvme3c0n1"),
            &[("nsid", "1\n"), ("ana_state", "optimized\n")],
        )
        .folder(&path(second, "nvme1", "nvme3c1n1"), &[("nsid", "1\n")])
        .folder(
            "/sys/class/nvme-subsystem/nvme-subsys3",
            &[("subsysnqn", "nqn.2014-08.org:x\n"), ("iopolicy", "numa\n"), ("model", "x")],
        )
        .link("/sys/class/nvme-subsystem/nvme-subsys3/nvme1", "x")
        .link("/sys/class/nvme-subsystem/nvme-subsys3/nvme0", "x");
    let host = full(&machine);
    let subsystem = host.subsystem_of("nvme1").unwrap();
    assert_eq!(subsystem.controllers, ["nvme0", "nvme1"]);
    assert_eq!(subsystem.io_policy, Fact::Read("numa".into()));
    let states: Vec<_> = host
        .drives
        .iter()
        .filter_map(|drive| drive.namespaces.iter().find(|namespace| namespace.name == "nvme3n1"))
        .filter_map(|namespace| namespace.path.clone())
        .map(|path| (path.name, path.ana_state))
        .collect();
    assert_eq!(
        states,
        [("nvme3c0n1".into(), Fact::Read("optimized".into())), ("nvme3c1n1".into(), Fact::Absent)]
    );
    assert_eq!(host.block("nvme3n1").unwrap().pci_function, None);
}

fn array(device: &BlockDevice) -> &MdArray {
    match &device.kind {
        BlockKind::Md(array) => array,
        other => panic!("an array, not {other:?}"),
    }
}

fn mapped(device: &BlockDevice) -> &MappedDevice {
    match &device.kind {
        BlockKind::DeviceMapper(mapped) => mapped,
        other => panic!("a mapped device, not {other:?}"),
    }
}

/// md on two partitions, a striped volume on the array and a disk, xfs on it.
fn layers() -> Machine {
    let disk = format!("{DRIVE}/nvme/nvme0/nvme0n1");
    let md = "/sys/devices/virtual/block/md0";
    let dm = "/sys/devices/virtual/block/dm-0";
    let mut xfs = vec![0_u8; 512];
    xfs[..4].copy_from_slice(b"XFSB");
    xfs[4..8].copy_from_slice(&4096_u32.to_be_bytes());
    xfs[32..48].copy_from_slice(b"the file systems");
    xfs[184..188].copy_from_slice(&64_u32.to_be_bytes());
    xfs[188..192].copy_from_slice(&128_u32.to_be_bytes());
    one_drive()
        .folder(&format!("{disk}/queue"), &[("wbt_lat_usec", "2000\n"), ("io_poll", "1\n")])
        .partition(&disk, "nvme0n1p1", "259:1", 1 << 20)
        .file(&format!("{disk}/nvme0n1p1/start"), "2048\n")
        .partition(&disk, "nvme0n1p2", "259:2", 1 << 20)
        .block(md, "9:0", 2 << 20)
        .folder(
            &format!("{md}/md"),
            &[
                ("level", "raid5\n"),
                ("chunk_size", "524288\n"),
                ("degraded", "1\n"),
                ("raid_disks", "3 (2)\n"),
                ("layout", "2\n"),
                ("metadata_version", "1.2\n"),
                ("array_state", "clean\n"),
                ("sync_action", "recover\n"),
                ("bitmap/location", "+8\n"),
                ("stripe_cache_size", "256\n"),
                ("group_thread_cnt", "0\n"),
                ("dev-nvme0n1p2/slot", "none\n"),
                ("dev-nvme0n1p2/state", "spare\n"),
                ("dev-nvme0n1p1/slot", "1\n"),
                ("dev-nvme0n1p1/state", "in_sync\n"),
                ("dev-nvme0n1p1/offset", "264192\n"),
                ("dev-nvme0n1p1/errors", "0\n"),
            ],
        )
        .directory(&format!("{md}/slaves/nvme0n1p1"))
        .block("/sys/devices/virtual/block/loop1", "7:1", 2 << 20)
        .block(dm, "253:0", 3 << 20)
        .folder(
            &format!("{dm}/dm"),
            &[("name", "vg-data\n"), ("uuid", "LVM-x\n"), ("suspended", "0\n")],
        )
        .directory(&format!("{dm}/slaves/md0"))
        .file("/ioctl/dm-0.table", "0 3145728 striped 2 128 9:0 2048 7:1 4096\n")
        .file(
            "/proc/self/mountinfo",
            "30 1 253:0 / /srv rw,noatime - xfs /dev/mapper/vg-data rw,sunit=256,swidth=1024\n",
        )
        .bytes("/dev/dm-0", &xfs)
}

#[test]
fn layouts_of_arrays_tables_and_file_systems_are_read() {
    let machine = layers();
    let host = full(&machine);
    let part = host.block("nvme0n1p1").unwrap();
    assert_eq!(part.start, Fact::Read(Bytes(1 << 20)));
    assert_eq!(host.block("nvme0n1").unwrap().start, Fact::Absent);
    let queue = &part.queue;
    assert_eq!((&queue.wbt_lat_us, &queue.io_poll), (&Fact::Read(2000), &Fact::Read(true)));

    let md0 = array(host.block("md0").unwrap());
    assert_eq!(
        (md0.raid_disks.value(), md0.layout_name()),
        (Some(3), Some("left-symmetric".into()))
    );
    assert_eq!(md0.sync_action, Fact::Read("recover".into()));
    assert_eq!((md0.bitmap.value(), md0.stripe_threads.value()), (Some("+8".into()), Some(0)));
    let members: Vec<_> = md0.members.iter().map(|m| (m.device.as_str(), m.slot)).collect();
    assert_eq!(members, [("nvme0n1p1", Some(1)), ("nvme0n1p2", None)]);
    assert_eq!(md0.members[0].data_offset_bytes, Fact::Read(264_192 * 512));

    let volume = mapped(host.block("dm-0").unwrap());
    assert_eq!(volume.stripes(), Some((2, 64 << 10)));
    let places: Vec<_> = volume.table.get().unwrap()[0]
        .places
        .iter()
        .map(|place| (place.device.as_str(), place.start_bytes))
        .collect();
    assert_eq!(places, [("md0", 1 << 20), ("loop1", 2 << 20)]);

    let file_system = host.block("dm-0").unwrap().file_system.as_ref().unwrap();
    assert_eq!((file_system.kind.as_str(), file_system.block_bytes.value()), ("xfs", Some(4096)));
    assert_eq!(file_system.stripe_unit_bytes, Fact::Read(256 << 10));
    assert_eq!(file_system.stripe_width_bytes, Fact::Read(512 << 10));
}

#[test]
fn mount_options_replace_unreadable_superblocks() {
    let machine = layers().denied("/dev/dm-0").denied("/ioctl/dm-0.table");
    let host = full(&machine);
    let device = host.block("dm-0").unwrap();
    assert_eq!(mapped(device).table, Fact::NeedsRoot);
    let file_system = device.file_system.as_ref().unwrap();
    assert_eq!(file_system.block_bytes, Fact::NeedsRoot);
    assert_eq!(file_system.stripe_unit_bytes, Fact::Read(128 << 10));
    assert_eq!(file_system.stripe_width_bytes, Fact::Read(512 << 10));

    // A suspended device is not read, nor any while latencies are measured.
    let path = "/sys/devices/virtual/block/dm-0/dm/suspended";
    let suspended = Watched::new(layers().file(path, "1\n").open());
    snapshot(&suspended, Depth::Full);
    let quick = Watched::new(layers().open());
    snapshot(&quick, Depth::Quick);
    for source in [suspended, quick] {
        assert!(!source.reads.into_inner().unwrap().iter().any(|path| path.starts_with("/dev")));
    }
}

#[test]
fn everything_is_captured() {
    let (list, health, latency) = ocp_pages();
    let machine = layers()
        .bytes("/ioctl/nvme0.idctrl", &identify(true, 2, true))
        .bytes("/ioctl/nvme0.uuids", &list)
        .bytes("/ioctl/nvme0.ocpsmart", &health)
        .bytes("/ioctl/nvme0.latmon", &latency)
        .bytes("/ioctl/nvme0.power", &[1, 0, 0, 0])
        .bytes("/ioctl/nvme0.apst", &[0, 0, 0, 0])
        .directory(&format!("{DRIVE}/msi_irqs/34"))
        .file("/proc/interrupts", "  CPU0\n 34: 7 PCI-MSI 1-edge nvme0q1\n")
        .file("/proc/irq/34/effective_affinity_list", "0\n");
    let source = machine.open();
    let folder = tempfile::tempdir().unwrap();
    for name in ["here.json", "here"] {
        let to = folder.path().join(name);
        capture(&source, &to, false).unwrap();
        assert_eq!(snapshot(&Captured::open(&to).unwrap(), Depth::Full), full(&machine), "{name}");
    }
    // A file system's names are masked as well.
    let masked = folder.path().join("masked.json");
    capture(&source, &masked, true).unwrap();
    let text = std::fs::read_to_string(&masked).unwrap();
    let hex: String = b"the file systems".iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!text.contains(&hex));
    let host = snapshot(&Captured::open(&masked).unwrap(), Depth::Full);
    assert_eq!(
        host.block("dm-0").unwrap().file_system,
        full(&machine).block("dm-0").unwrap().file_system
    );
}

#[test]
fn tables_full_of_garbage_are_survived() {
    let mut numbers = support::Numbers(0x1234_5678_9abc_def1);
    let words = ["0", "8", "striped", "linear", "-1", "253:0", "9:0", "18446744073709551615", "\n"];
    for _ in 0..300 {
        let table: Vec<&str> =
            (0..12).map(|_| words[numbers.next() as usize % words.len()]).collect();
        let mut machine = layers().file("/ioctl/dm-0.table", &table.join(" "));
        machine.0.insert("/dev/dm-0".into(), json!({ "text": "XFSB" }));
        machine = machine.file("/proc/interrupts", &table.join("\n"));
        full(&machine);
    }
}

#[test]
fn a_drive_that_reports_no_temperature_has_none() {
    // The kernel turns 0 K, "not reported", into -273150 m°C.
    let hwmon = format!("{DRIVE}/nvme/nvme0/hwmon1");
    let cold = |input: &str| {
        let machine = one_drive().file(&format!("{hwmon}/temp1_input"), input);
        let host = full(&machine);
        (host.drives[0].temperature.clone(), temperature_c(&machine.open(), "nvme0"))
    };
    assert_eq!(cold("-273150\n"), (Fact::Absent, None));
    assert_eq!(cold("-20150\n").1, Some(-20.15));
    assert!(cold("nonsense\n").0.why_unknown().unwrap().contains("unreadable"));
}

#[test]
fn zones_sata_disks_and_write_caches_are_read() {
    let disk = format!("{DRIVE}/nvme/nvme0/nvme0n1");
    let sata = "/sys/devices/pci0000:00/0000:00:1f.0/host3/target3:0:0/3:0:0:0/block/sda";
    let mut page = identify(true, 2, true);
    page[525] = 1; // VWC
    let machine = one_drive()
        .folder(
            &format!("{disk}/queue"),
            &[("zoned", "host-managed\n"), ("chunk_sectors", "32768\n")],
        )
        .bytes("/ioctl/nvme0.idctrl", &page)
        .bytes("/ioctl/nvme0.vwc", &[0, 0, 0, 0])
        .block(sata, "8:0", 8 << 20)
        .folder(&format!("{sata}/device"), &[("vendor", "ATA     \n"), ("model", "A DISK\n")]);
    let host = full(&machine);
    let zoned = host.block("nvme0n1").unwrap();
    assert_eq!((zoned.zones(), zoned.sata), (Some(Some(16 << 20)), false));
    let sda = host.block("sda").unwrap();
    assert_eq!((sda.zones(), sda.sata, sda.model.get().unwrap().as_str()), (None, true, "A DISK"));
    assert_eq!(host.drives[0].write_cache_on, Fact::Read(false));
    // Drives without the page are not asked.
    page[525] = 0;
    let none = full(&one_drive().bytes("/ioctl/nvme0.idctrl", &page));
    assert_eq!(none.drives[0].write_cache_on, Fact::Absent);
    assert!(
        !host.no_sysfs
            && full(&Machine::default().file("/proc/sys/kernel/hostname", "x\n")).no_sysfs
    );
}

#[test]
fn volumes_of_amazon_are_asked_for_their_limits_and_no_other_drive_is() {
    let mut page = vec![0_u8; 4096];
    page[..4].copy_from_slice(&0x3c23_b510_u32.to_le_bytes());
    for (n, us) in [9_u64, 8, 7, 6, 5].into_iter().enumerate() {
        page[56 + 8 * n..][..8].copy_from_slice(&us.to_le_bytes());
    }
    let with = |model: &str| {
        let model_of = format!("{DRIVE}/nvme/nvme0/model");
        one_drive().bytes("/ioctl/nvme0.volume", &page).file(&model_of, model)
    };
    let volume = with("Amazon Elastic Block Store              \n");
    let limits = full(&volume).drives[0].volume_limits.clone();
    let expected = VolumeLimits {
        volume_iops_us: Some(9),
        volume_throughput_us: Some(8),
        instance_iops_us: 7,
        instance_throughput_us: 6,
        queue_length: 5,
    };
    assert_eq!(limits, Fact::Read(expected));
    assert_eq!(full(&with("A DRIVE\n")).drives[0].volume_limits, Fact::Absent);
    let other = volume.clone().bytes("/ioctl/nvme0.volume", &[1; 4096]);
    assert!(matches!(full(&other).drives[0].volume_limits, Fact::Unreadable(_)));
    let quick = snapshot(&volume.open(), Depth::Quick);
    assert_eq!(quick.drives[0].volume_limits, Fact::NotAsked);
    // A captured machine contains the page.
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("here");
    capture(&volume.open(), &to, false).unwrap();
    let again = snapshot(&Captured::open(&to).unwrap(), Depth::Full);
    assert_eq!(again.drives[0].volume_limits, Fact::Read(expected));
}
