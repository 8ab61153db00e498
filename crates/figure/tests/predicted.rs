//! Predicted points are drawn as such, and error bars stay within their axes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{figure, measurement, result, run};
use iodyno_figure::{
    Content, Figure, Form, Kind, Metric, Point, Request, Source, figures_of_run, option, suggested,
    svg,
};
use iodyno_model::{
    Direction, Estimate, Knee, Measurement, Peak, Prediction, Predictions, RunRecord,
};
use resvg::usvg::roxmltree::Document;

const ALL: [Kind; 5] = [Kind::Blocksize, Kind::Depth, Kind::Grid, Kind::Grid3d, Kind::Compare];

fn prediction(beside: usize, iodepth: u32, numjobs: u32, iops: f64) -> Prediction {
    Prediction {
        name: format!("iodepth={iodepth} numjobs={numjobs}"),
        target: "nvme0n1".into(),
        beside,
        iodepth,
        numjobs,
        iops: Estimate::confident(iops, iops - 7.0, iops + 7.0, 0.95),
    }
}

/// A measurement named like that of a sweep.
fn at(iodepth: u32, numjobs: u32, iops: f64) -> Measurement {
    let name = format!("iodepth={iodepth} numjobs={numjobs}");
    Measurement { name, ..measurement("randread", 4096, iodepth, numjobs, iops) }
}

/// The corners of a grid, and a row without measurements.
fn adaptive() -> (RunRecord, Predictions) {
    let corners = vec![at(1, 1, 100.0), at(4, 1, 300.0), at(1, 4, 310.0), at(4, 4, 400.0)];
    let predicted = vec![
        prediction(0, 2, 1, 207.0),
        prediction(0, 1, 2, 209.0),
        prediction(0, 4, 2, 350.0),
        prediction(0, 2, 4, 360.0),
    ];
    (run(corners), outlook(predicted))
}

fn outlook(predictions: Vec<Prediction>) -> Predictions {
    Predictions { predictions, ..Predictions::default() }
}

fn drawn(kind: Kind, record: &RunRecord, outlook: &Predictions) -> Figure {
    let source = Source { label: "run", record, outlook: Some(outlook) };
    iodyno_figure::figure(&Request::new(kind), &[source]).unwrap()
}

fn texts(figure: &Figure) -> Vec<String> {
    let (width, height) = figure.size();
    let picture = svg(figure, (width, height), 1.0, false).unwrap();
    let document = Document::parse(&picture).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

#[test]
fn predictions_are_points_next_to_measured_lines() {
    let (record, predicted) = adaptive();
    let figure = drawn(Kind::Depth, &record, &predicted);
    let [rates, latencies, tradeoff] = figure.panels.as_slice() else { panic!("{figure:?}") };
    for panel in [latencies, tradeoff] {
        let mut points = panel.series().iter().flat_map(|one| &one.points);
        assert!(!points.any(|point| point.is_predicted), "rates alone are predicted");
    }
    let of = |form: Form| rates.series().iter().filter(move |one| one.form == form);
    let lines = of(Form::Marked).flat_map(|one| &one.points);
    assert!(lines.clone().count() == 4 && lines.clone().all(|point| !point.is_predicted));
    let hollow = |name: &str| -> Vec<&Point> {
        let own = of(Form::Points).filter(|one| one.name == name);
        own.flat_map(|one| &one.points).inspect(|point| assert!(point.is_predicted)).collect()
    };
    let one = hollow("numjobs=1");
    assert_eq!((one.len(), one[0].x, one[0].y), (1, 2.0, 207.0));
    assert_eq!(one[0].interval, Some((200.0, 214.0)));
    // A series of its own, though none of its points was measured.
    assert_eq!(hollow("numjobs=2").len(), 2);
    assert!(figure.notes.iter().any(|note| note.contains("predicted, not measured")));
    assert!(texts(&figure).iter().any(|text| text == "hollow: predicted, not measured"));
    // Without predictions the figure is unchanged.
    let measured = drawn(Kind::Depth, &record, &outlook(Vec::new()));
    assert!(!texts(&measured).iter().any(|text| text.contains("predicted")));
}

#[test]
fn a_grid_shows_predictions_in_their_cells_with_intervals() {
    let (record, predicted) = adaptive();
    let figure = drawn(Kind::Grid, &record, &predicted);
    let Content::Cells(cells) = &figure.panels[0].content else { panic!("{figure:?}") };
    assert_eq!(figure.panels[0].x.categories(), ["1", "2", "4"]);
    let known: Vec<_> = cells.cells.iter().filter(|cell| cell.predicted.is_some()).collect();
    assert_eq!((cells.cells.len(), known.len()), (8, 4), "the middle is not known at all");
    assert_eq!((known[0].column, known[0].row, known[0].predicted), (0, 1, Some((202.0, 216.0))));
    let written = texts(&figure);
    for text in ["~ 209", "± 7.0", "100", "400"] {
        assert!(written.iter().any(|one| one == text), "{text}: {written:?}");
    }
    let towers = texts(&drawn(Kind::Grid3d, &record, &predicted));
    assert!(towers.iter().any(|text| text == "~ 209"), "{towers:?}");
    // Other metrics are not predicted.
    let source = Source { label: "run", record: &record, outlook: Some(&predicted) };
    let asked = Request { metric: Some(Metric::Mean), ..Request::new(Kind::Grid) };
    let figure = iodyno_figure::figure(&asked, &[source]).unwrap();
    let Content::Cells(cells) = &figure.panels[0].content else { panic!("{figure:?}") };
    assert!(cells.cells.len() == 4 && figure.notes.is_empty());
}

#[test]
fn predicted_bars_are_next_to_those_of_other_runs() {
    let (record, predicted) = adaptive();
    let whole = run(vec![at(1, 1, 90.0), at(2, 1, 190.0)]);
    let one = outlook(vec![predicted.predictions[0].clone()]);
    let sources = [
        Source { label: "adaptive", record: &record, outlook: Some(&one) },
        Source::new("whole", &whole),
    ];
    let asked = Request { metric: Some(Metric::Iops), ..Request::new(Kind::Compare) };
    let figure = iodyno_figure::figure(&asked, &sources).unwrap();
    let bars = |label: &str| -> Vec<&Point> {
        let own = figure.panels[0].series().iter().filter(|one| one.name == label);
        own.flat_map(|one| &one.points).collect()
    };
    let [one] = bars("adaptive").into_iter().filter(|bar| bar.is_predicted).collect::<Vec<_>>()[..]
    else {
        panic!("{figure:?}")
    };
    assert_eq!((one.x, one.interval), (207.0, Some((200.0, 214.0))));
    let beside = bars("whole").into_iter().find(|bar| bar.y == one.y).unwrap();
    assert!(beside.x == 190.0 && !beside.is_predicted);
    assert!(texts(&figure).iter().any(|text| text.starts_with("~ 207")));
}

#[test]
fn filtered_and_mixed_predictions_are_not_drawn() {
    let (mut record, mut predicted) = adaptive();
    let is_predicted = |figure: &Figure| {
        let mut all = figure.panels.iter().flat_map(|panel| panel.series());
        all.any(|one| one.points.iter().any(|point| point.is_predicted))
    };
    let source = Source { label: "run", record: &record, outlook: Some(&predicted) };
    let filters = vec!["numjobs=4".parse().unwrap()];
    let asked = Request { filters, ..Request::new(Kind::Compare) };
    let figure = iodyno_figure::figure(&asked, &[source]).unwrap();
    assert!(is_predicted(&figure));
    let filters = vec!["iodepth=4".parse().unwrap(), "numjobs=1".parse().unwrap()];
    let asked = Request { filters, ..Request::new(Kind::Compare) };
    assert!(!is_predicted(&iodyno_figure::figure(&asked, &[source]).unwrap()));
    // The sum over a curve's reads and writes has no direction to show it in.
    record.measurements[0].total.push(result(Direction::Write, 50.0, 4096));
    let figure = drawn(Kind::Compare, &record, &predicted);
    assert!(!is_predicted(&figure));
    assert!(
        figure.notes.contains(&"4 predictions of mixed reads and writes are not drawn.".into())
    );
    // Nor is a prediction drawn if its measurement is missing.
    predicted.predictions.iter_mut().for_each(|one| one.beside = 99);
    let figure = drawn(Kind::Compare, &record, &predicted);
    assert!(!is_predicted(&figure) && figure.notes.iter().all(|note| !note.contains("predict")));
}

#[test]
fn a_sweep_is_recognised_by_its_plan_not_its_measurements() {
    let ends = [1, 8].map(|depth| at(depth, 1, 100.0));
    let (record, predicted) =
        (run(ends.into()), outlook([2, 4].map(|depth| prediction(0, depth, 1, 100.0)).into()));
    let source = Source { label: "run", record: &record, outlook: Some(&predicted) };
    assert_eq!(suggested(&[], &[source]), Kind::Depth);
    let figures = figures_of_run(&record, Some(&predicted), &[], usize::MAX);
    assert_eq!((figures[0].0.kind, &figures[0].1[..]), (Kind::Depth, &[0, 1][..]));
    for kind in ALL {
        for dark in [false, true] {
            let text = option(&drawn(kind, &record, &predicted), dark).to_string();
            assert!(!text.contains("null,null") && !text.contains("function"), "{kind:?}");
        }
    }
}

/// A measurement whose interval is as wide as one can be that is shown.
fn doubtful(iodepth: u32, bs: u64, drives: usize) -> Measurement {
    let mut one = measurement("randread", bs, iodepth, 1, 100.0);
    one.total[0].iops = Some(Estimate::confident(600.0, 10.0, 1000.0, 0.95));
    one.targets = (0..drives).map(|n| format!("nvme{n}n1")).collect();
    one
}

#[test]
fn error_bars_stay_within_their_axes() {
    for (kind, all) in [
        (Kind::Depth, [doubtful(1, 4096, 1), doubtful(2, 4096, 1)]),
        (Kind::Blocksize, [doubtful(1, 4096, 1), doubtful(1, 8192, 1)]),
        (Kind::Compare, [doubtful(1, 4096, 1), doubtful(1, 8192, 1)]),
        (Kind::Scaling, [doubtful(1, 4096, 1), doubtful(1, 4096, 2)]),
    ] {
        let figure = figure(&Request::new(kind), &run(all.into())).unwrap();
        let ticks = texts(&figure);
        // Thousands are separated by a thin space from ten thousand on.
        assert!(ticks.iter().any(|tick| tick == "1000"), "{kind:?}: {ticks:?}");
    }
}

#[test]
fn the_knee_is_marked_in_all_three_panels() {
    let depths = [1u32, 2, 4, 8, 16, 32, 64];
    let rate = |depth: u32| (f64::from(depth) * 1e5).min(8e5);
    let record =
        run(depths.map(|depth| measurement("randread", 4096, depth, 1, rate(depth))).into());
    let at =
        |depth: u32| Peak { at: format!("iodepth={depth}"), outstanding: depth, iops: rate(depth) };
    let mut knee = Knee {
        curve: String::new(),
        target: "nvme0n1".into(),
        knee: at(8),
        most: at(16),
        is_first: false,
        is_last: false,
        is_unclear: false,
        measurement: 3,
        under: None,
    };
    let drawn = |knee: &Knee| {
        let outlook = Predictions { knees: vec![knee.clone()], ..Predictions::default() };
        let source = Source { outlook: Some(&outlook), ..Source::new("run", &record) };
        iodyno_figure::figure(&Request::new(Kind::Depth), &[source]).unwrap()
    };
    let marked = drawn(&knee);
    assert_eq!(marked.panels.len(), 3);
    let knee_at = |panel: usize| {
        let mut all = marked.panels[panel].series().iter();
        let point = all.find(|one| one.form == Form::Highlight).unwrap().points[0].clone();
        (point.x, point.y)
    };
    assert_eq!(knee_at(0), (8.0, 8e5));
    assert_eq!(knee_at(1).0, 8.0);
    assert_eq!(knee_at(2).0, 8e5);
    let tells = |of: &Figure| of.notes.iter().any(|note| note.contains("Knee: the fewest"));
    assert!(tells(&marked));
    // The outlook names none.
    knee.is_unclear = true;
    assert!(!tells(&drawn(&knee)));
    (knee.is_unclear, knee.is_last, knee.most) = (false, true, at(8));
    assert!(!tells(&drawn(&knee)));
    assert!(!tells(&figure(&Request::new(Kind::Depth), &record).unwrap()));
}
