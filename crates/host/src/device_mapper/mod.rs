//! Reads device-mapper devices and their tables.

#[allow(unsafe_code)] // one ioctl, which the standard library does not offer
pub(crate) mod ioctl;

use std::collections::BTreeMap;

use iodyno_model::{BlockKind, Fact, MappedDevice, MappedPlace, MappedSegment};

use crate::block::{Block, SECTOR_BYTES};
use crate::read;
use crate::source::Source;

/// Reads the device whose sysfs folder is `real`. Underlying devices are numbers (`259:3`) until
/// [`name_places`].
pub(crate) fn read(
    source: &dyn Source,
    real: &str,
    kernel_name: &str,
    number: (u32, u32),
) -> MappedDevice {
    let uuid = read::text(source, &format!("{real}/dm/uuid")).value();
    MappedDevice {
        name: read::text(source, &format!("{real}/dm/name")).value().unwrap_or_default(),
        owner: uuid.and_then(|uuid| Some(uuid.split_once('-')?.0.to_owned())),
        table: match source.dm_table(kernel_name, number) {
            Ok(text) => {
                let segments = text.lines().map(segment).collect::<Option<Vec<_>>>();
                segments.map_or_else(|| Fact::Unreadable("an invalid table".into()), Fact::Read)
            }
            Err(error) => read::unknown(&error),
        },
    }
}

/// Data blocks of a thin pool are a multiple of this, bytes.
const THIN_UNIT_BYTES: u64 = 64 << 10;

/// Parses `0 1048576 striped 2 512 259:3 2048 259:1 2048`: start, length, target; `linear` has one
/// place, `striped` the number of places, the chunk size and the places; all in sectors; `thin` and
/// `thin-pool` have their state (kernel documentation, admin-guide/device-mapper).
fn segment(line: &str) -> Option<MappedSegment> {
    let mut words = line.split_ascii_whitespace();
    let mut sectors = || Some(words.next()?.parse::<u64>().ok()?.saturating_mul(SECTOR_BYTES));
    let (start_bytes, length_bytes) = (sectors()?, sectors()?);
    let target = read::clean(words.next()?);
    let arguments: Vec<&str> = words.collect();
    let (chunk_bytes, places) = match (target.as_str(), arguments.as_slice()) {
        ("linear", places) => (None, places),
        ("striped", [_, chunk, places @ ..]) => {
            (Some(chunk.parse::<u64>().ok()?.saturating_mul(SECTOR_BYTES)), places)
        }
        _ => (None, [].as_slice()),
    };
    let place = |pair: &[&str]| {
        let start: u64 = pair.get(1)?.parse().ok()?;
        let start_bytes = start.saturating_mul(SECTOR_BYTES);
        Some(MappedPlace { device: read::clean(pair.first()?), start_bytes })
    };
    let places = places.chunks(2).map(place).collect::<Option<Vec<_>>>()?;
    let allocated_bytes = allocated_bytes(&target, length_bytes, &arguments);
    Some(MappedSegment { start_bytes, length_bytes, target, chunk_bytes, allocated_bytes, places })
}

/// Parses the state of a thin volume, `MAPPED HIGHEST` in sectors, or of a pool, `TRANSACTION
/// USED/TOTAL USED/TOTAL` in blocks of metadata and of data, whose size follows from the pool's.
fn allocated_bytes(target: &str, length_bytes: u64, state: &[&str]) -> Option<u64> {
    let (count, unit_bytes) = match (target, state) {
        ("thin", [mapped, ..]) => (*mapped, SECTOR_BYTES),
        ("thin-pool", [_, _, data, ..]) => {
            let (used, total) = data.split_once('/')?;
            let block_bytes = length_bytes.checked_div(total.parse().ok()?)?;
            (used, block_bytes / THIN_UNIT_BYTES * THIN_UNIT_BYTES)
        }
        _ => return None,
    };
    Some(count.parse::<u64>().ok()?.saturating_mul(unit_bytes))
}

/// Replaces device numbers in tables by names.
pub(crate) fn name_places(blocks: &mut [Block]) {
    let names: BTreeMap<String, String> = blocks
        .iter()
        .map(|block| &block.device)
        .map(|device| (format!("{}:{}", device.major, device.minor), device.name.clone()))
        .collect();
    for block in blocks {
        let BlockKind::DeviceMapper(mapped) = &mut block.device.kind else { continue };
        let Fact::Read(segments) = &mut mapped.table else { continue };
        for place in segments.iter_mut().flat_map(|segment| &mut segment.places) {
            if let Some(name) = names.get(&place.device) {
                place.device.clone_from(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_understood_or_refused() {
        let striped = segment("0 1048576 striped 2 512 259:3 2048 259:1 4096").unwrap();
        assert_eq!((striped.length_bytes, striped.chunk_bytes), (512 << 20, Some(256 << 10)));
        let places: Vec<_> =
            striped.places.iter().map(|place| (place.device.as_str(), place.start_bytes)).collect();
        assert_eq!(places, [("259:3", 1 << 20), ("259:1", 2 << 20)]);
        let linear = segment("2048 8 linear 8:16 0").unwrap();
        assert_eq!((linear.start_bytes, linear.places.len()), (1 << 20, 1));
        assert_eq!(segment("0 8 crypt").unwrap().target, "crypt");
        // A pool of 1000 blocks of 64 KiB, and a rest that is none.
        let pool = "0 128064 thin-pool 1 10/1024 250/1000 - rw discard_passdown queue_if_no_space";
        assert_eq!(segment(pool).unwrap().allocated_bytes, Some(250 << 16));
        assert_eq!(segment("0 8 thin 2048 4095").unwrap().allocated_bytes, Some(1 << 20));
        for none in ["0 8 thin Fail", "0 8 thin-pool Fail", "0 8 thin-pool 1 1/2 0/0", "0 8 thin"] {
            assert_eq!(segment(none).unwrap().allocated_bytes, None, "{none}");
        }
        for garbage in ["", "0", "0 8", "a b linear 8:0 0", "0 8 linear 8:0", "0 8 striped 2 x"] {
            assert_eq!(segment(garbage), None, "{garbage}");
        }
    }
}
