//! Qualifies rates that fell to a lower level and stayed there.

use iodyno_model::{
    Bytes, Direction, DirectionResult, Measurement, format_duration_ns, format_mb_per_s,
};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::cliff::Cliff;
use crate::limiter;
use crate::measured::is_paced;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "rate-cliff",
    summary: "a rate that fell to a lower level and stayed there: a full write cache, spent credit",
    affected_by,
    what: "its rate fell to a lower level and stayed there",
    why: "The mean of two levels is the rate of neither. Writes slow down when a drive's (SLC) \
          cache is full or no block is erased any more, a cloud's disk where its credit is spent.",
    next: "For the rate that lasts, write until it is reached and measure then (iodyno prepare, \
           ramp_time); for the fast one, measure less than the cache holds, and say so.",
});

/// Describes the two levels. Such a rate is not reported as merely changing.
pub(super) fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    if is_paced(of) {
        return Ok(None);
    }
    let record = context.record();
    // thermal-throttling reports that.
    let throttled = of.targets.iter().filter_map(|target| context.place(of, target).drive);
    if throttled.into_iter().any(|d| limiter::throttled(record, of, &d.name) == Some(true)) {
        return Ok(None);
    }
    if let Some((result, cliff)) =
        of.total.iter().find_map(|result| Some((result, Cliff::of(of, result)?)))
    {
        return Ok(Some(words(result, &cliff)));
    }
    let mut windows = of.total.iter().flat_map(|result| result.series.windows());
    match windows.any(|window| window.bytes.is_some()) {
        true => Ok(None),
        false => Err("its rate over time is not recorded".into()),
    }
}

fn words(result: &DirectionResult, cliff: &Cliff) -> String {
    let what = match result.direction {
        Direction::Write => "written",
        Direction::Trim => "trimmed",
        Direction::Read | Direction::Mixed => "moved",
    };
    format!(
        "from {} to {} after {} and {} {what}",
        format_mb_per_s(cliff.before_bytes_per_s),
        format_mb_per_s(cliff.after.value),
        format_duration_ns(cliff.at_ns as f64),
        Bytes(cliff.moved_bytes).decimal()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::{Part, RateSeries, RunRecord, Severity, Window};

    /// Windows of 100 ms that move this many MB.
    fn series(rates: impl Iterator<Item = u64>) -> RateSeries {
        let mut series = RateSeries::default();
        for (n, rate) in (0..).zip(rates) {
            series.push(Window {
                start_ns: n * 100_000_000,
                duration_ns: 100_000_000,
                ios: Some(1),
                bytes: Some(rate * 1_000_000),
                ..Window::default()
            });
        }
        series
    }

    /// A run with these windows.
    fn with(rates: impl Fn(u64) -> u64 + Copy) -> RunRecord {
        let bench = each(Bench::new(1).measured(), |of| {
            of.total[0].direction = Direction::Write;
            of.total[0].series = series((0..100).map(rates));
        });
        bench.record()
    }

    #[test]
    fn two_levels_are_a_cliff_and_nothing_else_is() {
        let cliff = with(|n| if n < 40 { 230 + n % 7 } else { 60 + n % 11 });
        check_rule(&RULE, &cliff).only(Severity::Info);
        let mut reported = cliff.clone();
        reported.measurements.iter_mut().for_each(|of| of.total[0].steady = Some(false));
        assert_eq!(reserves(&super::super::not_steady::RULE, &reported, 0), None, "told once");
        let why = reserves(&RULE, &cliff, 0).unwrap().why;
        assert_eq!(why, "from 2329 MB/s to 652 MB/s after 4 s and 9.31 GB written");
        let clear: [fn(u64) -> u64; 6] = [
            |n| 100 + n % 13,
            // A rise, a slow decline, a temporary dip, oscillation, and a short end.
            |n| if n < 40 { 60 } else { 230 },
            |n| 300 - n,
            |n| if (40..55).contains(&n) { 60 } else { 230 },
            |n| if n % 20 < 10 { 60 } else { 230 },
            |n| if n < 95 { 230 } else { 60 },
        ];
        for rates in clear {
            assert_eq!(check_rule(&RULE, &with(rates)), Outcome::Clear);
        }
    }

    #[test]
    fn a_clone_that_is_done_is_no_cliff() {
        let fallen = with(|n| if n < 40 { 230 } else { 60 });
        let of_clones = |clones: [RateSeries; 2]| {
            let mut record = fallen.clone();
            for of in &mut record.measurements {
                let own = |series| DirectionResult { series, ..of.total[0].clone() };
                let part = |series| Part {
                    target: of.targets[0].clone(),
                    clone: Some(0),
                    results: vec![own(series)],
                    account: None,
                    failure: None,
                };
                of.parts = clones.clone().map(part).to_vec();
            }
            record
        };
        let done = of_clones([series((0..100).map(|_| 60)), series((0..40).map(|_| 170))]);
        assert_eq!(check_rule(&RULE, &done), Outcome::Clear);
        let full = |n: u64| if n < 40 { 115 } else { 30 };
        check_rule(&RULE, &of_clones([0, 1].map(|_| series((0..100).map(full)))))
            .only(Severity::Info);
        // In imported results the rates of single clones may not be known.
        check_rule(&RULE, &of_clones([0, 1].map(|_| RateSeries::default()))).only(Severity::Info);
    }

    #[test]
    fn paced_jobs_pass_and_reports_without_a_time_series_are_undecided() {
        let mut paced = with(|n| if n < 40 { 230 } else { 60 });
        for of in &mut paced.measurements {
            of.workload.options.insert("rate".into(), "1m".into());
        }
        assert_eq!(check_rule(&RULE, &paced), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::CannotTell);
    }
}
