//! Rounds: did a drive reach its steady state, and in which round.

use iodyno_model::{Direction, EndReason, Host, Measurement, Metric, Rounds, RunRecord, Tracked};
use iodyno_stats::{PtsLimits, PtsWindow};

use crate::reach::reach_bytes;

/// Progress of the rounds on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    /// Tracked figures, in the order of `Rounds::track`.
    pub tracks: Vec<Track>,
    /// First round whose window is steady in all of them; `None`: none is.
    pub steady_in: Option<u32>,
    /// Last round of the window: `steady_in`, or the last for which all values are known. `None`:
    /// fewer rounds than a window.
    pub last: Option<u32>,
    /// Number of times the tested range was written by the end of each round; empty: its size is
    /// not known.
    pub written_times: Vec<f64>,
    /// First round by whose end it was written the maximum number of times of the plan; `None`:
    /// never, or the plan has no maximum.
    pub full_in: Option<u32>,
}

/// A tracked figure over the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Tracked point and metric.
    pub tracked: Tracked,
    /// Value in each round, in SI units (per second; latencies in ns); `None`: not measured, or
    /// failed.
    pub values: Vec<Option<f64>>,
    /// Statistics of the window that ends with `Convergence::last`.
    pub window: Option<PtsWindow>,
}

impl Convergence {
    /// Computed from the measurements of one target of `host`, in order of time. A round that is
    /// repeated after a later one is not measured: the rounds of a window follow each other.
    pub fn of<'m>(
        asked: &Rounds,
        host: Option<&Host>,
        measurements: impl Iterator<Item = &'m Measurement> + Clone,
    ) -> Self {
        let track = |tracked: &Tracked| Track {
            tracked: tracked.clone(),
            values: values(tracked, measurements.clone()),
            window: None,
        };
        let mut tracks: Vec<Track> = asked.track.iter().map(track).collect();
        let rounds = tracks.iter().map(|track| track.values.len() as u32).max().unwrap_or(0);
        let limits = limits(asked);
        let windows = |last: u32| -> Option<Vec<PtsWindow>> {
            tracks.iter().map(|track| track.window(last, asked.window)).collect()
        };
        let known = || (1..=rounds).filter_map(|last| Some((last, windows(last)?)));
        let steady =
            known().find(|(_, windows)| windows.iter().all(|window| window.is_steady(limits)));
        let steady_in = steady.as_ref().map(|(last, _)| *last);
        let shown = steady.or_else(|| known().next_back());
        let last = shown.as_ref().map(|(last, _)| *last);
        for (track, window) in tracks.iter_mut().zip(shown.into_iter().flat_map(|(_, all)| all)) {
            track.window = Some(window);
        }
        let written_times = written_times(host, measurements);
        let full = |times: &f64| asked.written_times.is_some_and(|most| *times >= most);
        let full_in = written_times.iter().position(full).map(|at| at as u32 + 1);
        Self { tracks, steady_in, last, written_times, full_in }
    }

    /// Returns the round that ends the test; `None`: it goes on while there are rounds left.
    pub fn over_in(&self) -> Option<u32> {
        self.steady_in.into_iter().chain(self.full_in).min()
    }

    /// Returns the progress of each target of a run in rounds, in order of time.
    pub fn by_target<'r>(asked: &Rounds, record: &'r RunRecord) -> Vec<(&'r [String], Self)> {
        let mut found: Vec<(&[String], Self)> = Vec::new();
        let in_rounds = || record.measurements.iter().filter(|of| of.round.is_some());
        for Measurement { targets, .. } in in_rounds() {
            if found.iter().all(|(known, _)| known != targets) {
                let of_target = in_rounds().filter(move |of| of.targets == *targets);
                found.push((targets, Self::of(asked, record.host(), of_target)));
            }
        }
        found
    }

    /// Returns the number of rounds with a tracked measurement, successful or not.
    pub fn rounds(&self) -> u32 {
        self.tracks.iter().map(|track| track.values.len() as u32).max().unwrap_or(0)
    }

    /// Returns the rounds of the window.
    pub fn window(&self, asked: &Rounds) -> Option<std::ops::RangeInclusive<u32>> {
        self.last.map(|last| last.saturating_sub(asked.window) + 1..=last)
    }
}

impl Track {
    /// Returns the window of `rounds` rounds that ends with round `last`.
    fn window(&self, last: u32, rounds: u32) -> Option<PtsWindow> {
        let first = last.checked_sub(rounds)? as usize;
        let values: Option<Vec<f64>> =
            self.values.get(first..last as usize)?.iter().copied().collect();
        PtsWindow::of(&values?)
    }
}

/// Returns the steady-state limits of a window.
pub fn limits(asked: &Rounds) -> PtsLimits {
    PtsLimits { excursion: asked.excursion_percent / 100.0, slope: asked.slope_percent / 100.0 }
}

/// Returns the index of a measurement's round, from 0. Numbers that no test has, as a document from
/// elsewhere may hold, are no round: tables are as long as the highest.
fn round_index(of: &Measurement) -> Option<usize> {
    const MAX_ROUNDS: u32 = 1 << 20;
    let round = of.round?.checked_sub(1)?;
    (round < MAX_ROUNDS).then_some(round as usize)
}

fn values<'m>(
    tracked: &Tracked,
    measurements: impl Iterator<Item = &'m Measurement>,
) -> Vec<Option<f64>> {
    let mut values: Vec<Option<f64>> = Vec::new();
    let mut last = 0;
    for measurement in measurements.filter(|of| of.name == tracked.point) {
        let Some(round) = round_index(measurement) else { continue };
        if round < last || !is_whole(measurement) {
            last = last.max(round);
            continue;
        }
        last = round;
        if values.len() <= round {
            values.resize(round + 1, None);
        }
        values[round] = total_figure(tracked.metric, measurement);
    }
    values
}

/// Number of times the tested range was written by the end of each round, warm-up included; empty
/// if its size is not known.
fn written_times<'m>(
    host: Option<&Host>,
    measurements: impl Iterator<Item = &'m Measurement>,
) -> Vec<f64> {
    let (mut written, mut range): (Vec<u64>, Option<u64>) = (Vec::new(), None);
    for of in measurements {
        let Some(round) = round_index(of) else { continue };
        written.resize(written.len().max(round + 1), 0);
        let bytes = of.result(Direction::Write).and_then(|of| of.whole_bytes.or(of.bytes));
        written[round] = written[round].saturating_add(bytes.unwrap_or(0));
        range = range.or_else(|| reach_bytes(host, of));
    }
    let Some(range) = range.filter(|bytes| *bytes > 0) else { return Vec::new() };
    let mut sum: u64 = 0;
    let times = written.into_iter().map(|bytes| {
        sum = sum.saturating_add(bytes);
        sum as f64 / range as f64
    });
    times.collect()
}

/// Returns true if it neither was interrupted nor failed.
pub fn is_whole(measurement: &Measurement) -> bool {
    !matches!(measurement.end, EndReason::Interrupted | EndReason::Failed(_))
}

/// Returns a figure of a measurement over all its directions, in SI units (latencies in ns); `None`
/// if one of them is not known.
pub fn total_figure(metric: Metric, measurement: &Measurement) -> Option<f64> {
    let total = &measurement.total;
    let rates: Option<Vec<f64>> = total
        .iter()
        .map(|result| {
            let rate = match metric {
                Metric::Bandwidth => result.bandwidth,
                Metric::Iops | Metric::LatencyMean => result.iops,
            };
            rate.map(|rate| rate.value)
        })
        .collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let sum: f64 = rates.iter().sum();
    if metric != Metric::LatencyMean {
        return Some(sum);
    }
    let means: Option<Vec<f64>> =
        total.iter().map(|result| Some(result.latency_mean?.value)).collect();
    let weighted = means?.iter().zip(&rates).map(|(mean, rate)| mean * rate).sum::<f64>() / sum;
    weighted.is_finite().then_some(weighted)
}

#[cfg(test)]
mod tests {
    use iodyno_model::{DirectionResult, Estimate};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Bench;

    #[test]
    fn absurd_round_numbers_are_no_rounds() {
        let mut of = Bench::new(1).measured().record().measurements[0].clone();
        for (round, index) in [(None, None), (Some(0), None), (Some(7), Some(6))] {
            of.round = round;
            assert_eq!(round_index(&of), index);
        }
        of.round = Some(u32::MAX);
        assert_eq!(round_index(&of), None);
    }

    fn asked(points: &[&str]) -> Rounds {
        let tracked = |point: &&str| Tracked { point: point.to_string(), metric: Metric::Iops };
        Rounds { track: points.iter().map(tracked).collect(), ..Rounds::default() }
    }

    fn measured(name: &str, rates: &[f64]) -> Vec<Measurement> {
        let record = Bench::new(1).measured().record();
        let first = record.measurements.first().unwrap();
        let one = |(round, iops): (usize, &f64)| {
            let mut one = first.clone();
            one.name = name.into();
            one.round = Some(round as u32 + 1);
            one.total.truncate(1);
            one.total[0].iops = Some(Estimate::bare(*iops));
            one
        };
        rates.iter().enumerate().map(one).collect()
    }

    #[test]
    fn steady_is_what_is_steady_in_all_that_is_tracked() {
        let mut all = measured("a", &[500.0, 300.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        all.extend(measured("b", &[900.0, 900.0, 900.0, 100.0, 100.0, 100.0, 100.0, 100.0]));
        let found = Convergence::of(&asked(&["a"]), None, all.iter());
        assert_eq!((found.steady_in, found.last), (Some(7), Some(7)));
        let found = Convergence::of(&asked(&["a", "b"]), None, all.iter());
        assert_eq!(found.steady_in, Some(8));
        assert_eq!(found.window(&asked(&[])), Some(4..=8));
        assert_eq!(found.tracks[1].window.unwrap().average, 100.0);
    }

    #[test]
    fn a_round_that_failed_breaks_the_window() {
        let mut all = measured("a", &[100.0; 8]);
        all[2].end = EndReason::Failed("gone".into());
        assert_eq!(Convergence::of(&asked(&["a"]), None, all.iter()).steady_in, Some(8));
        let found = Convergence::of(&asked(&["a"]), None, all[..7].iter());
        assert_eq!((found.steady_in, found.last), (None, None));
        // The round is measured again, at once, or after the others.
        let again = measured("a", &[100.0; 3]).remove(2);
        let at_once = all[..3].iter().chain([&again]).chain(&all[3..]);
        let steady_in = |found: Convergence| found.steady_in;
        assert_eq!(steady_in(Convergence::of(&asked(&["a"]), None, at_once)), Some(5));
        let found = Convergence::of(&asked(&["a"]), None, all.iter().chain([&again]));
        assert_eq!(found.steady_in, Some(8));
    }

    #[test]
    fn latencies_count_as_often_as_there_were_ios() {
        let mut one = measured("a", &[300.0]).remove(0);
        one.total[0].latency_mean = Some(Estimate::bare(10.0));
        let mut other = one.total[0].clone();
        other.iops = Some(Estimate::bare(100.0));
        other.latency_mean = Some(Estimate::bare(50.0));
        one.total.push(other);
        assert_eq!(total_figure(Metric::LatencyMean, &one), Some(20.0));
        assert_eq!(total_figure(Metric::Iops, &one), Some(400.0));
        one.total[0].iops = None;
        assert_eq!(total_figure(Metric::Iops, &one), None);
    }

    #[test]
    fn rounds_are_over_once_the_range_was_written_often_enough() {
        let mut all = measured("a", &[100.0, 300.0, 100.0]);
        for of in &mut all {
            of.workload.options.insert("size".into(), "1000".into());
            of.total[0] = DirectionResult {
                whole_bytes: Some(1500),
                ..DirectionResult::unknown(Direction::Write)
            };
        }
        let twice = Rounds { written_times: Some(3.0), ..asked(&["a"]) };
        let found = Convergence::of(&twice, None, all.iter());
        assert_eq!((found.full_in, found.over_in(), found.steady_in), (Some(2), Some(2), None));
        assert_eq!(found.written_times, [1.5, 3.0, 4.5]);
        // Neither the size of a target nor a percentage of it is guessed.
        for size in [None, Some("50%")] {
            for of in &mut all {
                of.workload.options.remove("size");
                of.workload.options.extend(size.map(|size| ("size".into(), size.into())));
            }
            let found = Convergence::of(&twice, None, all.iter());
            assert_eq!((found.full_in, found.written_times), (None, vec![]));
        }
    }

    proptest! {
        #[test]
        fn the_window_has_as_many_rounds_as_asked(
            rates in prop::collection::vec(1.0..1e6_f64, 0..30),
        ) {
            let asked = asked(&["a"]);
            let all = measured("a", &rates);
            let found = Convergence::of(&asked, None, all.iter());
            prop_assert_eq!(found.last.is_some(), rates.len() >= 5);
            if let Some(window) = found.window(&asked) {
                prop_assert_eq!(window.count(), 5);
            }
            if found.steady_in.is_none() && rates.len() >= 5 {
                prop_assert_eq!(found.last, Some(rates.len() as u32));
            }
            // More rounds do not change what was found.
            let mut more = all.clone();
            more.extend(measured("a", &[7.0; 31]).split_off(rates.len()));
            let later = Convergence::of(&asked, None, more.iter());
            if found.steady_in.is_some() {
                prop_assert_eq!(later.steady_in, found.steady_in);
            }
        }
    }
}
