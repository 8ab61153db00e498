//! Steady state by the SNIA Solid State Storage Performance Test Specification (PTS 2.0.2, 2.1.24):
//! over a window of rounds, the range of the tracked values and the rise of their least squares
//! line, both relative to the average.

use crate::{mean, slope};

/// Limits for the values of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsLimits {
    /// Maximum minus minimum, as a share of the average; 0.2 = 20 %.
    pub excursion: f64,
    /// Rise or fall of the line over the window, as a share of the average; 0.1 = 10 %.
    pub slope: f64,
}

impl PtsLimits {
    /// Returns true if both an excursion and a slope excursion, shares of the average, are within
    /// the limits.
    #[must_use]
    pub fn allow(self, excursion: f64, slope_excursion: f64) -> bool {
        excursion <= self.excursion && slope_excursion <= self.slope
    }
}

/// Statistics of a measurement window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsWindow {
    /// Mean of the values, in their unit.
    pub average: f64,
    /// Maximum minus minimum, in their unit.
    pub range: f64,
    /// Slope of the least squares line, in their unit per round.
    pub slope: f64,
    /// Number of rounds.
    pub rounds: usize,
}

impl PtsWindow {
    /// Computes the window of `values`, one per round; `None` for fewer than two, for values that
    /// are not finite, and if their average is not above 0.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let average = mean(values);
        // Also false for NaN.
        if values.len() < 2 || !(average > 0.0 && average.is_finite()) {
            return None;
        }
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let (range, slope) = (greatest - smallest, slope(values, average));
        Some(Self { average, range, slope, rounds: values.len() })
    }

    /// Returns the maximum data excursion, as a share of the average.
    #[must_use]
    pub fn excursion(&self) -> f64 {
        self.range / self.average
    }

    /// Returns the maximum slope excursion: maximum minus minimum of the line within the window, as
    /// a share of the average. There is one step less than rounds.
    #[must_use]
    pub fn slope_excursion(&self) -> f64 {
        self.slope.abs() * (self.rounds as f64 - 1.0) / self.average
    }

    /// Returns the value of the line in the window's first round, in the values' unit.
    #[must_use]
    pub fn first_fitted(&self) -> f64 {
        self.average - self.slope * (self.rounds as f64 - 1.0) / 2.0
    }

    /// Returns true if both criteria are met.
    #[must_use]
    pub fn is_steady(&self, limits: PtsLimits) -> bool {
        limits.allow(self.excursion(), self.slope_excursion())
    }
}

/// Consecutive rounds of one series of rates; the last of them are the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PtsRounds {
    /// Limits of the window.
    pub limits: PtsLimits,
    /// Number of rounds in the window.
    pub window: usize,
    /// Length of a round, in seconds.
    pub round_seconds: f64,
}

impl PtsRounds {
    /// Returns the length of the window, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.window as f64 * self.round_seconds
    }

    /// Returns the part of `samples` in the window; they are equally spaced over `elapsed_s`
    /// seconds. Each round has the same number, at least one. `None`: they are shorter than the
    /// window.
    #[must_use]
    pub fn last<'s>(&self, elapsed_s: f64, samples: &'s [f64]) -> Option<&'s [f64]> {
        // Also false for NaN.
        if self.window == 0 || !(elapsed_s > 0.0 && elapsed_s >= self.seconds()) {
            return None;
        }
        let a_round = (samples.len() as f64 * self.round_seconds / elapsed_s).round() as usize;
        let a_round = a_round.max(1).min(samples.len() / self.window);
        samples.get(samples.len() - a_round * self.window..).filter(|last| !last.is_empty())
    }

    /// Computes the window of `samples`, selected as by [`Self::last`]: the value of a round is its
    /// mean.
    #[must_use]
    pub fn look(&self, elapsed_s: f64, samples: &[f64]) -> Option<PtsWindow> {
        let last = self.last(elapsed_s, samples)?;
        let rounds = last.chunks_exact((last.len() / self.window).max(1));
        PtsWindow::of(&rounds.map(mean).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Steady, SteadyBy};

    const PTS: PtsLimits = PtsLimits { excursion: 0.2, slope: 0.1 };

    fn window(values: &[f64]) -> PtsWindow {
        PtsWindow::of(values).expect("a window")
    }

    #[test]
    fn a_window_agrees_with_a_hand_calculation() {
        let found = window(&[90.0, 100.0, 95.0, 105.0, 110.0]);
        assert_eq!((found.average, found.range), (100.0, 20.0));
        // (-2 * -10 + -1 * 0 + 0 * -5 + 1 * 5 + 2 * 10) / 10.
        assert!((found.slope - 4.5).abs() < 1e-12, "{found:?}");
        assert!((found.slope_excursion() - 0.18).abs() < 1e-12);
        assert!((found.first_fitted() - 91.0).abs() < 1e-12);
        assert!(!found.is_steady(PTS));
    }

    #[test]
    fn both_criteria_count_and_their_limits_are_still_good() {
        // Only the range is too large: the line is flat.
        assert!(!window(&[100.0, 112.0, 100.0, 88.0, 100.0]).is_steady(PTS));
        assert!(window(&[100.0, 90.0, 110.0, 90.0, 110.0]).is_steady(PTS));
        // Only the line rises too much: 11 of 100, within a range of 11.
        assert!(!window(&[94.5, 97.25, 100.0, 102.75, 105.5]).is_steady(PTS));
        assert!(window(&[95.0, 97.5, 100.0, 102.5, 105.0]).is_steady(PTS));
    }

    #[test]
    fn fios_slope_per_sample_differs_from_snias() {
        // 100k to 200k IOPS over 300 s: 0.22 % of the mean per sample.
        let ramp: Vec<f64> = (0..300).map(|s| 1e5 + 1e5 * f64::from(s) / 299.0).collect();
        let fio = Steady { by: SteadyBy::Slope, limit: 10.0, percent: true, samples: 300 };
        assert!(fio.is_attained(&ramp));
        let found = window(&ramp);
        assert!(!found.is_steady(PTS) && (found.slope_excursion() - 2.0 / 3.0).abs() < 1e-9);
        // Also for five rounds: 5 % each.
        let rounds = [90.0, 95.0, 100.0, 105.0, 110.0];
        assert!(Steady { samples: 5, ..fio }.is_attained(&rounds));
        assert!(!window(&rounds).is_steady(PTS));
    }

    #[test]
    fn a_window_is_the_last_rounds_of_a_series() {
        let rounds = PtsRounds { limits: PTS, window: 5, round_seconds: 2.0 };
        let samples: Vec<f64> = (0..120).map(f64::from).collect();
        assert_eq!(rounds.last(9.9, &samples[..99]), None);
        assert_eq!(rounds.last(10.0, &samples[..100]), Some(&samples[..100]));
        assert_eq!(rounds.last(12.0, &samples), Some(&samples[20..]));
        let found = rounds.look(12.0, &samples).unwrap();
        assert_eq!((found.rounds, found.average, found.range), (5, 69.5, 80.0));
        // The first half second was not sampled: five rounds of the rest.
        assert_eq!(rounds.last(10.0, &samples[..95]).unwrap().len(), 95);
        assert_eq!(rounds.last(10.0, &samples[..98]).unwrap().len(), 95);
        // A round is never shorter than a sample, and there are five of them.
        let short = PtsRounds { round_seconds: 0.01, ..rounds };
        assert_eq!(short.last(1.0, &samples[..10]).unwrap().len(), 5);
        assert_eq!(short.last(0.1, &samples[..4]), None);
        for elapsed_s in [f64::NAN, 0.0, -1.0] {
            assert_eq!(short.last(elapsed_s, &samples), None);
        }
    }

    #[test]
    fn invalid_values_make_no_window() {
        for values in [&[][..], &[1.0], &[0.0; 5], &[-1.0; 5], &[1.0, f64::NAN, 1.0]] {
            assert_eq!(PtsWindow::of(values), None, "{values:?}");
        }
        assert_eq!(PtsWindow::of(&[1.0, f64::INFINITY]), None);
    }

    proptest! {
        #[test]
        fn shares_do_not_depend_on_the_unit_or_the_direction(
            values in prop::collection::vec(1.0..1e6_f64, 2..30),
            unit in 1e-3..1e6_f64,
        ) {
            let found = window(&values);
            let scaled = window(&values.iter().map(|value| value * unit).collect::<Vec<_>>());
            let turned = window(&values.iter().rev().copied().collect::<Vec<_>>());
            for other in [scaled, turned] {
                prop_assert!((found.excursion() - other.excursion()).abs() < 1e-6);
                prop_assert!((found.slope_excursion() - other.slope_excursion()).abs() < 1e-6);
            }
            // The line cannot rise by more than 1.5 times the range of the values.
            prop_assert!(found.slope_excursion() <= 1.5 * found.excursion() + 1e-9);
        }

        #[test]
        fn a_line_is_found_again(start in 1.0..1e6_f64, slope in -100.0..100.0_f64, n in 2..30_usize) {
            let at = |round: usize| start + 3000.0 + slope * round as f64;
            let found = window(&(0..n).map(at).collect::<Vec<_>>());
            prop_assert!((found.slope - slope).abs() < 1e-6 * start);
            prop_assert!((found.first_fitted() - at(0)).abs() < 1e-6 * start.max(3000.0));
        }

        #[test]
        fn any_values_are_handled(values in prop::collection::vec(any::<f64>(), 0..10)) {
            if let Some(found) = PtsWindow::of(&values) {
                prop_assert!(found.average > 0.0);
                prop_assert!(!found.is_steady(PTS) || found.range <= found.average);
            }
        }
    }
}
