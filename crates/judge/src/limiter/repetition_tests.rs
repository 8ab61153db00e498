//! Requests for repetitions when intervals are too wide, and what repetitions show.

use iodyno_model::{Estimate, Experiment, Measurement, Purpose, RunKind, RunRecord};
use proptest::prelude::*;

use super::*;
use crate::testing::{Bench, claims, scale};

/// A run of `explain`: large reads at depth 1, far below all ceilings, and at depth 2, in turn;
/// `asked` and `deeper` are factors of the rate, and each interval is ±`width`.
fn run(asked: &[f64], deeper: &[f64], width: f64) -> RunRecord {
    let bench = Bench::new(1).measured().measurement(0, |of| scale(of, 0.1));
    let mut record = bench.record();
    record.run.kind = RunKind::Explain;
    let first = record.measurements[0].clone();
    let taken = |purpose: Purpose, depth: u32, factor: f64| {
        let mut of: Measurement = first.clone();
        of.purpose = purpose;
        (of.workload.iodepth, of.conditions.depth_asked) = (Some(depth), Some(depth));
        scale(&mut of, factor);
        let value = of.total[0].bandwidth.unwrap().value;
        let (low, high) = (value * (1.0 - width), value * (1.0 + width));
        of.total[0].bandwidth = Some(Estimate::confident(value, low, high, 0.95));
        let iops = of.total[0].iops.unwrap().value;
        of.total[0].latency_mean = Some(Estimate::bare(f64::from(depth) * 1e9 / iops));
        of
    };
    let asked = asked.iter().map(|factor| taken(Purpose::Asked, 1, *factor));
    let twice = Purpose::Experiment(Experiment::TwiceTheDepth);
    let deeper = deeper.iter().map(|factor| taken(twice, 2, *factor));
    record.measurements = asked.chain(deeper).collect();
    record
}

/// Returns answer and text, with time for `repeats` more measurements.
fn said(record: &RunRecord, repeats: usize) -> (Answer, String) {
    let claims = claims();
    let evidence = Evidence { records: &[record], claims: &claims, possible: &[], repeats };
    assert_eq!(subjects(&[record]), [(0, 0)], "repetitions are no subjects of their own");
    let explained = explain(&evidence, (0, 0)).unwrap();
    let ratios: Vec<String> = explained.contrasts.iter().map(Contrast::ratio_text).collect();
    let notes = explained.notes.join("\n");
    let text = [explained.sentence, explained.advice, ratios.join("\n"), notes].join("\n");
    (explained.answer, text)
}

fn is_named(answer: &Answer, expected: Limiter) -> bool {
    matches!(answer, Answer::Named { limiter, .. } if *limiter == expected)
}

fn again() -> Answer {
    Answer::Repetition(vec![Experiment::TwiceTheDepth])
}

#[test]
fn unclear_effects_are_repeated_while_there_is_time() {
    let noisy = run(&[1.0], &[1.04], 0.2);
    let (answer, text) = said(&noisy, 7);
    assert_eq!(answer, again());
    assert!(text.starts_with("iodepth 1 to 2 gave x1.04 ± 42 %, too wide to tell"), "{text}");
    assert!(text.contains("measure both again, in turn"), "{text}");
    // Three of each are needed: two rounds of two.
    assert_eq!(said(&noisy, 4).0, again());
    assert!(matches!(said(&noisy, 3).0, Answer::Undecided { .. }));
    let (answer, text) = said(&noisy, 0);
    let Answer::Undecided { between, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(between, [Limiter::Depth, Limiter::Drive]);
    assert!(
        text.contains("The rates vary too much to tell") && text.contains("gave x1.04 ± 42 %"),
        "{text}"
    );
    assert!(text.contains("or for longer (--budget 1m)"), "{text}");
    // Without noise two of each suffice; one of each never does.
    assert!(is_named(&said(&run(&[1.0, 1.0], &[1.01, 1.01], 0.01), 7).0, Limiter::Drive));
    assert!(is_named(&said(&run(&[1.0, 1.0], &[1.2, 1.2], 0.01), 7).0, Limiter::Depth));
    let (answer, text) = said(&run(&[1.0], &[1.2], 0.01), 7);
    assert_eq!(answer, again());
    assert!(text.contains("one of each is not enough; next, measure both again"), "{text}");
}

#[test]
fn the_variation_of_repetitions_decides() {
    let (answer, text) = said(&run(&[1.0, 1.02, 0.98], &[1.9, 2.1, 2.0], 0.4), 7);
    assert!(is_named(&answer, Limiter::Depth), "{text}");
    assert!(text.contains("; 3 and 3 runs)"), "{text}");
    assert!(text.contains("measured 3 times, in turn with what was changed: "), "{text}");
    let (answer, text) = said(&run(&[1.0, 1.02, 0.98], &[1.03, 1.0, 0.99], 0.4), 7);
    assert!(is_named(&answer, Limiter::Drive), "{text}");
    // Narrow intervals are no evidence if the repetitions differ.
    let wild = run(&[1.0, 1.3, 0.8], &[1.5, 0.9, 1.1], 0.001);
    assert_eq!(said(&wild, 2).0, again());
    assert!(matches!(said(&wild, 1).0, Answer::Undecided { .. }));
    // The variation of two is not known.
    let two = run(&[1.0, 1.0], &[1.2, 1.2], 0.2);
    assert_eq!(said(&two, 2).0, again());
    assert!(matches!(said(&two, 0).0, Answer::Undecided { .. }));
}

#[test]
fn single_measurements_vary_like_repeated_ones() {
    // Its own interval does not include the variation between measurements.
    let once = run(&[0.9, 1.05, 1.05], &[1.2], 0.01);
    let (answer, text) = said(&once, 0);
    assert!(matches!(answer, Answer::Undecided { .. }), "{text}");
    assert!(text.contains("; 1 and 3 runs)"), "{text}");
    assert!(is_named(&said(&run(&[0.99, 1.0, 1.01], &[1.2], 0.01), 0).0, Limiter::Depth));
}

#[test]
fn marginal_effects_are_repeated_before_a_limiter_is_named() {
    let hardly = run(&[1.0], &[1.5], 0.15);
    assert_eq!(said(&hardly, 7).0, again());
    assert!(is_named(&said(&hardly, 0).0, Limiter::Depth));
    let (_, text) = said(&hardly, 0);
    assert!(text.contains("probably limited by the depth"), "{text}");
}

#[test]
fn more_than_a_change_can_do_is_drift() {
    // Twice the I/Os give at most twice the rate.
    let (answer, text) = said(&run(&[1.0, 1.0], &[3.1, 3.1], 0.01), 0);
    assert!(!matches!(answer, Answer::Named { limiter: Limiter::Depth, .. }), "{text}");
    assert!(text.contains("x3.10"), "{text}");
    let (answer, text) = said(&run(&[1.0, 1.0], &[1.9, 1.9], 0.01), 0);
    let Answer::Named { limiter: Limiter::Depth, is_probable, .. } = answer else {
        panic!("{text}")
    };
    assert!(!is_probable, "{text}");
    // The sentence includes the interval.
    assert!(text.contains("x1.90 (1.86 to 1.94; 2 and 2 runs)"), "{text}");
}

#[test]
fn variation_between_repetitions_widens_every_ratio() {
    // Each is precise, but repetitions differ by 20 %.
    let (answer, text) = said(&run(&[1.0, 1.2], &[1.3, 1.5], 0.001), 0);
    assert!(matches!(answer, Answer::Undecided { .. }), "{text}");
}

#[test]
fn equal_names_alone_are_no_repetitions() {
    let mut other = run(&[1.0, 1.5], &[1.0], 0.01);
    for of in &mut other.measurements {
        (of.name, of.purpose) = ("asked".into(), Purpose::Measure);
    }
    other.run.kind = RunKind::Sweep;
    let claims = claims();
    let evidence = Evidence { records: &[&other], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, 0)).unwrap();
    assert_eq!(explained.case.repetitions.len(), 1);
}

#[test]
fn an_infinite_width_is_not_shown_as_a_number() {
    let (_, text) = said(&run(&[1.0], &[1.0], 0.9), 0);
    assert!(text.contains("gave x1.00 ± >100 %"), "{text}");
}

proptest! {
    /// The mean lies within its repetitions and its interval.
    #[test]
    fn repetitions_make_one_rate(factors in prop::collection::vec(0.2..2.0_f64, 1..6)) {
        let record = run(&factors, &[1.0], 0.1);
        let claims = claims();
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        let case = explain(&evidence, (0, 0)).unwrap().case;
        let values: Vec<f64> = case.repetitions.iter().map(|rate| rate.value).collect();
        prop_assert_eq!(values.len(), factors.len());
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        prop_assert!(case.rate.value >= least * 0.999 && case.rate.value <= most * 1.001);
        prop_assert!(case.rate.low() <= case.rate.value && case.rate.value <= case.rate.high());
    }
}
