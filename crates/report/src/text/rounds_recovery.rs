//! Host idle recovery: the rate regained by pauses, and latencies between and after them.

use iodyno_judge::{Convergence, total_figure};
use iodyno_model::{Measurement, Metric, Rounds, parse_duration_ns};

use super::grid::{GridCell, GridColumn};
use super::rounds_tables::{RoundsTable, cell, mean, of_window, slowest};
use super::words::clean;

/// A line for the steady state and for each point after the rounds, if some of those pause; else
/// `None`.
pub(super) fn recovery(
    asked: &Rounds,
    found: &Convergence,
    all: &[&Measurement],
) -> Option<RoundsTable> {
    let after: Vec<&Measurement> = all.iter().filter(|of| of.round.is_none()).copied().collect();
    let (window, tracked) = (found.window(asked)?, asked.track.first()?);
    if !after.iter().any(|of| active_share(of).is_some_and(|share| share < 1.0)) {
        return None;
    }
    let in_window = |of: &&&Measurement| {
        of.name == tracked.point && of.round.is_some_and(|round| window.contains(&round))
    };
    let steady: Vec<&Measurement> = all.iter().filter(in_window).copied().collect();
    let baseline = mean(Metric::Iops, &steady);
    let row = |title: String, of: &[&Measurement], iops: Option<f64>| -> Vec<GridCell> {
        let share = iops.zip(baseline).filter(|(_, baseline)| *baseline > 0.0);
        let share = share.map(|(iops, baseline)| format!("{:.0} %", iops / baseline * 100.0));
        let [five_nines, longest] = slowest(of);
        let cells = [
            title,
            cell(Metric::Iops, iops),
            share.unwrap_or_else(|| "-".into()),
            cell(Metric::LatencyMean, mean(Metric::LatencyMean, of)),
            five_nines,
            longest,
        ];
        cells.map(GridCell::plain).into()
    };
    let mut rows = vec![row(clean(&tracked.point), &steady, baseline)];
    rows.extend(after.iter().map(|of| {
        let iops = total_figure(Metric::Iops, of).zip(active_share(of));
        row(clean(&of.name), &[*of], iops.map(|(iops, share)| iops / share))
    }));
    let columns = [
        GridColumn::new("POINT", 0, false),
        GridColumn::new("IOPS WHILE ACTIVE", 0, true),
        GridColumn::new("OF STEADY", 1, true),
        GridColumn::new("MEAN LATENCY", 2, true),
        GridColumn::new("P99.999", 4, true),
        GridColumn::new("LONGEST", 3, true),
    ];
    Some(RoundsTable {
        heading: format!("Recovery: active phases against {}", of_window(found, &window)),
        columns: columns.into(),
        rows,
    })
}

/// Share of time in which a point issues I/O, by its options, 0..1; `None`: it pauses, for an
/// unknown share.
fn active_share(of: &Measurement) -> Option<f64> {
    // Microseconds by default.
    let time = |option: &str| Some(parse_duration_ns(of.workload.options.get(option)?, 1e3));
    let Some(pause) = time("thinktime") else { return Some(1.0) };
    let (pause, active) = (pause?, time("thinktime_iotime")??);
    (pause + active > 0.0).then(|| active / (pause + active))
}
