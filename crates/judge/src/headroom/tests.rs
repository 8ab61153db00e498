//! Tests loads chosen, reached and interpolated, for drives with a known latency surface.

use iodyno_model::{DirectionResult, Failure, JobStats, Workload};

use super::*;

const MOST_WRITES: f64 = 1e9;
const MOST_READS: f64 = 400_000.0;
const BOUND_NS: u64 = 1_000_000;

/// The p99, ns, at shares of the maxima; `None`: not reached.
type Truth<'t> = &'t dyn Fn(f64, f64) -> Option<f64>;

/// A queue whose tail grows as it fills: slow alongside writes, and saturated beyond the end.
fn queue(writes: f64, reads: f64) -> Option<f64> {
    let load = 0.6 * writes + 0.8 * reads;
    (load < 0.97).then(|| 90_000.0 * (1.0 + 2.0 * writes) / (1.0 - load))
}

fn measurement(
    phase: u32,
    direction: Direction,
    rate: f64,
    asked: Option<f64>,
    p99_ns: f64,
) -> Measurement {
    let (rw, option) = match direction {
        Direction::Write => ("write", "rate"),
        _ => ("randread", "rate_iops"),
    };
    let options = asked.map(|asked| (option.to_owned(), format!("{}", (asked / 2.0).round())));
    let mut result = DirectionResult {
        iops: Some(Estimate::bare(rate)),
        bandwidth: Some(Estimate::bare(rate)),
        ..DirectionResult::unknown(direction)
    };
    (0..1000).for_each(|n| result.latency.record((p99_ns * (1.0 - 0.001 * f64::from(n))) as u64));
    Measurement {
        phase,
        duration_ns: Some(10_000_000_000),
        workload: Workload {
            rw: Some(rw.into()),
            numjobs: Some(2),
            options: options.into_iter().collect(),
            ..Workload::default()
        },
        total: vec![result],
        ..Measurement::unknown("load")
    }
}

/// Measures until no further load is asked for.
fn measure(truth: Truth<'_>, points: u32) -> (LoadSurface, Vec<Measurement>) {
    let mut made = Vec::new();
    loop {
        let asked = HeadroomPlan { points, sync: false };
        let surface = LoadSurface::of(&asked, BOUND_NS, made.iter().enumerate());
        let phase = made.len() as u32;
        let Some(step) = surface.next() else { return (surface, made) };
        let left = surface.left();
        match step {
            LoadStep::MostWrites => {
                made.push(measurement(phase, Direction::Write, MOST_WRITES, None, 1e6));
            }
            LoadStep::MostReads => {
                made.push(measurement(phase, Direction::Read, MOST_READS, None, 1e6));
            }
            LoadStep::Rates { write_bytes_per_s: writes, read_iops: reads } => {
                let p99 = truth(writes / MOST_WRITES, reads / MOST_READS);
                let share = if p99.is_some() { 1.0 } else { 0.9 };
                let p99 = p99.unwrap_or(1e9);
                made.push(measurement(phase, Direction::Read, reads * share, Some(reads), p99));
                if writes > 0.0 {
                    let rate = writes * share;
                    made.push(measurement(phase, Direction::Write, rate, Some(writes), p99));
                }
            }
        }
        let surface = LoadSurface::of(&asked, BOUND_NS, made.iter().enumerate());
        assert_eq!(surface.left(), left - 1, "each point is a new one");
    }
}

#[test]
fn sixty_points_stand_for_all() {
    let (surface, made) = measure(&queue, 58);
    let phases = made.iter().map(|of| of.phase).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(phases.len(), 60);
    let found = surface.headroom("drive").unwrap();
    assert_eq!(found.cells.len(), 441);
    let mut errors = Vec::new();
    for cell in &found.cells {
        let truth = queue(cell.write_bytes_per_s / MOST_WRITES, cell.read_iops / MOST_READS);
        let said = cell.p99_ns.map(|p99| p99.value);
        errors.extend(said.zip(truth).map(|(said, truth)| (said / truth - 1.0).abs()));
    }
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[(share * errors.len() as f64) as usize];
    assert!(at(0.5) < 0.03 && at(0.9) < 0.2, "{} {}", at(0.5), at(0.9));
    let share = |part: usize| part as f64 / 20.0;
    let is_reached = |cell: &LoadCell| queue(share(cell.column), share(cell.row)).is_some();
    let cells = |which: fn(&LoadCell) -> bool| found.cells.iter().filter(move |cell| which(cell));
    assert!(cells(|cell| cell.p99_ns.is_some()).all(is_reached));
    assert!(!cells(|cell| cell.missing == Some(NoP99::NotReached)).any(is_reached));
    // Only along the end of what is reached a load is neither.
    let reached = cells(|cell| cell.p99_ns.is_some()).count();
    let truly = found.cells.iter().filter(|cell| is_reached(cell)).count();
    assert!(reached.abs_diff(truly) < 25, "{reached} of {truly}");
}

/// Surface of the first measurements of a sweep that was stopped after so many.
fn stopped_after(made: &[Measurement], count: usize) -> Headroom {
    let first = made.iter().take(count).enumerate();
    LoadSurface::of(&HeadroomPlan::default(), BOUND_NS, first).headroom("drive").unwrap()
}

#[test]
fn a_stopped_sweep_says_nothing_of_loads_beyond_those_it_measured() {
    let (_, made) = measure(&queue, 58);
    // The two maxima, and the lightest load.
    let found = stopped_after(&made, 3);
    let known = found.cells.iter().filter(|cell| cell.p99_ns.is_some()).count();
    let open = found.cells.iter().filter(|cell| cell.missing == Some(NoP99::NotMeasured)).count();
    assert_eq!((known, open), (1, 440));
    for load in [found.writes, found.reads, found.both] {
        let load = load.unwrap();
        assert!(load.is_open && !load.is_most && load.read_iops + load.write_bytes_per_s == 0.0);
    }
    // Of more loads every p99 is bounded by one with at least as much of both.
    let found = stopped_after(&made, 12);
    let reached: Vec<_> = found
        .cells
        .iter()
        .filter(|cell| cell.measurement.is_some() && cell.p99_ns.is_some())
        .map(|cell| (cell.column, cell.row))
        .collect();
    for cell in &found.cells {
        let is_within = reached.iter().any(|at| at.0 >= cell.column && at.1 >= cell.row);
        assert_eq!(cell.p99_ns.is_some(), is_within, "{cell:?}");
    }
    assert!(found.both.unwrap().is_open, "{:?}", found.both);
}

#[test]
fn few_reads_have_no_p99() {
    let load = |ios: u32| {
        let mut read = measurement(2, Direction::Read, 4000.0, Some(4000.0), 2e5);
        read.total[0].latency = iodyno_model::Histogram::default();
        (0..ios).for_each(|_| read.total[0].latency.record(5_000_000));
        let made = [
            measurement(0, Direction::Write, MOST_WRITES, None, 1e6),
            measurement(1, Direction::Read, MOST_READS, None, 1e6),
            read,
        ];
        let asked = HeadroomPlan { points: 2, sync: false };
        let surface = LoadSurface::of(&asked, BOUND_NS, made.iter().enumerate());
        (surface.headroom("drive").is_some(), surface.left())
    };
    // Their rate was reached, so heavier loads are still tried, and this one is not repeated.
    assert_eq!(load(299), (false, 1));
    assert_eq!(load(300), (true, 1));
}

#[test]
fn a_slow_light_load_does_not_hide_the_others() {
    // A drive that sleeps between few reads.
    let sleeper = |writes: f64, reads: f64| match writes + reads < 0.02 {
        true => Some(4e6),
        false => queue(writes, reads),
    };
    let found = measure(&sleeper, 58).0.headroom("drive").unwrap();
    let (reads, both) = (found.reads.unwrap(), found.both.unwrap());
    assert!(reads.read_iops > 0.9 * MOST_READS, "{reads:?}");
    assert!(both.read_iops > 0.5 * MOST_READS, "{both:?}");
    assert!(found.writes.unwrap().write_bytes_per_s > 0.9 * MOST_WRITES, "{:?}", found.writes);
}

#[test]
fn the_headline_is_where_the_p99_crosses_the_bound() {
    let found = measure(&queue, 58).0.headroom("drive").unwrap();
    let (reads, both) = (found.reads.unwrap(), found.both.unwrap());
    // 90 us / (1 - 0.8 r) = 1 ms, but nothing is reached from 0.97 on.
    let truth = (1.0 - 0.09) / 0.8 * MOST_READS;
    assert!(reads.read_iops.min(MOST_READS) / truth.min(MOST_READS) > 0.93, "{reads:?}");
    assert_eq!(reads.write_bytes_per_s, 0.0);
    let share = both.read_iops / MOST_READS;
    let p99 = |share: f64| queue(share, share).unwrap();
    assert!(p99(share - 0.04) < BOUND_NS as f64 && p99(share + 0.04) > BOUND_NS as f64, "{share}");
    assert!((both.write_bytes_per_s / MOST_WRITES - share).abs() < 1e-9 && !both.is_most);
    let writes = found.writes.unwrap();
    assert!(writes.is_most && writes.write_bytes_per_s == MOST_WRITES, "{writes:?}");
}

#[test]
fn a_bound_that_nothing_keeps_leaves_no_headroom() {
    let found = measure(&|_, _| Some(5e6), 30).0.headroom("drive").unwrap();
    assert_eq!((found.writes, found.reads, found.both), (None, None, None));
}

#[test]
fn a_rate_counts_from_97_percent_on() {
    let cell = |share: f64| {
        let most = [
            measurement(0, Direction::Write, MOST_WRITES, None, 1e6),
            measurement(1, Direction::Read, MOST_READS, None, 1e6),
        ];
        let (writes, reads) = (MOST_WRITES / 2.0, MOST_READS / 2.0);
        let read = measurement(2, Direction::Read, reads, Some(reads), 2e5);
        let write = measurement(2, Direction::Write, share * writes, Some(writes), 1e6);
        let all = [&most[0], &most[1], &read, &write];
        let surface =
            LoadSurface::of(&HeadroomPlan::default(), BOUND_NS, all.into_iter().enumerate());
        assert_eq!(surface.measured[&(10, 10)].0, 2);
        surface.grid.known[&(10, 10)].is_some()
    };
    assert!(cell(0.98));
    assert!(!cell(0.96));
}

#[test]
fn failed_loads_are_not_repeated_and_a_failed_maximum_ends_it() {
    let fail =
        |of: Measurement| Measurement { end: EndReason::Failed(Failure::of(5, "EIO")), ..of };
    let (_, mut made) = measure(&queue, 1);
    let last = made.len() - 1;
    made[last] = fail(made[last].clone());
    let all = made.iter().enumerate();
    let surface = LoadSurface::of(&HeadroomPlan { points: 2, sync: false }, BOUND_NS, all);
    assert_eq!(surface.left(), 1);
    let tried = made[last].phase;
    let next = surface.next().unwrap();
    assert!(
        matches!(next, LoadStep::Rates { read_iops, .. } if read_iops != 4000.0),
        "{tried} {next:?}"
    );
    made[0] = fail(made[0].clone());
    let of = LoadSurface::of(&HeadroomPlan::default(), BOUND_NS, made.iter().enumerate());
    assert_eq!((of.next(), of.headroom("drive")), (None, None));
}

#[test]
fn flushes_beside_the_load_are_what_is_slow_where_that_is_asked() {
    let asked = HeadroomPlan { points: 2, sync: true };
    let mut flushed = measurement(2, Direction::Write, 200.0, None, 20_000.0);
    flushed.workload.options.insert("rate_iops".into(), "100".into());
    let mut account = JobStats::default();
    (1..=1000).for_each(|n| account.sync.record(n * 3000));
    flushed.account = Some(account);
    let few = MOST_READS * FEW_READS;
    let made = [
        measurement(0, Direction::Write, MOST_WRITES, None, 1e6),
        measurement(1, Direction::Read, MOST_READS, None, 1e6),
        measurement(2, Direction::Read, few, Some(few), 90_000.0),
        flushed,
    ];
    let surface = LoadSurface::of(&asked, BOUND_NS, made.iter().enumerate());
    let found = surface.headroom("x").unwrap();
    let measured = found.cells.iter().find(|cell| cell.measurement.is_some()).unwrap();
    assert_eq!((measured.measurement, measured.column, measured.row), (Some(3), 0, 0));
    let p99 = measured.p99_ns.unwrap();
    assert!(p99.low() < 2_970_000.0 && p99.high() > 2_970_000.0, "{p99:?}");
    assert!((p99.value - 2_970_000.0).abs() < 30_000.0 && found.sync, "{p99:?}");
    // Fewer flushes than asked for are another load.
    let mut late = made.clone();
    late[3].total[0].iops = Some(Estimate::bare(150.0));
    let found = LoadSurface::of(&asked, BOUND_NS, late.iter().enumerate()).headroom("x").unwrap();
    assert!(found.cells.iter().all(|cell| cell.p99_ns.is_none()) && found.both.is_none());
    // Without flushes nothing is known about that load.
    let surface = LoadSurface::of(&asked, BOUND_NS, made[..3].iter().enumerate());
    assert!(surface.headroom("x").is_none());
}
