//! Reads NVMe drives from sysfs and the controllers themselves.

use iodyno_model::{
    Bytes, Drive, Fact, LatencyMonitor, Namespace, NamespacePath, OcpHealth, PciFunction, natural,
};

use crate::block::{Block, path_of_head};
use crate::nvme;
use crate::pci::{self, Function, LinkBook};
use crate::read;
use crate::source::{AdminRead, Depth, Source};
use crate::temperature;
use crate::virtual_disk::virtual_disk;

/// PCI class of an NVMe function: mass storage, non-volatile memory.
const NVME_CLASS: u32 = 0x0108;

/// Reads all drives, in natural order; adds their links to the book.
pub(crate) fn read(
    source: &dyn Source,
    depth: Depth,
    blocks: &[Block],
    links: &mut LinkBook<'_>,
) -> Vec<Drive> {
    let mut names = source.list("/sys/class/nvme").unwrap_or_default();
    names.retain(|name| is_controller(name));
    names.sort_by_key(|name| natural(name));
    names.iter().filter_map(|name| drive(source, depth, name, blocks, links)).collect()
}

/// PCI functions of class NVMe, with or without a controller.
pub(crate) fn functions(
    source: &dyn Source,
    functions: &[Function],
    links: &mut LinkBook<'_>,
) -> Vec<PciFunction> {
    let nvme = functions.iter().filter(|function| function.kind() == NVME_CLASS);
    nvme.map(|function| {
        let below = source.list(&format!("{}/nvme", function.path())).unwrap_or_default();
        PciFunction {
            address: function.address.clone(),
            pci_id: function.pci_id(source),
            driver: function.driver(source),
            controller: below.into_iter().find(|name| is_controller(name)),
            links: source
                .real_path(&function.path())
                .map_or_else(|_| Vec::new(), |real| links.on_path(&real)),
        }
    })
    .collect()
}

pub(crate) fn is_controller(name: &str) -> bool {
    read::is_numbered(name, "nvme")
}

fn drive(
    source: &dyn Source,
    depth: Depth,
    name: &str,
    blocks: &[Block],
    links: &mut LinkBook<'_>,
) -> Option<Drive> {
    let real = source.real_path(&format!("/sys/class/nvme/{name}")).ok()?;
    let entries = source.list(&real).ok()?;
    let field = |file: &str| read::text(source, &format!("{real}/{file}"));
    // Discovery and administrative controllers have no data.
    if matches!(field("cntrltype").get().map(String::as_str), Some("discovery" | "admin")) {
        return None;
    }
    let state = field("state");
    let transport = field("transport");
    let on_pcie = transport.get().is_some_and(|transport| transport == "pcie");
    let function = pci::chain(&real).pop().filter(|_| on_pcie);
    let place = function.as_ref().map_or(real.clone(), |(_, path)| path.clone());

    let asked = ask(source, depth, name, &state);
    let page = asked(AdminRead::IdentifyController);
    let capacity = page.get().and_then(|page| nvme::total_capacity(page));
    let optional = OptionalData::ask(&page, &asked);
    let identify = parse_page(page, nvme::parse_identify_controller);
    let health = parse_page(asked(AdminRead::Health), nvme::parse_health_log);
    let namespaces = namespaces(source, &real, &entries, blocks, &asked);
    let model = field("model");
    let volume = model.get().and_then(|model| nvme::volume_limits_bytes(model));
    let volume_limits = volume.map_or(Fact::Absent, |bytes| {
        parse_page(asked(AdminRead::VolumeLimits(bytes)), nvme::parse_volume_limits)
    });
    Some(Drive {
        name: name.into(),
        virtual_disk: model.get().and_then(|model| virtual_disk(model)).map(String::from),
        model,
        serial: field("serial"),
        firmware: field("firmware_rev"),
        subsystem_nqn: field("subsysnqn"),
        address: function.map_or(Fact::Absent, |(address, _)| Fact::Read(address)),
        links: if on_pcie { links.on_path(&real) } else { Vec::new() },
        numa_node: read::numa_node(source, &place),
        local_cpus: read::parsed(source, &format!("{place}/local_cpulist"), read::cpu_list),
        capacity: capacity
            .or_else(|| total(&namespaces))
            .map_or(Fact::Absent, |n| Fact::Read(Bytes(n))),
        temperature: match depth {
            Depth::Full => match temperature::read(source, &real, &entries) {
                // Without hwmon for NVMe in the kernel, use the drive's own log.
                Fact::Absent => temperature::from_health(&identify, &health),
                read => read,
            },
            Depth::Quick => Fact::NotAsked,
        },
        identify,
        health,
        namespaces,
        state,
        transport,
        vmd: pci::domain_owner(&real).filter(|_| on_pcie),
        iommu: Fact::Absent,
        power_state: optional.power_state,
        autonomous_power_states: optional.autonomous_power_states,
        write_cache_on: optional.write_cache_on,
        ocp_health: optional.ocp_health,
        latency_monitor: optional.latency_monitor,
        volume_limits,
    })
}

/// Values requested only from controllers whose Identify page announces them: many log unsupported
/// commands as errors.
struct OptionalData {
    power_state: Fact<u8>,
    autonomous_power_states: Fact<bool>,
    write_cache_on: Fact<bool>,
    ocp_health: Fact<OcpHealth>,
    latency_monitor: Fact<LatencyMonitor>,
}

impl OptionalData {
    fn ask(page: &Fact<Vec<u8>>, asked: &impl Fn(AdminRead) -> Fact<Vec<u8>>) -> Self {
        let knows = page.as_ref().map(|page| nvme::Features::of(page));
        let when = |knows_it: fn(nvme::Features) -> bool, command| {
            let knows = knows.clone();
            knows.and_then(|knows| if knows_it(knows) { asked(command) } else { Fact::Absent })
        };
        let first = |answer: &[u8]| answer.first().copied();
        let uuid = when(|knows| knows.uuid_list, AdminRead::UuidList)
            .and_then(|list| nvme::ocp_uuid_index(&list).map_or(Fact::Absent, Fact::Read));
        let log = |page: fn(u8) -> AdminRead| uuid.clone().and_then(|uuid| asked(page(uuid)));
        Self {
            // Bits 4:0.
            power_state: parse_page(when(|knows| knows.power_states, AdminRead::PowerState), first)
                .map(|state| state & 0x1f),
            autonomous_power_states: parse_page(
                when(|knows| knows.autonomous_power_states, AdminRead::AutonomousPowerStates),
                first,
            )
            .map(|enabled| enabled & 1 != 0),
            write_cache_on: parse_page(
                when(|knows| knows.write_cache, AdminRead::VolatileWriteCache),
                first,
            )
            .map(|enabled| enabled & 1 != 0),
            ocp_health: parse_page(log(AdminRead::OcpHealth), nvme::parse_ocp_health),
            latency_monitor: parse_page(
                log(AdminRead::LatencyMonitor),
                nvme::parse_latency_monitor,
            ),
        }
    }
}

/// Returns a function that sends commands to the controller, if permitted.
fn ask<'a>(
    source: &'a dyn Source,
    depth: Depth,
    controller: &'a str,
    state: &Fact<String>,
) -> impl Fn(AdminRead) -> Fact<Vec<u8>> + use<'a> {
    // A controller that is not live would delay the command.
    let not_live = state.value().filter(|state| state != "live");
    move |command| match (depth, &not_live) {
        (Depth::Quick, _) => Fact::NotAsked,
        (_, Some(state)) => Fact::Unreadable(format!("the controller is {state}")),
        _ => match source.admin(controller, command) {
            Ok(page) => Fact::Read(page),
            Err(error) => read::unknown(&error),
        },
    }
}

fn parse_page<T>(page: Fact<Vec<u8>>, parse: impl FnOnce(&[u8]) -> Option<T>) -> Fact<T> {
    page.and_then(|page| {
        parse(&page).map_or_else(
            || Fact::Unreadable(format!("an invalid answer of {} bytes", page.len())),
            Fact::Read,
        )
    })
}

/// Namespaces that are block devices: below the controller, or, where multipath hides those, the
/// heads of its paths.
fn namespaces(
    source: &dyn Source,
    real: &str,
    entries: &[String],
    blocks: &[Block],
    asked: &impl Fn(AdminRead) -> Fact<Vec<u8>>,
) -> Vec<Namespace> {
    let mut names: Vec<(String, &String)> = entries
        .iter()
        .filter(|entry| entry.starts_with("nvme"))
        .map(|entry| (path_of_head(entry).unwrap_or_else(|| entry.clone()), entry))
        .collect();
    names.sort_by_key(|(name, _)| natural(name.rsplit('n').next().unwrap_or(name)));
    let namespace = |(name, entry): (String, &String)| {
        let device = &blocks.iter().find(|block| block.device.name == name)?.device;
        let field = |file: &str| format!("{real}/{entry}/{file}");
        let nsid = read::number::<u32>(source, &field("nsid"));
        Some(Namespace {
            wwid: read::text(source, &field("wwid")),
            size: device.size.clone(),
            logical_block_bytes: device.queue.logical_block_bytes.clone(),
            identify: match nsid {
                Fact::Read(nsid) => parse_page(
                    asked(AdminRead::IdentifyNamespace(nsid)),
                    nvme::parse_identify_namespace,
                ),
                _ => Fact::Absent,
            },
            nsid,
            path: (name != *entry).then(|| NamespacePath {
                name: read::clean(entry),
                ana_state: read::text(source, &field("ana_state")),
            }),
            name,
        })
    };
    names.into_iter().filter_map(namespace).collect()
}

/// Total size of the namespaces, bytes; `None` without any.
fn total(namespaces: &[Namespace]) -> Option<u64> {
    let sizes = namespaces.iter().filter_map(|namespace| namespace.size.get());
    Some(sizes.fold(0_u64, |sum, size| sum.saturating_add(size.0))).filter(|sum| *sum > 0)
}
