//! Combines the logs of a run, job by job, into series.

use std::io::{self, BufRead};

use iodyno_model::{
    DIRECTIONS, Direction, DirectionResult, Estimate, Histogram, LatencyKind, LatencySeries,
    RateSeries, SplitLatency, Window,
};

use super::Kind;
use super::grid::Cell;
use super::reduce::{Latencies, Rates, ReduceOptions, Reduced, ReportInfo, reduce};

/// Accumulates the logs of a run's jobs. Jobs are read one after the other, so that only one job's
/// logs are in memory.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    known: ReportInfo,
    /// Directions are reported as one (unified).
    unified: bool,
    /// Window length of all rate logs, ns: that of the first one.
    width_ns: Option<u64>,
    job: Vec<(Kind, Reduced)>,
    sums: [Option<Sum>; 3],
}

/// Results of all jobs in one direction.
#[derive(Debug)]
struct Sum {
    rates: Rates,
    ios_known: bool,
    bytes_known: bool,
    /// Every I/O was counted.
    counted: bool,
    /// Kind of latencies in the windows.
    window_kind: LatencyKind,
    /// Latencies over time and their kind.
    latencies: Option<(LatencyKind, Latencies)>,
    /// All latencies by kind, if every job has a row for each I/O.
    whole: Option<[Histogram; 3]>,
}

/// Remarks on a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Remarks {
    /// Line of the first invalid row, from 1, and the number of invalid rows.
    pub(crate) damage: Option<(usize, usize)>,
    /// The log has no rows.
    pub(crate) empty: bool,
    /// Latencies are assumed to be in ns: the log does not tell.
    pub(crate) unit_assumed: bool,
}

/// Results of a run from its logs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Series {
    /// With rates, latencies and series; counts if each I/O has a row.
    pub(crate) results: Vec<DirectionResult>,
    /// End of the last window, ns.
    pub(crate) duration_ns: u64,
}

impl Jobs {
    /// With `unified` all directions are merged into [`Direction::Mixed`].
    pub(crate) fn new(known: ReportInfo, unified: bool) -> Self {
        Self { known, unified, ..Self::default() }
    }

    /// Reads a log of a job; the logs of a job come in the order of [`Kind::rank`].
    pub(crate) fn read(
        &mut self,
        kind: Kind,
        all_jobs: bool,
        input: impl BufRead,
    ) -> io::Result<Remarks> {
        // One kind of latencies over time suffices.
        let kept = |(_, log): &(Kind, Reduced)| log.latencies.iter().any(Option::is_some);
        let options = ReduceOptions {
            all_jobs,
            unified: self.unified,
            latencies: !self.job.iter().any(kept),
            width_ns: self.width_ns,
        };
        let log = reduce(input, kind, options, &self.known)?;
        let width_ns = log.rates.iter().flatten().map(|rates| rates.width_ns).min();
        self.width_ns = self.width_ns.or(width_ns);
        let damage = (log.damage.rows > 0).then_some((log.damage.line, log.damage.rows));
        let (empty, unit_assumed) = (log.empty, log.unit_assumed && !log.empty);
        self.job.push((kind, log));
        Ok(Remarks { damage, empty, unit_assumed })
    }

    /// Ends a job: all of its logs were read.
    pub(crate) fn end_job(&mut self) {
        let mut job = std::mem::take(&mut self.job);
        for direction in 0..3 {
            let Some(sum) = of_direction(&mut job, direction) else { continue };
            match &mut self.sums[direction] {
                Some(all) => all.add(sum),
                none => *none = Some(sum),
            }
        }
    }

    /// Returns the results of all jobs.
    pub(crate) fn series(mut self) -> Series {
        self.end_job();
        let ends = self.sums.iter().flatten().map(Sum::end_ns);
        let duration_ns = ends.max().unwrap_or(0);
        let directions = if self.unified { [Direction::Mixed; 3] } else { DIRECTIONS };
        let sums = directions.into_iter().zip(self.sums);
        let results = sums.filter_map(|(direction, sum)| Some(sum?.result(direction)));
        Series { results: results.collect(), duration_ns }
    }
}

/// Combines the logs of a job for one direction.
fn of_direction(job: &mut [(Kind, Reduced)], direction: usize) -> Option<Sum> {
    let latencies = job.iter_mut().find_map(|(kind, log)| match *kind {
        Kind::Latency(kind) | Kind::Bins(kind) => Some((kind, log.latencies[direction].take()?)),
        _ => None,
    });
    let rates_of = |wanted: &dyn Fn(Kind, &Reduced) -> bool| {
        let mut logs = job.iter().filter(|(kind, log)| wanted(*kind, log));
        logs.find_map(|(kind, log)| Some((*kind, log.per_io, log.rates[direction].clone()?)))
    };
    let each_io = || rates_of(&|_, log| log.per_io);
    let ios = rates_of(&|kind, _| kind == Kind::Iops).or_else(each_io);
    let bytes = rates_of(&|kind, _| kind == Kind::Bandwidth).or_else(each_io);
    let counted = [&ios, &bytes].iter().all(|found| found.as_ref().is_some_and(|found| found.1));
    let [ios, bytes] = [ios, bytes].map(|found| found.map(|found| found.2));
    let latency = rates_of(&|kind, _| matches!(kind, Kind::Latency(_)));
    let window_kind = match latency {
        Some((Kind::Latency(kind), ..)) => kind,
        _ => LatencyKind::Total,
    };
    let means = latency.as_ref().is_some_and(|(_, per_io, _)| !per_io);
    let latency = latency.map(|found| found.2);
    let mut whole: [Histogram; 3] = std::array::from_fn(|_| Histogram::default());
    let mut any = false;
    for (kind, log) in job.iter_mut() {
        if let (Kind::Latency(kind), true) = (*kind, log.per_io) {
            whole[kind as usize].merge(&std::mem::take(&mut log.whole[direction]));
            any = true;
        }
    }
    let mut grids = [ios, bytes, latency];
    let width_ns = grids.iter().flatten().map(|grid| grid.width_ns).max();
    if width_ns.is_none() && latencies.is_none() {
        return None;
    }
    let mut rates = Rates::new(width_ns.unwrap_or(LatencySeries::SHORTEST_NS));
    grids.iter_mut().flatten().for_each(|grid| grid.widen_to(rates.width_ns));
    let length = grids.iter().flatten().map(|grid| grid.cells.len()).max().unwrap_or(0);
    rates.end_ns = grids.iter().flatten().map(|grid| grid.end_ns).max().unwrap_or(0);
    let [ios, bytes, latency] = &grids;
    let usual = ios.as_ref().map_or(0.0, |grid| {
        grid.cells.iter().map(|cell| cell.ios).sum::<f64>() / grid.cells.len().max(1) as f64
    });
    // A log may end a window before the others, or a few ms after it.
    let cell = |grid: &Option<Rates>, n: usize| {
        let half_ns = (n as u64).saturating_mul(rates.width_ns).saturating_add(rates.width_ns / 2);
        let reached = |grid: &&Rates| grid.end_ns >= half_ns || rates.end_ns < half_ns;
        grid.as_ref().filter(reached).and_then(|grid| grid.cell(n))
    };
    rates.cells = (0..length)
        .map(|n| {
            let latency = cell(latency, n).unwrap_or_default();
            let (count, moved) = (cell(ios, n), cell(bytes, n));
            // A mean is weighted by the number of I/Os, if known.
            let counts_for = count.map_or(usual, |cell| cell.ios);
            let weighted = means && counts_for > 0.0 && latency.latency_count > 0.0;
            let weight = if weighted { counts_for / latency.latency_count } else { 1.0 };
            Cell {
                ios: count.map_or(0.0, |cell| cell.ios),
                bytes: moved.map_or(0.0, |cell| cell.bytes),
                latency_sum_ns: latency.latency_sum_ns * weight,
                latency_count: latency.latency_count * weight,
                ios_missing: count.is_none(),
                bytes_missing: moved.is_none(),
            }
        })
        .collect();
    Some(Sum {
        rates,
        ios_known: ios.is_some(),
        bytes_known: bytes.is_some(),
        counted,
        window_kind,
        latencies,
        whole: any.then_some(whole),
    })
}

impl Sum {
    /// Adds another job.
    fn add(&mut self, job: Self) {
        self.ios_known &= job.ios_known;
        self.bytes_known &= job.bytes_known;
        self.counted &= job.counted;
        self.rates.merge(job.rates);
        self.whole = match (self.whole.take(), job.whole) {
            (Some(mut all), Some(job)) => {
                all.iter_mut().zip(&job).for_each(|(all, job)| all.merge(job));
                Some(all)
            }
            _ => None,
        };
        match (&mut self.latencies, job.latencies) {
            (Some((kind, all)), Some((same, job))) if *kind == same => all.merge(job),
            // Latencies of some jobs do not represent all.
            (all, _) => *all = None,
        }
    }

    fn end_ns(&self) -> u64 {
        self.rates.end_ns.max(self.latencies.as_ref().map_or(0, |(_, latencies)| latencies.end_ns))
    }

    fn result(self, direction: Direction) -> DirectionResult {
        let end_ns = self.end_ns();
        let mut result = DirectionResult::unknown(direction);
        let total = self.rates.cells.iter().fold(Cell::default(), |mut total, cell| {
            total.add(cell, 1.0);
            total
        });
        if total.latency_count > 0.0 {
            let mean = Estimate::bare(total.latency_sum_ns / total.latency_count);
            match self.window_kind {
                LatencyKind::Total => result.latency_mean = Some(mean),
                kind => result.stated.get_or_insert_default().of_mut(kind).mean_ns = Some(mean),
            }
        }
        if self.counted {
            result.ios = Some(total.ios as u64);
            result.bytes = Some(total.bytes as u64);
            (result.whole_ios, result.whole_bytes) = (result.ios, result.bytes);
        }
        result.series = self.rate_series(end_ns);
        result.iops = rate(&result.series, |window| window.ios);
        result.bandwidth = rate(&result.series, |window| window.bytes);
        let mut whole = self.whole.unwrap_or_default();
        if let Some((kind, latencies)) = self.latencies {
            // Windows of a histogram log contain every I/O.
            if whole[kind as usize].count() == 0 {
                latencies.cells.iter().for_each(|cell| whole[kind as usize].merge(cell));
            }
            result.latency_series.kind = kind;
            let width_ns = latencies.width_ns;
            for (n, latency) in latencies.cells.into_iter().enumerate() {
                let start_ns = n as u64 * width_ns;
                let length_ns = width_ns.min(end_ns.saturating_sub(start_ns));
                result.latency_series.push(start_ns, length_ns, &latency);
            }
        }
        let [submission, completion, total] = whole;
        result.latency = total;
        let any = submission.count() + completion.count() > 0;
        result.split = any.then_some(SplitLatency { submission, completion });
        result
    }

    fn rate_series(&self, end_ns: u64) -> RateSeries {
        let width_ns = self.rates.width_ns;
        // Round such that sums stay exact.
        let whole = |sum: &mut f64, amount: f64| {
            let before = sum.round();
            *sum += amount;
            (sum.round() - before).max(0.0) as u64
        };
        let (mut ios, mut bytes) = (0.0, 0.0);
        let mut windows: Vec<Window> = Vec::with_capacity(self.rates.cells.len());
        for (n, cell) in self.rates.cells.iter().enumerate() {
            let start_ns = n as u64 * width_ns;
            let count = match cell.latency_count {
                some if some > 0.0 => some.round().max(1.0),
                _ => 0.0,
            };
            let mean_ns = cell.latency_sum_ns / cell.latency_count.max(f64::MIN_POSITIVE);
            let ios_known = self.ios_known && !cell.ios_missing;
            let bytes_known = self.bytes_known && !cell.bytes_missing;
            windows.push(Window {
                start_ns,
                duration_ns: width_ns.min(end_ns.saturating_sub(start_ns)),
                ios: Some(whole(&mut ios, cell.ios)).filter(|_| ios_known),
                bytes: Some(whole(&mut bytes, cell.bytes)).filter(|_| bytes_known),
                latency_sum_ns: mean_ns * count,
                latency_count: Some(count as u64),
                temperature_c: None,
            });
        }
        // A few ms of lateness of the last window are no window of their own.
        if let [.., before, last] = windows.as_mut_slice()
            && last.duration_ns < width_ns / 2
        {
            last.ios = last.ios.or(before.ios.and(Some(0)));
            last.bytes = last.bytes.or(before.bytes.and(Some(0)));
            before.duration_ns += last.duration_ns;
            before.add(last);
            windows.pop();
        }
        let mut series = RateSeries::default();
        series.latency_kind = self.window_kind;
        windows.into_iter().for_each(|window| series.push(window));
        series
    }
}

/// Mean rate over all windows in which it is known.
fn rate(series: &RateSeries, amount: fn(&Window) -> Option<u64>) -> Option<Estimate> {
    let known =
        series.windows().iter().filter_map(|window| Some((amount(window)?, window.duration_ns)));
    let (amount, ns) = known.fold((0.0, 0.0), |(amount, ns), (more, longer)| {
        (amount + more as f64, ns + longer as f64)
    });
    (ns > 0.0).then(|| Estimate::bare(amount * 1e9 / ns))
}
