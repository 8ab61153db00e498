//! What is not known is not drawn as if it were: percentiles of few I/Os, times without I/O, intervals
//! too wide to be shown, missing bars.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{figure, measurement, over_time, result, run};
use iodyno_figure::{
    Figure, Form, Kind, Metric, Panel, Point, Quantity, Request, Source, option, svg,
};
use iodyno_model::{
    Direction, Estimate, Histogram, LatencySeries, Measurement, RateSeries, RunRecord,
    StatedLatencies, Window,
};
use resvg::usvg::roxmltree::Document;

const P99: Metric = Metric::Percentile(99.0);
const SECOND_NS: u64 = 1_000_000_000;

fn asked(kind: Kind, metric: Metric) -> Request {
    Request { metric: Some(metric), ..Request::new(kind) }
}

fn latencies(count: u64) -> Histogram {
    let mut latency = Histogram::default();
    (0..count).for_each(|n| latency.record(100_000 + n));
    latency
}

/// A measurement of `count` I/Os.
fn of_ios(depth: u32, count: u64) -> Measurement {
    let mut one = measurement("randread", 4096, depth, 1, 1e4);
    one.total[0].latency = latencies(count);
    one
}

/// A measurement with these numbers of I/Os in its seconds.
fn of_seconds(ios: &[u64]) -> Measurement {
    let mut one = measurement("randread", 4096, 1, 1, 1e4);
    let result = &mut one.total[0];
    (result.series, result.latency_series) = (RateSeries::default(), LatencySeries::default());
    for (second, &ios) in (0..).zip(ios) {
        let window = Window {
            start_ns: second * SECOND_NS,
            duration_ns: SECOND_NS,
            ios: Some(ios),
            bytes: Some(4096 * ios),
            latency_sum_ns: 1e5 * ios as f64,
            ..Window::default()
        };
        result.series.push(window);
        result.latency_series.push(second * SECOND_NS, SECOND_NS, &latencies(ios));
    }
    one
}

fn points(figure: &Figure) -> impl Iterator<Item = &Point> {
    figure.panels.iter().flat_map(Panel::series).flat_map(|one| &one.points)
}

fn texts(figure: &Figure, size: (u32, u32)) -> Vec<String> {
    let picture = svg(figure, size, 1.0, false).unwrap();
    let document = Document::parse(&picture).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

#[test]
fn a_percentile_of_few_ios_is_in_no_figure() {
    let record = run(vec![of_ios(1, 600), of_ios(2, 600)]);
    for kind in [Kind::Compare, Kind::Depth, Kind::Blocksize] {
        let error = figure(&asked(kind, P99), &record).unwrap_err().to_string();
        assert!(error.contains("30 slower I/Os"), "{kind:?}: {error}");
    }
    let usual = figure(&Request::new(Kind::Compare), &record).unwrap();
    assert!(usual.panels.iter().all(|panel| !panel.x.name.contains("p99")), "{usual:?}");
    // Where only one has enough, only its point is drawn.
    let record = run(vec![of_ios(1, 600), of_ios(2, 3000), of_ios(4, 2999)]);
    let drawn = figure(&asked(Kind::Depth, P99), &record).unwrap();
    let depths: Vec<f64> = drawn.panels[1].series()[0].points.iter().map(|one| one.x).collect();
    assert_eq!(depths, [2.0]);
}

#[test]
fn a_stated_percentile_is_drawn_unless_bins_say_that_it_is_none() {
    let mut one = of_ios(1, 600);
    let mut stated = StatedLatencies::default();
    stated.total.percentiles = [(99.0, Estimate::bare(3e5))].into();
    one.total[0].stated = Some(Box::new(stated));
    assert!(figure(&asked(Kind::Compare, P99), &run(vec![one.clone()])).is_err());
    one.total[0].latency = Histogram::default();
    let drawn = figure(&asked(Kind::Compare, P99), &run(vec![one])).unwrap();
    assert_eq!(points(&drawn).map(|point| point.x).collect::<Vec<_>>(), [3e5]);
}

#[test]
fn seconds_without_enough_ios_interrupt_a_percentile() {
    let drawn = |ios: &[u64]| figure(&asked(Kind::Time, P99), &run(vec![of_seconds(ios)]));
    let figure = drawn(&[3000, 3000, 2999, 10, 3000]).unwrap();
    let known: Vec<(f64, bool)> = points(&figure).map(|one| (one.x / 1e9, one.is_gap())).collect();
    assert_eq!(known, [(0.5, false), (1.5, false), (2.5, true), (4.5, false)]);
    let error = drawn(&[2000; 5]).unwrap_err().to_string();
    assert!(error.contains("p99") && error.contains("30 slower I/Os"), "{error}");
}

#[test]
fn times_without_io_have_no_latency() {
    let record = run(vec![of_seconds(&[4000, 0, 0, 4000, 0, 4000, 4000])]);
    let gaps = |panel: &Panel| {
        let gaps = panel.series()[0].points.iter().filter(|point| point.is_gap());
        gaps.map(|point| point.x / 1e9).collect::<Vec<_>>()
    };
    let over_time = figure(&Request::new(Kind::Time), &record).unwrap();
    // A rate of 0 is known.
    assert_eq!(gaps(&over_time.panels[0]), [0.0; 0]);
    assert_eq!(gaps(&over_time.panels[2]), [1.5, 4.5]);
    let mut started = record.clone();
    started.measurements[0].started_ns = Some(0);
    let course = figure(&Request::new(Kind::Course), &started).unwrap();
    assert_eq!(gaps(course.panels.last().unwrap()), [1.5, 4.5]);
    // Points with a gap on both sides are drawn as symbols; the others are a line.
    let only = figure(&asked(Kind::Time, Metric::Mean), &record).unwrap();
    let drawn = option(&only, false);
    let data = drawn["series"][0]["data"].as_array().unwrap();
    let symbols = data.iter().filter(|point| point["symbol"] == "circle").count();
    assert_eq!((symbols, data.len()), (2, 6), "{data:?}");
    assert!(data[1][1].is_null(), "{data:?}");
    let picture = svg(&only, (800, 400), 1.0, false).unwrap();
    assert!(!picture.contains("NaN"), "{picture}");
}

/// fio logs no second in which nothing was done.
#[test]
fn seconds_that_were_not_logged_interrupt_a_line() {
    let mut one = of_seconds(&[]);
    for second in [0, 1, 4, 5] {
        one.total[0].latency_series.push(second * SECOND_NS, SECOND_NS, &latencies(4000));
    }
    let drawn = figure(&asked(Kind::Time, P99), &run(vec![one])).unwrap();
    let gaps: Vec<f64> = points(&drawn).filter(|one| one.is_gap()).map(|one| one.x / 1e9).collect();
    assert_eq!(gaps, [3.0]);
}

#[test]
fn reads_write_nothing() {
    let data = |record: &RunRecord| {
        let course = figure(&Request::new(Kind::Course), record).unwrap();
        let over_data = course.panels.into_iter().find(|of| of.x.quantity == Quantity::Data);
        let series = over_data.map(|panel| panel.series().to_vec()).unwrap_or_default();
        series.into_iter().map(|one| one.name).collect::<Vec<_>>()
    };
    let mut reads = over_time(measurement("randread", 4096, 1, 1, 1e3), 5);
    reads.started_ns = Some(0);
    assert_eq!(data(&run(vec![reads])), [""; 0]);
    let mut mixed = measurement("randrw", 4096, 1, 1, 1e3);
    mixed.total.push(result(Direction::Write, 1e3, 4096));
    let mut mixed = over_time(mixed, 5);
    mixed.started_ns = Some(0);
    assert_eq!(data(&run(vec![mixed.clone()])), [format!("{} write", mixed.name)]);
}

#[test]
fn an_interval_wider_than_its_value_is_no_whisker() {
    let mut one = measurement("randread", 4096, 1, 1, 100.0);
    one.total[0].iops = Some(Estimate::confident(100.0, 0.0, 500.0, 0.95));
    let drawn = figure(&asked(Kind::Compare, Metric::Iops), &run(vec![one])).unwrap();
    assert_eq!(points(&drawn).map(|point| point.interval).collect::<Vec<_>>(), [None]);
    assert_eq!(drawn.notes, ["No whisker, interval wider than the value: read."]);
}

#[test]
fn notes_on_whiskers_are_on_those_drawn() {
    let named =
        |iops: f64| Measurement { name: "same".into(), ..measurement("read", 4096, 1, 1, iops) };
    let notes = |metric, all: Vec<Measurement>| {
        figure(&asked(Kind::Compare, metric), &run(all)).unwrap().notes.join(" ")
    };
    assert!(notes(Metric::Iops, vec![named(1.0)]).starts_with("Whiskers are 95 %"));
    assert_eq!(notes(P99, vec![named(1.0)]), "");
    let repeated = notes(Metric::Iops, vec![named(1.0), named(2.0)]);
    assert!(repeated.contains("median") && !repeated.contains("95 %"), "{repeated}");
    let other = measurement("write", 4096, 1, 1, 3.0);
    let both = notes(Metric::Iops, vec![named(1.0), named(2.0), other]);
    assert!(both.contains("median") && both.contains("Other whiskers are 95 %"), "{both}");
}

#[test]
fn a_missing_bar_is_no_bar_of_zero() {
    let (one, two) = (of_ios(1, 4000), of_ios(2, 4000));
    let (few, both) = (run(vec![of_ios(1, 600), two.clone()]), run(vec![one, two]));
    let sources = [Source::new("few", &few), Source::new("both", &both)];
    for (kind, metric, size) in [(Kind::Compare, P99, (800, 400)), (Kind::Ratio, P99, (800, 400))] {
        let drawn = iodyno_figure::figure(&asked(kind, metric), &sources).unwrap();
        let bars = drawn.panels[0].series().iter().filter(|one| one.form == Form::Bars);
        let count: usize = bars.map(|one| one.points.len()).sum();
        let missing = texts(&drawn, size).iter().filter(|text| *text == "-").count();
        // Of a ratio to nothing the other bar is missing too.
        assert_eq!((count, missing), if kind == Kind::Ratio { (2, 2) } else { (3, 1) });
    }
}

#[test]
fn narrow_panels_have_even_ticks_from_zero() {
    let all = (1..=4).map(|depth| measurement("randread", 4096, depth, 1, 7e3 * f64::from(depth)));
    let drawn = figure(&asked(Kind::Compare, Metric::Iops), &run(all.collect())).unwrap();
    for width in [250, 340, 500, 1200] {
        let texts = texts(&drawn, (width, 300));
        let ticks: Vec<f64> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        let step = ticks[1] - ticks[0];
        let even = ticks.windows(2).all(|two| (two[1] - two[0] - step).abs() < 1e-9);
        assert!(ticks[0] == 0.0 && step > 0.0 && even, "{width}: {ticks:?}");
    }
}

#[test]
fn low_panels_keep_the_range_of_a_logarithmic_axis() {
    let mut slow = of_seconds(&[4000; 9]);
    let series = &mut slow.total[0].series;
    let windows: Vec<Window> = series.windows().to_vec();
    *series = RateSeries::default();
    for (n, window) in windows.into_iter().enumerate() {
        series
            .push(Window { latency_sum_ns: window.latency_sum_ns * (1 + 9 * n) as f64, ..window });
    }
    let drawn = figure(&asked(Kind::Time, Metric::Mean), &run(vec![slow])).unwrap();
    let texts = texts(&drawn, (700, 190));
    assert!(texts.iter().any(|text| text == "100\u{2009}µs"), "{texts:?}");
}

#[test]
fn names_are_tied_to_lines_in_grey() {
    let mut early = over_time(measurement("randread", 4096, 1, 1, 1e3), 9);
    early.name = "early".into();
    let late = over_time(measurement("randread", 4096, 2, 1, 3e3), 10);
    let drawn = figure(&asked(Kind::Time, Metric::Iops), &run(vec![early, late])).unwrap();
    let color = option(&drawn, false)["color"][0].as_str().unwrap().to_owned();
    let picture = svg(&drawn, (1000, 400), 1.0, false).unwrap();
    let document = Document::parse(&picture).unwrap();
    let strokes = document.descendants().filter(|node| node.attribute("stroke") == Some(&color));
    // The line, and the sample of it beside its name.
    let ends = strokes.map(|stroke| {
        let places = stroke.attribute("d").or_else(|| stroke.attribute("points")).unwrap();
        let numbers = places.split(['M', 'L', ' ', ',']).filter_map(|word| word.parse().ok());
        let numbers: Vec<f64> = numbers.collect();
        (numbers[0], numbers[numbers.len() - 2])
    });
    let mut ends: Vec<(f64, f64)> = ends.collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(ends[0].1 + 20.0 < ends[1].0, "{ends:?}");
}

#[test]
fn an_engine_that_waits_for_each_io_has_a_depth_of_one() {
    let of = |engine: &str, iodepth: u32| {
        let mut one = measurement("randread", 4096, iodepth, 1, 1e4);
        one.workload.ioengine = Some(engine.into());
        one
    };
    let record = run(vec![of("psync", 4), of("io_uring", 2), of("io_uring", 4)]);
    let drawn = figure(&Request::new(Kind::Depth), &record).unwrap();
    let depths = |name: &str| {
        let of = drawn.panels[0].series().iter().find(|one| one.name.contains(name)).unwrap();
        of.points.iter().map(|point| point.x).collect::<Vec<_>>()
    };
    assert_eq!((depths("psync"), depths("io_uring")), (vec![1.0], vec![2.0, 4.0]));
    assert!(drawn.notes.iter().any(|note| note.contains("wait for each I/O")), "{:?}", drawn.notes);
    // A sweep of it has one depth.
    let record = run([1, 2, 4, 8].map(|depth| of("psync", depth)).to_vec());
    assert_ne!(iodyno_figure::suggested(&[], &[Source::new("", &record)]), Kind::Depth);
}
