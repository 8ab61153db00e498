//! Limits: parsing and evaluation.

use proptest::prelude::*;

use super::*;
use crate::comparison::{Limit, LimitError, Outcome, rulings};

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
        let percent = if below { -percent } else { percent };
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
