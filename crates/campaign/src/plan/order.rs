//! Order in which the cells of a grid are measured.

use iodyno_job::parse_size;

/// An option with its values.
pub(super) struct Axis {
    pub(super) option: String,
    pub(super) values: Vec<String>,
    /// Refinement level of each value: 0 for both ends, then by halves. All 0 for values without an
    /// order.
    levels: Vec<u32>,
}

impl Axis {
    pub(super) fn new(option: &str, values: Vec<String>) -> Self {
        let is_ordered = values.iter().all(|value| parse_size(value).is_ok());
        let levels = if is_ordered { levels(values.len()) } else { vec![0; values.len()] };
        Self { option: option.to_owned(), values, levels }
    }
}

/// Levels of 0..n: 0 for both ends, one more for the middle between two neighbours.
fn levels(n: usize) -> Vec<u32> {
    let mut levels = vec![0; n];
    let mut gaps = Vec::new();
    if n > 2 {
        gaps.push((0, n - 1, 1));
    }
    while let Some((low, high, level)) = gaps.pop() {
        let middle = low + (high - low) / 2;
        if middle == low {
            continue;
        }
        levels[middle] = level;
        gaps.push((low, middle, level + 1));
        gaps.push((middle, high, level + 1));
    }
    levels
}

/// All combinations; the last axis varies fastest.
pub(super) fn cells(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |cells, axis| {
        let longer = |cell: Vec<usize>| {
            (0..axis.values.len()).map(move |at| cell.iter().copied().chain([at]).collect())
        };
        cells.into_iter().flat_map(longer).collect()
    })
}

/// Sort key of a cell: the highest level of its coordinates, then their sum.
pub(super) fn refinement(axes: &[Axis], cell: &[usize]) -> (u32, u32) {
    let levels = || axes.iter().zip(cell).map(|(axis, at)| axis.levels[*at]);
    (levels().max().unwrap_or(0), levels().sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn levels_refine_by_halves() {
        assert_eq!(levels(7), [0, 2, 3, 1, 2, 3, 0]);
        assert_eq!((levels(1), levels(2), levels(3)), (vec![0], vec![0, 0], vec![0, 1, 0]));
    }

    #[test]
    fn values_without_order_are_not_refined() {
        let values = |values: &[&str]| values.iter().map(|value| value.to_string()).collect();
        let rw = Axis::new("rw", values(&["read", "write", "randread"]));
        assert_eq!(rw.levels, [0, 0, 0]);
        let bs = Axis::new("bs", values(&["4k", "64k", "1m"]));
        assert_eq!(bs.levels, [0, 1, 0]);
    }

    proptest! {
        #[test]
        fn every_cell_comes_once(lengths in prop::collection::vec(1_usize..6, 0..4)) {
            let axis = |n: &usize| Axis::new("iodepth", (1..=*n).map(|v| v.to_string()).collect());
            let axes: Vec<Axis> = lengths.iter().map(axis).collect();
            let mut all = cells(&axes);
            prop_assert_eq!(all.len(), lengths.iter().product::<usize>());
            all.sort_by_key(|cell| refinement(&axes, cell));
            let corner = |cell: &Vec<usize>| {
                cell.iter().zip(&lengths).all(|(at, n)| *at == 0 || at + 1 == *n)
            };
            let corners = all.iter().filter(|cell| corner(cell)).count();
            prop_assert!(all[..corners].iter().all(corner));
            all.sort();
            all.dedup();
            prop_assert_eq!(all.len(), lengths.iter().product::<usize>());
        }
    }
}
