//! The machine read back, as far as a document holds it.

use iodyno_model as model;
use iodyno_model::{BlockKind, Bytes, Fact, MappedDevice, Mount, Queue, Use};

use super::{DocumentError, drive_log, stack, time_ns};
use crate::document::drive::{Drive, Health, Namespace};
use crate::document::estimate::Unknown;
use crate::document::host::{Block, Card, Driver, Host, NvmeFunction, Slot};
use crate::document::iommu::Iommu;
use crate::document::link::{Link, LinkEnd, LinkError, LinkErrorSeverity};
use crate::document::run::RunDocument;
use crate::document::stack::FileSystem;

/// A page of a drive of which a document holds but a few figures.
const NOT_HELD: &str = "not in the document that the run was read from";

/// The machine of a document.
pub(super) fn host(of: &Host, document: &RunDocument) -> Result<model::Host, DocumentError> {
    let unknown = &of.unknown;
    Ok(model::Host {
        taken_ns: time_ns(&of.taken)?,
        hostname: unknown.fact("hostname", &of.hostname),
        system: model::System {
            vendor: unknown.fact("system_vendor", &of.system_vendor),
            product: unknown.fact("system_product", &of.system_product),
            bios_version: unknown.fact("bios_version", &of.bios_version),
            bios_date: unknown.fact("bios_date", &of.bios_date),
        },
        cpus: model::Cpus {
            model: unknown.fact("cpu_model", &of.cpu_model),
            sockets: unknown.fact("cpu_sockets", &of.cpu_sockets),
            cores: unknown.fact("cpu_cores", &of.cpu_cores),
            online: unknown.fact("cpus_online", &of.cpus_online),
            governor: unknown.fact("cpu_governor", &of.cpu_governor),
            nodes: of
                .numa_nodes
                .iter()
                .map(|node| model::NumaNode { id: node.id, cpus: node.cpus.clone() })
                .collect(),
        },
        memory: unknown.fact("memory_bytes", &of.memory_bytes).map(Bytes),
        kernel: model::Kernel {
            release: unknown.fact("kernel", &of.kernel),
            command_line: unknown.fact("kernel_command_line", &of.kernel_command_line),
            distribution: unknown.fact("distribution", &of.distribution),
            parameters: of.parameters.clone(),
        },
        page_bytes: unknown.fact("page_bytes", &of.page_bytes),
        limits: model::Limits {
            memlock_bytes: unknown.fact("memlock_bytes", &of.memlock_bytes),
            aio_free: unknown.fact("aio_free", &of.aio_free),
            io_uring_disabled: unknown.fact("io_uring_disabled", &of.io_uring_disabled),
        },
        drivers: of.drivers.iter().map(driver).collect(),
        cards: of.cards.iter().map(card).collect(),
        drives: document.drives.iter().map(drive).collect(),
        links: document.links.iter().map(link).collect(),
        nvme_functions: of.nvme_functions.iter().map(nvme_function).collect(),
        slots: of.slots.iter().map(slot).collect(),
        blocks: of.blocks.iter().map(block).collect(),
        no_sysfs: of.no_sysfs,
        subsystems: of.subsystems.iter().map(drive_log::subsystem).collect(),
        control_groups: unknown.fact(
            "control_groups",
            &of.control_groups
                .as_ref()
                .map(|groups| groups.iter().map(model::ControlGroup::from).collect()),
        ),
        ..model::Host::default()
    })
}

/// A fact of which a document does not say why it is unknown.
pub(super) fn known<T: Clone>(value: &Option<T>) -> Fact<T> {
    value.clone().map_or(Fact::Absent, Fact::Read)
}

/// How accesses are translated.
fn iommu(of: &Iommu) -> model::Iommu {
    model::Iommu { group: of.group, domain: known(&of.domain), strict: known(&of.strict) }
}

fn driver(of: &Driver) -> model::Driver {
    model::Driver {
        name: of.name.clone(),
        version: known(&of.version),
        out_of_tree: known(&of.out_of_tree),
    }
}

fn card(of: &Card) -> model::StorageCard {
    model::StorageCard {
        address: of.address.clone(),
        kind: of.kind.clone(),
        pci_id: of.pci_id.clone(),
        name: of.unknown.fact("name", &of.name),
        driver: of.unknown.fact("driver", &of.driver),
        firmware: of.unknown.fact("firmware", &of.firmware),
        links: of.links.clone(),
        blocks: of.blocks.clone(),
        numa_node: of.unknown.fact("numa_node", &of.numa_node),
        iommu: of.unknown.fact("iommu", &of.iommu.as_ref().map(iommu)),
    }
}

fn nvme_function(of: &NvmeFunction) -> model::PciFunction {
    model::PciFunction {
        address: of.address.clone(),
        pci_id: of.pci_id.clone(),
        driver: known(&of.driver),
        controller: of.controller.clone(),
        links: of.links.clone(),
    }
}

fn slot(of: &Slot) -> model::Slot {
    model::Slot {
        name: of.name.clone(),
        address: of.address.clone(),
        present: of.unknown.fact("present", &of.present),
        link_active: of.unknown.fact("link_active", &of.link_active),
    }
}

fn drive(of: &Drive) -> model::Drive {
    let unknown = &of.unknown;
    let temperature = of.temperature_c.map(|composite_c| model::Temperature {
        composite_c,
        warning_c: of.temperature_warning_c,
        critical_c: of.temperature_critical_c,
    });
    let version = unknown.fact("nvme_version", &of.nvme_version);
    model::Drive {
        name: of.name.clone(),
        model: unknown.fact("model", &of.model),
        serial: unknown.fact("serial", &of.serial),
        firmware: unknown.fact("firmware", &of.firmware),
        state: unknown.fact("state", &of.state),
        transport: unknown.fact("transport", &of.transport),
        subsystem_nqn: unknown.fact("subsystem_nqn", &of.subsystem_nqn),
        address: unknown.fact("address", &of.address),
        links: of.links.clone(),
        numa_node: unknown.fact("numa_node", &of.numa_node),
        local_cpus: unknown.fact("local_cpus", &of.local_cpus),
        capacity: unknown.fact("capacity_bytes", &of.capacity_bytes).map(Bytes),
        virtual_disk: of.virtual_disk.clone(),
        temperature: unknown.fact("temperature_c", &temperature),
        identify: not_held(version),
        health: unknown.fact("health", &of.health.as_ref().and_then(health)),
        namespaces: of.namespaces.iter().map(namespace).collect(),
        vmd: of.vmd.clone(),
        iommu: unknown.fact("iommu", &of.iommu.as_ref().map(iommu)),
        power_state: unknown.fact("power_state", &of.power_state),
        autonomous_power_states: unknown
            .fact("autonomous_power_states", &of.autonomous_power_states),
        write_cache_on: unknown.fact("write_cache_on", &of.write_cache_on),
        ocp_health: unknown
            .fact("ocp_health", &of.ocp_health.as_ref().and_then(drive_log::ocp_health)),
        latency_monitor: unknown
            .fact("latency_monitor", &of.latency_monitor.as_ref().map(drive_log::latency_monitor)),
    }
}

/// A page that is unknown for the same reason as `figure` of it, or since a
/// document does not hold all of it.
fn not_held<T, U>(figure: Fact<T>) -> Fact<U> {
    match figure {
        Fact::Read(_) | Fact::Stated(_) => Fact::Unreadable(NOT_HELD.into()),
        Fact::NeedsRoot => Fact::NeedsRoot,
        Fact::Absent => Fact::Absent,
        Fact::NotAsked => Fact::NotAsked,
        Fact::Unreadable(why) => Fact::Unreadable(why),
    }
}

/// The log, where its counts are there (one beyond 64 bits is not); its own temperature and its counts of commands are not in a
/// document, and nothing is judged by them (0 K is no temperature).
fn health(of: &Health) -> Option<model::HealthLog> {
    Some(model::HealthLog {
        critical_warning: of.critical_warning,
        temperature_k: 0,
        available_spare_percent: of.available_spare_percent,
        spare_threshold_percent: of.spare_threshold_percent,
        used_percent: of.used_percent,
        host_read_bytes: of.host_read_bytes?.into(),
        host_written_bytes: of.host_written_bytes?.into(),
        host_read_commands: 0,
        host_write_commands: 0,
        power_on_hours: of.power_on_hours?.into(),
        power_cycles: of.power_cycles?.into(),
        unsafe_shutdowns: of.unsafe_shutdowns?.into(),
        media_errors: of.media_errors?.into(),
        error_log_entries: of.error_log_entries?.into(),
        warning_temperature_min: of.warning_temperature_min,
        critical_temperature_min: of.critical_temperature_min,
        thermal_transitions: of.thermal_transitions,
        thermal_seconds: of.thermal_seconds,
    })
}

fn namespace(of: &Namespace) -> model::Namespace {
    let unknown = &of.unknown;
    model::Namespace {
        name: of.name.clone(),
        nsid: unknown.fact("nsid", &of.nsid),
        wwid: unknown.fact("wwid", &of.wwid),
        size: unknown.fact("size_bytes", &of.size_bytes).map(Bytes),
        logical_block_bytes: unknown.fact("logical_block_bytes", &of.logical_block_bytes),
        identify: not_held(unknown.fact("lba_format", &of.lba_format)),
        path: of.path.as_ref().map(drive_log::path),
    }
}

fn link(of: &Link) -> model::Link {
    let state = |state: &crate::document::link::LinkState| model::LinkState {
        generation: state.generation,
        width: state.width,
    };
    model::Link {
        port: link_end(&of.port),
        device: link_end(&of.device),
        current: of.unknown.fact("in_use", &of.in_use.as_ref().map(state)),
        slot: of.slot.clone(),
        aspm: {
            let both = of.aspm_l0s.zip(of.aspm_l1).map(|(l0s, l1)| model::Aspm { l0s, l1 });
            of.unknown.fact("aspm_l1", &both)
        },
    }
}

fn link_end(of: &LinkEnd) -> model::LinkEnd {
    let unknown = &of.unknown;
    model::LinkEnd {
        address: of.address.clone(),
        max_generation: unknown.fact("max_generation", &of.max_generation),
        max_width: unknown.fact("max_width", &of.max_width),
        target_generation: unknown.fact("target_generation", &of.target_generation),
        max_payload_bytes: unknown.fact("max_payload_bytes", &of.max_payload_bytes),
        correctable_errors: unknown.fact("correctable_errors", &of.correctable_errors),
        uncorrectable_errors: unknown.fact("uncorrectable_errors", &of.uncorrectable_errors),
        able_payload_bytes: unknown.fact("able_payload_bytes", &of.able_payload_bytes),
        max_read_request_bytes: unknown.fact("max_read_request_bytes", &of.max_read_request_bytes),
        errors: of.errors.iter().map(link_error).collect(),
    }
}

fn link_error(of: &LinkError) -> model::PcieError {
    let severity = match of.severity {
        LinkErrorSeverity::Correctable => model::PcieSeverity::Correctable,
        LinkErrorSeverity::Nonfatal => model::PcieSeverity::Nonfatal,
        LinkErrorSeverity::Fatal => model::PcieSeverity::Fatal,
    };
    model::PcieError { severity, kind: of.kind.clone(), count: of.count }
}

fn block(of: &Block) -> model::BlockDevice {
    model::BlockDevice {
        name: of.name.clone(),
        // Device numbers mean something on their own machine only.
        major: 0,
        minor: 0,
        kind: kind(of),
        size: known(&of.size_bytes).map(Bytes),
        model: known(&of.model),
        stands_on: of.stands_on.clone(),
        used_by: of.used_by.iter().map(|label| usage(label, of.file_system.as_ref())).collect(),
        queue: Queue {
            scheduler: known(&of.scheduler),
            nr_requests: known(&of.nr_requests),
            logical_block_bytes: known(&of.logical_block_bytes),
            physical_block_bytes: known(&of.physical_block_bytes),
            max_sectors_kib: known(&of.max_sectors_kib),
            max_hw_sectors_kib: known(&of.max_hw_sectors_kib),
            rotational: known(&of.rotational),
            write_cache: known(&of.write_cache),
            hardware_queues: known(&of.hardware_queues),
            wbt_lat_us: known(&of.wbt_lat_us),
            io_poll: known(&of.io_poll),
            rq_affinity: known(&of.rq_affinity),
            minimum_io_bytes: known(&of.minimum_io_bytes),
            zoned: known(&of.zoned),
            zone_bytes: known(&of.zone_bytes),
            ..Queue::default()
        },
        start: known(&of.start_bytes).map(Bytes),
        pci_function: of.pci_function.clone(),
        sata: of.sata,
        file_system: of.file_system.as_ref().map(stack::file_system),
    }
}

/// The inverse of `layers::kind`, with what else the document holds of it.
fn kind(of: &Block) -> BlockKind {
    match of.kind.as_str() {
        "nvme" => BlockKind::Nvme,
        "partition" => BlockKind::Partition,
        "loop" => BlockKind::Loop { backing_file: None, backing: Fact::Absent },
        "virtual disk" => BlockKind::Virtual,
        "SCSI disk" => BlockKind::Scsi,
        "zram" => BlockKind::Zram,
        words => match words.split_once(' ') {
            Some(("md", level)) => BlockKind::Md(Box::new(stack::array(of, level))),
            Some((owner, name)) => BlockKind::DeviceMapper(MappedDevice {
                name: name.into(),
                owner: (owner != "dm").then(|| owner.into()),
                table: stack::table(of),
            }),
            None => BlockKind::Other,
        },
    }
}

/// The inverse of `Use::label`, of a device with this file system.
fn usage(label: &str, file_system: Option<&FileSystem>) -> Use {
    let mounted = |at: &str| {
        Use::Mounted(Mount {
            at: at.into(),
            file_system: file_system.map(|of| of.kind.clone()).unwrap_or_default(),
            options: file_system.and_then(|of| of.mount_options.clone()).unwrap_or_default(),
        })
    };
    let opened = |rest: &str| {
        let (command, pid) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        Some(Use::OpenBy { pid: pid.parse().ok()?, command: command.into() })
    };
    let with = |lead: &str| label.strip_prefix(lead);
    with("mounted at ")
        .map(mounted)
        .or_else(|| (label == "swap").then_some(Use::Swap))
        .or_else(|| with("backs ").map(|name| Use::LoopBacking(name.into())))
        .or_else(|| with("member of ").map(|what| Use::FileSystemMember(what.into())))
        .or_else(|| with("holds ").map(|what| Use::Signature(what.into())))
        .or_else(|| with("exported by ").map(|by| Use::Exported(by.into())))
        .or_else(|| with("open by ").and_then(opened))
        .unwrap_or_else(|| Use::HeldBy(label.into()))
}

impl Unknown {
    /// The fact of which the document holds `value`, or why it does not.
    fn fact<T: Clone>(&self, field: &str, value: &Option<T>) -> Fact<T> {
        match (value, self.0.get(field)) {
            (Some(value), _) => Fact::Read(value.clone()),
            (None, Some(why)) => Fact::unknown(why),
            (None, None) => Fact::Absent,
        }
    }
}
