//! Reads little-endian fields of NVMe pages at the specifications' offsets.

/// A page long enough for all fields that are read.
#[derive(Clone, Copy)]
pub(super) struct Page<'a>(&'a [u8]);

impl<'a> Page<'a> {
    /// Wraps a page; `None` if it is shorter than `least_bytes`.
    pub(super) fn of(bytes: &'a [u8], least_bytes: usize) -> Option<Self> {
        (bytes.len() >= least_bytes).then_some(Self(bytes))
    }

    /// Returns `N` bytes from offset `at`.
    pub(super) fn bytes<const N: usize>(self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[at..at + N]);
        field
    }

    pub(super) fn u8(self, at: usize) -> u8 {
        self.0[at]
    }

    pub(super) fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.bytes(at))
    }

    pub(super) fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    pub(super) fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }

    pub(super) fn u128(self, at: usize) -> u128 {
        u128::from_le_bytes(self.bytes(at))
    }

    /// Entries of a table from offset `at`, of `size` bytes each.
    pub(super) fn table(self, at: usize, size: usize) -> impl Iterator<Item = Self> {
        self.0[at..].chunks_exact(size).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use crate::nvme::*;

    /// Each parser with the length that it needs: it accepts that much, and no less.
    #[test]
    fn the_shortest_pages_are_read_in_full() {
        type Reader = (usize, fn(&[u8]) -> bool);
        let readers: [Reader; 7] = [
            (3072, |page| parse_identify_controller(page).is_some()),
            (384, |page| parse_identify_namespace(page).is_some()),
            (525, |page| parse_purge_support(page).is_some()),
            (31, |page| parse_format_in_use(page).is_some()),
            (31, |page| namespace_is_shared(page).is_some()),
            (232, |page| parse_health_log(page).is_some()),
            (20, |page| parse_sanitize_status(page).is_some()),
        ];
        for (least, is_read) in readers {
            // Status 1 is a completed sanitize; a namespace of 0 blocks would be rejected.
            assert!(is_read(&vec![1; least]), "{least} bytes");
            assert!(!is_read(&vec![1; least - 1]), "{least} bytes less one");
        }
    }
}
