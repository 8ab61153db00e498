//! Headroom: the load that a drive takes before its reads become slow.
//!
//! Loads are shares of the drive's maximum writes and maximum reads, each measured alone. A load
//! counts if both of its rates are reached; between measured loads the logarithm of the p99 is
//! interpolated.

mod grid;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use iodyno_model::{
    Direction, DirectionResult, EndReason, Estimate, Headroom, HeadroomPlan, IoOf, Load, LoadCell,
    Measurement, Metric, NoP99,
};

use self::grid::{Grid, GridPoint, LoadState, PathEnd, STEPS, all};
use crate::convergence::is_whole;
use crate::fit::percentile;
use crate::pace::{asked_rate, is_kept};
use crate::tail::quantile_of_result;

/// Reads alongside writes that are measured alone, as a share of the maximum: enough for a p99.
const FEW_READS: f64 = 0.01;
/// Confidence level of the percentiles' intervals.
const LEVEL: f64 = 0.95;
/// Minimum number of I/Os for a p99: with 95 % confidence the slowest of so many is beyond it (0.99 to
/// the 299th power is 5 %), while the p99 of fewer is no more than their maximum.
const LEAST_FOR_P99: u64 = 300;

/// Next load to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadStep {
    /// Maximum writes alone.
    MostWrites,
    /// Maximum reads alone.
    MostReads,
    /// Reads and writes at these rates at the same time.
    Rates {
        /// Bytes per second; 0: none.
        write_bytes_per_s: f64,
        /// I/Os per second.
        read_iops: f64,
    },
}

/// Read latency of one target as a function of its load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadSurface {
    points: usize,
    sync: bool,
    bound_ns: u64,
    most_writes: Maximum,
    most_reads: Maximum,
    grid: Grid,
    /// Index and p99 of the reads of each measured load.
    measured: BTreeMap<GridPoint, (usize, Option<Estimate>)>,
}

/// Maximum rate of one kind alone, per second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Maximum {
    /// Not measured yet.
    #[default]
    Open,
    Failed,
    Known(f64),
}

impl Maximum {
    const fn known(self) -> Option<f64> {
        match self {
            Self::Known(rate) => Some(rate),
            Self::Open | Self::Failed => None,
        }
    }
}

impl LoadSurface {
    /// Number of loads on it.
    pub const LOADS: usize = (STEPS + 1).pow(2);

    /// Computed from the measurements of one target, with their indices; the bound of the p99 is
    /// `bound_ns`.
    pub fn of<'m>(
        asked: &HeadroomPlan,
        bound_ns: u64,
        measurements: impl Iterator<Item = (usize, &'m Measurement)>,
    ) -> Self {
        let (points, sync) = (asked.points as usize, asked.sync);
        let mut surface = Self { points, sync, bound_ns, ..Self::default() };
        let mut phases: BTreeMap<u32, Vec<(usize, &Measurement)>> = BTreeMap::new();
        for (index, of) in measurements.filter(|(_, of)| of.end != EndReason::Interrupted) {
            let (writes, reads) = (asked_writes(of), asked_reads(of));
            if writes.is_some() || reads.is_some() || (sync && flushes(of)) {
                phases.entry(of.phase).or_default().push((index, of));
                continue;
            }
            let is_read = of.workload.rw.as_deref().is_some_and(|rw| rw.contains("read"));
            let rate = match is_read {
                true => of.result(Direction::Read).and_then(|result| result.iops),
                false => of.result(Direction::Write).and_then(|result| result.bandwidth),
            };
            let most = match rate.filter(|rate| rate.value > 0.0 && is_whole(of)) {
                Some(rate) => Maximum::Known(rate.value),
                None => Maximum::Failed,
            };
            if is_read { surface.most_reads = most } else { surface.most_writes = most }
        }
        if let (Maximum::Known(writes), Maximum::Known(reads)) =
            (surface.most_writes, surface.most_reads)
        {
            phases.values().for_each(|phase| surface.add(phase, (writes, reads)));
        }
        surface
    }

    /// Adds one load, measured at the same time: reads, and writes unless there were none.
    fn add(&mut self, phase: &[(usize, &Measurement)], most: (f64, f64)) {
        let sync_p99 = |of: &Measurement| {
            let sync = &of.account.as_ref()?.sync;
            let bare = Estimate::bare(sync.quantile_ns(0.99)? as f64);
            let known = percentile(&[of], IoOf::Sync, 99.0).unwrap_or(bare);
            (sync.count() >= LEAST_FOR_P99).then_some(known)
        };
        let is_load = |of: &Measurement| !(self.sync && flushes(of));
        let load = || phase.iter().filter(|(_, of)| is_load(of));
        let paced = |asked: fn(&Measurement) -> Option<f64>| {
            load().find_map(|(index, of)| Some((*index, *of, asked(of)?)))
        };
        let Some((index, reads, read_iops)) = paced(asked_reads) else { return };
        let writes = paced(asked_writes);
        let part = |rate: f64, most: f64| (rate / most * STEPS as f64).round() as usize;
        let write_part = writes.as_ref().map_or(0, |(.., rate)| part(*rate, most.0));
        let at = (write_part, part(read_iops, most.1));
        if !phase.iter().all(|(_, of)| is_whole(of)) {
            self.grid.failed.insert(at);
            return;
        }
        let result = reads.result(Direction::Read);
        let seconds = reads.duration_ns.unwrap_or(0) as f64 / 1e9;
        // Reads arrive like those of independent users: if few, there may by chance be fewer.
        let chance = 2.0 * (read_iops / seconds.max(1e-9)).sqrt();
        let reached = is_kept(result.and_then(|one| one.iops), read_iops, chance)
            && writes.is_none_or(|(_, of, asked)| {
                let rate = of.result(Direction::Write).and_then(|one| one.bandwidth);
                is_kept(rate, asked, 0.0)
            })
            // Fewer flushes than asked for are another load.
            && phase.iter().filter(|(_, of)| !is_load(of)).all(|(_, of)| {
                let rate = of.result(Direction::Write).and_then(|one| one.iops);
                asked_rate(of, Metric::Iops, Direction::Write)
                    .is_none_or(|asked| is_kept(rate, asked, 0.0))
            });
        let (index, p99) = match phase.iter().find(|(_, of)| !is_load(of)) {
            Some((index, of)) => (*index, sync_p99(of)),
            None if self.sync => (index, None),
            None => (index, result.and_then(p99)),
        };
        if reached && p99.is_none() {
            self.grid.failed.insert(at);
            return;
        }
        let p99 = p99.filter(|_| reached);
        self.grid.known.insert(at, p99.map(|p99| p99.value.ln()));
        self.measured.insert(at, (index, p99));
    }

    /// Returns the next load to measure; `None`: all are measured, or one of the maxima failed.
    pub fn next(&self) -> Option<LoadStep> {
        match (self.most_writes, self.most_reads) {
            (Maximum::Open, _) => Some(LoadStep::MostWrites),
            (Maximum::Known(_), Maximum::Open) => Some(LoadStep::MostReads),
            (Maximum::Known(_), Maximum::Known(_)) => {
                let (write_bytes_per_s, read_iops) =
                    self.rates(self.grid.next(self.points, self.bound())?)?;
                Some(LoadStep::Rates { write_bytes_per_s, read_iops })
            }
            (Maximum::Failed, _) | (Maximum::Known(_), Maximum::Failed) => None,
        }
    }

    /// Returns how many points may still be measured, the maxima included.
    pub fn left(&self) -> usize {
        let most = [self.most_writes, self.most_reads];
        let open = most.iter().filter(|most| **most == Maximum::Open).count();
        open + self.points.saturating_sub(self.grid.known.len() + self.grid.failed.len())
    }

    fn bound(&self) -> f64 {
        (self.bound_ns as f64).ln()
    }

    /// Bytes written per second and reads per second of a load.
    fn rates(&self, (writes, reads): GridPoint) -> Option<(f64, f64)> {
        let share = |part: usize| part as f64 / STEPS as f64;
        let most_reads = self.most_reads.known()?;
        let few = (FEW_READS * most_reads).max(1.0);
        let reads = if reads == 0 { few } else { share(reads) * most_reads };
        Some((share(writes) * self.most_writes.known()?, reads))
    }

    /// Returns the surface, and the loads that keep the bound; `target` is the name of the target.
    /// `None`: no load was measured.
    pub fn headroom(&self, target: &str) -> Option<Headroom> {
        let (most_writes, most_reads) = (self.most_writes.known()?, self.most_reads.known()?);
        if self.measured.is_empty() {
            return None;
        }
        let load = |path: fn(usize) -> GridPoint| {
            let (parts, limited) = self.grid.limit(self.bound(), path)?;
            let (share, end) = (parts / STEPS as f64, path(STEPS));
            let of = |part: usize, most: f64| if part == 0 { 0.0 } else { share * most };
            let (write_bytes_per_s, read_iops) = (of(end.0, most_writes), of(end.1, most_reads));
            let (is_most, is_open) = (limited == PathEnd::Most, limited == PathEnd::Open);
            Some(Load { write_bytes_per_s, read_iops, is_most, is_open })
        };
        let cell = |at: GridPoint| {
            let (write_bytes_per_s, read_iops) = self.rates(at)?;
            let measured = self.measured.get(&at);
            let (p99_ns, missing) = match self.grid.state(at) {
                LoadState::Known(p99) => (Some(Estimate::bare(p99.exp())), None),
                LoadState::NotReached => (None, Some(NoP99::NotReached)),
                LoadState::NotMeasured => (None, Some(NoP99::NotMeasured)),
            };
            let p99_ns = measured.map_or(p99_ns, |(_, p99)| *p99);
            let measurement = measured.map(|(index, _)| *index);
            let (column, row) = at;
            Some(LoadCell {
                column,
                row,
                write_bytes_per_s,
                read_iops,
                p99_ns,
                missing,
                measurement,
            })
        };
        Some(Headroom {
            target: target.into(),
            most_write_bytes_per_s: most_writes,
            most_read_iops: most_reads,
            sync: self.sync,
            p99_bound_ns: self.bound_ns,
            writes: load(|part| (part, 0)),
            reads: load(|part| (0, part)),
            both: load(|part| (part, part)),
            cells: all().filter_map(cell).collect(),
        })
    }
}

/// Returns the rate of writes that its jobs were asked for, bytes/s.
fn asked_writes(of: &Measurement) -> Option<f64> {
    asked_rate(of, Metric::Bandwidth, Direction::Write)
}

/// Returns the rate of reads that its jobs were asked for, IOPS.
fn asked_reads(of: &Measurement) -> Option<f64> {
    asked_rate(of, Metric::Iops, Direction::Read)
}

/// Returns true if its jobs flush their writes.
fn flushes(of: &Measurement) -> bool {
    of.account.as_ref().is_some_and(|account| !account.sync.is_empty())
}

/// Returns the p99 of reads, ns, with its interval if that is known; `None`: too few.
fn p99(result: &DirectionResult) -> Option<Estimate> {
    let bins = result.total_or_completion_bins();
    let reads = bins.map(|(_, bins)| bins.count()).or(result.ios)?;
    if reads < LEAST_FOR_P99 {
        return None;
    }
    let known = bins.and_then(|(kind, _)| quantile_of_result(result, kind, 99.0, LEVEL));
    let known = known.map(|of| Estimate::confident(of.value, of.low, of.high, LEVEL));
    known.or_else(|| Some(result.percentile(99.0)?.1)).filter(|p99| p99.value > 0.0)
}
