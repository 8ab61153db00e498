//! Correction for multiple tests of the same data.

/// Adjusts p-values so that, without any real difference, the probability that any of them falls
/// below a level is at most that level, however they depend on each other: Holm, "A simple
/// sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. In
/// the order given; NaN counts as 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p = |index: usize| if p_values[index].is_nan() { 1.0 } else { p_values[index] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*a).total_cmp(&p(*b)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((p_values.len() - rank) as f64 * p(index)).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_a_worked_example() {
        // 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, which may not be below the previous one.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (one, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((one - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn adjusting_keeps_the_order_and_never_favours(
            p in prop::collection::vec(0.0_f64..=1.0, 0..20),
        ) {
            let adjusted = holm(&p);
            for (i, one) in p.iter().enumerate() {
                prop_assert!((*one..=1.0).contains(&adjusted[i]));
                prop_assert!(adjusted[i] <= one * p.len() as f64 + 1e-12);
                for (j, other) in p.iter().enumerate() {
                    prop_assert!(one > other || adjusted[i] <= adjusted[j]);
                }
            }
        }
    }
}
