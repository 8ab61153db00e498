//! The server of the realistic run.

use iodyno_model::*;

use super::START_NS;

/// A fact that was read.
pub(super) fn read<T>(value: impl Into<T>) -> Fact<T> {
    Fact::Read(value.into())
}

fn text(value: &str) -> Fact<String> {
    Fact::Read(value.into())
}

fn end(address: &str, generation: u8, width: u8) -> LinkEnd {
    LinkEnd {
        address: address.into(),
        max_generation: read(generation),
        max_width: read(width),
        target_generation: Fact::NeedsRoot,
        max_payload_bytes: read(256u32),
        correctable_errors: read(0u64),
        uncorrectable_errors: read(0u64),
        ..LinkEnd::default()
    }
}

fn drive(n: u32, model: &str, serial: &str, used_share: f64) -> Drive {
    let size_blocks = 7_501_476_528u64;
    Drive {
        name: format!("nvme{n}"),
        model: text(model),
        serial: text(serial),
        firmware: text("GDC5902Q"),
        state: text("live"),
        transport: text("pcie"),
        subsystem_nqn: text(&format!("nqn.1994-11.com.samsung:nvme:PM9A3:2.5-inch:{serial}")),
        address: text(&format!("0000:4{n}:00.0")),
        links: vec![format!("0000:4{n}:00.0")],
        numa_node: read(0u32),
        local_cpus: read((0..64).collect::<Vec<u32>>()),
        capacity: read(Bytes(3_840_755_982_336)),
        virtual_disk: None,
        temperature: read(Temperature {
            composite_c: 38.0 + f64::from(n),
            warning_c: Some(80.0),
            critical_c: Some(83.0),
        }),
        identify: read(IdentifyController {
            version: "1.4.0".into(),
            max_transfer_bytes: Some(2 << 20),
            warning_temperature_k: 353,
            critical_temperature_k: 356,
            namespace_count: 32,
            volatile_write_cache: false,
            supports_trim: true,
            unallocated_bytes: 0,
            multi_port: false,
            ..IdentifyController::default()
        }),
        health: read(HealthLog {
            temperature_k: 311,
            available_spare_percent: 100,
            spare_threshold_percent: 10,
            used_percent: 2,
            host_read_bytes: 812_000_000_000_000,
            host_written_bytes: 96_000_000_000_000,
            host_read_commands: 9_000_000_000,
            host_write_commands: 1_000_000_000,
            power_on_hours: 11_203,
            power_cycles: 31,
            unsafe_shutdowns: 12,
            ..HealthLog::default()
        }),
        namespaces: vec![Namespace {
            name: format!("nvme{n}n1"),
            nsid: read(1u32),
            wwid: text(&format!("eui.36344830525{n}0123")),
            size: read(Bytes(3_840_755_982_336)),
            logical_block_bytes: read(512u32),
            identify: read(IdentifyNamespace {
                size_blocks,
                capacity_blocks: size_blocks,
                used_blocks: (size_blocks as f64 * used_share) as u64,
                deallocated_reads_as: Some(0),
                deallocated_read_may_fail: false,
                formats: vec![
                    LbaFormat { data_bytes: 512, metadata_bytes: 0, relative_performance: 1 },
                    LbaFormat { data_bytes: 4096, metadata_bytes: 0, relative_performance: 0 },
                ],
                format_in_use: 0,
            }),
            ..Namespace::default()
        }],
        ..Drive::default()
    }
}

pub(super) fn block(
    name: &str,
    kind: BlockKind,
    stands_on: &[&str],
    used_by: Vec<Use>,
) -> BlockDevice {
    BlockDevice {
        name: name.into(),
        major: 259,
        minor: 0,
        kind,
        size: read(Bytes(3_840_755_982_336)),
        model: Fact::Absent,
        stands_on: stands_on.iter().map(ToString::to_string).collect(),
        used_by,
        queue: Queue {
            scheduler: text("none"),
            nr_requests: read(1023u32),
            logical_block_bytes: read(512u32),
            ..Queue::default()
        },
        ..BlockDevice::default()
    }
}

/// The server.
pub(crate) fn host() -> Host {
    let samsung = "SAMSUNG MZQL23T8HCLS-00A07";
    let mounted = |at: &str, file_system: &str| {
        Use::Mounted(Mount {
            at: at.into(),
            file_system: file_system.into(),
            options: "rw,noatime".into(),
        })
    };
    let link = |n: u32, generation: u8, width: u8| Link {
        port: end(&format!("0000:40:0{n}.1"), 5, 4),
        device: end(&format!("0000:4{n}:00.0"), 4, 4),
        current: read(LinkState { generation, width }),
        slot: Some(format!("{n}")),
        ..Link::default()
    };
    Host {
        taken_ns: START_NS,
        hostname: text("db17"),
        system: System {
            vendor: text("Supermicro"),
            product: text("AS -1115CS-TNR"),
            bios_version: text("3.1"),
            bios_date: text("06/21/2024"),
        },
        cpus: Cpus {
            model: text("AMD EPYC 9334 32-Core Processor"),
            sockets: read(1u32),
            cores: read(32u32),
            online: read((0..64).collect::<Vec<u32>>()),
            governor: text("performance"),
            nodes: vec![NumaNode { id: 0, cpus: (0..64).collect() }],
        },
        memory: read(Bytes::gib(384)),
        kernel: Kernel {
            release: text("6.1.0-26-amd64"),
            command_line: text("BOOT_IMAGE=/vmlinuz root=/dev/md0 ro quiet"),
            distribution: text("Debian GNU/Linux 12 (bookworm)"),
            ..Kernel::default()
        },
        page_bytes: read(4096u32),
        limits: Limits::default(),
        drivers: vec![
            Driver { name: "nvme".into(), version: text("1.0"), out_of_tree: read(false) },
            Driver {
                name: "megaraid_sas".into(),
                version: text("07.727.03.00"),
                out_of_tree: read(true),
            },
        ],
        cards: vec![StorageCard {
            address: "0000:c1:00.0".into(),
            kind: "RAID".into(),
            pci_id: "1000:10e2".into(),
            name: text("MegaRAID 9560-8i 4GB"),
            driver: text("megaraid_sas"),
            firmware: text("52.26.0-5014"),
            ..StorageCard::default()
        }],
        drives: vec![
            drive(0, samsung, "S64HNE0R500123", 0.93),
            drive(1, samsung, "S64HNE0R500124", 0.91),
            drive(2, samsung, "S64HNE0R500131", 0.0),
            drive(3, samsung, "S64HNE0R500140", 0.42),
        ],
        links: vec![link(0, 4, 4), link(1, 4, 4), link(2, 3, 2), link(3, 4, 4)],
        nvme_functions: Vec::new(),
        slots: Vec::new(),
        blocks: vec![
            block("nvme0n1", BlockKind::Nvme, &[], vec![]),
            block(
                "nvme0n1p1",
                BlockKind::Partition,
                &["nvme0n1"],
                vec![mounted("/boot/efi", "vfat")],
            ),
            block("nvme0n1p2", BlockKind::Partition, &["nvme0n1"], vec![Use::HeldBy("md0".into())]),
            block("nvme1n1", BlockKind::Nvme, &[], vec![]),
            block("nvme1n1p2", BlockKind::Partition, &["nvme1n1"], vec![Use::HeldBy("md0".into())]),
            block(
                "md0",
                BlockKind::Md(Box::new(MdArray {
                    level: "raid1".into(),
                    degraded: Some(0),
                    ..MdArray::default()
                })),
                &["nvme0n1p2", "nvme1n1p2"],
                vec![mounted("/", "ext4")],
            ),
            block("nvme2n1", BlockKind::Nvme, &[], vec![]),
            block("nvme3n1", BlockKind::Nvme, &[], vec![Use::HeldBy("dm-0".into())]),
            block(
                "dm-0",
                BlockKind::DeviceMapper(MappedDevice {
                    name: "vg0-data".into(),
                    owner: Some("LVM".into()),
                    ..MappedDevice::default()
                }),
                &["nvme3n1"],
                vec![mounted("/srv/data", "xfs")],
            ),
        ],
        ..Host::default()
    }
}

/// The host as seen without privileges on a sparse machine: no fact is known.
pub(crate) fn without_facts(mut host: Host) -> Host {
    host.hostname = Fact::Absent;
    host.system = System::default();
    host.cpus = Cpus::default();
    host.memory = Fact::Absent;
    host.kernel = Kernel::default();
    host.page_bytes = Fact::Unreadable("garbage".into());
    for drive in &mut host.drives {
        let names: Vec<Namespace> = drive
            .namespaces
            .iter()
            .map(|namespace| Namespace {
                name: namespace.name.clone(),
                identify: Fact::NeedsRoot,
                ..Namespace::default()
            })
            .collect();
        *drive = Drive {
            name: drive.name.clone(),
            serial: Fact::NeedsRoot,
            links: drive.links.clone(),
            identify: Fact::NeedsRoot,
            health: Fact::NeedsRoot,
            namespaces: names,
            ..Drive::default()
        };
    }
    for link in &mut host.links {
        link.current = Fact::Absent;
        link.device.max_generation = Fact::Absent;
        link.port.max_width = Fact::NeedsRoot;
    }
    for block in &mut host.blocks {
        block.size = Fact::Absent;
        block.queue = Queue::default();
    }
    host
}
