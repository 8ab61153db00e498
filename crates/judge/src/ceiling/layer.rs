//! What a layer on several drives should give, as a multiple of one of them.

use iodyno_model::BlockKind;

use crate::limiter::Case;
use crate::place::{bottoms, device_of};

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
    match &case.layer {
        Some(layer) => of_layer(layer, case.drive_count, case.reads(), is_part_of_stripe(case)),
        None if bottoms(case.host()?, case.of_run()).is_empty() => None,
        None => Some(Gain::exactly(case.drive_count as f64)),
    }
}

/// `part`: writes are of less than a full stripe.
fn of_layer(layer: &str, count: usize, reads: bool, part: bool) -> Option<Gain> {
    let count = count as f64;
    // Each writes its block and the parity; before, it reads them, which makes
    // twice as many I/Os (Chen and others, "RAID: High-Performance, Reliable
    // Secondary Storage", ACM Computing Surveys 26, 1994).
    let read_modify_write =
        |written: f64| Gain { expected: count / (2.0 * written), most: count / written };
    Some(match (layer, reads) {
        ("raid0" | "stripe" | "striped", _) => Gain::exactly(count),
        ("raid1" | "raid10" | "raid5" | "raid6", true) => Gain::exactly(count),
        ("raid1", false) => Gain::exactly(1.0),
        ("raid10", false) => Gain::exactly(count / 2.0),
        ("raid5", false) if part => read_modify_write(2.0),
        ("raid6", false) if part => read_modify_write(3.0),
        ("raid5", false) => Gain::exactly(count - 1.0),
        ("raid6", false) => Gain::exactly(count - 2.0),
        _ => return None,
    })
}

/// Writes at random of less than a stripe; in sequence they fill stripes.
fn is_part_of_stripe(case: &Case<'_>) -> bool {
    let of = case.of_run();
    let random = of.workload.rw.as_ref().is_some_and(|rw| rw.starts_with("rand"));
    random && of.workload.bs.zip(stripe_bytes(case)).is_none_or(|(bs, stripe)| bs < stripe)
}

/// Data in a full stripe of an md array with parity, bytes.
fn stripe_bytes(case: &Case<'_>) -> Option<u64> {
    let of = case.of_run();
    let block = case.host()?.block(device_of(of, of.targets.first()?))?;
    let BlockKind::Md(array) = &block.kind else { return None };
    let parity = if array.level == "raid6" { 2 } else { 1 };
    array.chunk_bytes?.checked_mul((case.drive_count as u64).checked_sub(parity)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_and_copies_cost() {
        let gain = |layer, reads, part| of_layer(layer, 4, reads, part);
        for (layer, written) in [("raid0", 4.0), ("raid1", 1.0), ("raid10", 2.0)] {
            assert_eq!(gain(layer, false, true), Some(Gain::exactly(written)), "{layer}");
            assert_eq!(gain(layer, true, true), Some(Gain::exactly(4.0)), "{layer}");
        }
        assert_eq!(gain("raid5", false, false), Some(Gain::exactly(3.0)));
        assert_eq!(gain("raid6", false, false), Some(Gain::exactly(2.0)));
        assert_eq!(gain("raid5", false, true), Some(Gain { expected: 1.0, most: 2.0 }));
        let part = gain("raid6", false, true).unwrap();
        assert!((part.expected - 4.0 / 6.0).abs() < 1e-9 && (part.most - 4.0 / 3.0).abs() < 1e-9);
        assert_eq!(gain("linear", true, false), None);
    }
}
