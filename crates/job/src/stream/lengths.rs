//! Draws the length of each request: fio's `get_next_buflen` (io_u.c).

use super::rng::Rng;
use crate::BlockSize;

/// Draws before falling back to the smallest block: fio draws until one fits, possibly for ever.
const DRAWS: u32 = 1000;

/// Lengths of the requests of a direction, bytes.
#[derive(Debug, Clone)]
pub(super) enum Lengths {
    Fixed(u64),
    Range { low: u64, high: u64, unaligned: bool },
    Split { low: u64, high: u64, unaligned: bool, sizes: Vec<(u64, f64)> },
}

impl Lengths {
    pub(super) fn new(bs: &BlockSize, unaligned: bool) -> Self {
        let (low, high) = (bs.smallest(), bs.largest());
        match bs {
            _ if low == high => Self::Fixed(low),
            BlockSize::Split(sizes) => {
                let mut below = 0.0;
                let sizes = sizes.iter().filter(|(_, percent)| *percent > 0.0);
                let sizes = sizes.map(|(size, percent)| {
                    below += percent / 100.0;
                    (*size, below)
                });
                Self::Split { low, high, unaligned, sizes: sizes.collect() }
            }
            _ => Self::Range { low, high, unaligned },
        }
    }

    /// The next length; `None` if not even the smallest fits. A fixed length is not checked.
    pub(super) fn draw(&self, rng: &mut Rng, fits: impl Fn(u64) -> bool) -> Option<u64> {
        let (low, high, unaligned) = match self {
            Self::Fixed(size) => return Some(*size),
            Self::Range { low, high, unaligned } | Self::Split { low, high, unaligned, .. } => {
                (*low, *high, *unaligned)
            }
        };
        if !fits(low) {
            return None;
        }
        for _ in 0..DRAWS {
            let part = rng.unit();
            let size = match self {
                Self::Split { sizes, .. } => {
                    // The first drawn size that fits, or else the last one, subject to the check.
                    let due = sizes.iter().find(|(size, below)| part < *below && fits(*size));
                    due.or(sizes.last()).map_or(low, |(size, _)| *size)
                }
                _ => low + (high as f64 * part) as u64,
            };
            let size = if unaligned { size } else { size - size % low }.min(high);
            if size > 0 && fits(size) {
                return Some(size);
            }
        }
        Some(low)
    }
}
