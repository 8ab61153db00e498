//! Finds requirements of an application that are not met.

use iodyno_model::{Evidence, Kept, Profile, Severity, Validity};

use super::{Checks, Rule, Tally, finding, rules};
use crate::fit::{self, Fitted, words};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "application-bound",
    severity: Severity::Fail,
    summary: "figures below an application's requirements (iodyno fit)",
    checks: Checks::Run(check),
};

/// Compares a profile with the valid measurements of a run.
fn fitted<'p>(context: &RuleContext<'_>, profile: &'p Profile) -> Vec<Fitted<'p>> {
    let is_valid = |n| {
        let mut reservations = rules().filter_map(|rule| rule.reservation(context, n));
        !reservations.any(|one| one.validity == Validity::Invalid)
    };
    fit::fitted(profile, context.record(), is_valid)
}

/// Returns true if there is a verdict: the run has no profile, or it has bounds, and each is known
/// to be kept, missed or borderline. INFO bounds do not count.
pub(crate) fn is_decided(context: &RuleContext<'_>) -> bool {
    context.profile.as_ref().is_none_or(|profile| {
        let all = fitted(context, profile);
        let needed = || {
            let bounds = all.iter().flat_map(|one| &one.bounds);
            bounds.filter(|(bound, _)| bound.severity > Severity::Info)
        };
        needed().next().is_some() && needed().all(|(_, kept)| *kept != Kept::Unknown)
    })
}

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let Some(profile) = &context.profile else { return };
    for one in fitted(context, profile) {
        let Fitted { quantity, bounds, .. } = &one;
        for (bound, kept) in bounds {
            let severity = match kept {
                Kept::Yes => {
                    tally.checked();
                    continue;
                }
                Kept::Unknown => {
                    tally.unknown(&quantity.name, "too few valid rounds for an interval");
                    continue;
                }
                Kept::No => bound.severity,
                Kept::Borderline => bound.severity.min(Severity::Warn),
            };
            let found = words(&one).unwrap_or_default();
            let level = match bound.level.as_str() {
                "" => String::new(),
                level => format!(" for {level}"),
            };
            let doubt = if *kept == Kept::Borderline { ": borderline" } else { "" };
            let what = format!(
                "{} {found}; {} needs {}{level}{doubt}",
                quantity.name, profile.name, bound.limit
            );
            let evidence = vec![
                Evidence::new(quantity.of.to_string(), found),
                Evidence::new("needed", bound.limit.to_string()),
                Evidence::new("source", format!("{} ({})", bound.source, bound.date)),
            ];
            let mut measured = context.record().measurements.iter();
            let of_job = measured.find(|one| one.name == quantity.of.job);
            let subjects = of_job.map_or(Vec::new(), |one| one.targets.clone());
            tally.found(finding(severity, subjects, what, evidence, &profile.about, ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{
        Assessment, BlockKind, EndReason, Histogram, JobStats, Kept, Measurement, Profile, RunKind,
        RunRecord, Verdict,
    };

    use crate::fit::fitted;
    use crate::testing::{Bench, claims};
    use crate::{Question, assess};

    const PROFILE: &str = r#"
        format = "iodyno.profile/1"
        name = "log"
        about = "each entry waits for a flush"
        on = "directory"
        jobs = "[wal]\nrw=write\n"

        [[quantity]]
        name = "commit"
        of = "wal sync p99"

        [[quantity.bound]]
        limit = { at_most_ms = 10.0 }
        severity = "FAIL"
        source = "somebody"
        date = "2026-08"
    "#;

    /// Rounds in which one of 50 flushes takes this long, ns.
    fn with(slow_ns: &[u64]) -> RunRecord {
        let mut record = Bench::new(1).record();
        record.run.kind = RunKind::Fit;
        record.run.plan = PROFILE.into();
        for (n, slow_ns) in slow_ns.iter().enumerate() {
            let mut sync = Histogram::default();
            (0..5_000).for_each(|n| sync.record(if n % 50 == 0 { *slow_ns } else { 1_000_000 }));
            let mut of = Measurement::unknown("wal");
            of.phase = n as u32;
            of.targets = vec!["/var/lib/log".into()];
            of.account = Some(JobStats { sync, ..JobStats::default() });
            record.measurements.push(of);
        }
        record.run.targets = vec!["/var/lib/log".into()];
        record
    }

    fn assessed(record: &RunRecord) -> Assessment {
        let claims = claims();
        assess(&Question { record, claims: &claims, baseline: None, expect: None })
    }

    #[test]
    fn a_bound_is_kept_or_missed_by_the_whole_interval() {
        assert_eq!(assessed(&with(&[5_000_000; 5])).verdict, Verdict::Pass);
        assert_eq!(assessed(&with(&[50_000_000; 5])).verdict, Verdict::Fail);
        let mixed = [5_000_000, 50_000_000, 1_000_000, 50_000_000, 1_000_000];
        let borderline = assessed(&with(&mixed));
        assert_eq!(borderline.verdict, Verdict::Warn, "{:?}", borderline.findings);
        let few = assessed(&with(&[5_000_000; 2]));
        assert_eq!(few.verdict, Verdict::Unjudged, "two rounds give no interval");
    }

    #[test]
    fn files_of_a_fit_are_its_directory() {
        let mut record = with(&[50_000_000; 5]);
        // A virtual disk that others use, too; a file's name begins with another's.
        let bench = Bench::new(1).measured().host(|host| {
            host.drives.clear();
            host.blocks[0].kind = BlockKind::Virtual;
        });
        let bench = bench.measurement(0, |of| {
            of.name = "data".into();
            of.targets = vec!["/var/lib/log".into(), "/var/lib/log.1".into()];
            of.conditions.device = Some("nvme0n1".into());
            of.conditions.other_iops = Some(1e5);
            of.conditions.other_bytes_per_s = Some(5.12e7);
        });
        let beside = bench.record();
        record.snapshots = beside.snapshots;
        record.run.targets.push("/var/lib/log.1".into());
        record.measurements.extend(beside.measurements.into_iter().take(1));
        let judged = assessed(&record);
        let files = judged.subjects.iter().filter(|(name, _)| name.starts_with('/'));
        assert_eq!(files.collect::<Vec<_>>(), [&("/var/lib".to_owned(), Verdict::Fail)]);
        assert_eq!(judged.findings[0].subjects, ["/var/lib"]);
        for rule in ["other-io", "virtual-disk"] {
            assert!(judged.findings.iter().any(|of| of.rule == rule), "{rule}");
        }
        let text = format!("{:?} {:?}", judged.findings, judged.rules);
        assert!(!text.contains("/var/lib/"), "{text}");
    }

    #[test]
    fn no_advice_is_against_the_profiles_own_jobs() {
        let mut record = with(&[5_000_000; 5]);
        let buffered = |of: &mut Measurement| of.workload.direct = Some(false);
        record.measurements.iter_mut().for_each(buffered);
        let slow = Bench::new(1).measured().measurement(0, |of| of.total[0].slow = Some(true));
        record.measurements.extend(slow.record().measurements.into_iter().take(1));
        let advice = |record: &RunRecord| {
            let found = assessed(record).findings;
            let of = |rule| found.iter().find(|of| of.rule == rule).unwrap().next.clone();
            [of("page-cache"), of("slow-fluctuations")]
        };
        assert_eq!(advice(&record), ["", "Repeat it and compare the repetitions."]);
        record.run.kind = RunKind::Run;
        let [cache, slow] = advice(&record);
        assert!(cache.contains("direct=1") && slow.contains("runtime=60"), "{cache} {slow}");
    }

    #[test]
    fn a_round_that_was_interrupted_takes_nothing_from_the_others() {
        let profile = Profile::parse(PROFILE).unwrap();
        let mut cut = with(&[5_000_000; 4]);
        cut.measurements[3].account = Some(JobStats::default());
        cut.measurements[3].end = EndReason::Interrupted;
        let all = fitted(&profile, &cut, |_| true);
        assert_eq!(all[0].bounds[0].1, Kept::Yes);
    }
}
