//! What a layer on several drives should give, as a multiple of one of them.

use iodyno_model::{BlockKind, MdArray};

use crate::limiter::Case;
use crate::place::bottoms;

/// Multiples of what the slowest member gives alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gain {
    /// What is expected: parity that is read and written again counts in full.
    pub(crate) expected: f64,
    /// What is not to be exceeded.
    pub(crate) most: f64,
}

impl Gain {
    const fn exactly(times: f64) -> Self {
        Self { expected: times, most: times }
    }
}

/// What the targets of `case` should give together; `None` where it is not
/// known what they stand on, or what their layer does with the I/O.
pub(crate) fn gain(case: &Case<'_>) -> Option<Gain> {
    let Some(layer) = &case.layer else {
        let known = !bottoms(case.host()?, case.of_run()).is_empty();
        return known.then(|| Gain::exactly(case.drive_count as f64));
    };
    let load = match (case.reads(), is_random(case)) {
        (true, random) => Load::Read { random },
        (false, _) => Load::Write { part: is_part_of_stripe(case) },
    };
    of_layer(layer, members(case)?, load)
}

/// The layers of which it is known what they make of their members.
pub const LAYERS: [&str; 7] = ["raid0", "raid1", "raid10", "raid5", "raid6", "stripe", "striped"];

/// What a layer is asked for.
#[derive(Debug, Clone, Copy)]
enum Load {
    Read {
        random: bool,
    },
    /// `part`: of less than a full stripe.
    Write {
        part: bool,
    },
}

/// How many devices the data of its layer lie on; `None` where one of those is
/// itself made of several: what such layers do together is not worked out.
fn members(case: &Case<'_>) -> Option<usize> {
    let Some(block) = case.layer_block() else { return Some(case.drive_count) };
    if block.stands_on.len() > case.drive_count {
        return None;
    }
    let host = case.host()?;
    if block.stands_on.iter().any(|below| host.bottom_of(below).len() != 1) {
        return None;
    }
    // Spares hold nothing, and missing members do nothing.
    let working = |array: &MdArray| array.members.iter().filter(|one| one.slot.is_some()).count();
    match &block.kind {
        BlockKind::Md(array) if !array.members.is_empty() => Some(working(array)),
        _ => Some(case.drive_count),
    }
}

fn of_layer(layer: &str, count: usize, load: Load) -> Option<Gain> {
    let count = count as f64;
    // Each writes its block and the parity; before, it reads them, which makes
    // twice as many I/Os (Chen and others, "RAID: High-Performance, Reliable
    // Secondary Storage", ACM Computing Surveys 26, 1994).
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

fn is_random(case: &Case<'_>) -> bool {
    case.of_run().workload.rw.as_ref().is_some_and(|rw| rw.starts_with("rand"))
}

/// Writes at random of less than a stripe; in sequence they fill stripes.
fn is_part_of_stripe(case: &Case<'_>) -> bool {
    let of = case.of_run();
    let stripe = stripe_bytes(case);
    is_random(case) && of.workload.bs.zip(stripe).is_none_or(|(bs, stripe)| bs < stripe)
}

/// Data in a full stripe of an md array with parity, bytes.
fn stripe_bytes(case: &Case<'_>) -> Option<u64> {
    let BlockKind::Md(array) = &case.layer_block()?.kind else { return None };
    let parity = parity(&array.level)?;
    array.chunk_bytes?.checked_mul((members(case)? as u64).checked_sub(parity)?)
}

/// Members' worth of parity in each stripe; `None`: the level has none.
fn parity(level: &str) -> Option<u64> {
    match level {
        "raid4" | "raid5" => Some(1),
        "raid6" => Some(2),
        _ => None,
    }
}

/// What a small write costs an array with parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SmallWrites {
    /// Reads and writes that the members do for each.
    pub(crate) ios: u64,
    /// From this size on, and aligned to it, a write needs no reads, bytes.
    pub(crate) stripe_bytes: Option<u64>,
}

/// What the writes of `case` cost, where they are of less than a stripe.
pub(crate) fn small_writes(case: &Case<'_>) -> Option<SmallWrites> {
    let parity = parity(case.layer.as_deref()?)?;
    // The block and the parity, each read and written.
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
