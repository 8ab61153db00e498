//! Arrays on the drives of a [`Bench`].

use iodyno_model::{BlockDevice, BlockKind, Host, MdArray, Measurement, RunRecord};

use super::Bench;

/// The array `md0` on all drives.
pub(crate) fn stack(host: &mut Host, array: MdArray) {
    let disks = host.blocks.clone();
    host.blocks.push(BlockDevice {
        name: "md0".into(),
        kind: BlockKind::Md(Box::new(array)),
        stands_on: disks.iter().map(|disk| disk.name.clone()).collect(),
        ..disks[0].clone()
    });
}

/// One measurement on such an array: sequential reads, changed by `change`.
pub(crate) fn on_stack(
    bench: Bench,
    array: MdArray,
    change: impl FnOnce(&mut Measurement),
) -> RunRecord {
    let mut record = bench.host(|host| stack(host, array)).record();
    record.measurements.truncate(1);
    let of = &mut record.measurements[0];
    of.targets = vec!["md0".into()];
    change(of);
    record
}

/// The array `md0`, a stripe over `members`.
pub(crate) fn array(members: &[&str]) -> BlockDevice {
    let array = MdArray { level: "raid0".into(), ..MdArray::default() };
    BlockDevice {
        name: "md0".into(),
        kind: BlockKind::Md(Box::new(array)),
        stands_on: members.iter().map(|name| (*name).to_owned()).collect(),
        ..BlockDevice::default()
    }
}

/// The partition `name` of a device.
pub(crate) fn partition(name: &str, of: &str) -> BlockDevice {
    BlockDevice {
        name: name.into(),
        kind: BlockKind::Partition,
        stands_on: vec![of.into()],
        ..BlockDevice::default()
    }
}
