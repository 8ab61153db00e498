//! Limits: parsing and evaluation.

use proptest::prelude::*;

use super::*;
use crate::comparison::{Limit, LimitError, Outcome, Subject, rulings};

fn limit(text: &str) -> Limit {
    text.parse().unwrap()
}

#[test]
fn limits_are_written_as_people_write_them() {
    let is = |text, quantity, below, percent| {
        assert_eq!(limit(text), Limit { quantity, percent, below }, "{text}");
    };
    is("iops < -5%", Quantity::Iops, true, -5.0);
    is("IOPS<-5", Quantity::Iops, true, -5.0);
    is("p99 > +10%", Quantity::Percentile(99.0), false, 10.0);
    is("p99.9>10 %", Quantity::Percentile(99.9), false, 10.0);
    is("bw < 0%", Quantity::Bandwidth, true, 0.0);
    is("lat > 2.5%", Quantity::Latency, false, 2.5);
    for text in ["iops < -5%", "p99.9 > +10%"] {
        assert_eq!(limit(text).to_string(), text);
    }
}

#[test]
fn errors_in_limits_suggest_a_correction() {
    let error = |text: &str| text.parse::<Limit>().unwrap_err().to_string();
    assert!(error("iosp < -5%").contains("did you mean `iops`?"), "{}", error("iosp < -5%"));
    assert!(error("throughput < -5%").contains("there are bw, iops, lat, p50"));
    assert!(!error("throughput < -5%").contains("did you mean"));
    assert!(error("iops -5%").contains("METRIC < -PERCENT"));
    assert!(error("iops < fast").contains("expected METRIC"));
    assert!(error("iops < NaN").contains("expected METRIC"));
    let nothing = |text: &str| LimitError::NoChange(text.into(), "iops".into());
    for text in ["iops < 5%", "iops > -5%"] {
        assert_eq!(text.parse::<Limit>(), Err(nothing(text)));
    }
    for text in ["bw < -150%", "bw < -100%"] {
        assert_eq!(text.parse::<Limit>(), Err(LimitError::Never(text.into())));
    }
}

fn outcome(comparison: &Comparison, text: &str, noise: Option<f64>) -> Outcome {
    let rulings = rulings(comparison, &[limit(text)], noise);
    assert_eq!(rulings.len(), 1);
    rulings[0].outcome.clone()
}

#[test]
fn of_repetitions_the_interval_has_to_be_beyond_the_limit() {
    let comparison = repeated(&[1000.0, 1001.0, 999.0], &[930.0, 931.0, 929.0]);
    assert_eq!(outcome(&comparison, "iops < -5%", None), Outcome::Broken);
    assert_eq!(outcome(&comparison, "iops < -10%", None), Outcome::Kept);
    // Real, but not certainly more than 6.9 %.
    assert_eq!(outcome(&comparison, "iops < -6.9%", None), Outcome::NotShown);
    assert_eq!(outcome(&comparison, "lat > 5%", None), Outcome::Broken);
    assert_eq!(outcome(&comparison, "iops > 5%", None), Outcome::Kept);
    let noisy = repeated(&[1000.0, 1300.0, 800.0], &[930.0, 700.0, 1100.0]);
    assert_eq!(outcome(&noisy, "iops < -5%", None), Outcome::NotShown);
    assert_eq!(noisy.exit_status(&rulings(&noisy, &[limit("iops < -5%")], None)) as u8, 0);
    let broken = rulings(&comparison, &[limit("iops < -5%")], None);
    assert_eq!(comparison.exit_status(&broken) as u8, 1);
}

#[test]
fn without_repetitions_the_noise_is_added_to_the_limit() {
    let comparison = repeated(&[1000.0], &[930.0]);
    assert_eq!(outcome(&comparison, "iops < -5%", Some(1.0)), Outcome::Broken);
    assert_eq!(outcome(&comparison, "iops < -5%", Some(3.0)), Outcome::NotShown);
    assert_eq!(outcome(&comparison, "iops < -7.1%", Some(3.0)), Outcome::Kept);
    let unjudged = rulings(&comparison, &[limit("iops < -5%")], None);
    assert!(matches!(unjudged[0].outcome, Outcome::CannotTell(_)));
    assert_eq!(comparison.exit_status(&unjudged) as u8, 4);
    assert!(!comparison.has_repetitions());
}

#[test]
fn limits_on_unknown_values_are_undecided() {
    let comparison = repeated(&[1000.0], &[930.0]);
    let Outcome::CannotTell(why) = outcome(&comparison, "p99 > 5%", Some(3.0)) else { panic!() };
    assert_eq!(why, "p99 not known for both sides");
    let failed = with(job(1.0), |of| of.end = iodyno_model::EndReason::Failed("EIO".into()));
    let comparison = compared(&[&run([job(1000.0)]), &run([failed])]);
    let rulings = rulings(&comparison, &[limit("iops < -5%")], Some(3.0));
    assert!(matches!(&rulings[0].outcome, Outcome::CannotTell(why) if why.contains("no valid")));
    assert_eq!(comparison.exit_status(&rulings) as u8, 3);
}

proptest! {
    #[test]
    fn no_text_is_too_odd(text in ".{0,40}") {
        let _ = text.parse::<Limit>();
    }

    #[test]
    fn printing_and_parsing_round_trip(
        at in 0usize..7, below: bool, percent in 0.0_f64..1e6,
    ) {
        let percent = if below { -percent / 1e4 } else { percent };
        let one = Limit { quantity: Quantity::ALL[at], percent, below };
        prop_assert_eq!(one.to_string().parse::<Limit>().unwrap(), one);
    }
}

#[test]
fn without_interleaving_a_limit_is_broken_only_beyond_the_noise() {
    let (a, b) = ([1000.0, 1001.0, 999.0], [930.0, 931.0, 929.0]);
    let comparison = repeated_at(&a, &b, |nth, side, _| nth + 3 * side);
    assert_eq!(iops(&comparison).reality, Reality::NotInTurns);
    let found = outcome(&comparison, "iops < -5%", None);
    assert!(matches!(&found, Outcome::CannotTell(why) if why.contains("in turns")), "{found:?}");
    let unjudged = rulings(&comparison, &[limit("iops < -5%")], None);
    assert_eq!(comparison.exit_status(&unjudged) as u8, 4);
    assert_eq!(outcome(&comparison, "iops < -5%", Some(1.0)), Outcome::Broken);
    assert_eq!(outcome(&comparison, "iops < -5%", Some(3.0)), Outcome::NotShown);
    assert_eq!(outcome(&comparison, "iops < -10%", None), Outcome::Kept);
}

/// Three runs with 4 KiB reads and, if they are given, with 8 KiB reads; 5 % of noise or less.
fn with_two(turn: i64, sides: i64, iops: f64, larger: Option<f64>) -> Vec<RunRecord> {
    let run = |nth: i64| {
        let at = |of: Measurement| with(of, |of| of.started_ns = Some(sides * nth + turn));
        let iops = iops * (1.0 + 0.01 * nth as f64);
        let larger = larger.map(|of| with(job(of + nth as f64), |of| of.workload.bs = Some(8192)));
        run([Some(at(job(iops))), larger.map(at)].into_iter().flatten())
    };
    (0..3).map(run).collect()
}

#[test]
fn a_workload_that_the_candidate_lacks_is_not_passed() {
    let ruled = |runs: &[Vec<RunRecord>]| {
        let sides: Vec<Vec<&RunRecord>> = runs.iter().map(|runs| runs.iter().collect()).collect();
        let comparison = compared_sides(&sides);
        let rulings = rulings(&comparison, &[limit("bw < -5%")], None);
        let status = comparison.exit_status(&rulings) as u8;
        let short = |one: &crate::comparison::Ruling| (one.subject, one.side, one.outcome.clone());
        (status, rulings.iter().map(short).collect::<Vec<_>>())
    };
    let lacks = |who: &str| Outcome::CannotTell(format!("the {who} lacks this workload"));
    let (row, alone) = (Subject::Row, Subject::Alone);
    let two = |a, b| ruled(&[with_two(0, 2, 1000.0, a), with_two(1, 2, 1001.0, b)]);
    let kept = (row(0), 1, Outcome::Kept);
    assert_eq!(two(Some(100.0), None), (4, vec![kept.clone(), (alone(0), 1, lacks("side"))]));
    // A new workload is no regression.
    assert_eq!(two(None, Some(100.0)), (0, vec![kept.clone()]));
    let three = |larger: [Option<f64>; 3]| {
        let sides = larger.into_iter().zip(0..);
        ruled(&sides.map(|(of, turn)| with_two(turn, 3, 1000.0, of)).collect::<Vec<_>>())
    };
    let both_kept = [(row(0), 1, Outcome::Kept), (row(0), 2, Outcome::Kept)];
    let of = |more: [(Subject, usize, Outcome); 2]| (4, [&both_kept[..], &more[..]].concat());
    let (first, side) = (|n| (row(1), n, lacks("first side")), |of, n| (of, n, lacks("side")));
    // Another side's regression is not one from the first side.
    assert_eq!(three([None, Some(100.0), Some(50.0)]), of([first(1), first(2)]));
    assert_eq!(three([Some(100.0), None, None]), of([side(alone(0), 1), side(alone(0), 2)]));
    let one = three([Some(100.0), Some(100.1), None]);
    assert_eq!(one, of([(row(1), 1, Outcome::Kept), side(row(1), 2)]));
}

#[test]
fn nothing_at_all_breaks_a_limit_in_any_order() {
    let in_turns = repeated(&[1000.0, 1001.0, 999.0], &[0.0; 3]);
    assert_eq!(iops(&in_turns).reality, Reality::Real);
    let after = |nth, side, _| nth + 3 * side;
    let behind = repeated_at(&[1000.0, 1001.0, 999.0], &[0.0; 3], after);
    assert_eq!(iops(&behind).reality, Reality::NotInTurns);
    let once = repeated(&[1000.0], &[0.0]);
    assert_eq!(iops(&once).reality, Reality::SpreadUnknown);
    for comparison in [in_turns, behind, once] {
        assert_eq!(outcome(&comparison, "iops < -99%", None), Outcome::Broken);
        assert_eq!(outcome(&comparison, "bw > 5%", None), Outcome::Kept);
    }
    for (a, b) in [([1000.0, 1001.0, 999.0], [1000.0, 0.0, 1001.0]), ([0.0; 3], [1.0, 2.0, 3.0])] {
        let found = outcome(&repeated(&a, &b), "iops < -5%", None);
        assert_eq!(found, Outcome::CannotTell("0 on a side: no ratio".into()));
    }
}

#[test]
fn repetitions_of_both_sides_are_not_independent() {
    let (a, b) = (with_two(0, 2, 1000.0, None), with_two(1, 2, 990.0, None));
    let both = [&a[0], &a[1], &b[1], &b[2]];
    let comparison = compared_sides(&[a.iter().collect(), both.to_vec()]);
    let found = outcome(&comparison, "iops < -5%", None);
    let why = "2 of 4 repetitions are the first side's as well";
    assert_eq!(found, Outcome::CannotTell(why.into()));
    assert_eq!((comparison.sides[1].same_as, comparison.sides[1].same_runs), (Some(0), 2));
}
