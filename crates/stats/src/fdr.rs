//! False discovery rate of many tests.

/// Converts p-values to q-values: of the tests with a value of at most `q`, on average at most that
/// share are false discoveries, if the tests are independent or positively dependent. Benjamini and
/// Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57,
/// 1995. In the order given; NaN counts as 1.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let p = |index: usize| if p_values[index].is_nan() { 1.0 } else { p_values[index] };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p(*b).total_cmp(&p(*a)));
    let count = p_values.len() as f64;
    let mut adjusted = vec![1.0; p_values.len()];
    let mut most: f64 = 1.0;
    for (above, index) in order.into_iter().enumerate() {
        most = most.min(p(index) * count / (count - above as f64));
        adjusted[index] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_a_worked_example() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "BH").
        let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]);
        for (one, expected) in adjusted.iter().zip([0.02, 0.04, 0.04, 0.02]) {
            assert!((one - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(benjamini_hochberg(&[]), Vec::<f64>::new());
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
    }

    proptest! {
        #[test]
        fn it_is_between_the_value_and_holms(p in prop::collection::vec(0.0_f64..=1.0, 0..20)) {
            let adjusted = benjamini_hochberg(&p);
            for ((one, q), holm) in p.iter().zip(&adjusted).zip(crate::holm(&p)) {
                prop_assert!(*q >= *one - 1e-12 && *q <= holm + 1e-12, "{one} {q} {holm}");
            }
        }
    }
}
