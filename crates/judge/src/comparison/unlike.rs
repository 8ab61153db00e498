//! Pairs two unlike workloads that the user asked to compare.

use iodyno_model::{Validity, WrittenState};

use super::difference::Reality;
use super::pairing::Group;
use super::sample::Sample;
use super::{Point, Row, point};

/// Rule that marks measurements of unwritten blocks; compared with one of written blocks, that is
/// the difference.
const EMPTY: &str = "blocks-not-written";

/// Pairs the only workloads of two sides if they are unlike, and returns both; also the same
/// workload if one side's blocks are known to be written and the other's unwritten. `None`: the
/// sides share a workload otherwise, or have several.
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

/// Selects the repetitions that count in such a pair: those that are invalid only for unwritten
/// blocks, too.
fn is_comparable(sample: &Sample<'_>) -> bool {
    let invalid = sample.reasons.iter().filter(|one| one.validity == Validity::Invalid);
    sample.failure().is_none() && invalid.into_iter().all(|one| one.rule == EMPTY)
}

/// Builds the row of a pair, without a test: the workloads are known to differ.
pub(super) fn row(two: &Group<'_>, [first, second]: &[Point; 2]) -> Row {
    let mut row = super::row(two, 2, is_comparable);
    row.point = first.clone();
    row.unlike = Some(second.clone());
    for of in row.figures.iter_mut().flat_map(|figure| figure.differences.iter_mut().flatten()) {
        of.p_value = None;
        of.reality = Reality::Unlike;
    }
    row
}
