//! Qualifies a steadystate slope that almost any series passes.

use iodyno_model::{Measurement, parse_duration_ns};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::option;
use crate::rule_context::RuleContext;

/// Change over the window that SNIA allows, in percent of the average (SSS PTS 2.0.2, 2.1.24).
const SNIA_PERCENT: f64 = 10.0;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "steadystate-slope",
    summary: "a steadystate slope that lets the rate change by far more than SNIA's 10 %",
    affected_by,
    what: "its steadystate does not tell whether it was steady",
    why: "fio's slope is one per sample and not over the window: 10 % a second lets a rate double \
          within ten.",
    next: "Divide by the samples less one: 10 % over 300 samples is iops_slope:0.033%; or let \
           rounds decide, as the presets for SNIA's tests do.",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let Some(limit) = option(of, "steadystate")?.or(option(of, "ss")?) else { return Ok(None) };
    let slope = limit.split_once("_slope:").and_then(|(_, percent)| percent.strip_suffix('%'));
    let Some(percent) = slope.and_then(|percent| percent.trim().parse::<f64>().ok()) else {
        return Ok(None);
    };
    let of_time = |names: [&str; 2]| {
        let text = option(of, names[0])?.or(option(of, names[1])?);
        // In seconds by default.
        Ok::<_, String>(text.map(|text| parse_duration_ns(text, 1e9).map(|ns| ns / 1e9)))
    };
    let Some(Some(window)) = of_time(["steadystate_duration", "ss_dur"])? else {
        return Err("the steadystate duration is not known".into());
    };
    let sample = of_time(["steadystate_check_interval", "ss_interval"])?.flatten();
    let samples = window / sample.filter(|sample| *sample > 0.0).unwrap_or(1.0);
    let over_window = percent * (samples - 1.0);
    Ok((over_window > SNIA_PERCENT).then(|| {
        format!("{limit} over {samples:.0} samples lets the rate change by {over_window:.0} %")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn a_slope_is_held_against_the_whole_window() {
        let with = |limit: &str, duration: Option<&str>, interval: Option<&str>| {
            let bench = each(Bench::new(1).measured(), |of| {
                let options = &mut of.workload.options;
                options.insert("steadystate".into(), limit.into());
                let time = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                options.extend(duration.map(|value| time("ss_dur", value)));
                options.extend(interval.map(|value| time("steadystate_check_interval", value)));
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with("iops:20%", None, None)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with("iops_slope:0.03%", Some("300"), None)), Outcome::Clear);
        // Five rounds of a minute.
        assert_eq!(
            check_rule(&RULE, &with("bw_slope:2.5%", Some("5m"), Some("60s"))),
            Outcome::Clear
        );
        // As used by kdevops.
        let vacuous = with("iops_slope:10%", Some("4h"), None);
        check_rule(&RULE, &vacuous).only(Severity::Info);
        assert!(reserves(&RULE, &vacuous, 0).unwrap().why.contains("14400 samples"));
        assert_eq!(check_rule(&RULE, &with("iops_slope:10%", None, None)), Outcome::CannotTell);
        assert_eq!(
            check_rule(&RULE, &with("iops_slope:10%", Some("soon"), None)),
            Outcome::CannotTell
        );
    }
}
