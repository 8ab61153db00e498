//! Block devices: kind, underlying devices, queues.

use iodyno_model::{BlockDevice, BlockKind, Bytes, Fact, Queue, Use, natural};

use crate::source::Source;
use crate::{device_mapper, loop_device, md, pci, read};

/// Unit of sizes in sysfs, whatever the device's block size.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A block device and its real path in sysfs.
pub(crate) struct Block {
    pub(crate) device: BlockDevice,
    /// Path without links, which shows the PCI function and the bus.
    pub(crate) real: String,
}

/// Reads all block devices, each disk followed by its partitions, in natural order. A multipath
/// drive is its head; the hidden devices that are its paths cannot be opened and are omitted.
pub(crate) fn read(source: &dyn Source) -> Vec<Block> {
    let mut names = source.list("/sys/block").unwrap_or_default();
    names.sort_by_key(|name| natural(name));
    let mut blocks = Vec::new();
    for name in names.iter().filter(|name| path_of_head(name).is_none()) {
        // It may vanish between listing and reading.
        let Ok(real) = source.real_path(&format!("/sys/block/{name}")) else { continue };
        let Ok(entries) = source.list(&real) else { continue };
        let Some(mut disk) = block(source, name, &real, &entries) else { continue };
        if disk.size.get().is_some_and(|size| size.0 > 0) {
            disk.queue = queue(source, &real, &entries, || {
                let is_path = |other: &&String| path_of_head(other).as_ref() == Some(name);
                names.iter().find(is_path).map(|path| format!("/sys/block/{path}/mq"))
            });
        }
        let queue = disk.queue.clone();
        blocks.push(Block { device: disk, real: real.clone() });

        let mut parts: Vec<&String> =
            entries.iter().filter(|entry| entry.starts_with(name.as_str())).collect();
        parts.sort_by_key(|part| natural(part.strip_prefix(name.as_str()).unwrap_or(part)));
        for part in parts {
            let real = format!("{real}/{part}");
            let Ok(entries) = source.list(&real) else { continue };
            if !entries.iter().any(|entry| entry == "partition") {
                continue;
            }
            if let Some(mut device) = block(source, part, &real, &entries) {
                device.kind = BlockKind::Partition;
                device.stands_on = vec![name.clone()];
                device.queue = queue.clone();
                device.start = read::number(source, &format!("{real}/start")).map(in_bytes);
                blocks.push(Block { device, real });
            }
        }
    }
    device_mapper::name_places(&mut blocks);
    blocks
}

/// Block devices whose queues contain the requests of `block`: the hidden paths of a multipath
/// drive, else the device itself.
pub fn queue_owners(source: &dyn Source, block: &str) -> Vec<String> {
    let mut paths = source.list("/sys/block").unwrap_or_default();
    paths.retain(|name| path_of_head(name).as_deref() == Some(block));
    if paths.is_empty() { vec![block.to_owned()] } else { paths }
}

fn in_bytes(sectors: u64) -> Bytes {
    Bytes(sectors.saturating_mul(SECTOR_BYTES))
}

/// Head `nvme0n2` of `nvme0c1n2`, the hidden path of namespace 2 of subsystem 0 through controller
/// 1; `None` for any other name (nvme_mpath_set_disk_name in drivers/nvme/host/multipath.c).
pub(crate) fn path_of_head(name: &str) -> Option<String> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    (number(subsystem) && number(controller) && number(namespace))
        .then(|| format!("nvme{subsystem}n{namespace}"))
}

/// Reads everything but queue settings; `None` without a device number (any more).
fn block(source: &dyn Source, name: &str, real: &str, entries: &[String]) -> Option<BlockDevice> {
    let (major, minor) = read::device_number(&read::text(source, &format!("{real}/dev")).value()?)?;
    let listed = |folder| {
        let folder =
            entries.iter().any(|entry| entry == folder).then(|| format!("{real}/{folder}"));
        folder.and_then(|folder| source.list(&folder).ok()).unwrap_or_default()
    };
    let size = read::number::<u64>(source, &format!("{real}/size"));
    let (model, sata) = match entries.iter().any(|entry| entry == "device") {
        true => model(source, real),
        false => (Fact::Absent, false),
    };
    let kind = kind(source, (name, (major, minor)), real, entries, model.get());
    let unique_id = unique_id(source, &kind, real);
    Some(BlockDevice {
        name: name.into(),
        major,
        minor,
        size: size.map(in_bytes),
        model,
        unique_id,
        kind,
        stands_on: listed("slaves"),
        used_by: listed("holders").into_iter().map(Use::HeldBy).collect(),
        queue: Queue::default(),
        start: Fact::Absent,
        pci_function: pci::chain(real).pop().map(|(address, _)| address),
        sata,
        file_system: None,
    })
}

fn kind(
    source: &dyn Source,
    (name, number): (&str, (u32, u32)),
    real: &str,
    entries: &[String],
    model: Option<&String>,
) -> BlockKind {
    let has = |folder: &str| entries.iter().any(|entry| entry == folder);
    if has("md") {
        return BlockKind::Md(Box::new(md::read(source, real)));
    }
    if has("dm") {
        return BlockKind::DeviceMapper(device_mapper::read(source, real, name, number));
    }
    if name.starts_with("loop") {
        return match has("loop") {
            true => loop_device::read(source, real, name, number),
            false => BlockKind::Loop { backing_file: None, backing: Fact::Absent },
        };
    }
    if name.starts_with("nvme") {
        BlockKind::Nvme
    } else if name.starts_with("zram") {
        BlockKind::Zram
    } else if on_bus(real, "virtio") || on_bus(real, "vbd-") {
        // /sys/devices/…/virtio1/block/vda, /sys/devices/vbd-51712/block/xvda
        BlockKind::Virtual
    } else if !on_bus(real, "host") {
        BlockKind::Other
    } else if model.is_some_and(|model| is_virtual_scsi(model)) {
        BlockKind::Virtual
    } else {
        BlockKind::Scsi
    }
}

/// What tells this device from others of its kind and size; NVMe namespaces have it in
/// [`iodyno_model::Namespace`].
fn unique_id(source: &dyn Source, kind: &BlockKind, real: &str) -> Fact<String> {
    let files: &[&str] = match kind {
        BlockKind::Scsi | BlockKind::Virtual => &["device/wwid", "serial"],
        BlockKind::DeviceMapper(_) => &["dm/uuid"],
        BlockKind::Md(_) => &["md/uuid"],
        _ => &[],
    };
    let mut facts = files.iter().map(|file| read::text(source, &format!("{real}/{file}")));
    facts.find(|fact| fact.get().is_some()).unwrap_or(Fact::Absent)
}

/// True if a component of the path is `bus` and a number: `host0`, `virtio1`.
fn on_bus(real: &str, bus: &str) -> bool {
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    real.split('/').any(|part| part.strip_prefix(bus).is_some_and(numbered))
}

/// True for SCSI disks of hypervisors, by vendor and model: Hyper-V and Azure, QEMU, VMware,
/// VirtualBox (ATA), Google's Persistent Disk.
fn is_virtual_scsi(model: &str) -> bool {
    ["Msft Virtual Disk", "QEMU ", "VMware Virtual", "VBOX HARDDISK", "Google "]
        .iter()
        .any(|prefix| model.starts_with(prefix))
}

/// Model string, for a SCSI disk preceded by its vendor; and whether the vendor is `ATA`, which is
/// not one: libata, and HBAs that translate (SAT), report it for SATA disks.
fn model(source: &dyn Source, real: &str) -> (Fact<String>, bool) {
    let model = read::text(source, &format!("{real}/device/model"));
    if !on_bus(real, "host") {
        return (model, false);
    }
    match read::text(source, &format!("{real}/device/vendor")).value() {
        Some(vendor) if vendor == "ATA" => (model, true),
        Some(vendor) => (model.map(|model| format!("{vendor} {model}")), false),
        None => (model, false),
    }
}

/// Reads queue settings. A multipath head has no hardware queues: those of its path are at
/// `path_queues`.
fn queue(
    source: &dyn Source,
    real: &str,
    entries: &[String],
    path_queues: impl FnOnce() -> Option<String>,
) -> Queue {
    let file = |name: &str| format!("{real}/queue/{name}");
    let has_own = entries.iter().any(|entry| entry == "mq");
    let queues = if has_own { Some(format!("{real}/mq")) } else { path_queues() };
    Queue {
        scheduler: read::parsed(source, &file("scheduler"), read::selected),
        nr_requests: read::number(source, &file("nr_requests")),
        logical_block_bytes: read::number(source, &file("logical_block_size")),
        physical_block_bytes: read::number(source, &file("physical_block_size")),
        max_sectors_kib: read::number(source, &file("max_sectors_kb")),
        max_hw_sectors_kib: read::number(source, &file("max_hw_sectors_kb")),
        max_segments: read::number(source, &file("max_segments")),
        optimal_io_bytes: read::number(source, &file("optimal_io_size")),
        rotational: read::number::<u8>(source, &file("rotational")).map(|flag| flag != 0),
        write_cache: read::text(source, &file("write_cache")),
        discard_max_bytes: read::number(source, &file("discard_max_bytes")),
        hardware_queues: match queues.and_then(|folder| source.list(&folder).ok()) {
            Some(names) => {
                let count = names.iter().filter(|name| name.parse::<u32>().is_ok()).count();
                Fact::Read(u32::try_from(count).unwrap_or(u32::MAX))
            }
            None => Fact::Absent,
        },
        minimum_io_bytes: read::number(source, &file("minimum_io_size")),
        wbt_lat_us: match read::number(source, &file("wbt_lat_usec")) {
            // EINVAL: this queue has no throttling.
            Fact::Unreadable(_) => Fact::Absent,
            other => other,
        },
        zoned: read::text(source, &file("zoned")),
        zone_bytes: read::number(source, &file("chunk_sectors")).map(|n| in_bytes(n).0),
        io_poll: read::number::<u8>(source, &file("io_poll")).map(|flag| flag != 0),
        rq_affinity: read::number(source, &file("rq_affinity")),
    }
}
