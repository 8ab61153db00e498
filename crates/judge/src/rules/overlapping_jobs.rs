//! Finds clones of a sequential job that read the same blocks.

use iodyno_model::{Measurement, Severity};

use super::{Affected, Checks, Reservation, Rule, Tally};
use crate::measured::{is_fio, option};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "overlapping-jobs",
    severity: Severity::Info,
    summary: "sequential jobs that all access the same blocks",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        let Some(clones) = sequential_clones(of) else { continue };
        match overlap(of) {
            Err(missing) => tally.unknown(of.title(), missing),
            Ok(overlap) => {
                tally.checked();
                if overlap {
                    affected.add(of.title(), format!("{clones} jobs"), context.subjects(of));
                }
            }
        }
    }
    affected.report(
        tally,
        "several jobs accessed the same blocks",
        "Each of numjobs sequential jobs begins at the same offset (fio does the same), so what one has read the drive's or the kernel's cache has for the next.",
        context.for_jobs("Give each a part of its own: offset_increment=SIZE, with size=SIZE."),
    );
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let clones = sequential_clones(of)?;
    if overlap(of) != Ok(true) {
        return None;
    }
    let same = format!("{clones} jobs accessed the same blocks");
    Some(match too_much(context, measurement) {
        Some(what) => Reservation::invalid(format!(
            "{same}, and the sum is above {what}: a cache gave what the drive did not"
        )),
        None => Reservation::qualified(format!("{same}: offset_increment gives each its own")),
    })
}

/// Number of clones of a sequential job, if several. Our own are listed; of fio's often only the
/// number is known.
fn sequential_clones(of: &Measurement) -> Option<usize> {
    let random = of.workload.rw.as_ref()?.starts_with("rand");
    let listed = of.parts.iter().filter(|part| part.clone.is_some()).count();
    let asked = of.workload.numjobs.filter(|_| listed == 0 && is_fio(of));
    let clones = asked.map_or(listed, |jobs| jobs as usize);
    (!random && clones > 1).then_some(clones)
}

fn overlap(of: &Measurement) -> Result<bool, String> {
    let apart = option(of, "offset_increment")?.is_some_and(|increment| increment != "0");
    let mut targets: Vec<&str> = of.parts.iter().map(|part| part.target.as_str()).collect();
    targets.sort_unstable();
    // Without a filename, each of fio's clones creates its own file.
    let shared = match of.parts.is_empty() {
        true => !of.targets.is_empty(),
        false => targets.windows(2).any(|pair| pair[0] == pair[1]),
    };
    Ok(!apart && shared)
}

/// Names the drive's claim or link if the figure exceeds it.
fn too_much(context: &RuleContext<'_>, measurement: usize) -> Option<String> {
    let compared = context.compared_of(measurement).first()?;
    let low = compared.estimate.low();
    if let Some((_, what)) = compared.ceiling.as_ref().filter(|(bound, _)| low > *bound) {
        return Some(format!("what {what} allows"));
    }
    let (claim, _) = compared.claim.as_ref()?;
    (low > claim.value).then(|| "the claim".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves, scale};
    use iodyno_model::Validity;

    #[test]
    fn clones_on_the_same_blocks_qualify() {
        let bench = Bench::new(1).measured();
        let clones = |of: &mut Measurement| {
            of.workload.rw = Some("read".into());
            let part = iodyno_model::Part {
                target: of.targets[0].clone(),
                clone: Some(0),
                results: of.total.clone(),
                account: None,
                failure: None,
            };
            of.parts = vec![part.clone(), iodyno_model::Part { clone: Some(1), ..part }];
        };
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::NotApplicable);
        let tripped = bench.clone().measurement(0, clones).record();
        check_rule(&RULE, &tripped).only(Severity::Info);
        assert!(reserves(&RULE, &tripped, 0).is_some());
        let apart = bench.clone().measurement(0, |of| {
            clones(of);
            of.workload.options.insert("offset_increment".into(), "1g".into());
        });
        assert_eq!(check_rule(&RULE, &apart.record()), Outcome::Clear);
        assert_eq!(reserves(&RULE, &apart.record(), 0), None);
        let random = bench.measurement(0, |of| {
            clones(of);
            of.workload.rw = Some("randread".into());
        });
        assert_eq!(check_rule(&RULE, &random.record()), Outcome::NotApplicable);
    }

    #[test]
    fn clones_of_fio_are_known_by_their_number_and_disproved_by_the_link() {
        let clones = |jobs: u32, option: (&'static str, &'static str), factor: f64| {
            let bench = Bench::new(1).measured().measurement(0, |of| {
                of.source = "fio 3.36".into();
                of.workload.numjobs = Some(jobs);
                of.workload.options.insert(option.0.into(), option.1.into());
                scale(of, factor);
            });
            bench.record()
        };
        let validity = |record: &iodyno_model::RunRecord| {
            reserves(&RULE, record, 0).map(|reserved| reserved.validity)
        };
        let runtime = ("runtime", "10");
        assert_eq!(validity(&clones(1, runtime, 1.0)), None);
        assert_eq!(validity(&clones(4, ("offset_increment", "25%"), 1.0)), None);
        assert_eq!(validity(&clones(4, runtime, 0.9)), Some(Validity::Qualified));
        assert_eq!(validity(&clones(4, runtime, 1.2)), Some(Validity::Invalid));
        let mut silent = clones(4, runtime, 1.0);
        silent.measurements[0].workload.options.clear();
        silent.measurements[0].workload.direct = None;
        assert_eq!(check_rule(&RULE, &silent), Outcome::CannotTell);
    }
}
