//! Divides the time limit of a run over its measurements.

use crate::plan::{PlanError, Step, Stop, Study, divided};

/// Cost of a search for the depth, in measurements.
pub(crate) const SEARCH_COST: f64 = 0.7;
/// Cost of sampling written blocks, in measurements.
const PROBE_COST: f64 = 0.2;
/// Overhead of a measurement (snapshots, clearances, a search that takes longer), ns.
const OVERHEAD_NS: u64 = 1_000_000_000;
/// Shortest measurement, ns.
const SHORTEST_NS: u64 = 1_000_000_000;

/// Time limits of a plan on a number of targets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budget {
    /// End of each measurement.
    pub(crate) stop: Stop,
    /// Longest total time with the overhead of measurements, without scratch files, ns.
    pub(crate) total_ns: u64,
    /// Time limit with all overhead, ns; even the shortest measurements may take longer.
    pub(crate) limit_ns: u64,
    /// Longest time of one target alone, with overhead, ns.
    pub(crate) each_ns: u64,
    /// Longest time of all targets at once, with overhead, ns.
    pub(crate) together_ns: u64,
}

impl Budget {
    /// Divides `total_ns` over `targets`: measurements are as long as the plan asks, or shorter to
    /// fit, but never below 1 s.
    pub(crate) fn divide(
        steps: &[Step],
        stop: Stop,
        samples: u32,
        targets: usize,
        total_ns: u64,
    ) -> Self {
        let cost = |numbers: &[usize], searches: bool| -> f64 {
            numbers
                .iter()
                .map(|n| {
                    let search = searches && steps[*n].outstanding.is_some();
                    1.0 + if search { SEARCH_COST } else { 0.0 }
                })
                .sum()
        };
        let probe = if samples > 0 { PROBE_COST } else { 0.0 };
        let [each, together] = divided(steps, targets);
        let (each, together) = (cost(&each, true) + probe, cost(&together, false));
        let units = each * targets as f64 + together;
        let share = if units > 0.0 { total_ns as f64 / units } else { f64::MAX };
        let max_ns = (share as u64).clamp(SHORTEST_NS.min(stop.max_ns), stop.max_ns);
        let min_ns = stop.min_ns.min(max_ns / 2);
        // As [`Self::next_ns`] divides what is left.
        let least_ns = SHORTEST_NS.min(stop.max_ns);
        let unit_ns = (share as u64)
            .clamp(least_ns.saturating_add(OVERHEAD_NS), stop.max_ns.saturating_add(OVERHEAD_NS))
            as f64;
        Self {
            stop: Stop { min_ns, max_ns, ..stop },
            total_ns: (units * unit_ns) as u64,
            limit_ns: total_ns,
            each_ns: (each * unit_ns) as u64,
            together_ns: (together * unit_ns) as u64,
        }
    }

    /// Longest time of the next measurement, ns, after `gone_ns`, if the rest of the run costs as
    /// much as `left` measurements. Scratch files, snapshots and searches use up time, too.
    pub(crate) fn next_ns(&self, gone_ns: u64, left: f64) -> u64 {
        let share = self.limit_ns.saturating_sub(gone_ns) as f64 / left.max(1.0);
        let most_ns = (share as u64).saturating_sub(OVERHEAD_NS);
        most_ns.clamp(SHORTEST_NS.min(self.stop.max_ns), self.stop.max_ns)
    }
}

impl Study {
    /// Longest time of its steps on whole targets, with searches and overhead, ns.
    ///
    /// # Errors
    /// A mistake in a step or in its end condition.
    pub fn steps_ns(&self) -> Result<u64, PlanError> {
        let (steps, stop) = (self.target_steps()?, self.stop()?);
        let (samples, targets) = (self.written_samples(), self.targets.len());
        Ok(Budget::divide(&steps, stop, samples, targets, u64::MAX).total_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: u64 = 60_000_000_000;

    #[test]
    fn budget_is_divided_over_targets() {
        let check = Study::preset("check").unwrap();
        let (steps, stop) = (check.target_steps().unwrap(), check.stop().unwrap());
        let divide =
            |targets, ns| Budget::divide(&steps, stop, check.written_samples(), targets, ns);
        let one = divide(1, 5 * MINUTE_NS);
        assert_eq!(one.stop, stop);
        assert!(one.total_ns < MINUTE_NS);
        let many = divide(24, 5 * MINUTE_NS);
        assert!(many.stop.max_ns < stop.max_ns && many.stop.min_ns <= many.stop.max_ns);
        assert!(many.total_ns <= 5 * MINUTE_NS);
        let too_many = divide(1000, MINUTE_NS);
        assert_eq!(too_many.stop.max_ns, SHORTEST_NS);
        // Each target has three steps and a search, and its blocks are sampled.
        let units = 1000.0 * (3.0 + SEARCH_COST + PROBE_COST) + 3.0;
        assert_eq!(too_many.total_ns, (units * (SHORTEST_NS + OVERHEAD_NS) as f64) as u64);
        assert!(too_many.total_ns > too_many.limit_ns);
    }

    #[test]
    fn a_step_of_all_targets_is_made_on_a_single_one_that_has_no_other() {
        let of = |name, targets| {
            let plan = Study::preset(name).unwrap();
            let (steps, stop) = (plan.target_steps().unwrap(), plan.stop().unwrap());
            let budget = Budget::divide(&steps, stop, 0, targets, 10 * MINUTE_NS);
            let each_ns = stop.max_ns + OVERHEAD_NS;
            (budget.each_ns / each_ns, budget.together_ns / each_ns)
        };
        assert_eq!((of("quick", 1), of("quick", 2)), ((1, 0), (0, 1)));
        assert_eq!(of("check", 1).1, 0);
    }

    #[test]
    fn overhead_counts_toward_the_budget() {
        let check = Study::preset("check").unwrap();
        let (steps, stop) = (check.target_steps().unwrap(), check.stop().unwrap());
        let limit_ns = 90_000_000_000;
        let budget = Budget::divide(&steps, stop, check.written_samples(), 7, limit_ns);
        // Each phase costs two seconds of overhead, a search twice its estimate, and a scratch file
        // was written first.
        let (mut gone_ns, mut left) = (10_000_000_000, 24.0 + 7.0 * SEARCH_COST);
        for phase in 0..31 {
            let is_search = phase % 4 == 1 && phase < 28;
            let cost = if is_search { SEARCH_COST } else { 1.0 };
            let most_ns = budget.next_ns(gone_ns, left);
            let times = if is_search { 2.0 * SEARCH_COST } else { 1.0 };
            gone_ns += (most_ns as f64 * times) as u64 + 1_000_000_000;
            left -= cost;
        }
        assert!(gone_ns <= limit_ns, "{gone_ns}");
        // A measurement takes its share less the overhead.
        let first_ns = budget.next_ns(0, 7.0 * (3.0 + SEARCH_COST + PROBE_COST) + 3.0);
        assert_eq!(first_ns, budget.stop.max_ns - OVERHEAD_NS);
    }
}
