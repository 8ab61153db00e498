//! Interpolates a surface between scattered points: a plane through the nearest ones, weighted by
//! distance (Cleveland and Devlin, "Locally weighted regression", JASA 1988).

/// Number of points for the plane.
const NEAREST: usize = 6;
/// Weight that keeps slopes at 0 if the points do not determine them.
const RIDGE: f64 = 0.01;

/// Returns the value at `at` of a surface known at `points`, in units of their usual distance,
/// within the range of the nearest ones. `None` without any point.
pub fn local_linear(points: &[((f64, f64), f64)], at: (f64, f64)) -> Option<f64> {
    let square = |(x, y): (f64, f64)| (x - at.0).powi(2) + (y - at.1).powi(2);
    let mut near: Vec<(f64, f64, f64, f64)> = points
        .iter()
        .map(|(place, value)| (square(*place), place.0 - at.0, place.1 - at.1, *value))
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let reach = near.get(NEAREST).or(near.last())?.0.sqrt() * 1.001 + 1e-9;
    near.truncate(NEAREST);
    let (mut sums, mut of_values, mut all) = ([[0.0; 3]; 3], [0.0; 3], 0.0);
    for (square, x, y, value) in &near {
        let weight = (1.0 - (square.sqrt() / reach).powi(3)).max(0.0).powi(3) / (0.3 + square);
        let terms = [1.0, *x, *y];
        for (row, a) in terms.iter().enumerate() {
            for (column, b) in terms.iter().enumerate() {
                sums[row][column] += weight * a * b;
            }
            of_values[row] += weight * a * value;
        }
        all += weight;
    }
    sums[1][1] += RIDGE * all;
    sums[2][2] += RIDGE * all;
    // Height of the plane at `at`, by Cramer's rule.
    let mut replaced = sums;
    (0..3).for_each(|row| replaced[row][0] = of_values[row]);
    let value = determinant(&replaced) / determinant(&sums);
    let least = near.iter().map(|one| one.3).fold(f64::INFINITY, f64::min);
    let greatest = near.iter().map(|one| one.3).fold(f64::NEG_INFINITY, f64::max);
    value.is_finite().then(|| value.clamp(least, greatest))
}

fn determinant(m: &[[f64; 3]; 3]) -> f64 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(of: impl Fn(f64, f64) -> f64) -> Vec<((f64, f64), f64)> {
        let places = (0..5).flat_map(|x| (0..5).map(move |y| (f64::from(x), f64::from(y))));
        places.map(|(x, y)| ((x, y), of(x, y))).collect()
    }

    #[test]
    fn a_plane_is_found_between_its_points_and_a_curve_nearly() {
        let plane = grid(|x, y| 3.0 + 2.0 * x - y);
        let value = local_linear(&plane, (1.5, 2.5)).unwrap();
        assert!((value - 3.5).abs() < 0.05, "{value}");
        let curve = grid(|x, y| (0.3 * x).exp() + 0.1 * y);
        let value = local_linear(&curve, (2.5, 1.5)).unwrap();
        assert!((value - (0.75_f64.exp() + 0.15)).abs() < 0.05, "{value}");
    }

    #[test]
    fn few_points_say_what_they_can() {
        assert_eq!(local_linear(&[], (0.0, 0.0)), None);
        assert_eq!(local_linear(&[((0.0, 0.0), 7.0)], (3.0, 4.0)), Some(7.0));
        let line = [((0.0, 0.0), 1.0), ((4.0, 0.0), 3.0)];
        let value = local_linear(&line, (2.0, 0.0)).unwrap();
        assert!((value - 2.0).abs() < 1e-6, "{value}");
    }

    #[test]
    fn nothing_is_beyond_what_is_near() {
        let steep = [((0.0, 0.0), 0.0), ((1.0, 0.0), 1.0)];
        assert!(local_linear(&steep, (9.0, 0.0)).unwrap() <= 1.0);
    }
}
