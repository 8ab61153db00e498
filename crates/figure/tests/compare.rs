//! Bars of workloads, as values and as ratios.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{figure, lines, measurement, run};
use iodyno_figure::{FigureError, Form, Kind, Quantity, Request, Source};
use iodyno_model::Measurement;

#[test]
fn runs_are_compared_workload_by_workload() {
    let of = |scale: f64| {
        run(vec![
            measurement("read", 131_072, 8, 1, 10.0 * scale),
            measurement("randread", 4096, 8, 1, 100.0 * scale),
        ])
    };
    let (before, after) = (of(1.0), of(2.0));
    let sources = [Source::new("before", &before), Source::new("after", &after)];
    let drawn = iodyno_figure::figure(&Request::new(Kind::Compare), &sources).unwrap();
    let bars = lines(&drawn.panels[0], |form| form == Form::Bars);
    assert_eq!(
        bars,
        [("before", vec![(10.0, 0.0), (100.0, 1.0)]), ("after", vec![(20.0, 0.0), (200.0, 1.0)])]
    );
    assert_eq!(drawn.panels[0].y.categories().len(), 2);
}

#[test]
fn ratios_are_relative_to_the_first_run() {
    let of = |target: &str, scale: f64| {
        let on = |name: &str, bs: u64, iops: f64| Measurement {
            name: name.into(),
            targets: vec![target.into()],
            ..measurement(name, bs, 8, 1, iops * scale)
        };
        run(vec![on("fill", 1 << 20, 10.0), on("randread", 4096, 100.0)])
    };
    let (one, stripe) = (of("nvme0n1", 1.0), of("/dev/md127", 1.9));
    // Only the name decides which measurements are compared.
    let mut new = of("/mnt", 0.5);
    new.measurements.remove(0);
    new.measurements[0].workload.options.insert("unlink".into(), "1".into());
    let labelled = [("raw", &one), ("md0", &stripe), ("ext4:new", &new)];
    let sources = labelled.map(|(label, record)| Source::new(label, record));
    let filters = vec!["name!=fill".parse().unwrap()];
    let asked = Request { filters, ..Request::new(Kind::Ratio) };
    let drawn = iodyno_figure::figure(&asked, &sources).unwrap();
    let panel = &drawn.panels[0];
    let bars = lines(panel, |form| form == Form::Bars);
    assert_eq!(bars.len(), 3, "{bars:?}");
    for ((_, points), ratio) in bars.iter().zip([1.0, 1.9, 0.5]) {
        assert!((points[0].0 - ratio).abs() < 1e-9, "{bars:?}");
    }
    assert_eq!(panel.y.categories(), ["randread"]);
    assert_eq!(panel.x.quantity, Quantity::Ratio);
    assert_eq!(lines(panel, |form| form == Form::Guide), [("as raw", vec![(1.0, 0.0)])]);
    let (value, (low, high)) =
        panel.series()[1].points.first().map(|one| (one.x, one.interval.unwrap())).unwrap();
    assert!(low < value && value < high, "{low} {value} {high}");
    let alone = iodyno_figure::figure(&asked, &sources[..1]);
    assert!(matches!(alone, Err(FigureError::Nothing(_))));
}

#[test]
fn points_of_a_grid_are_in_the_order_of_their_values() {
    let rows = |points: &[(&str, u64, u32)]| {
        let named = |(rw, bs, depth): &(&str, u64, u32)| Measurement {
            name: format!("rw={rw} bs={}k iodepth={depth}", bs >> 10),
            ..measurement(rw, *bs, *depth, 1, 100.0)
        };
        let drawn = figure(&Request::new(Kind::Compare), &run(points.iter().map(named).collect()));
        drawn.unwrap().panels[0].y.categories().to_vec()
    };
    let [write, read] = ["randwrite", "randread"];
    // As a sweep measures them: corners first.
    let measured = [(write, 4096, 1), (write, 65536, 32), (read, 4096, 1), (read, 65536, 32)];
    let between = [(write, 4096, 8), (write, 65536, 1), (read, 4096, 32), (read, 65536, 8)];
    let drawn = rows(&[measured, between].concat());
    let expected = |rw: &str, depths: [u32; 2], bs: &str| {
        depths.map(|depth| format!("rw={rw} bs={bs} iodepth={depth}"))
    };
    let expected = [
        expected(write, [1, 8], "4k"),
        expected(write, [1, 32], "64k"),
        expected(read, [1, 32], "4k"),
        expected(read, [8, 32], "64k"),
    ];
    assert_eq!(drawn, expected.concat());
}
