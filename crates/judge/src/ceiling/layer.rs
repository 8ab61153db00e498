//! Expected rate of a layer on several drives, as a multiple of one of them.

use iodyno_model::{BlockKind, MdArray};

use crate::limiter::Case;
use crate::measured::is_random;
use crate::place::{bottom_devices, target_devices};

/// Multiples of the slowest member's rate alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gain {
    /// Expected multiple, with parity reads and writes counted in full.
    pub(crate) expected: f64,
    /// Upper bound.
    pub(crate) most: f64,
}

impl Gain {
    const fn exactly(times: f64) -> Self {
        Self { expected: times, most: times }
    }
}

/// Returns the expected combined gain of the targets of `case`; `None` if the devices below, or the
/// effect of the layer on the I/O, are not known.
pub(crate) fn gain(case: &Case<'_>) -> Option<Gain> {
    let Some(layer) = &case.layer else {
        let known = !bottom_devices(case.host()?, case.of_run()).is_empty();
        return known.then(|| Gain::exactly(case.drive_count as f64));
    };
    // Of several targets only the first one's layer is known.
    if target_devices(case.of_run()).len() > 1 {
        return None;
    }
    let load = match (case.reads(), is_random(case.of_run())) {
        (true, random) => Load::Read { random },
        (false, _) => Load::Write { part: is_part_of_stripe(case) },
    };
    of_layer(layer, members(case)?, load)
}

/// Layers whose effect on the I/O is known.
pub const LAYERS: [&str; 7] = ["raid0", "raid1", "raid10", "raid5", "raid6", "stripe", "striped"];

/// I/O that a layer has to do.
#[derive(Debug, Clone, Copy)]
enum Load {
    Read {
        random: bool,
    },
    /// `part`: less than a full stripe.
    Write {
        part: bool,
    },
}

/// Number of devices with data of the layer; `None` if one of them is itself made of several:
/// nested layers are not modelled.
fn members(case: &Case<'_>) -> Option<usize> {
    let Some(block) = case.layer_block() else { return Some(case.drive_count) };
    if block.stands_on.len() > case.drive_count {
        return None;
    }
    let host = case.host()?;
    if block.stands_on.iter().any(|below| host.bottom_of(below).len() != 1) {
        return None;
    }
    // Spares hold no data, and missing members do no work.
    let working = |array: &MdArray| array.members.iter().filter(|one| one.slot.is_some()).count();
    match &block.kind {
        BlockKind::Md(array) if !array.members.is_empty() => Some(working(array)),
        _ => Some(case.drive_count),
    }
}

fn of_layer(layer: &str, count: usize, load: Load) -> Option<Gain> {
    let count = count as f64;
    // Each write writes its block and the parity, and reads both before, which doubles the I/Os
    // (Chen and others, "RAID: High-Performance, Reliable Secondary Storage", ACM Computing Surveys
    // 26, 1994).
    let read_modify_write =
        |written: f64| Gain { expected: count / (2.0 * written), most: count / written };
    // A mirror reads a sequence from one copy as long as that keeps up (md(4)).
    let copies = |least: f64| Gain { expected: least, most: count };
    Some(match (layer, load) {
        ("raid0" | "stripe" | "striped", _) => Gain::exactly(count),
        ("raid1", Load::Read { random: false }) => copies(1.0),
        ("raid10", Load::Read { random: false }) => copies(count / 2.0),
        ("raid1" | "raid10" | "raid5" | "raid6", Load::Read { .. }) => Gain::exactly(count),
        ("raid1", Load::Write { .. }) => Gain::exactly(1.0),
        ("raid10", Load::Write { .. }) => Gain::exactly(count / 2.0),
        ("raid5", Load::Write { part: true }) => read_modify_write(2.0),
        ("raid6", Load::Write { part: true }) => read_modify_write(3.0),
        ("raid5", Load::Write { part: false }) => Gain::exactly(count - 1.0),
        ("raid6", Load::Write { part: false }) => Gain::exactly(count - 2.0),
        _ => return None,
    })
}

/// Returns true for random writes smaller than a stripe; sequential writes fill stripes.
fn is_part_of_stripe(case: &Case<'_>) -> bool {
    let of = case.of_run();
    let stripe = stripe_bytes(case);
    is_random(case.of_run()) && of.workload.bs.zip(stripe).is_none_or(|(bs, stripe)| bs < stripe)
}

/// Data in a full stripe of an md array with parity, bytes.
fn stripe_bytes(case: &Case<'_>) -> Option<u64> {
    let BlockKind::Md(array) = &case.layer_block()?.kind else { return None };
    let parity = parity(&array.level)?;
    array.chunk_bytes?.checked_mul((members(case)? as u64).checked_sub(parity)?)
}

/// Parity members per stripe; `None`: the level has none.
fn parity(level: &str) -> Option<u64> {
    match level {
        "raid4" | "raid5" => Some(1),
        "raid6" => Some(2),
        _ => None,
    }
}

/// Cost of a small write to an array with parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SmallWrites {
    /// Reads and writes of the members per write.
    pub(crate) ios: u64,
    /// A write of this size, aligned to it, needs no reads, bytes.
    pub(crate) stripe_bytes: Option<u64>,
}

/// Returns the cost of the writes of `case` if they are smaller than a stripe.
pub(crate) fn small_writes(case: &Case<'_>) -> Option<SmallWrites> {
    let parity = parity(case.layer.as_deref()?)?;
    // Block and parity, each read and written.
    (!case.reads() && is_part_of_stripe(case))
        .then(|| SmallWrites { ios: 2 * (1 + parity), stripe_bytes: stripe_bytes(case) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_and_copies_cost() {
        let gain = |layer, load| of_layer(layer, 4, load);
        let (random, in_sequence) = (Load::Read { random: true }, Load::Read { random: false });
        let (part, full) = (Load::Write { part: true }, Load::Write { part: false });
        for (layer, written) in [("raid0", 4.0), ("raid1", 1.0), ("raid10", 2.0)] {
            assert_eq!(gain(layer, part), Some(Gain::exactly(written)), "{layer}");
            assert_eq!(gain(layer, random), Some(Gain::exactly(4.0)), "{layer}");
        }
        assert_eq!(gain("raid1", in_sequence), Some(Gain { expected: 1.0, most: 4.0 }));
        assert_eq!(gain("raid10", in_sequence), Some(Gain { expected: 2.0, most: 4.0 }));
        assert_eq!(gain("raid0", in_sequence), Some(Gain::exactly(4.0)));
        assert_eq!(gain("raid5", full), Some(Gain::exactly(3.0)));
        assert_eq!(gain("raid6", full), Some(Gain::exactly(2.0)));
        assert_eq!(gain("raid5", part), Some(Gain { expected: 1.0, most: 2.0 }));
        let small = gain("raid6", part).unwrap();
        assert!((small.expected - 4.0 / 6.0).abs() < 1e-9 && (small.most - 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(gain("linear", random), None);
    }
}
