//! Figures show the measured values at their positions, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{figure, in_rounds, lines, measurement, over_time, result, run};
use iodyno_figure::{
    Content, FigureError, Form, Judged, Kind, Metric, Panel, Point, Quantity, Request, Scale,
    Source, Track, suggested,
};
use iodyno_model::{
    Direction, Estimate, Measurement, RunRecord, Spread, StatedLatencies, Validity,
};
use proptest::prelude::*;

fn request(kind: Kind) -> Request {
    Request::new(kind)
}

fn filtered(kind: Kind, filters: &[&str]) -> Request {
    let filters = filters.iter().map(|text| text.parse().unwrap()).collect();
    Request { filters, ..Request::new(kind) }
}

fn is_marked(form: Form) -> bool {
    form == Form::Marked
}

fn is_line(form: Form) -> bool {
    matches!(form, Form::Line(_))
}

#[test]
fn over_time_every_window_is_a_point() {
    let one = over_time(measurement("randread", 4096, 8, 1, 10_000.0), 60);
    let windows = one.total[0].series.windows().to_vec();
    let record = run(vec![one]);
    let drawn = figure(&request(Kind::Time), &record).unwrap();
    let quantities: Vec<Quantity> = drawn.panels.iter().map(|panel| panel.y.quantity).collect();
    assert_eq!(quantities, [Quantity::Iops, Quantity::Bandwidth, Quantity::Latency]);
    let expected: Vec<(f64, f64)> =
        windows.iter().map(|w| (w.start_ns as f64 + 0.5e9, w.iops().unwrap())).collect();
    assert_eq!(lines(&drawn.panels[0], is_line), [("read", expected)]);
    let percentiles: Vec<&str> =
        drawn.panels[2].series().iter().map(|one| one.detail.as_str()).collect();
    assert_eq!(percentiles, ["p50", "p99", "p99.9"]);
    assert_eq!(drawn.panels[2].title, "Latency: p50 solid, p99 dashed, p99.9 dotted");
}

#[test]
fn the_time_axis_ends_at_xmax() {
    let record = run(vec![over_time(measurement("randread", 4096, 8, 1, 10_000.0), 60)]);
    let asked = Request { xmax_ns: Some(40_000_000_000), ..request(Kind::Time) };
    let drawn = figure(&asked, &record).unwrap();
    for panel in &drawn.panels {
        assert_eq!(panel.x.end, Some(40e9));
        for one in panel.series() {
            assert_eq!(one.points.len(), 40);
        }
    }
}

#[test]
fn averaged_logs_give_means_and_no_percentiles() {
    let mut one = over_time(measurement("randread", 4096, 8, 1, 10_000.0), 10);
    one.total[0].latency_series = Default::default();
    let record = run(vec![one]);
    let drawn = figure(&request(Kind::Time), &record).unwrap();
    assert_eq!(drawn.panels[2].series()[0].detail, "mean");
    let asked = Request { metric: Some(Metric::Percentile(99.0)), ..request(Kind::Time) };
    let error = figure(&asked, &record).unwrap_err().to_string();
    assert!(error.contains("p99") && error.contains("write_hist_log"), "{error}");
}

#[test]
fn without_a_series_over_time_the_error_says_how_to_get_one() {
    let record = run(vec![measurement("randread", 4096, 8, 1, 10_000.0)]);
    let error = figure(&request(Kind::Time), &record).unwrap_err().to_string();
    assert!(error.contains("write_bw_log"), "{error}");
}

#[test]
fn runs_are_laid_over_each_other_and_both_directions_are_drawn() {
    let mut mixed = measurement("randrw", 4096, 8, 1, 10_000.0);
    mixed.total.push(result(Direction::Write, 5_000.0, 4096));
    let record = run(vec![over_time(mixed, 5)]);
    let sources = ["before", "after"].map(|label| Source::new(label, &record));
    let drawn = iodyno_figure::figure(&request(Kind::Time), &sources).unwrap();
    let names: Vec<&str> = lines(&drawn.panels[0], is_line).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["before read", "before write", "after read", "after write"]);
}

#[test]
fn rounds_converge_with_the_window_ringed_and_a_gap_where_one_failed() {
    let (measured, track) = in_rounds(&[900.0, 0.0, 300.0, 100.0, 110.0, 100.0, 90.0, 100.0]);
    let record = run(measured);
    let asked = Request { rounds: vec![track.clone()], ..request(Kind::Convergence) };
    let drawn = figure(&asked, &record).unwrap();
    let [panel] = drawn.panels.as_slice() else { panic!("{drawn:?}") };
    let stretches: Vec<_> = lines(panel, is_marked).into_iter().map(|(_, points)| points).collect();
    assert_eq!(stretches[0], [(1.0, 900.0)]);
    assert_eq!(stretches[1].len(), 6);
    let ringed = lines(panel, |form| form == Form::Highlight).remove(0).1;
    assert_eq!(ringed.iter().map(|(x, _)| *x).collect::<Vec<_>>(), [4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(drawn.notes[0], "The verdict.");
    // Other runs and metrics are not drawn.
    for other in [
        Request { metric: Some(Metric::Bandwidth), ..asked.clone() },
        Request { rounds: vec![Track { point: "other".into(), ..track }], ..asked },
    ] {
        assert!(matches!(figure(&other, &record), Err(FigureError::Nothing(_))));
    }
}

#[test]
fn the_window_has_average_band_and_fitted_line() {
    let (measured, track) = in_rounds(&[500.0, 95.0, 97.5, 100.0, 102.5, 105.0]);
    let record = run(measured);
    let asked = Request { rounds: vec![track.clone()], ..request(Kind::Window) };
    let drawn = figure(&asked, &record).unwrap();
    let panel = &drawn.panels[0];
    assert_eq!(panel.x.categories(), ["2", "3", "4", "5", "6"]);
    let rounds = [(0.0, 95.0), (1.0, 97.5), (2.0, 100.0), (3.0, 102.5), (4.0, 105.0)];
    assert_eq!(lines(panel, is_marked), [("each round", rounds.to_vec())]);
    let others = lines(panel, |form| !is_marked(form));
    let expected = [
        ("average", vec![(0.0, 100.0), (4.0, 100.0)]),
        ("best line", vec![(0.0, 95.0), (4.0, 105.0)]),
        ("110 % and 90 % of the average", vec![(0.0, 110.0), (4.0, 110.0)]),
        ("110 % and 90 % of the average", vec![(0.0, 90.0), (4.0, 90.0)]),
    ];
    assert_eq!(others, expected);
    assert_eq!(drawn.notes[0], "tracked: the words.");
    let asked = Request { rounds: vec![Track { window: None, ..track }], ..asked };
    assert!(figure(&asked, &record).unwrap_err().to_string().contains("too few rounds"));
}

/// A document may have any times and amounts.
#[test]
fn extreme_starts_and_amounts_do_not_overflow() {
    let (mut measured, _) = in_rounds(&[1000.0; 3]);
    for (of, start) in measured.iter_mut().zip([i64::MIN, i64::MIN + 1, i64::MAX]) {
        (of.started_ns, of.total[0].whole_bytes) = (Some(start), Some(u64::MAX));
    }
    let drawn = figure(&request(Kind::Course), &run(measured)).unwrap();
    let last = |panel: &Panel| lines(panel, is_line).last().unwrap().1.last().unwrap().0;
    assert!(last(&drawn.panels[0]) > 1.8e19, "{drawn:?}");
    assert!(last(&drawn.panels[1]) > 3.6e19, "{drawn:?}");
}

#[test]
fn a_whole_run_is_drawn_over_time_and_over_data_written() {
    let (measured, _) = in_rounds(&[1000.0, 500.0]);
    let record = run(measured);
    let drawn = figure(&request(Kind::Course), &record).unwrap();
    let quantities: Vec<Quantity> = drawn.panels.iter().map(|panel| panel.x.quantity).collect();
    assert_eq!(quantities, [Quantity::Time, Quantity::Data, Quantity::Time]);
    let over_time = lines(&drawn.panels[0], is_line);
    // The second starts ten seconds after the start of the first.
    assert_eq!(over_time.len(), 2);
    assert_eq!(over_time[1].1[0].0, 10.5e9);
    let written = lines(&drawn.panels[1], is_line);
    let first = 1000.0 * 4096.0;
    assert_eq!(written[0].1[0], (first / 2.0, 1000.0));
    // And after the data written by the first, warm-up included.
    assert!((written[1].1[0].0 - (3.0 * first + 250.0 * 4096.0)).abs() < 1.0, "{written:?}");
}

#[test]
fn stated_percentiles_are_points() {
    let mut one = measurement("randread", 4096, 8, 1, 10_000.0);
    one.total[0].latency = Default::default();
    let mut stated = StatedLatencies::default();
    stated.completion.percentiles =
        [(50.0, 1e5), (99.0, 3e5), (99.99, 9e5)].map(|(p, ns)| (p, Estimate::bare(ns))).into();
    one.total[0].stated = Some(Box::new(stated));
    let drawn = figure(&request(Kind::Latency), &run(vec![one])).unwrap();
    assert_eq!(drawn.panels.len(), 1);
    let series = &drawn.panels[0].series()[0];
    assert_eq!(series.form, Form::Points);
    for (point, (nines, ns)) in
        series.points.iter().zip([(std::f64::consts::LOG10_2, 1e5), (2.0, 3e5), (4.0, 9e5)])
    {
        assert!((point.x - nines).abs() < 1e-5 && point.y == ns, "{point:?}");
    }
}

#[test]
fn block_sizes_make_the_axis_and_other_options_the_series() {
    let sizes = [4096u64, 16384, 65536];
    let of = |rw: &'static str, scale: f64| {
        sizes.map(|bs| measurement(rw, bs, 8, 1, scale / bs as f64)).into_iter()
    };
    let record = run(of("randread", 4e9).chain(of("randwrite", 2e9)).collect());
    let drawn = figure(&request(Kind::Blocksize), &record).unwrap();
    assert_eq!(drawn.panels[0].x.scale, Scale::Doublings(sizes.map(|bs| bs as f64).into()));
    let expected = |scale: f64| sizes.map(|bs| (bs as f64, scale / bs as f64)).to_vec();
    assert_eq!(
        lines(&drawn.panels[0], is_marked),
        [("rw=randread", expected(4e9)), ("rw=randwrite", expected(2e9))]
    );
    assert!(drawn.subtitle.contains("iodepth=8") && drawn.subtitle.contains("on nvme0n1"));
}

#[test]
fn jobs_make_the_axis_if_the_depth_is_constant() {
    let record = grid(4, 1, |row, _| f64::from(row + 1));
    assert_eq!(suggested(&[], &[Source::new("run", &record)]), Kind::Depth);
    let drawn = figure(&request(Kind::Depth), &record).unwrap();
    assert_eq!(drawn.panels[0].x.name, "Jobs");
    let points = &lines(&drawn.panels[0], is_marked)[0].1;
    assert_eq!(points, &[(1.0, 1.0), (2.0, 2.0), (4.0, 3.0), (8.0, 4.0)]);
}

#[test]
fn depths_tried_by_a_search_are_drawn_without_a_sweep() {
    let mut one = measurement("randread", 4096, 32, 1, 9e5);
    one.conditions.depths_tried = vec![(32, 9e5), (1, 1e5), (8, 6e5)];
    let drawn = figure(&request(Kind::Depth), &run(vec![one])).unwrap();
    assert_eq!(lines(&drawn.panels[0], is_marked)[0].1, [(1.0, 1e5), (8.0, 6e5), (32.0, 9e5)]);
}

fn grid(rows: u32, columns: u32, value: impl Fn(u32, u32) -> f64) -> RunRecord {
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    run(all
        .map(|(row, column)| {
            measurement("randread", 4096, 1 << column, 1 << row, value(row, column))
        })
        .collect())
}

#[test]
fn a_grid_of_seven_by_seven_has_every_value_in_its_cell() {
    let value = |row: u32, column: u32| f64::from(1000 * (row + 1) + column);
    let record = grid(7, 7, value);
    for kind in [Kind::Grid, Kind::Grid3d] {
        let drawn = figure(&request(kind), &record).unwrap();
        let panel = &drawn.panels[0];
        assert_eq!(panel.x.categories(), ["1", "2", "4", "8", "16", "32", "64"]);
        let (Content::Cells(cells) | Content::Towers(cells)) = &panel.content else {
            panic!("{:?}", panel.content)
        };
        assert_eq!(cells.cells.len(), 49);
        for cell in &cells.cells {
            assert_eq!(cell.value, value(cell.row as u32, cell.column as u32));
        }
    }
}

#[test]
fn more_workloads_than_a_figure_shows_ask_for_a_choice() {
    let all = (0..5).flat_map(|n| {
        [1, 2].map(|depth| measurement("randread", 512 << n, depth, depth, 1.0)).into_iter()
    });
    let error = figure(&request(Kind::Grid), &run(all.collect())).unwrap_err();
    assert!(matches!(&error, FigureError::TooMany { what } if what.contains("bs=1k")), "{error}");
    assert!(error.to_string().contains("--where"));
}

#[test]
fn filters_know_sizes_and_say_what_was_measured() {
    let record = run(vec![
        measurement("randread", 4096, 1, 1, 100.0),
        measurement("randread", 16384, 1, 1, 50.0),
    ]);
    for text in ["bs=16k", "bs=16384", "bs=16KiB"] {
        let drawn = figure(&filtered(Kind::Compare, &["rw=randread", text]), &record).unwrap();
        assert_eq!(drawn.panels[0].series()[0].points[0].x, 50.0, "{text}");
    }
    let error = figure(&filtered(Kind::Compare, &["bs=8k"]), &record).unwrap_err();
    assert_eq!(error.to_string(), "where bs=8k: no match; measured: 4k, 16k");
    let error = figure(&filtered(Kind::Compare, &["rate=1m"]), &record).unwrap_err();
    assert!(error.to_string().contains("no measurement has this option"), "{error}");
}

#[test]
fn series_follow_the_requested_option() {
    let all = [4096u64, 16384].into_iter().flat_map(|bs| {
        [1, 2, 4].map(|depth| measurement("randread", bs, depth, 1, f64::from(depth)))
    });
    let record = run(all.collect());
    let asked = Request { series: Some("bs".into()), ..request(Kind::Depth) };
    let drawn = figure(&asked, &record).unwrap();
    let names: Vec<&str> =
        lines(&drawn.panels[0], is_marked).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["bs=4k", "bs=16k"]);
}

#[test]
fn repeated_points_show_median_and_range() {
    let record = run([3.0, 1.0, 7.0]
        .map(|iops| Measurement {
            name: "same".into(),
            ..measurement("randread", 4096, 1, 1, iops)
        })
        .into());
    let asked = Request { metric: Some(Metric::Iops), ..request(Kind::Compare) };
    let drawn = figure(&asked, &record).unwrap();
    let point = &drawn.panels[0].series()[0].points[0];
    assert_eq!((point.x, point.interval), (3.0, Some((1.0, 7.0))));
    assert!(drawn.notes.iter().any(|note| note.contains("median")), "{:?}", drawn.notes);
}

#[test]
fn rounding_of_a_printed_value_is_not_an_error_bar() {
    let mut one = measurement("randread", 4096, 1, 1, 100.0);
    one.total[0].iops =
        Some(Estimate { value: 100.0, spread: Spread::Rounding { low: 99.5, high: 100.5 } });
    let asked = Request { metric: Some(Metric::Iops), ..request(Kind::Compare) };
    let drawn = figure(&asked, &run(vec![one])).unwrap();
    assert_eq!(drawn.panels[0].series()[0].points[0].interval, None);
    assert_eq!(drawn.notes, Vec::<String>::new());
}

#[test]
fn scaling_has_an_ideal_and_a_ceiling() {
    let drives = |count: usize, iops: f64| Measurement {
        targets: (0..count).map(|n| format!("nvme{n}n1")).collect(),
        ..measurement("randread", 4096, 32, 1, iops)
    };
    let record = run(vec![drives(1, 1e6), drives(2, 1.9e6), drives(4, 2.5e6)]);
    let judged = (0..3).map(|measurement| Judged {
        source: 0,
        measurement,
        validity: if measurement == 2 { Validity::Qualified } else { Validity::Valid },
        reservations: vec!["virtual-disk".into()],
        ceilings: vec![(Metric::Iops, 2.6e6)],
    });
    let asked =
        Request { metric: Some(Metric::Iops), judged: judged.collect(), ..request(Kind::Scaling) };
    let drawn = figure(&asked, &record).unwrap();
    let panel = &drawn.panels[0];
    assert_eq!(lines(panel, is_marked)[0].1, [(1.0, 1e6), (2.0, 1.9e6), (4.0, 2.5e6)]);
    let guides = lines(panel, |form| form == Form::Guide);
    assert_eq!(guides[0], ("ideal", vec![(1.0, 1e6), (2.0, 2e6), (4.0, 4e6)]));
    assert_eq!(guides[1].1, [(1.0, 2.6e6), (2.0, 2.6e6), (4.0, 2.6e6)]);
    // A workload of a single number of targets has no ideal.
    let mut mixed = record.clone();
    mixed.measurements.push(Measurement {
        targets: vec!["a".into(), "b".into()],
        ..measurement("randwrite", 4096, 32, 1, 1e6)
    });
    let panels = figure(&request(Kind::Scaling), &mixed).unwrap().panels;
    let ideals = lines(&panels[0], |form| form == Form::Guide);
    assert_eq!(ideals.iter().filter(|(name, _)| *name == "ideal").count(), 1, "{ideals:?}");
    let note = "QUALIFIED: 1 of 3 measurements (virtual-disk).";
    assert!(drawn.notes.iter().any(|one| one == note), "{:?}", drawn.notes);
}

#[test]
fn the_measurements_suggest_a_figure() {
    let kind = |record: &RunRecord| suggested(&[], &[Source::new("run", record)]);
    assert_eq!(kind(&grid(3, 3, |_, _| 1.0)), Kind::Grid);
    assert_eq!(kind(&grid(1, 5, |_, _| 1.0)), Kind::Depth);
    // A diagonal or a corner is no grid either.
    let mut few = grid(2, 2, |_, _| 1.0);
    few.measurements.pop();
    assert_ne!(kind(&few), Kind::Grid);
    few.measurements.remove(0);
    assert_ne!(kind(&few), Kind::Grid);
    let sizes = (0..4).map(|n| measurement("read", 4096 << n, 1, 1, 1.0)).collect();
    assert_eq!(kind(&run(sizes)), Kind::Blocksize);
    let one = measurement("read", 4096, 1, 1, 1.0);
    assert_eq!(kind(&run(vec![over_time(one.clone(), 3)])), Kind::Time);
    assert_eq!(kind(&run(vec![one.clone()])), Kind::Latency);
    // Different workloads on different numbers of targets do not scale, nor do unknown targets.
    let on = |rw: &str, targets: &[&str]| Measurement {
        targets: targets.iter().map(|name| (*name).to_owned()).collect(),
        ..measurement(rw, 4096, 1, 1, 1.0)
    };
    let unlike = run(vec![on("read", &["a"]), on("read", &["b"]), on("write", &["a", "c"])]);
    assert_eq!(kind(&unlike), Kind::Latency);
    assert_eq!(kind(&run(vec![on("read", &[]), on("read", &["a"])])), Kind::Latency);
    assert_eq!(kind(&run(vec![on("read", &["b"]), on("read", &["a", "c"])])), Kind::Scaling);
    // Different workloads at different depths are no sweep.
    let other = measurement("randwrite", 16384, 32, 2, 1.0);
    assert!(!matches!(kind(&run(vec![one, other])), Kind::Grid | Kind::Depth));
}

#[test]
fn a_reports_figures_show_every_measurement() {
    let mut all = grid(3, 3, |row, column| f64::from(row + column + 1)).measurements;
    all.push(over_time(measurement("read", 131_072, 32, 1, 5e4), 4));
    let record = run(all);
    let figures = iodyno_figure::figures_of_run(&record, None, &[], usize::MAX);
    let kinds: Vec<Kind> = figures.iter().map(|(figure, _)| figure.kind).collect();
    assert!(kinds.starts_with(&[Kind::Grid]) && !kinds.contains(&Kind::Grid3d), "{kinds:?}");
    assert!(kinds.contains(&Kind::Time));
    for index in 0..record.measurements.len() {
        let shows = |(figure, of): &(iodyno_figure::Figure, Vec<usize>)| {
            figure.kind == Kind::Latency && of.contains(&index)
        };
        assert!(figures.iter().any(shows), "{index}");
    }
}

proptest! {
    #[test]
    fn every_known_value_is_drawn_once(
        values in prop::collection::vec(prop::option::of(0.0f64..1e9), 1..40)) {
        let of = |(n, value): (usize, &Option<f64>)| {
            let mut one = measurement("randread", 4096, n as u32 + 1, 1, value.unwrap_or(0.0));
            if value.is_none() {
                one.total[0].iops = None;
            }
            one
        };
        let record = run(values.iter().enumerate().map(of).collect());
        for kind in [Kind::Compare, Kind::Grid, Kind::Depth] {
            let asked = Request { metric: Some(Metric::Iops), ..Request::new(kind) };
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            let Ok(drawn) = figure(&asked, &record) else {
                prop_assert!(known.is_empty());
                continue;
            };
            let is_of_iops = |panel: &&Panel| match &panel.content {
                Content::Cells(cells) => cells.quantity == Quantity::Iops,
                _ => [&panel.x, &panel.y].iter().any(|axis| axis.quantity == Quantity::Iops),
            };
            let Some(panel) = drawn.panels.iter().find(is_of_iops) else {
                prop_assert!(known.is_empty());
                continue;
            };
            let along = |p: &Point| if kind == Kind::Compare { p.x } else { p.y };
            let shown: Vec<f64> = match &panel.content {
                Content::Cells(cells) => cells.cells.iter().map(|cell| cell.value).collect(),
                _ => panel
                    .series()
                    .iter()
                    .filter(|one| one.form != Form::Highlight)
                    .flat_map(|one| one.points.iter().map(along))
                    .collect(),
            };
            prop_assert_eq!(shown, known);
        }
    }
}
