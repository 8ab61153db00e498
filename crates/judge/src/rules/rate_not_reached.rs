//! Finds rates that were asked for and not reached.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::figures::value;
use crate::measured::{figure_of, option};
use crate::pace::missed;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "rate-not-reached",
    summary: "rates asked for (rate, rate_iops) that the storage did not keep up with",
    affected_by,
    what: "it fell behind the rate that was asked for",
    why: "I/Os that were due waited for those before them, ever longer: latencies, which iodyno \
          counts from when an I/O was due (fio from when it was issued), are those of the backlog.",
    next: "For the latency of a load that it carries, ask for less; for the most that it carries, \
           remove the rate, or: iodyno sweep headroom TARGET",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    // A pause between I/Os is kept too, so the rate is only a bound.
    for pauses in ["thinktime", "flow"] {
        if option(of, pauses)?.is_some_and(|value| value != "0") {
            return Ok(None);
        }
    }
    let short: Vec<String> = of
        .total
        .iter()
        .filter_map(|result| {
            let (metric, asked) = missed(of, result)?;
            let rate = figure_of(result, metric)?.value;
            Some(format!(
                "{}: {} of {}",
                result.direction.name(),
                value(metric, rate),
                value(metric, asked)
            ))
        })
        .collect();
    Ok((!short.is_empty()).then(|| format!("behind its rate: {}", short.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, assert_qualifies, check_rule, reserves};

    #[test]
    fn a_rate_that_was_not_kept_is_told() {
        // Eight jobs, 980k reads/s together.
        let asks = |rate: &'static str| {
            let bench = Bench::new(1).measured().measurement(1, |of| {
                of.duration_ns = Some(10_000_000_000);
                of.workload.options.insert("rate_iops".into(), rate.into());
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &asks("122000")), Outcome::Clear);
        let why = reserves(&RULE, &asks("20m,5"), 1).unwrap().why;
        assert!(
            why.starts_with("behind its rate: read: ") && why.ends_with(" of 168M IOPS"),
            "{why}"
        );
        let bench = assert_qualifies(
            &RULE,
            |of| drop(of.workload.options.insert("rate".into(), "900g".into())),
            |of| {
                of.source = "fio 3.36".into();
                of.workload.options.clear();
                (of.workload.direct, of.workload.size) = (None, None);
            },
        );
        let pausing = bench.measurement(1, |of| {
            of.workload.options.insert("rate_iops".into(), "20m".into());
            of.workload.options.insert("thinktime".into(), "5".into());
        });
        assert_eq!(check_rule(&RULE, &pausing.record()), Outcome::Clear);
        // A pause of 0 is none, and blocks of several sizes have a mean one.
        let none = pausing.measurement(1, |of| {
            of.duration_ns = Some(10_000_000_000);
            of.workload.options.insert("thinktime".into(), "0".into());
        });
        assert!(reserves(&RULE, &none.record(), 1).is_some());
        let split = none.measurement(1, |of| {
            of.workload.options.remove("rate_iops");
            of.workload.options.insert("rate".into(), "900g".into());
            of.workload.bs = None;
        });
        assert!(reserves(&RULE, &split.record(), 1).is_some());
    }
}
