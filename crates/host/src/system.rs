//! Reads the system around the drives: DMI, kernel, memory, limits, drivers.

use std::collections::BTreeMap;

use iodyno_model::{Bytes, Driver, Fact, Kernel, Limits, System};

use crate::read;
use crate::source::Source;

/// Storage modules, in the order of the I/O path.
const STORAGE_MODULES: [&str; 30] = [
    "nvme",
    "nvme_core",
    "nvme_tcp",
    "nvme_rdma",
    "nvme_fc",
    "vmd",
    "ahci",
    "megaraid_sas",
    "mpi3mr",
    "mpt3sas",
    "smartpqi",
    "hpsa",
    "aacraid",
    "arcmsr",
    "pm80xx",
    "isci",
    "sd_mod",
    "virtio_blk",
    "virtio_scsi",
    "xen_blkfront",
    "hv_storvsc",
    "vmw_pvscsi",
    "md_mod",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
    "dm_mod",
    "bcache",
    "zfs",
];

/// Reads vendor, product and BIOS.
pub(crate) fn dmi(source: &dyn Source) -> System {
    let field = |file| read::text(source, &format!("/sys/class/dmi/id/{file}"));
    System {
        vendor: field("sys_vendor"),
        product: field("product_name"),
        bios_version: field("bios_version"),
        bios_date: field("bios_date"),
    }
}

pub(crate) fn hostname(source: &dyn Source) -> Fact<String> {
    read::text(source, "/proc/sys/kernel/hostname")
}

/// Module parameters that affect latencies and queues.
const PARAMETERS: [(&str, &str); 11] = [
    ("nvme", "io_queue_depth"),
    ("nvme", "poll_queues"),
    ("nvme", "write_queues"),
    ("nvme", "use_threaded_interrupts"),
    ("nvme_core", "admin_timeout"),
    ("nvme_core", "default_ps_max_latency_us"),
    ("nvme_core", "io_timeout"),
    ("nvme_core", "iopolicy"),
    ("nvme_core", "max_retries"),
    ("nvme_core", "multipath"),
    ("pcie_aspm", "policy"),
];

/// Reads parameters as `module.name`; missing or unreadable ones are omitted.
fn parameters(source: &dyn Source) -> BTreeMap<String, String> {
    let read = |(module, name): &(&str, &str)| {
        let path = format!("/sys/module/{module}/parameters/{name}");
        let value = read::parsed(source, &path, read::selected).value()?;
        Some((format!("{module}.{name}"), value))
    };
    PARAMETERS.iter().filter_map(read).collect()
}

pub(crate) fn kernel(source: &dyn Source) -> Kernel {
    Kernel {
        parameters: parameters(source),
        release: read::text(source, "/proc/sys/kernel/osrelease"),
        command_line: read::text(source, "/proc/cmdline"),
        distribution: distribution(source),
    }
}

/// PRETTY_NAME of os-release(5).
fn distribution(source: &dyn Source) -> Fact<String> {
    let text = match read::file(source, "/etc/os-release") {
        Ok(text) => text,
        Err(error) => return read::unknown(&error),
    };
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    match name.map(|name| read::clean(name.trim().trim_matches(['"', '\'']))) {
        Some(name) if !name.is_empty() => Fact::Read(name),
        _ => Fact::Absent,
    }
}

/// MemTotal, which the kernel gives in KiB.
pub(crate) fn memory(source: &dyn Source) -> Fact<Bytes> {
    let text = match read::file(source, "/proc/meminfo") {
        Ok(text) => text,
        Err(error) => return read::unknown(&error),
    };
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    match kib.and_then(|kib| kib.checked_mul(1024)) {
        Some(bytes) => Fact::Read(Bytes(bytes)),
        None => Fact::Unreadable("/proc/meminfo without MemTotal".into()),
    }
}

/// AT_PAGESZ (6) of the auxiliary vector, pairs of 64-bit words (getauxval(3)).
pub(crate) fn page_bytes(source: &dyn Source) -> Fact<u32> {
    let bytes = match source.read("/proc/self/auxv", 4096) {
        Ok(bytes) => bytes,
        Err(error) => return read::unknown(&error),
    };
    let word = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    let size = bytes
        .chunks_exact(16)
        .find_map(|pair| (word(&pair[..8])? == 6).then(|| word(&pair[8..])).flatten());
    match size.and_then(|size| u32::try_from(size).ok()).filter(|size| size.is_power_of_two()) {
        Some(size) => Fact::Read(size),
        None => Fact::Absent,
    }
}

pub(crate) fn limits(source: &dyn Source) -> Limits {
    let most = read::number::<u64>(source, "/proc/sys/fs/aio-max-nr");
    let used = read::number::<u64>(source, "/proc/sys/fs/aio-nr").value().unwrap_or(0);
    Limits {
        memlock_bytes: memlock(source),
        aio_free: most.map(|most| most.saturating_sub(used)),
        io_uring_disabled: read::number(source, "/proc/sys/kernel/io_uring_disabled"),
    }
}

/// Soft limit of `Max locked memory  SOFT  HARD  bytes`; unlimited is absent.
fn memlock(source: &dyn Source) -> Fact<u64> {
    let text = match read::file(source, "/proc/self/limits") {
        Ok(text) => text,
        Err(error) => return read::unknown(&error),
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|rest| rest.split_ascii_whitespace().next());
    match soft {
        Some("unlimited") | None => Fact::Absent,
        Some(soft) => match soft.parse() {
            Ok(bytes) => Fact::Read(bytes),
            Err(_) => Fact::Unreadable(format!("locked memory \"{}\"", read::clean(soft))),
        },
    }
}

/// Storage drivers that are loaded or built in.
pub(crate) fn drivers(source: &dyn Source) -> Vec<Driver> {
    let loaded = source.list("/sys/module").unwrap_or_default();
    let driver = |name: &&str| Driver {
        name: (*name).into(),
        version: read::text(source, &format!("/sys/module/{name}/version")),
        out_of_tree: match source.read(&format!("/sys/module/{name}/taint"), 64) {
            // Letters, O among them (kernel documentation, admin-guide/tainted-kernels).
            Ok(flags) => Fact::Read(flags.contains(&b'O')),
            // Built-in drivers have no such file and are in-tree.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Fact::Read(false),
            Err(error) => read::unknown(&error),
        },
    };
    let is_loaded =
        |name: &&&str| loaded.binary_search_by(|module| module.as_str().cmp(name)).is_ok();
    STORAGE_MODULES.iter().filter(is_loaded).map(driver).collect()
}
