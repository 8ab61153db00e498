//! Two workloads that were named to be held against each other, though they are not the same.

use iodyno_model::{Validity, WrittenState};

use super::difference::Reality;
use super::pairing::Group;
use super::sample::Sample;
use super::{Point, Row, point};

/// The rule that says of a measurement that its blocks hold nothing: beside one of blocks that do,
/// that is what differs.
const EMPTY: &str = "blocks-not-written";

/// Makes one group of two sides that have one workload each, of different kinds; both
/// sides' workloads. So are the same workload on blocks that are known to hold data and on
/// blocks that do not. `None`: the sides have something else in common, or several workloads.
pub(super) fn joined<'a>(
    shared: &mut Vec<Group<'a>>,
    alone: &mut Vec<Group<'a>>,
    sides: usize,
) -> Option<[Point; 2]> {
    match (sides, shared.as_slice(), alone.as_slice()) {
        (2, [], [one, two]) if of_side(one) != of_side(two) => {
            let mut two = alone.pop()?;
            let mut one = alone.pop()?;
            if of_side(&one) > of_side(&two) {
                std::mem::swap(&mut one, &mut two);
            }
            let both = [point(&one), point(&two)];
            one.samples.append(&mut two.samples);
            shared.push(one);
            Some(both)
        }
        (2, [same], []) => {
            let are = |side, is: fn(&Sample<'_>) -> bool| same.of_side(side).all(is);
            let differ =
                are(0, is_empty) && are(1, is_written) || are(0, is_written) && are(1, is_empty);
            differ.then(|| [point(same), point(same)])
        }
        _ => None,
    }
}

fn of_side(group: &Group<'_>) -> Option<usize> {
    group.samples.first().map(|sample| sample.side)
}

fn is_empty(sample: &Sample<'_>) -> bool {
    sample.reasons.iter().any(|one| one.validity == Validity::Invalid && one.rule == EMPTY)
}

fn is_written(sample: &Sample<'_>) -> bool {
    let written = &sample.first().conditions.written;
    !written.is_empty() && written.iter().all(|share| share.state == WrittenState::Written)
}

/// What counts beside another workload: also what is invalid for its empty blocks alone.
fn counts(sample: &Sample<'_>) -> bool {
    let invalid = sample.reasons.iter().filter(|one| one.validity == Validity::Invalid);
    sample.failure().is_none() && invalid.into_iter().all(|one| one.rule == EMPTY)
}

/// Both beside each other, without a test: that they differ is known.
pub(super) fn row(two: &Group<'_>, [first, second]: &[Point; 2]) -> Row {
    let mut row = super::row(two, 2, counts);
    row.point = first.clone();
    row.unlike = Some(second.clone());
    for of in row.figures.iter_mut().flat_map(|figure| figure.differences.iter_mut().flatten()) {
        of.p_value = None;
        of.reality = Reality::Unlike;
    }
    row
}
