//! What failed or is invalid is not drawn beside what is valid, and the figure says so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use iodyno_figure::{FigureError, Judged, Kind, Metric, Request, Source};
use iodyno_model::{EndReason, Measurement, RunRecord, Validity};

use common::{figure, measurement, over_time, run};

/// Jobs `good`, `odd`, which is judged invalid, and `bad`, which failed.
fn three() -> (RunRecord, Vec<Judged>) {
    let named = |name: &str, iops: f64| Measurement {
        name: name.into(),
        ..measurement("randread", 4096, 1, 1, iops)
    };
    let mut record = run(vec![named("good", 100.0), named("odd", 9e9), named("bad", 1.0)]);
    record.measurements[2].end = EndReason::Failed("err=28".into());
    let odd = Judged {
        source: 0,
        measurement: 1,
        validity: Validity::Invalid,
        reservations: vec!["null-engine".into()],
        ceilings: Vec::new(),
    };
    (record, vec![odd])
}

fn asked(kind: Kind, judged: &[Judged]) -> Request {
    Request { metric: Some(Metric::Iops), judged: judged.to_vec(), ..Request::new(kind) }
}

#[test]
fn a_failed_measurement_is_not_drawn_but_named() {
    let (mut record, _) = three();
    let drawn = figure(&asked(Kind::Compare, &[]), &record).unwrap();
    assert_eq!(drawn.panels[0].y.categories(), ["good", "odd"]);
    let note = "Not drawn: bad (FAILED).";
    assert!(drawn.notes.iter().any(|one| one == note), "{:?}", drawn.notes);
    // What a resumed run repeated is drawn.
    record
        .measurements
        .push(Measurement { end: EndReason::Done, ..record.measurements[2].clone() });
    record.run.resumed_at = vec![3];
    let drawn = figure(&asked(Kind::Compare, &[]), &record).unwrap();
    assert!(!drawn.notes.iter().any(|one| one.contains("Not drawn")), "{:?}", drawn.notes);
    record.measurements.drain(..2);
    record.measurements.truncate(1);
    assert!(figure(&asked(Kind::Compare, &[]), &record).is_err());
}

#[test]
fn invalid_values_do_not_stand_beside_valid_ones() {
    let (mut record, judged) = three();
    let drawn = figure(&asked(Kind::Compare, &judged), &record).unwrap();
    let points = &drawn.panels[0].series()[0].points;
    assert_eq!(points.iter().map(|point| point.x).collect::<Vec<_>>(), [100.0]);
    let note = "Not drawn: odd (INVALID), bad (FAILED).";
    assert!(drawn.notes.iter().any(|one| one == note), "{:?}", drawn.notes);
    // A distribution can be looked at, and is named.
    let drawn = figure(&Request { metric: None, ..asked(Kind::Latency, &judged) }, &record);
    let notes = drawn.unwrap().notes;
    assert!(notes.iter().any(|one| one == "INVALID: odd (null-engine)."), "{notes:?}");
    // Alone it is drawn, for there is nothing to mistake it for.
    record.measurements[0].end = EndReason::Failed("err=28".into());
    let drawn = figure(&asked(Kind::Compare, &judged), &record).unwrap();
    assert_eq!(drawn.panels[0].series()[0].points.len(), 1);
}

#[test]
fn nothing_is_divided_by_an_invalid_value() {
    let (record, mut judged) = three();
    judged.push(Judged { source: 1, ..judged[0].clone() });
    let sources = [Source::new("before", &record), Source::new("after", &record)];
    let drawn = iodyno_figure::figure(&asked(Kind::Ratio, &judged), &sources).unwrap();
    assert_eq!(drawn.panels[0].y.categories(), ["good"]);
    let all: Vec<Judged> = (0..2)
        .flat_map(|source| (0..2).map(move |measurement| (source, measurement)))
        .map(|(source, measurement)| Judged { source, measurement, ..judged[0].clone() })
        .collect();
    let none = iodyno_figure::figure(&asked(Kind::Ratio, &all), &sources);
    assert!(matches!(none, Err(FigureError::Nothing(_))), "{none:?}");
}

#[test]
fn means_are_not_drawn_beside_percentiles() {
    let named = |name: &str| Measurement {
        name: name.into(),
        ..over_time(measurement("randread", 4096, 1, 1, 5e4), 3)
    };
    let mut averaged = named("averaged");
    averaged.total[0].latency_series = Default::default();
    let drawn = |all| figure(&Request::new(Kind::Time), &run(all)).unwrap();
    let both = drawn(vec![named("full"), averaged.clone()]);
    let latencies = both.panels.last().unwrap();
    assert!(latencies.series().iter().all(|one| one.detail != "mean"), "{latencies:?}");
    let note = "Percentiles over time are not known of averaged.";
    assert!(both.notes.iter().any(|one| one == note), "{:?}", both.notes);
    assert_eq!(drawn(vec![averaged]).panels.last().unwrap().series()[0].detail, "mean");
}
