//! Every kind of figure becomes a picture, light and dark, with any content.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::collections::BTreeSet;

use common::{figure, in_rounds, measurement, over_time, result, run, under_load};
use iodyno_figure::{
    Figure, FigureError, Kind, Metric, Request, Source, Track, TrackWindow, option, png, svg,
};
use iodyno_model::{
    BlockDevice, BlockKind, Bytes, Direction, Fact, Headroom, Host, MdArray, Measurement, RunRecord,
};
use proptest::prelude::*;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree::{Document, Node};

/// A run with data for every kind.
fn everything() -> RunRecord {
    let mut all: Vec<Measurement> = (0..49)
        .map(|n| {
            measurement("randread", 4096, 1 << (n % 7), 1 << (n / 7), 1000.0 * f64::from(n + 1))
        })
        .collect();
    all.push(over_time(measurement("randread", 16384, 8, 1, 5e4), 30));
    let mut mixed = measurement("randrw", 65536, 4, 1, 2e4);
    mixed.total.push(result(Direction::Write, 1e4, 65536));
    mixed.targets.push("nvme1n1".into());
    all.push(mixed.clone());
    mixed.targets.pop();
    all.push(mixed);
    all.extend(rounds().0);
    RunRecord { snapshots: vec![machine("lab")], ..run(all) }
}

/// A machine with a disk, its partition, and a stripe of two other disks.
fn machine(name: &str) -> Host {
    let block = |name: &str, kind: BlockKind, below: &[&str]| BlockDevice {
        name: name.into(),
        kind,
        stands_on: below.iter().map(|&name| name.into()).collect(),
        model: Fact::Read(format!("model of {name}")),
        ..BlockDevice::default()
    };
    let stripe = MdArray { level: "raid0".into(), degraded: Some(1), ..MdArray::default() };
    let mut partition = block("sda1", BlockKind::Partition, &["sda"]);
    partition.start = Fact::Read(Bytes(512));
    Host {
        hostname: Fact::Read(name.into()),
        blocks: vec![
            block("sda", BlockKind::Scsi, &[]),
            partition,
            block("sdb", BlockKind::Scsi, &[]),
            block("sdc", BlockKind::Scsi, &[]),
            block("md0", BlockKind::Md(Box::new(stripe)), &["sdb", "sdc"]),
        ],
        ..Host::default()
    }
}

fn rounds() -> (Vec<Measurement>, Track) {
    in_rounds(&[9e4, 5e4, 1e4, 1.1e4, 1e4, 0.9e4, 1e4])
}

fn drawn(kind: Kind, record: &RunRecord) -> Figure {
    let filters = match kind {
        Kind::Grid | Kind::Grid3d => {
            vec!["bs=4k".parse().unwrap(), "direction=read".parse().unwrap()]
        }
        Kind::Ratio => vec!["bs=64k".parse().unwrap()],
        _ => Vec::new(),
    };
    let rounds = vec![rounds().1];
    // A single run needs a first series.
    let series = (kind == Kind::Ratio).then(|| "direction".into());
    let headroom = vec![under_load()];
    figure(&Request { filters, rounds, series, headroom, ..Request::new(kind) }, record).unwrap()
}

/// All text in the picture, in order.
fn texts(document: &str) -> Vec<String> {
    let document = Document::parse(document).unwrap();
    let is_text = |node: &Node<'_, '_>| node.has_tag_name("text");
    let text = |node: Node<'_, '_>| {
        node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
    };
    document.descendants().filter(is_text).map(text).collect()
}

#[test]
fn every_kind_is_drawn_with_text_and_without_nan() {
    let record = everything();
    for (kind, name) in Kind::ALL {
        let figure = drawn(kind, &record);
        let (width, height) = figure.size();
        for dark in [false, true] {
            let picture = svg(&figure, (width, height), 1.0, dark).unwrap();
            for word in ["NaN", "Infinity", "undefined", "[object"] {
                assert!(!picture.contains(word), "{name}: {word}");
            }
            let texts = texts(&picture);
            assert!(texts.contains(&figure.title), "{name}: {texts:?}");
            let all = figure.panels.iter().flat_map(|panel| panel.series());
            let names: BTreeSet<&String> = all.map(|one| &one.name).collect();
            let missing: Vec<_> = names.iter().filter(|name| !texts.contains(name)).collect();
            assert!(names.len() < 2 || missing.is_empty(), "{name}: {missing:?}");
        }
    }
}

#[test]
fn the_same_figure_is_the_same_picture_also_on_another_thread() {
    let record = everything();
    let here = drawn(Kind::Depth, &record);
    let there = here.clone();
    let first = svg(&here, (900, 500), 1.0, false).unwrap();
    assert_eq!(svg(&here, (900, 500), 1.0, false).unwrap(), first);
    assert_eq!(
        std::thread::spawn(move || svg(&there, (900, 500), 1.0, false)).join().unwrap().unwrap(),
        first
    );
}

#[test]
fn a_grid_prints_its_values() {
    let record = everything();
    for kind in [Kind::Grid, Kind::Grid3d] {
        let texts = texts(&svg(&drawn(kind, &record), (1200, 760), 1.0, false).unwrap());
        for value in 1..=49 {
            assert!(texts.contains(&format!("{value}.0")), "{kind:?}: {value} of {texts:?}");
        }
    }
}

#[test]
fn ticks_of_3d_bars_have_the_unit_of_the_heading() {
    let of = |rate: &'static str, iops: f64| {
        [1, 2].into_iter().flat_map(move |depth| {
            [1, 2].map(|jobs| {
                let mut one = measurement("randread", 4096, depth, jobs, iops * f64::from(depth));
                one.workload.options.insert("rate_iops".into(), rate.into());
                one
            })
        })
    };
    let record = run(of("100", 100.0).chain(of("20k", 20_000.0)).collect());
    let drawn = figure(&Request::new(Kind::Grid3d), &record).unwrap();
    let texts = texts(&svg(&drawn, (1200, 760), 1.0, false).unwrap());
    assert_eq!(texts.iter().filter(|text| text.ends_with(": kIOPS")).count(), 2, "{texts:?}");
    // Ticks of both panels, up to 0.2 and to 40 thousand.
    assert!(["0.15", "30"].iter().all(|tick| texts.contains(&(*tick).to_owned())), "{texts:?}");
    assert!(!texts.contains(&"150".to_owned()), "{texts:?}");
}

#[test]
fn a_tree_shows_devices_and_their_concerns() {
    let record = everything();
    let topology = drawn(Kind::Topology, &record);
    let (width, height) = topology.size();
    let texts = texts(&svg(&topology, (width, height), 1.0, true).unwrap());
    for word in ["lab", "sda", "sda1", "in md0", "md0", "! 1 member missing", "model of sdb"] {
        assert!(texts.iter().any(|text| text == word), "{word}: {texts:?}");
    }
    assert!(texts.contains(&"! starts at byte 512, off 4 KiB".to_owned()), "{texts:?}");
    // A long name is cut, and no node's text overlaps the next.
    let mut long = record.clone();
    long.snapshots[0].blocks[0].model = Fact::Read("long model ".repeat(20));
    let cut = svg(&drawn(Kind::Topology, &long), (width, height), 1.0, false).unwrap();
    assert!(self::texts(&cut).iter().any(|text| text.starts_with("long") && text.ends_with('…')));
    let nobody = figure(&Request::new(Kind::Topology), &run(Vec::new()));
    assert!(matches!(nobody, Err(FigureError::Nothing(_))), "{nobody:?}");
}

#[test]
fn a_png_has_the_requested_size_and_text() {
    let record = everything();
    let figure = drawn(Kind::Compare, &record);
    let picture = Pixmap::decode_png(&png(&figure, (777, 555), 1.0, false).unwrap()).unwrap();
    assert_eq!((picture.width(), picture.height()), (777, 555));
    // The title is at the upper left; without a font there would be nothing.
    let dark = |x: u32, y: u32| picture.pixel(x, y).unwrap().red() < 128;
    let ink = (14..40).flat_map(|y| (16..300).map(move |x| (x, y))).filter(|(x, y)| dark(*x, *y));
    assert!(ink.count() > 100);
}

#[test]
fn sizes_out_of_range_are_rejected() {
    let figure = drawn(Kind::Compare, &everything());
    for (width, height) in [(0, 100), (100, 99), (9000, 100), (100, u32::MAX)] {
        let refused = png(&figure, (width, height), 1.0, false);
        assert!(matches!(refused, Err(FigureError::Size { .. })), "{width} x {height}");
    }
    for (width, height) in [(100, 100), (300, 120), (8192, 100)] {
        assert!(svg(&figure, (width, height), 1.0, false).is_ok(), "{width} x {height}");
    }
}

#[test]
fn a_long_title_is_wrapped_and_stays_in_the_picture() {
    let record = everything();
    let title = "word ".repeat(80) + &"x".repeat(400);
    let asked = Request { title: Some(title), ..Request::new(Kind::Latency) };
    let picture = svg(&figure(&asked, &record).unwrap(), (1200, 900), 1.0, false).unwrap();
    let lines = texts(&picture);
    let lines: Vec<&String> =
        lines.iter().filter(|line| line.contains("word word") || line.contains("xxx")).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.len() < 130), "{lines:?}");
}

#[test]
fn the_option_is_plain_json_that_names_its_functions() {
    let record = everything();
    for (kind, _) in Kind::ALL {
        let text = option(&drawn(kind, &record), false).to_string();
        assert!(!text.contains("function") && !text.contains("=>"));
    }
    let compared = option(&drawn(Kind::Compare, &record), false);
    assert_eq!(compared["tooltip"]["formatter"], "tooltip");
}

#[test]
fn names_of_devices_and_files_are_text_and_nothing_else() {
    let hostile = "</text><script>alert(1)</script>&\u{0}\u{1b}[31m{b}{a|x}\u{202e}\u{2066}\u{200f}\u{61c}\u{7f}\n\"'";
    let mut one = over_time(measurement("randread", 4096, 1, 1, 100.0), 3);
    one.name = hostile.into();
    one.targets = vec![hostile.into()];
    one.workload.options.insert(hostile.into(), hostile.into());
    one.source = hostile.into();
    let mut other = one.clone();
    other.name = "harmless".into();
    let record = RunRecord { snapshots: vec![machine(hostile)], ..run(vec![one, other]) };
    for (kind, _) in Kind::ALL {
        let sources = [hostile, "tooltip"].map(|label| Source::new(label, &record));
        let headroom = vec![Headroom { target: hostile.into(), ..under_load() }];
        let asked = Request { title: Some(hostile.into()), headroom, ..Request::new(kind) };
        let Ok(figure) = iodyno_figure::figure(&asked, &sources) else { continue };
        let picture = svg(&figure, (1200, 600), 1.0, false).unwrap();
        let document = Document::parse(&picture).unwrap();
        assert!(document.descendants().all(|node| !node.has_tag_name("script")), "{kind:?}");
        assert!(!picture.contains(|c| c != '\n' && iodyno_model::is_unsafe(c)), "{kind:?}");
        assert!(png(&figure, (1200, 600), 1.0, true).is_ok());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_values_and_names_make_a_picture(
        values in prop::collection::vec((any::<f64>(), any::<f64>(), ".{0,12}", 0u64..1 << 40), 1..6),
        kind in 0usize..Kind::ALL.len()) {
        let of = |(n, (iops, mean, name, bs)): (usize, &(f64, f64, String, u64))| {
            let mut one = over_time(measurement(name, *bs, n as u32, n as u32, 1e3), 3);
            one.total[0].iops = Some(iodyno_model::Estimate::confident(*iops, *mean, *iops, 0.95));
            one.total[0].latency_mean = Some(iodyno_model::Estimate::bare(*mean));
            one.targets = vec![name.clone(); n];
            one.started_ns = Some(*iops as i64);
            one
        };
        let record = run(values.iter().enumerate().map(of).collect());
        // Rounds with arbitrary values too.
        let tracked = |(n, (iops, mean, _, _)): (usize, &(f64, f64, String, u64))| {
            let window = TrackWindow {
                rounds: 1..=2,
                average: *iops,
                band_percent: *mean,
                fit_first: *mean,
                fit_slope: *iops,
            };
            Track {
                point: record.measurements[n].name.clone(),
                targets: record.measurements[n].targets.clone(),
                metric: Metric::Mean,
                values: vec![Some(*iops), None, Some(*mean)],
                window: Some(window),
                ..rounds().1
            }
        };
        let rounds = values.iter().enumerate().map(tracked).collect();
        let asked =
            Request { metric: Some(Metric::Mean), rounds, ..Request::new(Kind::ALL[kind].0) };
        if let Ok(figure) = figure(&asked, &record) {
            let picture = svg(&figure, (600, 400), 1.0, false).unwrap();
            prop_assert!(Document::parse(&picture).is_ok(), "{}", picture);
        }
    }
}
