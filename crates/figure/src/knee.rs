//! Finds the knee of a curve.

/// Minimum number of points that show a shape.
const FEWEST: usize = 4;

/// Minimum height of a knee above the chord, as a share of the curve's height; less is taken for a
/// straight line with noise.
const LEAST: f64 = 0.1;

/// Returns the index of the knee of a rising, flattening curve, (x, y) by ascending x: the point
/// highest above the chord from its first to its last point (Satopaa, Albrecht, Irwin and Raghavan,
/// "Finding a 'Kneedle' in a Haystack", ICDCS workshops 2011, without its smoothing). `None` if the
/// curve is straight, falls, or has too few points.
pub(crate) fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let least = points.iter().map(|(_, y)| *y).fold(f64::MAX, f64::min);
    let greatest = points.iter().map(|(_, y)| *y).fold(f64::MIN, f64::max);
    let (width, height) = (last.0 - first.0, greatest - least);
    let is_usable = width > 0.0 && last.1 > first.1 && (width + height).is_finite();
    if points.len() < FEWEST || !is_usable {
        return None;
    }
    let slope = (last.1 - first.1) / width;
    let above = |(x, y): &(f64, f64)| (y - first.1 - slope * (x - first.0)) / height;
    let heights: Vec<f64> = points.iter().map(above).collect();
    let inner = 1..points.len() - 1;
    let highest = inner.max_by(|a, b| heights[*a].total_cmp(&heights[*b]))?;
    (heights[highest] >= LEAST).then_some(highest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::knee;

    fn depths(rate: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..9).map(|n| f64::from(1 << n)).map(|depth| (depth, rate(depth))).collect()
    }

    #[test]
    fn a_saturating_drive_has_its_knee_at_saturation() {
        // 100 us for each I/O until 1.6 M IOPS are reached: at depth 16 of 1, 2, … 256.
        let points = depths(|depth| (depth * 1e5).min(1.6e6));
        assert_eq!(knee(&points), Some(4));
    }

    #[test]
    fn a_smooth_curve_has_its_knee_where_the_slope_equals_the_chord() {
        // y = x / (x + 8) from 1 to 256: the slope 8 / (x + 8)^2 equals the chord's at 40.7.
        let points: Vec<(f64, f64)> =
            (1..=256).map(|n| (f64::from(n), f64::from(n) / f64::from(n + 8))).collect();
        let at = points[knee(&points).unwrap()].0;
        assert!((40.0..=42.0).contains(&at), "{at}");
    }

    #[test]
    fn a_straight_curve_has_no_knee() {
        assert_eq!(knee(&depths(|depth| 3.0 * depth)), None);
        assert_eq!(knee(&depths(|_| 7.0)), None);
        assert_eq!(knee(&depths(|depth| -depth)), None);
        assert_eq!(knee(&[(1.0, 1.0), (2.0, 5.0), (3.0, 5.0)]), None);
        assert_eq!(knee(&[]), None);
    }

    proptest! {
        #[test]
        fn a_knee_is_an_inner_point_of_any_curve(ys in prop::collection::vec(any::<f64>(), 0..12)) {
            let points: Vec<(f64, f64)> = ys.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            if let Some(n) = knee(&points) {
                prop_assert!(n > 0 && n + 1 < points.len());
            }
        }
    }
}
