//! Tables reads and writes by time and address, with a resolution that becomes coarser instead of a
//! table that grows.

use std::ops::Range;

use iodyno_model::{TraceCourse, TraceSlot};

use crate::{Io, Operation};

const SLOTS: u64 = 128;
const ZONES: u64 = 64;

/// Counts by time slot and address zone.
#[derive(Debug, Clone)]
pub(crate) struct Heatmap(TraceCourse);

impl Default for Heatmap {
    fn default() -> Self {
        Self::with_zones(1 << 20)
    }
}

impl Heatmap {
    /// Makes a table whose zones have at least this many bytes, a power of two.
    pub(crate) fn with_zones(zone_bytes: u64) -> Self {
        Self(TraceCourse { slot_ns: 1_000_000, zone_bytes, ..TraceCourse::default() })
    }

    pub(crate) fn count(&mut self, io: &Io) {
        self.add(io.at_ns, io.operation, io.offset..io.end(), 1, io.length.into());
    }

    /// Counts I/Os that begin at the start of `range` (bytes) and end within it.
    pub(crate) fn add(
        &mut self,
        at_ns: u64,
        operation: Operation,
        range: Range<u64>,
        ios: u64,
        bytes: u64,
    ) {
        let heatmap = &mut self.0;
        if !matches!(operation, Operation::Read | Operation::Write) {
            return;
        }
        while at_ns / heatmap.slot_ns >= SLOTS {
            heatmap.slot_ns *= 2;
            heatmap.slots = heatmap.slots.chunks(2).map(sum).collect();
        }
        while range.start / heatmap.zone_bytes >= ZONES {
            heatmap.zone_bytes *= 2;
            for zones in heatmap.slots.iter_mut().flat_map(|one| [&mut one.reads, &mut one.writes])
            {
                *zones = zones.chunks(2).map(|two| two.iter().sum()).collect();
            }
        }
        heatmap.end_bytes = heatmap.end_bytes.max(range.end);
        let at = |value: u64, step: u64| usize::try_from(value / step).unwrap_or_default();
        let slot = at(at_ns, heatmap.slot_ns);
        if heatmap.slots.len() <= slot {
            heatmap.slots.resize(slot + 1, TraceSlot::default());
        }
        let slot = &mut heatmap.slots[slot];
        let (total, zones) = match operation {
            Operation::Read => (&mut slot.read_bytes, &mut slot.reads),
            _ => (&mut slot.write_bytes, &mut slot.writes),
        };
        *total += bytes;
        let zone = at(range.start, heatmap.zone_bytes);
        if zones.len() <= zone {
            zones.resize(zone + 1, 0);
        }
        zones[zone] += ios;
    }

    /// Returns the table; `None` if there was no read or write.
    pub(crate) fn table(&self) -> Option<TraceCourse> {
        (!self.0.slots.is_empty()).then(|| self.0.clone())
    }
}

fn sum(slots: &[TraceSlot]) -> TraceSlot {
    let mut all = TraceSlot::default();
    for slot in slots {
        all.read_bytes += slot.read_bytes;
        all.write_bytes += slot.write_bytes;
        for (to, from) in [(&mut all.reads, &slot.reads), (&mut all.writes, &slot.writes)] {
            to.resize(to.len().max(from.len()), 0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarser_table_keeps_all_counts() {
        let mut heatmap = Heatmap::default();
        for n in 0..10_000_u64 {
            let operation = if n % 4 == 0 { Operation::Write } else { Operation::Read };
            let offset = n % 100 * (1 << 30);
            heatmap.count(&Io {
                at_ns: n * 1_000_000,
                operation,
                offset,
                length: 512,
                ..Io::default()
            });
        }
        heatmap.count(&Io { operation: Operation::Flush, ..Io::default() });
        let heatmap = heatmap.table().unwrap();
        assert_eq!((heatmap.slot_ns, heatmap.zone_bytes), (128_000_000, 2 << 30));
        assert_eq!(heatmap.end_bytes, 99 * (1 << 30) + 512);
        assert_eq!((heatmap.slots.len(), heatmap.slots[0].reads.len()), (79, 50));
        let sum = |of: fn(&TraceSlot) -> u64| heatmap.slots.iter().map(of).sum::<u64>();
        assert_eq!(sum(|slot| slot.reads.iter().sum()), 7500);
        assert_eq!(sum(|slot| slot.writes.iter().sum()), 2500);
        assert_eq!(sum(|slot| slot.write_bytes), 2500 * 512);
    }
}
