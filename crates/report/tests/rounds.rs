//! Rounds as people and programs read them.

mod common;

use iodyno_judge::RoundsPlan;
use iodyno_model::{
    EndReason, Estimate, Measurement, Metric, Rounds, RunRecord, RunState, Tracked,
};
use iodyno_report::document::TargetRounds;
use iodyno_report::text::{Style, pts_text, rounds_text};
use proptest::prelude::*;

fn style(width: usize) -> Style {
    Style { width, color: false, wide: false, columns: None }
}

/// A run in rounds whose tracked point had these IOPS; 0: it failed.
fn record(point: &str, iops: &[f64]) -> (RunRecord, Rounds) {
    let mut record = common::record();
    let first = record.measurements[0].clone();
    let one = |(round, iops): (usize, &f64)| {
        let mut one: Measurement = first.clone();
        one.name = point.into();
        one.round = Some(round as u32 + 1);
        one.total[0].iops = Some(Estimate::bare(*iops));
        if *iops == 0.0 {
            one.end = EndReason::Failed("gone".into());
        }
        one
    };
    record.measurements = iops.iter().enumerate().map(one).collect();
    record.run.state = RunState::Done;
    let tracked = Tracked { point: point.into(), metric: Metric::Iops };
    (record, Rounds { track: vec![tracked], ..Rounds::default() })
}

#[test]
fn the_window_stands_with_its_line_and_its_limits() {
    let (record, rounds) = record("0/100 bs=4k", &[900.0, 95.0, 97.5, 100.0, 102.5, 105.0]);
    let text = rounds_text(&record, &rounds, &style(100));
    for words in [
        "reached in round 6 of at most 25; the window is rounds 2 to 6",
        "\n    1          900 IOPS\n",
        "\n    2           95 IOPS  window\n",
        "steady, average 100 IOPS, range 10.0 % of it (at most 20 %)",
        "slope 10.0 % (at most 10 %), fit 95.0 + 2.50 x (round - 2) IOPS",
        "Averages over rounds 2 to 6\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document = TargetRounds::of(&rounds, &record);
    assert_eq!((document[0].steady_in, document[0].window), (Some(6), Some((2, 6))));
    let window = document[0].tracked[0].window.unwrap();
    assert!((window.slope_percent - 10.0).abs() < 1e-9 && window.steady);
    assert!((window.fit_first - 95.0).abs() < 1e-9 && (window.fit_slope - 2.5).abs() < 1e-9);
}

#[test]
fn what_is_not_steady_is_said_plainly() {
    let (mut record, rounds) = record("p", &[100.0, 100.0, 0.0, 100.0, 100.0, 50.0, 100.0, 100.0]);
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("NOT REACHED in 8 rounds") && text.contains("NOT STEADY"), "{text}");
    assert!(text.contains("NOT IN STEADY STATE") && text.contains("    3         -\n"), "{text}");
    // It may still come.
    record.run.state = RunState::Interrupted;
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("not reached yet, after 8 of at most 25"), "{text}");
    record.measurements.truncate(2);
    let text = rounds_text(&record, &rounds, &style(100));
    assert!(text.contains("fewer than 5 rounds in a row are known"), "{text}");
}

#[test]
fn what_nobody_recorded_is_said_to_be_unknown() {
    let (record, rounds) = record("p", &[100.0; 5]);
    let plan = RoundsPlan { rounds, about: "IOPS\u{1b}[2J".into(), before: "purge it".into() };
    let text = pts_text(&record, &plan, &[], &style(80));
    for words in ["Purge         not known", "the plan asks to purge it", "operator", "serial"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
}

proptest! {
    // A record is a whole machine with all its latencies: some ms each.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_was_measured_can_be_shown(
        iops in prop::collection::vec(prop_oneof![Just(0.0), any::<f64>(), 1.0..1e7_f64], 0..12),
        point in ".{0,30}",
        width in 20_usize..120,
    ) {
        let (record, rounds) = record(&point, &iops);
        let text = rounds_text(&record, &rounds, &style(width));
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        prop_assert!(!text.contains("NaN"), "{text}");
        let document = serde_json::to_string(&TargetRounds::of(&rounds, &record)).unwrap();
        let read: Vec<TargetRounds> = serde_json::from_str(&document).unwrap();
        prop_assert_eq!(read.len(), usize::from(!iops.is_empty()));
    }
}
