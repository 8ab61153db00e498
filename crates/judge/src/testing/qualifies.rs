//! Checks of rules that qualify measurements.

use iodyno_model::{Measurement, Severity};

use super::{Bench, Outcome, check_rule, reserves};
use crate::rules::Rule;

/// Checks a rule that qualifies measurements: it finds nothing in good ones, does not apply without
/// any, qualifies one after `trip`, and cannot tell after `blind`. Returns the good ones.
#[track_caller]
pub(crate) fn assert_qualifies(
    rule: &'static Rule,
    trip: fn(&mut Measurement),
    blind: fn(&mut Measurement),
) -> Bench {
    let bench = Bench::new(1).measured();
    assert_eq!(check_rule(rule, &bench.record()), Outcome::Clear);
    assert_eq!(reserves(rule, &bench.record(), 1), None);
    assert_eq!(check_rule(rule, &Bench::new(1).record()), Outcome::NotApplicable);
    let tripped = bench.clone().measurement(1, trip).record();
    check_rule(rule, &tripped).only(Severity::Info);
    assert!(reserves(rule, &tripped, 1).is_some());
    let unknown = (0..3).fold(bench.clone(), |bench, n| bench.measurement(n, blind)).record();
    assert_eq!(check_rule(rule, &unknown), Outcome::CannotTell);
    assert_eq!(reserves(rule, &unknown, 1), None);
    bench
}
