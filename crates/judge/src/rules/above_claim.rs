//! Finds rates above the data sheet: too good to be the drive's?

use iodyno_model::{Evidence, Metric, Severity, WrittenState};

use super::{Checks, Reservation, Rule, Tally, advice, finding};
use crate::figures;
use crate::figures::percent;
use crate::measured::written;
use crate::rule_context::RuleContext;
use crate::yardsticks::{Compared, DOUBTFUL_CLAIM};

pub(super) static RULE: Rule = Rule {
    id: "above-claim",
    severity: Severity::Info,
    summary: "rates far above the data sheet, from blocks of unknown written state",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    for compared in &context.compared {
        let of = &context.record().measurements[compared.measurement];
        let Some((claim, judgement)) = &compared.claim else { continue };
        tally.checked();
        if doubtful(context, compared).is_none() {
            continue;
        }
        tally.found(finding(
            Severity::Info,
            context.subjects(of),
            format!("{} is at {} of the claim.", of.title(), percent(judgement.ratio)),
            vec![
                Evidence::new("measured", figures::estimate(compared.metric, &compared.estimate)),
                Evidence::new("claim", figures::value(compared.metric, claim.value)),
                Evidence::new("of", claim.model.clone()),
            ],
            "Too far above the sheet: probably unwritten blocks or a cache.",
            advice::fill_unknown(context, of),
        ));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let compared = context.compared_of(measurement).first()?;
    doubtful(context, compared)
}

/// Rates above the claim are fine on written blocks, doubtful above 125 % if that is not known, and
/// not the drive's on unwritten blocks.
fn doubtful(context: &RuleContext<'_>, compared: &Compared) -> Option<Reservation> {
    let (_, judgement) = compared.claim.as_ref()?;
    let of = &context.record().measurements[compared.measurement];
    let [target] = of.targets.as_slice() else { return None };
    // A latency far below the claim is as doubtful as a rate above it.
    let times = match compared.metric {
        Metric::LatencyMean => 1.0 / judgement.ratio,
        _ => judgement.ratio,
    };
    let share = percent(judgement.ratio);
    match written(of, target) {
        WrittenState::Unknown if times > DOUBTFUL_CLAIM => Some(Reservation::qualified(format!(
            "{share} of the claim, from blocks of unknown written state"
        ))),
        WrittenState::Unwritten if times > 1.0 => Some(Reservation::invalid(format!(
            "{share} of the claim, from blocks that were never written"
        ))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves, scale, set_written};
    use iodyno_model::{RunRecord, Validity};

    fn fast(factor: f64, state: WrittenState) -> RunRecord {
        let bench = Bench::new(1).measured().measurement(1, |of| {
            scale(of, factor);
            set_written(of, state);
        });
        bench.record()
    }

    #[test]
    fn written_blocks_may_exceed_the_claim() {
        let validity = |factor, state| {
            reserves(&RULE, &fast(factor, state), 1).map(|reserved| reserved.validity)
        };
        assert_eq!(validity(2.0, WrittenState::Written), None);
        assert_eq!(validity(2.0, WrittenState::Partly), None);
        assert_eq!(validity(1.2, WrittenState::Unknown), None);
        assert_eq!(validity(1.4, WrittenState::Unknown), Some(Validity::Qualified));
        assert_eq!(validity(1.1, WrittenState::Unwritten), Some(Validity::Invalid));
        check_rule(&RULE, &fast(1.4, WrittenState::Unknown)).only(Severity::Info);
        assert_eq!(check_rule(&RULE, &fast(1.2, WrittenState::Unknown)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
    }
}
