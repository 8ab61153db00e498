//! What to read next.

use iodyno_job::Offsets;

use crate::flights::Flights;
use crate::io::{BATCH, Descriptor};

/// Fills batches of descriptors, with one dispatch on the pattern for each.
#[derive(Debug)]
pub(crate) struct Issuer {
    order: Offsets,
    length: u32,
    offsets: [u64; BATCH],
    batch: [Descriptor; BATCH],
}

impl Issuer {
    /// Blocks of `length` bytes in the order of `order`.
    pub(crate) fn new(order: Offsets, length: u32) -> Self {
        let batch = [Descriptor { length, ..Descriptor::default() }; BATCH];
        Self { order, length, offsets: [0; BATCH], batch }
    }

    /// The next reads: as many as slots are free, [`BATCH`] at most.
    #[inline]
    pub(crate) fn fill(&mut self, flights: &mut Flights) -> &[Descriptor] {
        let slots = flights.take(BATCH);
        let (batch, offsets) = (&mut self.batch[..slots.len()], &mut self.offsets[..slots.len()]);
        self.order.fill(offsets);
        for ((descriptor, &mut offset), slot) in batch.iter_mut().zip(offsets).zip(slots) {
            *descriptor = Descriptor { offset, length: self.length, slot };
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use iodyno_job::Extent;

    use super::*;

    #[test]
    fn batches_take_the_free_slots_and_follow_the_order() {
        let extents = [Extent { offset: 4096, length: 40 * 512 }];
        let order = Offsets::new(false, 512, &extents, 0, 0, 1).unwrap();
        let (mut issuer, mut flights) = (Issuer::new(order, 512), Flights::new(33));
        let first = issuer.fill(&mut flights).to_vec();
        assert_eq!(first.len(), BATCH);
        let second = issuer.fill(&mut flights).to_vec();
        assert_eq!(second.len(), 1);
        assert!(flights.is_full() && issuer.fill(&mut flights).is_empty());
        let all: Vec<_> = first.iter().chain(&second).collect();
        assert!(all.iter().enumerate().all(|(n, d)| d.offset == 4096 + 512 * n as u64));
        let slots: std::collections::HashSet<_> = all.iter().map(|d| d.slot).collect();
        assert_eq!(slots.len(), 33);
    }
}
