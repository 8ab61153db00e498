//! Location of a target: its drive, and any layers between.

use std::collections::BTreeSet;

use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Drive, Host, LinkState, MdArray, Measurement, RunRecord,
};

use crate::index::Index;
use crate::links::raw;

/// Location of a target in the host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place<'a> {
    /// The one drive below it; `None`: several, none, or not known.
    pub(crate) drive: Option<&'a Drive>,
    /// The block device at the bottom, if there is exactly one.
    pub(crate) bottom: Option<String>,
    /// The target is that block device itself: no partition, array or file system between.
    pub(crate) whole: bool,
    /// Kind of virtual disk, if it is one.
    pub(crate) virtual_disk: Option<String>,
}

/// Locates one of a measurement's targets in the host.
pub(crate) fn place<'a>(host: Option<&'a Host>, of: &Measurement, target: &str) -> Place<'a> {
    let Some(host) = host else { return Place::default() };
    let device = device_of(of, target);
    let bottom = names_under(host, device);
    let [bottom] = bottom.as_slice() else { return Place::default() };
    let drive = host.namespace(bottom).map(|(drive, _)| drive);
    let kind = host.block(bottom).map(|block| &block.kind);
    let virtual_disk = match (drive, kind) {
        (Some(drive), _) => drive.virtual_disk.clone(),
        (None, Some(BlockKind::Virtual)) => Some("a hypervisor".into()),
        _ => None,
    };
    let whole = *bottom == target.strip_prefix("/dev/").unwrap_or(target);
    Place { drive, bottom: Some((*bottom).to_owned()), whole, virtual_disk }
}

/// Names of the whole devices below a device.
fn names_under<'h>(host: &'h Host, device: &str) -> Vec<&'h str> {
    match host.block(device) {
        Some(_) => host.bottom_of(device).into_iter().map(|block| block.name.as_str()).collect(),
        // A namespace without a block device entry is its own bottom.
        None => {
            let namespace = host.namespace(device).map(|(_, namespace)| namespace.name.as_str());
            namespace.into_iter().collect()
        }
    }
}

/// Names of the whole devices below all of a measurement's targets, without duplicates, as far as
/// the host knows them.
pub(crate) fn devices<'h>(host: Option<&'h Host>, of: &Measurement) -> Vec<&'h str> {
    let Some(host) = host else { return Vec::new() };
    let mut all: Vec<&str> = Vec::new();
    for name in target_devices(of).into_iter().flat_map(|top| names_under(host, top)) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Block devices at the bottom of all of a measurement's targets, without duplicates, in name
/// order; empty if one of them is not known.
pub(crate) fn bottom_devices<'h>(host: &'h Host, of: &Measurement) -> Vec<&'h BlockDevice> {
    if target_devices(of).into_iter().any(|top| host.bottom_of(top).is_empty()) {
        return Vec::new();
    }
    let mut all: Vec<&BlockDevice> =
        devices(Some(host), of).into_iter().filter_map(|name| host.block(name)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Block devices that a measurement's targets are or lie on, from all layers down to the whole
/// devices, without duplicates.
pub(crate) fn stacked_devices<'h>(host: &'h Host, of: &Measurement) -> Vec<&'h BlockDevice> {
    let mut all: Vec<&BlockDevice> = Vec::new();
    for device in target_devices(of).into_iter().flat_map(|top| host.levels_under(top)).flatten() {
        if !all.iter().any(|known| known.name == device.name) {
            all.push(device);
        }
    }
    all
}

/// The md arrays among those, by name.
pub(crate) fn arrays_under<'h>(host: &'h Host, of: &Measurement) -> Vec<(&'h str, &'h MdArray)> {
    let devices = stacked_devices(host, of).into_iter();
    devices.filter_map(|device| Some((device.name.as_str(), array(device)?))).collect()
}

/// Returns the md array of a block device.
pub(crate) fn array(device: &BlockDevice) -> Option<&MdArray> {
    match &device.kind {
        BlockKind::Md(array) => Some(array),
        _ => None,
    }
}

/// Name of the block device that a target is or lies on, without `/dev/`.
pub fn device_of<'m>(of: &'m Measurement, target: &'m str) -> &'m str {
    // For several files it is recorded if all are on the same device.
    let name = of.conditions.device.as_deref().unwrap_or(target);
    name.strip_prefix("/dev/").unwrap_or(name)
}

/// Block devices that a measurement's targets are or lie on, without duplicates.
pub(crate) fn target_devices(of: &Measurement) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for device in of.targets.iter().map(|target| device_of(of, target)) {
        if !all.contains(&device) {
            all.push(device);
        }
    }
    all
}

/// Number of drives and other whole devices below a measurement's targets. Namespaces of one drive
/// count once, and so does a device that the host does not know.
pub(crate) fn device_count(host: Option<&Host>, of: &Measurement) -> usize {
    let is_unknown = |top: &&str| host.is_none_or(|host| names_under(host, top).is_empty());
    let drive = |name| match host.and_then(|host| host.namespace(name)) {
        Some((drive, _)) => drive.name.as_str(),
        None => name,
    };
    let drives: BTreeSet<&str> = devices(host, of).into_iter().map(drive).collect();
    drives.len() + target_devices(of).into_iter().filter(is_unknown).count()
}

/// Drives below a target; for devices that are not NVMe, the whole devices.
pub(crate) fn drives_below<'a>(index: &Index<'a>, of: &Measurement, target: &str) -> Vec<&'a str> {
    let Some(host) = index.record().host() else { return Vec::new() };
    // A file measured with others does not say where it is; measured alone it did.
    let alone = index.located(target).filter(|_| of.conditions.device.is_none());
    let device = device_of(alone.unwrap_or(of), target);
    let drive = |name| host.namespace(name).map_or(name, |(drive, _)| drive.name.as_str());
    let mut all: Vec<&str> = names_under(host, device).into_iter().map(drive).collect();
    all.dedup();
    all
}

/// Drives below more than one of a measurement's targets, without duplicates: these targets share
/// the drive's time, so the sum of their separate figures is no reference.
pub fn shared_drives<'a>(index: &Index<'a>, of: &Measurement) -> Vec<&'a str> {
    let (mut seen, mut shared): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for target in &of.targets {
        let below = drives_below(index, of, target);
        shared.extend(below.iter().filter(|name| seen.contains(name)));
        seen.extend(below);
    }
    shared.sort_unstable();
    shared.dedup();
    shared
}

/// The one drive below a measurement's only target; `None`: several, none, or not known.
pub fn drive_under<'a>(record: &'a RunRecord, of: &Measurement) -> Option<&'a Drive> {
    let [target] = of.targets.as_slice() else { return None };
    place(record.host(), of, target).drive
}

/// Capacities by which a drive may be sold: its own, and the sum of its namespaces.
pub(crate) fn capacities(drive: &Drive) -> Vec<Bytes> {
    let namespaces: u64 = drive
        .namespaces
        .iter()
        .filter_map(|namespace| namespace.size.get())
        .fold(0, |sum, size| sum.saturating_add(size.0));
    let known = [drive.capacity.value(), Some(Bytes(namespaces))];
    known.into_iter().flatten().filter(|bytes| bytes.0 > 0).collect()
}

/// State of the narrowest known link of these names.
pub(crate) fn narrowest_link<'l>(
    host: &Host,
    links: impl IntoIterator<Item = &'l String>,
) -> Option<LinkState> {
    let states = links.into_iter().filter_map(|name| host.link(name)?.current.value());
    states.min_by(|a, b| raw(*a).total_cmp(&raw(*b)))
}

/// State of the drive's own link, the last of its path.
pub(crate) fn own_link(host: &Host, drive: &Drive) -> Option<LinkState> {
    host.own_link(drive)?.current.value()
}

/// Names by which findings refer to a drive.
pub fn names(drive: &Drive) -> Vec<&str> {
    let namespaces = drive.namespaces.iter().map(|namespace| namespace.name.as_str());
    let address = drive.address.get().map(String::as_str);
    std::iter::once(drive.name.as_str()).chain(namespaces).chain(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, array, partition};

    /// Two drives, a stripe over both and a partition of the first; `targets` measured at once.
    fn measured(targets: &[&str], device: Option<&str>) -> RunRecord {
        let bench = Bench::new(2).measured().host(|host| {
            host.blocks.push(array(&["nvme0n1", "nvme1n1"]));
            host.blocks.push(partition("nvme0n1p1", "nvme0n1"));
        });
        let mut record = bench.record();
        let of = &mut record.measurements[0];
        of.targets = targets.iter().map(|name| (*name).to_owned()).collect();
        of.conditions.device = device.map(str::to_owned);
        record
    }

    #[test]
    fn drives_are_counted_once_however_often_they_are_named() {
        let cases = [
            ("nvme0n1 nvme1n1", None, 2, ""),
            ("nvme0n1 /dev/nvme0n1p1", None, 1, "nvme0"),
            ("md0 nvme0n1 nvme1n1", None, 2, "nvme0 nvme1"),
            ("md0", None, 2, ""),
            ("/mnt/a /mnt/b", Some("nvme1n1"), 1, "nvme1"),
            ("/mnt/a /mnt/b", Some("/dev/md0"), 2, "nvme0 nvme1"),
            // Unknown devices share nothing.
            ("/mnt/a /mnt/b", None, 2, ""),
            ("nvme0n1 sda", None, 2, ""),
        ];
        for (targets, device, count, shared) in cases {
            let targets: Vec<&str> = targets.split(' ').collect();
            let record = measured(&targets, device);
            let (host, of) = (record.host(), &record.measurements[0]);
            assert_eq!(device_count(host, of), count, "{targets:?}");
            assert_eq!(shared_drives(&Index::of(&record), of).join(" "), shared, "{targets:?}");
        }
    }

    #[test]
    fn namespaces_of_one_drive_are_one_drive() {
        let mut record = measured(&["nvme0n1", "nvme0n2"], None);
        for host in &mut record.snapshots {
            let mut second = host.drives[0].namespaces[0].clone();
            second.name = "nvme0n2".into();
            host.drives[0].namespaces.push(second);
        }
        assert_eq!(device_count(record.host(), &record.measurements[0]), 1);
    }

    #[test]
    fn a_file_beside_its_drive_lies_where_it_lay_alone() {
        let mut record = measured(&["nvme0n1", "nvme1n1", "/mnt/a"], None);
        fn shared(record: &RunRecord) -> Vec<&str> {
            shared_drives(&Index::of(record), &record.measurements[0])
        }
        assert_eq!(shared(&record), Vec::<&str>::new());
        record.measurements[1].targets = vec!["/mnt/a".into()];
        record.measurements[1].conditions.device = Some("nvme1n1".into());
        assert_eq!(shared(&record), ["nvme1"]);
        record.snapshots.clear();
        assert_eq!(shared(&record), Vec::<&str>::new());
    }
}
