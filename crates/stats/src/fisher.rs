//! Fisher's exact test: is a property that a few have in common due to chance?

use statrs::function::factorial::ln_binomial;

/// Returns the probability that of `drawn` out of `all`, of which `marked` have a mark, at least
/// `both` have it: Fisher's exact test, one-sided, of the table (both, drawn − both; marked − both,
/// the rest). 1 if the numbers make no table.
#[must_use]
pub fn fisher_exact(both: u64, drawn: u64, marked: u64, all: u64) -> f64 {
    if drawn > all || marked > all || both > drawn.min(marked) {
        return 1.0;
    }
    let least = (drawn + marked).saturating_sub(all);
    let whole = ln_binomial(all, drawn);
    let chance =
        |k: u64| (ln_binomial(marked, k) + ln_binomial(all - marked, drawn - k) - whole).exp();
    (both.max(least)..=drawn.min(marked)).map(chance).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_worked_examples() {
        // Fisher's tea tasting (The Design of Experiments, 1935): all four cups right by chance, 1
        // of 70.
        assert!((fisher_exact(4, 4, 4, 8) - 1.0 / 70.0).abs() < 1e-12);
        // Three or more of four: (16 + 1) / 70.
        assert!((fisher_exact(3, 4, 4, 8) - 17.0 / 70.0).abs() < 1e-12);
        // R: fisher.test(matrix(c(10, 2, 14, 23974), 2), alternative = "greater"), about 1e-30.
        let rare = fisher_exact(10, 12, 24, 24_000);
        assert!(rare < 1e-25 && rare > 0.0, "{rare}");
    }

    #[test]
    fn common_properties_and_invalid_tables_are_no_evidence() {
        assert_eq!(fisher_exact(0, 5, 7, 100), 1.0);
        assert!((fisher_exact(5, 5, 100, 100) - 1.0).abs() < 1e-9);
        for (both, drawn, marked, all) in [(3, 2, 5, 10), (1, 20, 5, 10), (1, 2, 50, 10)] {
            assert_eq!(fisher_exact(both, drawn, marked, all), 1.0);
        }
        // A table needs room for those with neither property.
        assert!((fisher_exact(5, 8, 7, 10) - 1.0).abs() < 1e-9);
    }
}
