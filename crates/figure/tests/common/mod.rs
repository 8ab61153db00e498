//! Runs made up for tests.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use iodyno_figure::{
    Figure, FigureError, Form, Metric, Panel, Request, Source, Track, TrackWindow,
};
use iodyno_model::{
    Direction, DirectionResult, Estimate, Headroom, Histogram, LoadCell, Measurement, NoP99, Run,
    RunRecord, RunState, Window, Workload,
};

/// A result with rates, and latencies spread around `1e9 / iops` ns.
pub(crate) fn result(direction: Direction, iops: f64, bs: u64) -> DirectionResult {
    let mut latency = Histogram::default();
    for n in 0..400u64 {
        let (ns, count) = ((1e9 / iops.max(1.0)) as u64 / 2 + n * n * 3 + 50, 100);
        let (sum, squares) = (count as f64 * ns as f64, count as f64 * (ns as f64).powi(2));
        latency.add_counts([(Histogram::index(ns), count)], sum, squares, ns, ns);
    }
    DirectionResult {
        iops: Some(Estimate::confident(iops, iops * 0.97, iops * 1.04, 0.95)),
        bandwidth: Some(Estimate::bare(iops * bs as f64)),
        latency_mean: latency.mean_ns().map(Estimate::bare),
        latency,
        ..DirectionResult::unknown(direction)
    }
}

/// A measurement of reads.
pub(crate) fn measurement(rw: &str, bs: u64, iodepth: u32, numjobs: u32, iops: f64) -> Measurement {
    Measurement {
        targets: vec!["nvme0n1".into()],
        workload: Workload {
            rw: Some(rw.into()),
            bs: Some(bs),
            iodepth: Some(iodepth),
            numjobs: Some(numjobs),
            ..Workload::default()
        },
        source: "native 0.1.0".into(),
        duration_ns: Some(10_000_000_000),
        total: vec![result(Direction::Read, iops, bs)],
        ..Measurement::unknown(format!("{rw}-{bs}-{iodepth}-{numjobs}"))
    }
}

/// The same with rates and latencies over `seconds`.
pub(crate) fn over_time(mut measurement: Measurement, seconds: u64) -> Measurement {
    for result in &mut measurement.total {
        let iops = result.iops.map_or(0.0, |estimate| estimate.value);
        let bs = measurement.workload.bs.unwrap_or(0);
        for n in 0..seconds {
            let ios = (iops * (1.0 + 0.1 * (n as f64).sin())) as u64;
            result.series.push(Window {
                start_ns: n * 1_000_000_000,
                duration_ns: 1_000_000_000,
                ios: Some(ios),
                bytes: Some(ios * bs),
                latency_sum_ns: 8e9,
                ..Window::default()
            });
            result.latency_series.push(n * 1_000_000_000, 1_000_000_000, &result.latency);
        }
    }
    measurement
}

/// The same point in rounds with these IOPS; 0: it failed. With the tracked figure, whose window is
/// the last five.
pub(crate) fn in_rounds(rates: &[f64]) -> (Vec<Measurement>, Track) {
    let one = |(round, iops): (usize, &f64)| {
        let mut one = over_time(measurement("randwrite", 4096, 8, 1, *iops), 3);
        one.name = "tracked".into();
        one.round = Some(round as u32 + 1);
        one.started_ns = Some(round as i64 * 10_000_000_000);
        let result = &mut one.total[0];
        result.direction = Direction::Write;
        result.whole_bytes = Some(3 * 4096 * *iops as u64);
        one
    };
    let last = rates.len() as u32;
    let window = rates.len().checked_sub(5).map(|first| &rates[first..]);
    let track = Track {
        source: 0,
        targets: vec!["nvme0n1".into()],
        point: "tracked".into(),
        metric: Metric::Iops,
        values: rates.iter().map(|iops| Some(*iops).filter(|iops| *iops > 0.0)).collect(),
        window: window.map(|values| TrackWindow {
            rounds: last - 4..=last,
            average: values.iter().sum::<f64>() / 5.0,
            band_percent: 10.0,
            fit_first: values[0],
            fit_slope: (values[4] - values[0]) / 4.0,
        }),
        verdict: "The verdict.".into(),
        words: "the words".into(),
    };
    (rates.iter().enumerate().map(one).collect(), track)
}

/// A run of these measurements.
pub(crate) fn run(measurements: Vec<Measurement>) -> RunRecord {
    RunRecord {
        run: Run { name: "run".into(), state: RunState::Done, ..Run::new("0", 0) },
        snapshots: Vec::new(),
        measurements,
    }
}

/// The figure of one run.
pub(crate) fn figure(request: &Request, record: &RunRecord) -> Result<Figure, FigureError> {
    iodyno_figure::figure(request, &[Source::new("run", record)])
}

/// Reads under load: 100 us times (1 + parts of both), every other one measured; no rate is reached
/// if both are in their last quarter.
pub(crate) fn under_load() -> Headroom {
    let cell = |column: usize, row: usize| LoadCell {
        column,
        row,
        write_bytes_per_s: column as f64 * 50e6,
        read_iops: row as f64 * 20_000.0,
        p99_ns: (column.min(row) <= 15).then(|| Estimate::bare(1e5 * (1 + column + row) as f64)),
        missing: (column.min(row) > 15).then_some(NoP99::NotReached),
        measurement: column.is_multiple_of(2).then_some(0),
    };
    Headroom {
        target: "nvme0n1".into(),
        most_write_bytes_per_s: 1e9,
        most_read_iops: 400_000.0,
        sync: false,
        p99_bound_ns: 1_000_000,
        writes: None,
        reads: None,
        both: None,
        cells: (0..=20).flat_map(|column| (0..=20).map(move |row| cell(column, row))).collect(),
    }
}

/// Name and points (x, y) of a panel's series of a form.
pub(crate) fn lines(panel: &Panel, of: impl Fn(Form) -> bool) -> Vec<(&str, Vec<(f64, f64)>)> {
    let drawn = panel.series().iter().filter(|one| of(one.form));
    drawn.map(|one| (one.name.as_str(), one.points.iter().map(|p| (p.x, p.y)).collect())).collect()
}
