//! Figures are legible: few series, no overlapping text, no axis scaled by a single error bar, text
//! that grows with the picture.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::sync::Arc;

use common::{figure, measurement, over_time, run};
use iodyno_figure::{Content, Figure, Form, Judged, Kind, Metric, Request, Source, option, svg};
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Estimate, Fact, Host, Measurement, RunRecord, Validity,
};
use resvg::usvg::{Group, Node, Options, Rect, Tree, fontdb};

/// Runs of one name each, with everything measured over depths and block sizes.
fn runs(count: usize) -> Vec<RunRecord> {
    let one = |n: usize| {
        let of = |bs: u64, depth: u32| {
            let iops = 1e3 * (n + 1) as f64 * f64::from(depth) / bs as f64 * 4096.0;
            over_time(measurement("randread", bs, depth, 1, iops), 20)
        };
        let sizes = [4096, 16384, 65536].map(|bs| of(bs, 8));
        let all: Vec<Measurement> =
            sizes.into_iter().chain([1, 4, 16].map(|depth| of(4096, depth))).collect();
        run(all)
    };
    (0..count).map(one).collect()
}

/// The figure of `count` runs, of the measurements that suit its kind.
fn of_runs(kind: Kind, count: usize) -> Figure {
    let (records, labels) =
        (runs(count), (0..count).map(|n| format!("night {n}")).collect::<Vec<_>>());
    let sources: Vec<Source<'_>> =
        labels.iter().zip(&records).map(|(label, record)| Source::new(label, record)).collect();
    let filters: &[&str] = match kind {
        Kind::Blocksize => &["iodepth=8"],
        Kind::Depth | Kind::Compare | Kind::Ratio => &["bs=4k"],
        _ => &["bs=4k", "iodepth=8"],
    };
    let filters = filters.iter().map(|text| text.parse().unwrap()).collect();
    iodyno_figure::figure(&Request { filters, ..Request::new(kind) }, &sources).unwrap()
}

const KINDS: [Kind; 6] =
    [Kind::Time, Kind::Latency, Kind::Blocksize, Kind::Depth, Kind::Compare, Kind::Ratio];

/// Each text with its bounding box, by the outlines of its letters.
fn texts(document: &str) -> Vec<(String, Rect)> {
    fn collect(group: &Group, found: &mut Vec<(String, Rect)>) {
        for node in group.children() {
            match node {
                Node::Group(group) => collect(group, found),
                Node::Text(text) => {
                    let words = text.chunks().iter().map(|chunk| chunk.text()).collect();
                    found.push((words, text.flattened().abs_bounding_box()));
                }
                _ => {}
            }
        }
    }
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(iodyno_figure::font());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let mut found = Vec::new();
    collect(Tree::from_str(document, &options).unwrap().root(), &mut found);
    found
}

#[test]
fn texts_neither_overlap_nor_leave_the_picture() {
    for kind in KINDS {
        for count in [2, 5, 8, 20] {
            let figure = of_runs(kind, count);
            for (width, height) in [figure.size(), (1000, 660)] {
                let texts = texts(&svg(&figure, (width, height), 1.0, false).unwrap());
                for (n, (words, room)) in texts.iter().enumerate() {
                    let is_in = room.left() >= -0.5
                        && room.right() <= width as f32 + 0.5
                        && room.bottom() <= height as f32 + 0.5;
                    assert!(is_in, "{kind:?} of {count}: {words:?} at {room:?}");
                    for (other, there) in &texts[n + 1..] {
                        // Half a pixel is anti-aliasing.
                        let apart = room.right() < there.left() + 0.5
                            || there.right() < room.left() + 0.5
                            || room.bottom() < there.top() + 0.5
                            || there.bottom() < room.top() + 0.5;
                        assert!(
                            apart,
                            "{kind:?} of {count}, {width} x {height}: {words:?} {room:?} on {other:?} {there:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn lines_are_named_at_their_ends_or_in_the_legend() {
    let at_ends = |figure: &Figure, size: (u32, u32)| {
        let texts = texts(&svg(figure, size, 1.0, false).unwrap());
        let names: Vec<_> =
            texts.into_iter().filter(|(words, _)| words.starts_with("night")).collect();
        assert!(!names.is_empty());
        // A legend begins at the left edge.
        names.iter().all(|(_, room)| room.left() > 80.0)
    };
    for kind in [Kind::Time, Kind::Blocksize, Kind::Depth] {
        let figure = of_runs(kind, 4);
        assert!(at_ends(&figure, figure.size()), "{kind:?}");
    }
    let bars = of_runs(Kind::Compare, 4);
    assert!(!at_ends(&bars, bars.size()), "bars have a legend");
    assert!(!at_ends(&of_runs(Kind::Depth, 4), (250, 900)), "no room in a narrow picture");
}

#[test]
fn no_more_series_than_colours_and_the_figure_says_so() {
    for kind in KINDS {
        let figure = of_runs(kind, 20);
        let drawn = option(&figure, false);
        let names = drawn["legend"]["data"].as_array().unwrap();
        let guides = figure.panels.iter().flat_map(|panel| panel.series());
        let guides = guides.filter(|one| one.form == Form::Guide).count();
        assert!(names.len() <= 8 + guides, "{kind:?}: {names:?}");
        let says = match kind {
            Kind::Time | Kind::Latency => "20 series, a panel each",
            Kind::Blocksize | Kind::Depth => "20 series as a heat map",
            // Each run is a row: nothing is left out.
            _ => "",
        };
        assert!(figure.subtitle.ends_with(says), "{kind:?}: {}", figure.subtitle);
        let picture = svg(&figure, figure.size(), 1.0, false).unwrap();
        let (first, last) = (picture.contains(">night 0"), picture.contains(">night 19"));
        assert!(first && last, "{kind:?}: the extremes are there");
        if matches!(kind, Kind::Blocksize | Kind::Depth) {
            let Content::Cells(cells) = &figure.panels[0].content else { panic!("{figure:?}") };
            assert_eq!(cells.cells.len() % 20, 0, "every value is there");
        }
    }
}

#[test]
fn many_series_get_a_panel_each_with_one_scale() {
    for kind in [Kind::Time, Kind::Latency] {
        let figure = of_runs(kind, 20);
        let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        let expected: Vec<String> = (0..20).map(|n| format!("night {n}")).collect();
        assert_eq!(titles, expected, "{kind:?}");
        let drawn = option(&figure, false);
        for axes in [&drawn["xAxis"], &drawn["yAxis"]] {
            let all = axes.as_array().unwrap();
            let scales = all.iter().map(|axis| (&axis["min"], &axis["max"], &axis["axisLabel"]));
            assert!(scales.clone().all(|scale| Some(scale) == scales.clone().next()), "{all:?}");
            assert!(all.iter().all(|axis| axis["max"].is_number() && axis["name"].is_null()));
        }
        let axes = if kind == Kind::Time {
            " · kIOPS against Time (s)"
        } else {
            " · Latency against Percentile"
        };
        let subtitle = drawn["title"][1]["text"].as_str().unwrap();
        assert!(subtitle.ends_with(axes), "the axes are named once: {subtitle}");
    }
    let most = of_runs(Kind::Time, 40);
    assert_eq!(most.panels.len(), 24);
    assert!(
        most.subtitle.ends_with("24 of 40 series, from the lowest to the highest, a panel each")
    );
    assert_eq!(
        (most.panels[0].title.as_str(), most.panels[23].title.as_str()),
        ("night 0", "night 39")
    );
}

#[test]
fn many_workloads_of_many_runs_are_a_heat_map_with_every_value() {
    let of = |n: u32| {
        let one = |depth: u32| measurement("randread", 4096, depth, 1, f64::from(n * depth));
        run((1..=12).map(one).collect())
    };
    let (records, labels): (Vec<_>, Vec<_>) =
        (1..=10).map(|n| (of(n), format!("night {n}"))).unzip();
    let sources: Vec<Source<'_>> =
        labels.iter().zip(&records).map(|(label, record)| Source::new(label, record)).collect();
    let asked = Request { metric: Some(Metric::Iops), ..Request::new(Kind::Compare) };
    let figure = iodyno_figure::figure(&asked, &sources).unwrap();
    assert!(figure.subtitle.ends_with("as a heat map, without intervals"), "{}", figure.subtitle);
    let [panel] = figure.panels.as_slice() else { panic!("{figure:?}") };
    let Content::Cells(cells) = &panel.content else { panic!("{panel:?}") };
    assert_eq!((panel.x.categories(), cells.cells.len()), (labels.as_slice(), 120));
    let last = cells.cells.iter().find(|cell| (cell.column, cell.row) == (9, 11)).unwrap();
    assert_eq!(last.value, 120.0);
    let texts = texts(&svg(&figure, figure.size(), 1.0, false).unwrap());
    assert!(figure.notes.iter().all(|note| !note.contains("hisker")), "{:?}", figure.notes);
    for value in ["1.0", "120"] {
        assert!(texts.iter().any(|(words, _)| words.starts_with(value)), "{value}: {texts:?}");
    }
}

#[test]
fn a_whole_run_of_many_measurements_has_no_gaps() {
    let of = |n: i64| Measurement {
        name: format!("fill {n}"),
        started_ns: Some(n * 20_000_000_000),
        ..over_time(measurement("write", 4096, 1, 1, 1e3), 20)
    };
    let course = |count: i64| {
        figure(&Request::new(Kind::Course), &run((0..count).map(of).collect())).unwrap()
    };
    let names = |figure: &Figure| {
        let names = figure.panels[0].series().iter().map(|one| one.name.clone());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&course(8)).len(), 8);
    let many = course(30);
    assert_eq!((names(&many).len(), many.panels[0].series().len()), (1, 30), "{}", many.subtitle);
}

#[test]
fn a_single_long_error_bar_is_cut_and_its_end_noted() {
    let with = |ends: [f64; 3]| {
        let of = |(n, high): (usize, f64)| {
            let mut one = measurement("randread", 4096, 1 << n, 1, 1e5);
            one.total[0].iops = Some(Estimate::confident(1e5, 0.9e5, high, 0.95));
            one
        };
        let record = run(ends.into_iter().enumerate().map(of).collect());
        let asked = Request { metric: Some(Metric::Iops), ..Request::new(Kind::Compare) };
        figure(&asked, &record).unwrap()
    };
    let axis_end = |figure: &Figure| {
        let texts = texts(&svg(figure, figure.size(), 1.0, false).unwrap());
        texts.iter().filter_map(|(words, _)| words.parse::<f64>().ok()).fold(0.0, f64::max)
    };
    let lone = with([1.1e5, 1.1e5, 2.8e5]);
    assert!(
        lone.notes.contains(&"A whisker is cut off: iodepth=4 ends at 280 kIOPS.".to_owned()),
        "{:?}",
        lone.notes
    );
    // The rounded axis holds this one.
    let held = with([1.61e5, 1.61e5, 2.45e5]);
    assert!(held.notes.iter().all(|note| !note.contains("cut off")), "{:?}", held.notes);
    assert!(axis_end(&lone) <= 160.0, "the axis is that of the values");
    let all = with([2.6e5, 2.7e5, 2.8e5]);
    assert!(all.notes.iter().all(|note| !note.contains("leaves the panel")), "{:?}", all.notes);
    assert!(axis_end(&all) >= 250.0, "where all are long the axis holds them");
}

#[test]
fn long_names_keep_both_ends() {
    let of = |way: &str| Measurement {
        targets: vec![format!("/srv/postgresql-orders-of-the-largest-customer/{way}")],
        ..measurement("randread", 4096, 1, 1, 1e5)
    };
    let (record, asked) = (run(vec![of("read"), of("write")]), Request::new(Kind::Compare));
    let drawn = svg(&figure(&asked, &record).unwrap(), (400, 500), 1.0, false).unwrap();
    let texts = texts(&drawn);
    for way in ["read", "write"] {
        let is_name = |(words, _): &&(String, _)| words.contains('…') && words.ends_with(way);
        assert!(texts.iter().any(|text| is_name(&text)), "{way}: {texts:?}");
    }
}

#[test]
fn text_grows_with_the_picture() {
    let figure = of_runs(Kind::Depth, 3);
    let (width, height) = figure.size();
    let one = svg(&figure, (width, height), 1.0, false).unwrap();
    let two = svg(&figure, (2 * width, 2 * height), 2.0, false).unwrap();
    let (small, large) = (texts(&one), texts(&two));
    assert_eq!(small.len(), large.len());
    for ((words, a), (same, b)) in small.iter().zip(&large) {
        assert_eq!(words, same);
        assert!((b.height() - 2.0 * a.height()).abs() < 0.1, "{words}: {a:?} {b:?}");
        assert!((b.left() - 2.0 * a.left()).abs() < 0.1, "{words}: {a:?} {b:?}");
    }
}

#[test]
fn heat_maps_have_a_colour_bar_and_one_scale() {
    let of = |rw: &'static str, rate: f64| {
        (0..9).map(move |n| {
            measurement(rw, 4096, 1 << (n % 3), 1 << (n / 3), rate * f64::from(n + 1))
        })
    };
    let record = run(of("randread", 1e4).chain(of("randwrite", 1e2)).collect());
    let drawn = option(&figure(&Request::new(Kind::Grid), &record).unwrap(), false);
    let bars = drawn["visualMap"].as_array().unwrap();
    assert_eq!(bars.len(), 2);
    assert!(bars.iter().all(|bar| bar["max"] == 90_000 && bar["show"] != false), "{bars:?}");
    assert_eq!(bars[0]["text"], serde_json::json!(["90.0 kIOPS", "0"]));
    let cells = |n: usize| drawn["series"][n]["data"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&cells(0)["name"], &cells(1)["name"]),
        (&"90.0".into(), &"0.90".into()),
        "one unit"
    );
}

#[test]
fn microseconds_have_their_letter() {
    let mut record = run(vec![measurement("randread", 4096, 1, 1, 1e4)]);
    record.measurements[0].total[0].latency_mean = Some(Estimate::bare(85_200.0));
    let asked = Request { metric: Some(Metric::Mean), ..Request::new(Kind::Compare) };
    let picture = svg(&figure(&asked, &record).unwrap(), (900, 400), 1.0, false).unwrap();
    assert!(picture.contains("(µs)") && picture.contains("85.2\u{2009}µs"), "{picture}");
    assert!(!picture.contains("us)") && !picture.contains("\u{2009}us"), "{picture}");
}

#[test]
fn a_distant_guide_does_not_squeeze_the_values() {
    let drives = |count: usize, iops: f64| Measurement {
        targets: (0..count).map(|n| format!("nvme{n}n1")).collect(),
        ..measurement("randread", 4096, 32, 1, iops)
    };
    let record = run(vec![drives(1, 1e3), drives(8, 1e3)]);
    let judged = |measurement| Judged {
        source: 0,
        measurement,
        validity: Validity::Valid,
        reservations: Vec::new(),
        ceilings: vec![(Metric::Iops, 1e6)],
    };
    let judged = vec![judged(0), judged(1)];
    let asked = Request { metric: Some(Metric::Iops), judged, ..Request::new(Kind::Scaling) };
    let scaling = figure(&asked, &record).unwrap();
    let guides = scaling.panels[0].series().iter().filter(|one| one.form == Form::Guide);
    let guides: Vec<_> =
        guides.map(|one| (one.name.as_str(), one.points.last().unwrap())).collect();
    let [("ideal", end)] = guides.as_slice() else { panic!("{guides:?}") };
    assert_eq!((end.x, end.y), (2.0, 2e3));
}

#[test]
fn texts_of_tree_nodes_do_not_overlap() {
    let block = |name: String, below: &[&str]| BlockDevice {
        kind: if below.is_empty() { BlockKind::Scsi } else { BlockKind::Partition },
        model: Fact::Read(format!("model of {name}")),
        size: Fact::Read(Bytes(1 << 30)),
        stands_on: below.iter().map(|&name| name.into()).collect(),
        name,
        ..BlockDevice::default()
    };
    let disks = (0..3).map(|n| block(format!("sd{n}"), &[]));
    let parts = (0..3).map(|n| block(format!("sd0p{n}"), &["sd0"]));
    let host = Host { blocks: disks.chain(parts).collect(), ..Host::default() };
    let record = RunRecord { snapshots: vec![host], ..run(Vec::new()) };
    let tree = figure(&Request::new(Kind::Topology), &record).unwrap();
    let texts = texts(&svg(&tree, tree.size(), 1.0, false).unwrap());
    for (n, (words, room)) in texts.iter().enumerate() {
        for (other, there) in &texts[n + 1..] {
            let apart = room.right() < there.left()
                || there.right() < room.left()
                || room.bottom() < there.top()
                || there.bottom() < room.top();
            assert!(apart, "{words:?} {room:?} on {other:?} {there:?}");
        }
    }
}

#[test]
fn points_that_differ_in_size_or_threads_only_are_no_repetitions() {
    let of = |size: u64, thread: &str, iops: f64| {
        let mut one = measurement("randread", 4096, 1, 1, iops);
        one.name = format!("size={size} thread={thread}");
        one.workload.size = Some(size);
        one.workload.options.insert("thread".into(), thread.into());
        one
    };
    let asked = Request { metric: Some(Metric::Iops), ..Request::new(Kind::Depth) };
    let shown = |all: Vec<Measurement>| {
        let drawn = figure(&asked, &run(all)).unwrap();
        let names = drawn.panels[0].series().iter().map(|one| one.name.clone());
        (names.collect::<Vec<_>>(), drawn.notes.iter().any(|note| note.contains("Repeated")))
    };
    let all = || vec![of(1 << 16, "0", 1.0), of(1 << 24, "0", 2.0), of(1 << 16, "1", 3.0)];
    let names = ["size=64k thread=0", "size=16m thread=0", "size=64k thread=1"];
    assert_eq!(shown(all()), (names.map(str::to_owned).into(), false));
    // The same point again is a repetition, however long it took.
    let mut again = of(1 << 16, "0", 4.0);
    again.workload.options.insert("runtime".into(), "9".into());
    assert!(shown([all(), vec![again]].concat()).1);
}
