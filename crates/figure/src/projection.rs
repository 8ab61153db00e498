//! Projects bars on a table, seen from above one corner: a parallel projection into the unit
//! square, y upwards.

/// Position in the picture, 0..1 each.
pub(crate) type Place = (f64, f64);

/// Gap between two bars, as a share of a cell's width.
const GAP: f64 = 0.16;

/// Candidate shares of the picture's height for the floor; the highest bar takes the rest. The
/// first that hides no value is used, so that bars are as high as possible.
const FLOORS: [f64; 6] = [0.5, 0.57, 0.64, 0.71, 0.78, 0.85];

/// Table of bars. Columns run along the left edge of the floor, rows along the right one; `flip`
/// reverses an axis, so that its last value is in front.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Projection {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) flip_columns: bool,
    pub(crate) flip_rows: bool,
    /// Value that reaches the upper edge of the picture.
    pub(crate) greatest: f64,
    floor: f64,
}

/// Visible faces of a bar, each by its corners, and the middle of its top.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tower {
    pub(crate) left: [Place; 4],
    pub(crate) right: [Place; 4],
    pub(crate) top: [Place; 4],
    pub(crate) middle: Place,
}

impl Tower {
    /// True if it covers part of the text on the top of a bar behind it: text half as wide as the
    /// top.
    fn covers(&self, behind: &Self) -> bool {
        let half = (self.right[1].0 - self.left[0].0) / 2.0;
        [-0.5, 0.0, 0.5].into_iter().any(|part| {
            let (x, y) = (behind.middle.0 + part * half, behind.middle.1);
            let aside = (x - self.middle.0).abs() / half;
            // The outline rises to the far corner of the top.
            aside < 1.0 - 1e-9
                && y < self.middle.1 + (self.top[2].1 - self.middle.1) * (1.0 - aside)
        })
    }
}

impl Projection {
    /// Chooses the projection with low bars in front of high ones, as far as turning the table
    /// allows; `bars` are (column, row, value).
    pub(crate) fn of(columns: usize, rows: usize, bars: &[(usize, usize, f64)]) -> Self {
        // An axis that rises with its index has its first value in front.
        let rises = |index: &dyn Fn(&(usize, usize, f64)) -> usize, count: usize| {
            let weight = |bar: &(usize, usize, f64)| (2 * index(bar)) as f64 + 1.0 - count as f64;
            bars.iter().map(|bar| bar.2 * weight(bar)).sum::<f64>() > 0.0
        };
        let lying = |floor: f64| Self {
            columns,
            rows,
            flip_columns: !rises(&|bar| bar.0, columns),
            flip_rows: !rises(&|bar| bar.1, rows),
            greatest: bars.iter().map(|bar| bar.2).fold(0.0, f64::max),
            floor,
        };
        let flattest = lying(FLOORS[FLOORS.len() - 1]);
        let mut all = FLOORS.into_iter().map(lying);
        all.find(|seen| seen.hidden(bars).next().is_none()).unwrap_or(flattest)
    }

    /// Indices of the `bars` whose printed value is hidden by another bar.
    pub(crate) fn hidden(&self, bars: &[(usize, usize, f64)]) -> impl Iterator<Item = usize> {
        let seen = *self;
        let towers: Vec<(f64, Tower)> =
            bars.iter().map(|(c, r, v)| (seen.distance(*c, *r), seen.tower(*c, *r, *v))).collect();
        (0..towers.len()).filter(move |n| {
            let (distance, tower) = &towers[*n];
            towers.iter().any(|(nearer, other)| nearer < distance && other.covers(tower))
        })
    }

    /// Distance of a column and a row from the nearest corner, in cells.
    fn behind(&self, column: f64, row: f64) -> (f64, f64) {
        let turned = |at: f64, count: usize, flip: bool| if flip { count as f64 - at } else { at };
        (turned(column, self.columns, self.flip_columns), turned(row, self.rows, self.flip_rows))
    }

    /// Position of a point at a distance from the nearest corner: columns go to the left, rows to
    /// the right, both to the back.
    fn place(&self, (column, row): (f64, f64), value: f64) -> Place {
        let size = (self.columns + self.rows) as f64;
        let height = if self.greatest > 0.0 { value / self.greatest } else { 0.0 };
        let across = (self.columns as f64 - column + row) / size;
        (across, self.floor * (column + row) / size + (1.0 - self.floor) * height)
    }

    /// Position of a point on or above the floor, by column and row.
    pub(crate) fn at(&self, column: f64, row: f64, value: f64) -> Place {
        self.place(self.behind(column, row), value)
    }

    /// Position of a point by its distance from the nearest corner along columns and rows, 0..1,
    /// for edges and their labels.
    pub(crate) fn edge(&self, column: f64, row: f64, value: f64) -> Place {
        self.place((column * self.columns as f64, row * self.rows as f64), value)
    }

    /// Distance of a bar from the nearest corner: the farthest is drawn first.
    pub(crate) fn distance(&self, column: usize, row: usize) -> f64 {
        let (a, b) = self.behind(column as f64 + 0.5, row as f64 + 0.5);
        a + b
    }

    /// Faces of a bar. `value` is at least 0.
    pub(crate) fn tower(&self, column: usize, row: usize, value: f64) -> Tower {
        let (a, b) = self.behind(column as f64 + 0.5, row as f64 + 0.5);
        let half = 0.5 - GAP / 2.0;
        let corner = |right: f64, up: f64, z: f64| self.place((a + right * half, b + up * half), z);
        Tower {
            // The visible faces are those nearest to the corner.
            left: [
                corner(1.0, -1.0, 0.0),
                corner(-1.0, -1.0, 0.0),
                corner(-1.0, -1.0, value),
                corner(1.0, -1.0, value),
            ],
            right: [
                corner(-1.0, -1.0, 0.0),
                corner(-1.0, 1.0, 0.0),
                corner(-1.0, 1.0, value),
                corner(-1.0, -1.0, value),
            ],
            top: [
                corner(-1.0, -1.0, value),
                corner(-1.0, 1.0, value),
                corner(1.0, 1.0, value),
                corner(1.0, -1.0, value),
            ],
            middle: self.place((a, b), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 7 x 7 that rises along both axes.
    fn rising() -> Vec<(usize, usize, f64)> {
        (0..49).map(|n| (n % 7, n / 7, (n % 7 + 1) as f64 * (n / 7 + 1) as f64)).collect()
    }

    #[test]
    fn low_bars_are_in_front() {
        let bars = rising();
        let seen = Projection::of(7, 7, &bars);
        assert!(seen.distance(0, 0) < seen.distance(6, 6));
        let falling: Vec<_> = bars.iter().map(|(c, r, v)| (*c, *r, 50.0 - v)).collect();
        let seen = Projection::of(7, 7, &falling);
        assert!(seen.distance(0, 0) > seen.distance(6, 6));
    }

    #[test]
    fn later_bars_are_in_front_and_hide_no_label_of_a_rising_table() {
        let mut bars = rising();
        let seen = Projection::of(7, 7, &bars);
        bars.sort_by(|a, b| seen.distance(b.0, b.1).total_cmp(&seen.distance(a.0, a.1)));
        let towers: Vec<Tower> = bars.iter().map(|(c, r, v)| seen.tower(*c, *r, *v)).collect();
        for (n, tower) in towers.iter().enumerate() {
            for later in &towers[n + 1..] {
                // The foot of a later bar is not higher in the picture.
                assert!(later.left[1].1 <= tower.left[1].1 + 1e-9);
                assert!(!later.covers(tower), "{tower:?} is behind {later:?}");
            }
        }
    }

    #[test]
    fn a_bar_behind_a_higher_one_is_hidden() {
        let bars = [(0, 0, 1.0), (1, 0, 100.0), (0, 1, 100.0), (1, 1, 1.0), (2, 2, 1000.0)];
        let seen = Projection::of(3, 3, &bars);
        let hidden: Vec<usize> = seen.hidden(&bars).collect();
        assert!(!hidden.contains(&4) && !hidden.contains(&0), "{hidden:?}");
        let wall = [(0, 0, 100.0), (1, 1, 1.0), (0, 1, 100.0), (1, 0, 100.0)];
        let seen =
            Projection { flip_columns: false, flip_rows: false, ..Projection::of(2, 2, &wall) };
        assert_eq!(seen.hidden(&wall).collect::<Vec<_>>(), [1]);
    }

    proptest! {
        #[test]
        fn everything_lies_in_the_picture_and_tops_rise_with_values(
            columns in 1usize..12, rows in 1usize..12,
            values in prop::collection::vec(0.0f64..1e9, 144)) {
            let bars: Vec<_> = (0..columns * rows)
                .map(|n| (n % columns, n / columns, values[n])).collect();
            let seen = Projection::of(columns, rows, &bars);
            for (column, row, value) in &bars {
                let tower = seen.tower(*column, *row, *value);
                for (x, y) in tower.left.iter().chain(&tower.right).chain(&tower.top) {
                    prop_assert!((-1e-9..=1.0 + 1e-9).contains(x) && (-1e-9..=1.0 + 1e-9).contains(y));
                }
                let higher = seen.tower(*column, *row, value + 1.0);
                prop_assert!(seen.greatest == 0.0 || higher.middle.1 > tower.middle.1);
            }
        }
    }
}
