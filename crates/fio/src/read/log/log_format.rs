//! Infers what a log does not state: whether its rows are I/Os or windows, and the unit of its
//! latencies.

use super::row::Row;
use super::{Kind, reduce::ReportInfo};
use crate::read::latency::Unit;

/// Number of rows at the beginning that are examined.
pub(super) const EXAMINED_ROWS: usize = 1024;
/// Times above this are wall-clock times (2001 and later), not relative to the start.
pub(super) const EPOCH_MS: u64 = 1_000_000_000_000;

/// Format of a log inferred from its first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogFormat {
    /// Length of a window, ms; `None` if each row is an I/O.
    pub(super) window_ms: Option<u64>,
    /// Time 0 of the log, ms.
    pub(super) origin_ms: u64,
    /// Unit of latencies; `None` if ambiguous.
    pub(super) unit: Option<Unit>,
}

impl LogFormat {
    pub(super) fn of(kind: Kind, rows: &[Row], known: &ReportInfo) -> Self {
        let window_ms = averaged(kind, rows, known).then(|| {
            let steps = steps_ms(rows);
            let middle = steps.get(steps.len().saturating_sub(1) / 2).copied();
            let first = rows.first().map(|row| row.time_ms).filter(|ms| *ms < EPOCH_MS);
            known.log_avg_msec.filter(|ms| *ms > 0).or(middle).or(first).unwrap_or(1).max(1)
        });
        let first_ms = rows.first().map_or(0, |row| row.time_ms);
        let origin_ms = match first_ms >= EPOCH_MS {
            true => first_ms.saturating_sub(window_ms.unwrap_or(0)),
            false => 0,
        };
        Self { window_ms, origin_ms, unit: unit(rows, known, first_ms >= EPOCH_MS) }
    }
}

/// True if rows are windows (averages). They have no block size then; fio up to 2.2.10 logged rates
/// every 500 ms by default, with a block size.
fn averaged(kind: Kind, rows: &[Row], known: &ReportInfo) -> bool {
    if rows.iter().all(|row| row.bs == 0) {
        return true;
    }
    let rates = matches!(kind, Kind::Bandwidth | Kind::Iops);
    let steps = steps_ms(rows);
    let regular = steps.len() > 1 && steps.iter().all(|step| (490..=600).contains(step));
    match known.version {
        _ if kind == Kind::Iops && rows.iter().any(|row| row.value != 1) => true,
        Some(version) => rates && version < (2, 3) && (regular || steps.len() < 2),
        None => kind == Kind::Bandwidth && regular,
    }
}

/// Intervals between rows of one direction, ms, ascending.
fn steps_ms(rows: &[Row]) -> Vec<u64> {
    let mut last: [Option<u64>; 3] = [None; 3];
    let mut steps = Vec::new();
    for row in rows {
        if let Some(last) = last[row.direction] {
            steps.extend(row.time_ms.checked_sub(last).filter(|step| *step > 0));
        }
        last[row.direction] = Some(row.time_ms);
    }
    steps.sort_unstable();
    steps
}

/// Unit of latencies: us in fio 2, ns in fio 3.
fn unit(rows: &[Row], known: &ReportInfo, epoch: bool) -> Option<Unit> {
    /// Shortest possible I/O, ns: less than reading the clock twice.
    const SHORTEST_NS: u64 = 20;
    if let Some(version) = known.version {
        return Some(if version < (2, 99) { Unit::Us } else { Unit::Ns });
    }
    // Priorities are logged since fio 3.18: in six columns, in hexadecimal, or in the fifth column,
    // which was an offset before.
    let priority = |row: &Row| row.columns >= 6 || row.hex || row.columns == 5 && row.fifth == 0;
    if !rows.is_empty() && rows.iter().all(priority) {
        return Some(Unit::Ns);
    }
    // No I/O began before the log did, so latencies in us would be too long.
    let too_long = |row: &Row| row.value / 1000 > row.time_ms.saturating_add(10);
    if !epoch && rows.iter().any(too_long) {
        return Some(Unit::Ns);
    }
    let shortest = rows.iter().map(|row| row.value).filter(|value| *value > 0).min();
    shortest.is_some_and(|shortest| shortest < SHORTEST_NS).then_some(Unit::Us)
}
