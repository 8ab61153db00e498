//! Latencies of which only the submission part is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{figure, measurement, over_time, run};
use iodyno_figure::{Kind, Request};
use iodyno_model::SplitLatency;

#[test]
fn submission_latencies_have_a_labelled_distribution() {
    let mut one = over_time(measurement("randread", 4096, 8, 1, 10_000.0), 5);
    let result = &mut one.total[0];
    let submission = std::mem::take(&mut result.latency);
    assert!(submission.count() > 0);
    result.latency_mean = None;
    result.split = Some(SplitLatency { submission, ..SplitLatency::default() });
    let whole = over_time(measurement("randread", 4096, 8, 1, 10_000.0), 5);
    let drawn = figure(&Request::new(Kind::Latency), &run(vec![one.clone()])).unwrap();
    assert_eq!(drawn.panels.len(), 2);
    assert!(drawn.notes[0].contains("Submission latencies"), "{:?}", drawn.notes);
    let drawn = figure(&Request::new(Kind::Latency), &run(vec![one, whole])).unwrap();
    assert_eq!(drawn.panels[0].series().len(), 1, "beside whole latencies it says nothing");
}
