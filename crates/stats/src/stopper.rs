//! Decides when a measurement ends.
//!
//! A test repeated after every sample stops whenever the interval happens to be narrow, and misses
//! the truth far more often than its level says. So the precision is checked rarely, at times that
//! grow by a constant ratio: 5, 7.1, 10, 14, ... s.

use crate::autocorrelation::integrated_time;
use crate::batch_means::{BATCH_TIMES, LEAST_BATCHES, mean_interval, window_interval};
use crate::pts::PtsRounds;
use crate::quantile_interval::QuantileInterval;
use crate::steady::Steady;

/// Ratio of the times of consecutive looks.
const LOOK_RATIO: f64 = std::f64::consts::SQRT_2;

/// Length of a series, in autocorrelation times, for an interval that is reliable in the classical
/// sense.
pub const LONG: f64 = LEAST_BATCHES as f64 * BATCH_TIMES;

/// Length of a series, in autocorrelation times, from which the correlation is known well enough to
/// be integrated out: the interval is wider by its uncertainty. Enough for one point of many, whose
/// error need not be far below the precision asked for: with white noise the mean is known in 2 s
/// instead of 5, with a correlation of 0.2 s in 8 s instead of 20.
pub const SHORT: f64 = 40.0;

/// Time of the first look, from which later ones are spaced, if a rule asks for an immediate one.
const SHORTEST_LOOK_S: f64 = 0.1;

/// Rule for the duration of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StopRule {
    /// A fixed time.
    Time {
        /// Duration, in seconds.
        seconds: f64,
    },
    /// Until the mean is known well enough.
    Precision {
        /// Relative half-width of the interval, 0.01 for 1 %.
        relative_half_width: f64,
        /// Level of the interval, 0.95 for 95 %.
        level: f64,
        /// Relative half-width of the p99's interval, if asked for.
        p99_relative_half_width: Option<f64>,
        /// Minimum length of the series in autocorrelation times: [`LONG`] or [`SHORT`].
        least_times: f64,
        /// Steady-state criterion that must also be met: then the mean is that of the window, and
        /// earlier samples do not count.
        steady: Option<PtsRounds>,
        /// Time of the first look, in seconds; not before there is a window.
        min_seconds: f64,
        /// Maximum time, in seconds.
        max_seconds: f64,
    },
    /// Until it is steady by fio's `steadystate`. Any other end is decided elsewhere.
    Steady(Steady),
}

/// Decision after one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Continue to measure.
    Continue,
    /// End the measurement.
    Stop(StopReason),
}

/// Reason for the end of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The fixed time is over.
    TimeReached,
    /// The series is steady, not slow and long enough, and the interval of the mean as narrow as
    /// asked for; so is that of the p99, and the window of rounds is steady, if asked for.
    PrecisionReached,
    /// It was steady for as long as asked for.
    SteadyReached,
    /// The maximum time is over and the precision was not reached: the result is qualified.
    MaxTime,
}

/// Decides when a measurement ends; has no clock.
#[derive(Debug, Clone)]
pub struct Stopper {
    rule: StopRule,
    next_look_s: f64,
}

impl Stopper {
    /// Creates a stopper for one measurement.
    #[must_use]
    pub fn new(rule: StopRule) -> Self {
        let next_look_s = match rule {
            StopRule::Time { seconds } => seconds,
            StopRule::Precision { min_seconds, max_seconds, steady, .. } => {
                steady.map_or(min_seconds, |of| min_seconds.max(of.seconds())).min(max_seconds)
            }
            StopRule::Steady(_) => 0.0,
        };
        Self { rule, next_look_s }
    }

    /// Decides after `elapsed_s` seconds, given all rate samples so far, equally spaced, in any
    /// unit. Call it as often as samples arrive, with a time that does not fall; between looks it
    /// only compares times. A late call makes one look, not several.
    ///
    /// The precision is never reached with too few samples, or with some that are not finite; a NaN
    /// time never stops.
    pub fn observe(&mut self, elapsed_s: f64, samples: &[f64]) -> Decision {
        self.observe_with(elapsed_s, samples, |_| None)
    }

    /// As [`Self::observe`], for a rule that may ask for the p99: `p99` returns it with its
    /// interval at a level, for all latencies so far; it is only called at looks, once the mean is
    /// known.
    pub fn observe_with(
        &mut self,
        elapsed_s: f64,
        samples: &[f64],
        p99: impl FnOnce(f64) -> Option<QuantileInterval>,
    ) -> Decision {
        if elapsed_s.is_nan() || elapsed_s < self.next_look_s {
            return Decision::Continue;
        }
        match self.rule {
            StopRule::Time { .. } => Decision::Stop(StopReason::TimeReached),
            StopRule::Steady(steady) if steady.is_attained(samples) => {
                Decision::Stop(StopReason::SteadyReached)
            }
            StopRule::Steady(_) => Decision::Continue,
            StopRule::Precision {
                relative_half_width,
                level,
                p99_relative_half_width,
                least_times,
                steady,
                max_seconds,
                ..
            } => {
                let series = match steady {
                    None => Some(samples),
                    Some(of) => of
                        .look(elapsed_s, samples)
                        .filter(|window| window.is_steady(of.limits))
                        .and_then(|_| of.last(elapsed_s, samples)),
                };
                let is_known = |series: &[f64]| {
                    let interval = match steady {
                        _ if !may_be_long_enough(series, least_times) => None,
                        None => mean_interval(series, level),
                        Some(_) => window_interval(series, level),
                    };
                    interval.is_some_and(|interval| {
                        let left = series.len() - interval.warmup_len;
                        interval.steady
                            && !interval.slow
                            && left as f64 >= least_times * interval.tau
                            && interval.relative_half_width() <= relative_half_width
                    })
                };
                let reached = series.is_some_and(is_known);
                let tail_reached = || {
                    p99_relative_half_width.is_none_or(|asked| {
                        p99(level).is_some_and(|found| found.relative_half_width() <= asked)
                    })
                };
                if reached && tail_reached() {
                    return Decision::Stop(StopReason::PrecisionReached);
                }
                if elapsed_s >= max_seconds {
                    return Decision::Stop(StopReason::MaxTime);
                }
                let mut next_look_s = self.next_look_s.max(SHORTEST_LOOK_S);
                while next_look_s <= elapsed_s {
                    next_look_s *= LOOK_RATIO;
                }
                self.next_look_s = next_look_s.min(max_seconds);
                Decision::Continue
            }
        }
    }
}

/// Cheap check before the costly one: false if not even the whole series is long enough. The three
/// quarters that remain after a warm-up may be less correlated than the whole, so they are checked
/// too.
fn may_be_long_enough(samples: &[f64], least_times: f64) -> bool {
    let n = samples.len() as f64;
    let rest = &samples[samples.len() / 4..];
    n >= least_times * integrated_time(samples) || n >= least_times * integrated_time(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PtsLimits;

    const CHECK: StopRule = StopRule::Precision {
        relative_half_width: 0.01,
        level: 0.95,
        p99_relative_half_width: None,
        least_times: LONG,
        steady: None,
        min_seconds: 5.0,
        max_seconds: 10.0,
    };

    #[test]
    fn a_fixed_time_looks_at_nothing_else() {
        let mut stopper = Stopper::new(StopRule::Time { seconds: 3.0 });
        assert_eq!(stopper.observe(2.9, &[1.0; 29]), Decision::Continue);
        assert_eq!(stopper.observe(3.0, &[]), Decision::Stop(StopReason::TimeReached));
    }

    #[test]
    fn a_quiet_series_stops_at_the_first_look_and_a_wild_one_at_the_last() {
        let mut stopper = Stopper::new(CHECK);
        assert_eq!(stopper.observe(4.9, &[1.0; 60]), Decision::Continue);
        assert_eq!(stopper.observe(5.0, &[1.0; 60]), Decision::Stop(StopReason::PrecisionReached));
        let wild: Vec<f64> = (0..100).map(crate::scattered).collect();
        let mut stopper = Stopper::new(CHECK);
        for n in 1..100 {
            assert_eq!(stopper.observe(n as f64 / 10.0, &wild[..n]), Decision::Continue);
        }
        assert_eq!(stopper.observe(10.0, &wild), Decision::Stop(StopReason::MaxTime));
    }

    #[test]
    fn looks_are_spaced_geometrically_and_between_them_nothing_stops() {
        let mut stopper = Stopper::new(CHECK);
        assert_eq!(stopper.observe(5.0, &[]), Decision::Continue);
        assert_eq!(stopper.observe(7.0, &[1.0; 70]), Decision::Continue);
        assert_eq!(stopper.observe(7.1, &[1.0; 70]), Decision::Stop(StopReason::PrecisionReached));
    }

    #[test]
    fn a_tail_that_is_asked_for_keeps_a_quiet_series_going() {
        let rule = StopRule::Precision {
            relative_half_width: 0.01,
            level: 0.95,
            p99_relative_half_width: Some(0.1),
            least_times: LONG,
            steady: None,
            min_seconds: 5.0,
            max_seconds: 10.0,
        };
        let p99 = |half: f64| QuantileInterval { value: 1.0, low: 1.0 - half, high: 1.0 + half };
        let quiet = [1.0; 100];
        let mut stopper = Stopper::new(rule);
        assert_eq!(stopper.observe_with(5.0, &quiet[..50], |_| None), Decision::Continue);
        assert_eq!(stopper.observe_with(7.1, &quiet[..71], |_| Some(p99(0.2))), Decision::Continue);
        let known = Decision::Stop(StopReason::PrecisionReached);
        assert_eq!(stopper.clone().observe_with(10.0, &quiet, |_| Some(p99(0.09))), known);
        let out_of_time = Decision::Stop(StopReason::MaxTime);
        assert_eq!(stopper.observe_with(10.0, &quiet, |_| Some(p99(0.2))), out_of_time);
    }

    /// Five rounds of a minute, at 10 samples a second.
    const WRITES: StopRule = StopRule::Precision {
        relative_half_width: 0.02,
        level: 0.95,
        p99_relative_half_width: None,
        least_times: SHORT,
        steady: Some(PtsRounds {
            limits: PtsLimits { excursion: 0.2, slope: 0.1 },
            window: 5,
            round_seconds: 60.0,
        }),
        min_seconds: 5.0,
        max_seconds: 1800.0,
    };

    /// Returns the seconds until a series made by `rate` (of the sample's number) ends, and the
    /// reason.
    fn ends(rule: StopRule, rate: impl Fn(u32) -> f64) -> (f64, StopReason) {
        let (mut stopper, mut samples) = (Stopper::new(rule), Vec::new());
        for n in 0_u32.. {
            samples.push(rate(n));
            let elapsed_s = f64::from(n + 1) / 10.0;
            if let Decision::Stop(why) = stopper.observe(elapsed_s, &samples) {
                return (elapsed_s, why);
            }
        }
        unreachable!()
    }

    #[test]
    fn a_series_that_has_to_be_steady_lasts_for_a_window_at_least() {
        let quiet = |n| 100.0 + crate::scattered(n);
        assert_eq!(ends(WRITES, quiet), (300.0, StopReason::PrecisionReached));
        // It falls by a tenth of its first value per five minutes: known well, never steady.
        let falls = |n: u32| quiet(n) * 0.9_f64.powf(f64::from(n) / 2000.0);
        assert_eq!(ends(WRITES, falls), (1800.0, StopReason::MaxTime));
        // It is steady, but its mean is not known: levels of 100 s, 8 % apart.
        let swings = |n: u32| quiet(n) * if (n / 1000).is_multiple_of(2) { 0.96 } else { 1.04 };
        assert_eq!(ends(WRITES, swings), (1800.0, StopReason::MaxTime));
        // Too short for a window.
        let mut short = WRITES;
        if let StopRule::Precision { max_seconds, .. } = &mut short {
            *max_seconds = 60.0;
        }
        assert_eq!(ends(short, quiet), (60.0, StopReason::MaxTime));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        // A fast cache shorter than a window, then the drive's own rate.
        #[test]
        fn a_burst_is_never_what_is_known(
            burst_s in 1.0..299.0_f64,
            behind in 0.05..0.7_f64,
            noise in 0.0..0.2_f64,
            seed in any::<u16>(),
        ) {
            let rate = |n: u32| {
                let level = if f64::from(n) < burst_s * 10.0 { 1000.0 } else { 1000.0 * behind };
                level * (1.0 + noise * (crate::scattered(n + u32::from(seed)) - 0.5))
            };
            let (end_s, why) = ends(WRITES, rate);
            prop_assert_eq!(why, StopReason::PrecisionReached);
            prop_assert!(end_s > burst_s + 239.0, "{} s", end_s);
            let window: Vec<f64> = ((end_s * 10.0) as u32 - 3000..(end_s * 10.0) as u32).map(rate).collect();
            let mean = window.iter().sum::<f64>() / 3000.0;
            prop_assert!((mean / (1000.0 * behind) - 1.0).abs() < 0.03, "{} of {}", mean, behind);
        }
    }

    #[test]
    fn strange_rules_and_samples_end_without_panic() {
        let rule = |min_seconds, max_seconds| StopRule::Precision {
            relative_half_width: 0.01,
            level: 2.0,
            p99_relative_half_width: None,
            least_times: LONG,
            steady: None,
            min_seconds,
            max_seconds,
        };
        for (min_seconds, max_seconds) in [(0.0, 1.0), (-1.0, 1.0), (5.0, 1.0)] {
            let mut stopper = Stopper::new(rule(min_seconds, max_seconds));
            assert_eq!(stopper.observe(0.5, &[f64::NAN; 90]), Decision::Continue);
            assert_eq!(stopper.observe(1.0, &[1.0]), Decision::Stop(StopReason::MaxTime));
        }
    }
}
