//! Space that writes take from a thin pool, whose other volumes need it.

use iodyno_model::{BlockDevice, BlockKind, Host, MappedSegment};

use crate::TargetError;
use crate::extents::below;

/// A thin pool that writes might fill.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FullPool {
    /// Name under /dev/mapper.
    name: String,
    /// Maximum that the writes take, bytes.
    needed_bytes: u64,
    /// Left, bytes.
    pub(crate) free_bytes: u64,
}

impl FullPool {
    /// Finds a pool below `block` that has less left than `bytes`, written anywhere on it, may take.
    /// `None` as well if only root can know.
    pub(crate) fn after(host: &Host, block: &str, bytes: u64) -> Option<Self> {
        let mut devices = below(host, block);
        devices.push(block);
        let pool_of = |name: &&str| {
            let volume = host.block(name).filter(|of| segment(of, "thin").is_some())?;
            let stands_on = volume.stands_on.iter().filter_map(|name| host.block(name));
            Some((volume, stands_on.into_iter().find(|of| segment(of, "thin-pool").is_some())?))
        };
        let volumes: Vec<_> = devices.iter().filter_map(pool_of).collect();
        volumes.iter().find_map(|(_, pool)| {
            let state = segment(pool, "thin-pool")?;
            let free_bytes = state.length_bytes.saturating_sub(state.allocated_bytes?);
            let in_it = volumes.iter().filter(|(_, of)| of.name == pool.name);
            let each = in_it.map(|(volume, _)| unallocated_bytes(host, volume, pool).min(bytes));
            let needed_bytes = each.fold(0, u64::saturating_add);
            let BlockKind::DeviceMapper(mapped) = &pool.kind else { return None };
            let name = mapped.name.clone();
            (needed_bytes > free_bytes).then_some(Self { name, needed_bytes, free_bytes })
        })
    }

    /// The error of writing `target`.
    pub(crate) fn error(self, target: &str) -> TargetError {
        let Self { name: pool, needed_bytes, free_bytes } = self;
        TargetError::FillsPool { name: target.into(), pool, needed_bytes, free_bytes }
    }
}

/// Bytes of a volume that writes allocate in its pool: what is not allocated yet, and all of it if
/// blocks may be shared with a snapshot, which get copies.
fn unallocated_bytes(host: &Host, volume: &BlockDevice, pool: &BlockDevice) -> u64 {
    let allocated = |device, target| segment(device, target).and_then(|of| of.allocated_bytes);
    let volumes = host.blocks.iter().filter(|of| of.stands_on.contains(&pool.name));
    let of_all: Option<u64> = volumes
        .filter(|of| segment(of, "thin").is_some())
        .map(|volume| allocated(volume, "thin"))
        .sum();
    let size_bytes = volume.size.get().map_or(u64::MAX, |size| size.0);
    // More: some blocks count twice. Less: the rest are of volumes that are not active.
    match of_all.is_some() && of_all == allocated(pool, "thin-pool") {
        true => size_bytes.saturating_sub(allocated(volume, "thin").unwrap_or(0)),
        false => size_bytes,
    }
}

/// The first segment of a device with this device-mapper target.
fn segment<'h>(device: &'h BlockDevice, target: &str) -> Option<&'h MappedSegment> {
    let BlockKind::DeviceMapper(mapped) = &device.kind else { return None };
    mapped.table.get()?.iter().find(|segment| segment.target == target)
}
