//! Reduces a log to windows while reading it.

use std::io::{self, BufRead};

use iodyno_model::{Histogram, LatencyKind, LatencySeries, RateSeries};

use super::Kind;
use super::bins::BinsRow;
use super::grid::{Cell, Grid};
use super::log_format::{EXAMINED_ROWS, LogFormat};
use super::row::{Damage, Row, each_line};
use crate::read::latency::Unit;

const MS_NS: u64 = 1_000_000;
/// Window length for rows of single I/Os, ns.
const IO_WINDOW_NS: u64 = 100 * MS_NS;

/// Windows of rates.
pub(super) type Rates = Grid<Cell, { RateSeries::LIMIT }>;
/// Windows of latencies.
pub(super) type Latencies = Grid<Histogram, { LatencySeries::LIMIT }>;

/// Properties of a log known from the report of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReportInfo {
    /// Major and minor version of fio.
    pub(crate) version: Option<(u32, u32)>,
    /// `log_avg_msec`.
    pub(crate) log_avg_msec: Option<u64>,
}

/// How to reduce the rows of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReduceOptions {
    /// Rows of several jobs are interleaved.
    pub(super) all_jobs: bool,
    /// All directions are merged into the first.
    pub(super) unified: bool,
    /// Keep latencies over time; they are large.
    pub(super) latencies: bool,
    /// Window length of the other logs of the run, ns.
    pub(super) width_ns: Option<u64>,
}

/// Content of a log.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    /// Windows by direction: read, write, trim.
    pub(super) rates: [Option<Rates>; 3],
    /// All latencies by direction, if each I/O has a row.
    pub(super) whole: [Histogram; 3],
    /// Latencies over time by direction, if known to the bin.
    pub(super) latencies: [Option<Latencies>; 3],
    /// Each I/O has a row.
    pub(super) per_io: bool,
    /// Latencies are assumed to be in ns: the log does not tell.
    pub(super) unit_assumed: bool,
    /// Invalid rows.
    pub(super) damage: Damage,
    /// There are no rows.
    pub(super) empty: bool,
}

/// Reads a log of `kind`.
pub(super) fn reduce(
    input: impl BufRead,
    kind: Kind,
    options: ReduceOptions,
    known: &ReportInfo,
) -> io::Result<Reduced> {
    if let Kind::Bins(_) = kind {
        return reduce_bins(input, options.unified);
    }
    let mut first: Vec<Row> = Vec::with_capacity(EXAMINED_ROWS);
    let mut state: Option<Rows> = None;
    let begin = |rows: &[Row]| {
        let mut state = Rows::new(kind, options, LogFormat::of(kind, rows, known));
        rows.iter().for_each(|row| state.add(row));
        state
    };
    let damage = each_line(input, |line| {
        let Some(mut row) = Row::parse(line) else { return false };
        row.direction = if options.unified { 0 } else { row.direction };
        match &mut state {
            Some(state) => state.add(&row),
            None => {
                first.push(row);
                if first.len() == EXAMINED_ROWS {
                    state = Some(begin(&first));
                }
            }
        }
        true
    })?;
    let state = state.unwrap_or_else(|| begin(&first));
    Ok(Reduced { damage, empty: first.is_empty(), ..state.reduced })
}

/// Adds rows to windows.
struct Rows {
    kind: Kind,
    all_jobs: bool,
    /// Keep latencies over time.
    latencies: bool,
    log_format: LogFormat,
    unit: Unit,
    width_ns: u64,
    /// End of the last window by direction, ms.
    last_ms: [u64; 3],
    reduced: Reduced,
}

impl Rows {
    fn new(kind: Kind, options: ReduceOptions, log_format: LogFormat) -> Self {
        let own_ns = log_format.window_ms.map_or(IO_WINDOW_NS, |ms| ms.saturating_mul(MS_NS));
        let latency = matches!(kind, Kind::Latency(_));
        let reduced = Reduced {
            per_io: log_format.window_ms.is_none(),
            unit_assumed: latency && log_format.unit.is_none(),
            ..Reduced::default()
        };
        Self {
            kind,
            // Merged directions are interleaved as well.
            all_jobs: options.all_jobs || options.unified,
            latencies: options.latencies && kind != Kind::Latency(LatencyKind::Submission),
            log_format,
            unit: log_format.unit.unwrap_or(Unit::Ns),
            width_ns: options.width_ns.unwrap_or(own_ns),
            last_ms: [0; 3],
            reduced,
        }
    }

    fn add(&mut self, row: &Row) {
        let time_ms = row.time_ms.saturating_sub(self.log_format.origin_ms);
        match self.log_format.window_ms {
            None => self.add_io(time_ms, row),
            Some(window_ms) => self.add_window(time_ms, window_ms, row),
        }
    }

    fn add_io(&mut self, time_ms: u64, row: &Row) {
        let time_ns = time_ms.saturating_mul(MS_NS);
        let rates = self.reduced.rates[row.direction].get_or_insert(Rates::new(self.width_ns));
        rates.end_ns = rates.end_ns.max(time_ns.saturating_add(MS_NS));
        let cell = rates.at(time_ns);
        cell.ios += 1.0;
        cell.bytes += row.bs as f64;
        if let Kind::Latency(_) = self.kind {
            let ns = row.value.saturating_mul(self.unit.printed_ns());
            cell.latency_sum_ns += ns as f64;
            cell.latency_count += 1.0;
            self.reduced.whole[row.direction].record(ns);
            if self.latencies {
                let latencies = self.reduced.latencies[row.direction]
                    .get_or_insert(Latencies::new(LatencySeries::SHORTEST_NS));
                latencies.at(time_ns).record(ns);
                latencies.end_ns = latencies.end_ns.max(time_ns.saturating_add(MS_NS));
            }
        }
    }

    fn add_window(&mut self, time_ms: u64, window_ms: u64, row: &Row) {
        let length_ms = self.length_ms(time_ms, window_ms, row.direction);
        self.last_ms[row.direction] = time_ms;
        let seconds = length_ms as f64 / 1e3;
        let value = row.value as f64;
        let amount = match self.kind {
            Kind::Bandwidth => Cell { bytes: value * 1024.0 * seconds, ..Cell::default() },
            Kind::Iops => Cell { ios: value * seconds, ..Cell::default() },
            Kind::Latency(_) | Kind::Bins(_) => {
                let share = length_ms as f64 / window_ms as f64;
                let sum = value * self.unit.printed_ns() as f64 * share;
                Cell { latency_sum_ns: sum, latency_count: share, ..Cell::default() }
            }
        };
        let rates = self.reduced.rates[row.direction].get_or_insert(Rates::new(self.width_ns));
        let to_ns = time_ms.saturating_mul(MS_NS);
        rates.spread(to_ns.saturating_sub(length_ms.saturating_mul(MS_NS)), to_ns, &amount);
    }

    /// Length of the window that ends at `time_ms`: the time since the previous one, unless windows
    /// without I/O were omitted between them, or that belongs to another job.
    fn length_ms(&self, time_ms: u64, window_ms: u64, direction: usize) -> u64 {
        let usual = window_ms.min(time_ms);
        match time_ms.checked_sub(self.last_ms[direction]) {
            None | Some(0) => usual,
            // A late row covers all of its time; omitted windows are whole ones.
            Some(step) if step >= window_ms.saturating_mul(2) - window_ms / 10 => usual,
            Some(step) if self.all_jobs && step < window_ms / 2 => usual,
            Some(step) => step,
        }
    }
}

fn reduce_bins(input: impl BufRead, unified: bool) -> io::Result<Reduced> {
    let mut reduced = Reduced { empty: true, ..Reduced::default() };
    let mut last_ms = [0; 3];
    reduced.damage = {
        let Reduced { empty, latencies, .. } = &mut reduced;
        each_line(input, |line| {
            let Some(mut row) = BinsRow::parse(line) else { return false };
            row.direction = if unified { 0 } else { row.direction };
            *empty = false;
            let from_ms =
                if row.time_ms > last_ms[row.direction] { last_ms[row.direction] } else { 0 };
            last_ms[row.direction] = row.time_ms;
            let length_ns = (row.time_ms - from_ms).saturating_mul(MS_NS);
            // Use the windows of the log, but at least 1 s.
            let latencies =
                latencies[row.direction].get_or_insert(Latencies::new(whole_seconds_ns(length_ns)));
            let middle_ms = from_ms + (row.time_ms - from_ms) / 2;
            latencies.at(middle_ms.saturating_mul(MS_NS)).merge(&row.latency);
            latencies.end_ns = latencies.end_ns.max(row.time_ms.saturating_mul(MS_NS));
            true
        })?
    };
    Ok(reduced)
}

/// Rounds a length to whole seconds, at least 1.
fn whole_seconds_ns(length_ns: u64) -> u64 {
    let second_ns = LatencySeries::SHORTEST_NS;
    (length_ns.saturating_add(second_ns / 2) / second_ns).max(1) * second_ns
}
