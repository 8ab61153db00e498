//! Scaling: the number of drives from which one more adds nothing.

use iodyno_model::{Estimate, Measurement, Metric, Scaling, format_mb_per_s};

use crate::convergence::{is_whole, total_figure};

/// Drives that keep this share of their rate lose nothing to another.
const UNDISTURBED: f64 = 0.95;

/// Growth of one point's aggregate with the number of drives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Growth {
    /// Bytes per second of 1, 2, ... drives at once; ends at the first that is not known.
    pub aggregates: Vec<f64>,
    /// Number of drives to which one more added too little; `None`: each added enough.
    pub stopped_at: Option<usize>,
    /// The intervals of those measurements leave it open.
    pub is_doubtful: bool,
}

impl Growth {
    /// Computed from measurements of one point, in any order; the mean of several on the same
    /// number of drives.
    pub fn of<'m>(
        asked: &Scaling,
        measurements: impl Iterator<Item = &'m Measurement> + Clone,
    ) -> Self {
        let on = |drives: usize| {
            let is_on = move |of: &&Measurement| of.targets.len() == drives && is_whole(of);
            measurements.clone().filter(is_on)
        };
        let aggregate =
            |drives: usize| mean(on(drives).map(|of| total_figure(Metric::Bandwidth, of)));
        let aggregates: Vec<f64> = (1..).map_while(aggregate).collect();
        let least = aggregates.first().map(|alone| alone * asked.least_gain_percent / 100.0);
        let brings_little = |pair: &[f64]| least.is_some_and(|least| pair[1] - pair[0] < least);
        // A slower drive adds little at its full speed, and the others lose nothing to it.
        let kept = |drives: usize| mean(on(drives).map(without_last));
        let is_undisturbed =
            |n: usize, here: f64| kept(n + 2).is_some_and(|kept| kept >= UNDISTURBED * here);
        let stops = |(n, pair): (usize, &[f64])| brings_little(pair) && !is_undisturbed(n, pair[0]);
        let stopped_at = aggregates.windows(2).enumerate().position(stops).map(|n| n + 1);
        let bound = |drives: usize, of: fn(&Estimate) -> f64| {
            let of_one = |one: &Measurement| {
                one.total.iter().map(|result| Some(of(&result.bandwidth?))).sum::<Option<f64>>()
            };
            mean(on(drives).map(of_one))
        };
        // The most that one more may have added.
        let most = |drives: usize| {
            Some(bound(drives + 1, Estimate::high)? - bound(drives, Estimate::low)?)
        };
        let is_doubtful =
            stopped_at.and_then(most).zip(least).is_some_and(|(most, least)| most >= least);
        Self { aggregates, stopped_at, is_doubtful }
    }

    /// Describes where it stopped growing and at what aggregate, as a sentence about the point
    /// `name`; `None`: fewer than two drives are known.
    pub fn sentence(&self, name: &str) -> Option<String> {
        let [alone, _, ..] = self.aggregates.as_slice() else { return None };
        let at = |drives: usize| self.aggregates.get(drives.checked_sub(1)?).copied();
        if let Some((drives, (here, more))) =
            self.stopped_at.and_then(|drives| Some((drives, at(drives).zip(at(drives + 1))?)))
        {
            let share = (more - here) / alone * 100.0;
            let gain = match more >= here {
                true => format!("added {share:.0} % of one drive's rate"),
                false => format!("cost {:.0} % of one drive's rate", -share),
            };
            let drives = match drives {
                1 => "1 drive".to_owned(),
                drives => format!("{drives} drives"),
            };
            let follows = match self.is_doubtful {
                true => "but the intervals are too wide: measure longer",
                false => "so they share a limit",
            };
            return Some(format!(
                "{name}: the aggregate stopped growing at {drives}, with {}: one more {gain}, \
                 {follows}",
                format_mb_per_s(here)
            ));
        }
        let drives = self.aggregates.len();
        let all = at(drives)?;
        Some(format!(
            "{name}: the aggregate grew up to {drives} drives, with {}, {:.1} times what the first \
             does alone",
            format_mb_per_s(all),
            all / alone
        ))
    }
}

/// Rate of all drives but the last, bytes per second; `None` if one is not known.
fn without_last(of: &Measurement) -> Option<f64> {
    let (_, others) = of.targets.split_last()?;
    let parts = of.parts.iter().filter(|part| part.clone.is_none());
    let parts = parts.filter(|part| others.contains(&part.target));
    let rates = parts.flat_map(|part| &part.results).map(|result| Some(result.bandwidth?.value));
    rates.sum::<Option<f64>>().filter(|sum| *sum > 0.0)
}

/// Mean of values; `None` if one is not known.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Bench;

    /// Measurements on 1, 2, ... drives with these aggregates, bytes per second.
    fn measured(aggregates: &[f64]) -> Vec<Measurement> {
        let record = Bench::new(1).measured().record();
        let first = record.measurements.first().unwrap();
        let on = |(n, rate): (usize, &f64)| {
            let mut one = first.clone();
            one.targets = (0..=n).map(|drive| format!("nvme{drive}n1")).collect();
            one.total.truncate(1);
            one.total[0].bandwidth = Some(Estimate::bare(*rate));
            one
        };
        aggregates.iter().enumerate().map(on).collect()
    }

    fn growth(aggregates: &[f64]) -> Growth {
        Growth::of(&Scaling::default(), measured(aggregates).iter())
    }

    #[test]
    fn it_stops_where_one_more_brings_less_than_asked() {
        let found = growth(&[4e9, 8e9, 12e9, 12.4e9]);
        assert_eq!(found.stopped_at, Some(3));
        let said = found.sentence("read").unwrap();
        assert!(said.contains("stopped growing at 3 drives, with 12000 MB/s"), "{said}");
        assert!(said.contains("one more added 10 % of one drive's rate"), "{said}");
        assert_eq!(growth(&[4e9, 3e9]).stopped_at, Some(1));
        assert!(
            growth(&[4e9, 3e9]).sentence("x").unwrap().contains("cost 25 % of one drive's rate")
        );
        // Figures without an interval leave nothing open; wide intervals do.
        assert!(!found.is_doubtful);
        let mut all = measured(&[4e9, 8e9, 12e9, 12.4e9]);
        for one in &mut all {
            let rate = one.total[0].bandwidth.unwrap().value;
            one.total[0].bandwidth = Some(Estimate::confident(rate, rate * 0.9, rate * 1.1, 0.95));
        }
        let found = Growth::of(&Scaling::default(), all.iter());
        assert_eq!((found.stopped_at, found.is_doubtful), (Some(3), true));
        assert!(found.sentence("read").unwrap().contains("too wide"));
        // With 20 equal drives the 21st adds a twentieth, and that is all it can add.
        let many: Vec<f64> = (1..=24).map(|n| f64::from(n) * 1e9).collect();
        assert_eq!(growth(&many).stopped_at, None);
        assert!(growth(&many).sentence("x").unwrap().contains("grew up to 24 drives"));
        assert_eq!(growth(&[1e9]).sentence("x"), None);
    }

    #[test]
    fn a_slower_drive_at_its_full_speed_shares_no_limit() {
        let stopped = |first: f64, second: f64| {
            let mut all = measured(&[7e9, 7.54e9]);
            let results = all[1].total.clone();
            all[1].parts = [first, second]
                .into_iter()
                .zip(all[1].targets.clone())
                .map(|(rate, target)| {
                    let mut results = results.clone();
                    results[0].bandwidth = Some(Estimate::bare(rate));
                    let (clone, account, failure) = (None, None, None);
                    iodyno_model::Part { target, clone, results, account, failure }
                })
                .collect();
            Growth::of(&Scaling::default(), all.iter()).stopped_at
        };
        assert_eq!(stopped(7e9, 0.54e9), None);
        assert_eq!(stopped(3.9e9, 3.64e9), Some(1));
    }

    #[test]
    fn a_failed_measurement_ends_the_aggregates() {
        let mut all = measured(&[4e9, 8e9, 8e9]);
        all[1].end = iodyno_model::EndReason::Failed("gone".into());
        let found = Growth::of(&Scaling::default(), all.iter());
        assert_eq!((found.aggregates.len(), found.stopped_at), (1, None));
    }

    proptest! {
        #[test]
        fn drives_beyond_the_end_change_nothing(
            rates in prop::collection::vec(1.0..1e10_f64, 1..12),
        ) {
            let found = growth(&rates);
            if let Some(drives) = found.stopped_at {
                prop_assert!(drives < rates.len());
                prop_assert_eq!(growth(&rates[..drives]).stopped_at, None);
                prop_assert_eq!(growth(&rates[..=drives]).stopped_at, Some(drives));
            }
        }
    }
}
