//! Clones of a sequential job that all read the same blocks.

use iodyno_model::{Measurement, RuleReport, Severity};

use super::{Affected, Reservation, Rule, Tally};
use crate::facts::Facts;

pub(super) struct OverlappingJobs;

impl Rule for OverlappingJobs {
    fn id(&self) -> &'static str {
        "overlapping-jobs"
    }

    fn severity(&self) -> Severity {
        Severity::Info
    }

    fn summary(&self) -> &'static str {
        "sequential jobs that all go through the same blocks"
    }

    fn check(&self, facts: &Facts<'_>) -> RuleReport {
        let mut tally = Tally::new(self);
        let mut affected = Affected::default();
        for (_, of) in facts.finished() {
            let Some(clones) = sequential_clones(of) else { continue };
            tally.looked();
            if overlap(of) {
                affected.add(of.title(), format!("{clones} jobs"), facts.subjects(of));
            }
        }
        affected.tell(
            &mut tally,
            self,
            "several jobs went through the same blocks",
            "Each of numjobs sequential jobs begins at the same offset (fio does the same), so what one has read the drive's or the kernel's cache has for the next.",
            "Give each a part of its own: offset_increment=SIZE, with size=SIZE.",
        );
        tally.report()
    }

    fn reservation(&self, facts: &Facts<'_>, measurement: usize) -> Option<Reservation> {
        let of = facts.record().measurements.get(measurement)?;
        let clones = sequential_clones(of)?;
        overlap(of).then(|| {
            Reservation::qualified(format!(
                "{clones} jobs went through the same blocks: offset_increment gives each its own"
            ))
        })
    }
}

/// How many clones of a sequential job there were, if several.
fn sequential_clones(of: &Measurement) -> Option<usize> {
    let random = of.workload.rw.as_ref()?.starts_with("rand");
    let clones = of.parts.iter().filter(|part| part.clone.is_some()).count();
    (!random && clones > 1).then_some(clones)
}

fn overlap(of: &Measurement) -> bool {
    let apart = of.workload.options.contains_key("offset_increment");
    let mut targets: Vec<&str> = of.parts.iter().map(|part| part.target.as_str()).collect();
    targets.sort_unstable();
    !apart && targets.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, look, reserves};

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
            };
            of.parts = vec![part.clone(), iodyno_model::Part { clone: Some(1), ..part }];
        };
        assert_eq!(look(&OverlappingJobs, &bench.record()), Outcome::NotApplicable);
        let tripped = bench.clone().measurement(0, clones).record();
        look(&OverlappingJobs, &tripped).only(Severity::Info);
        assert!(reserves(&OverlappingJobs, &tripped, 0).is_some());
        let apart = bench.clone().measurement(0, |of| {
            clones(of);
            of.workload.options.insert("offset_increment".into(), "1g".into());
        });
        assert_eq!(look(&OverlappingJobs, &apart.record()), Outcome::Clear);
        assert_eq!(reserves(&OverlappingJobs, &apart.record(), 0), None);
        let random = bench.measurement(0, |of| {
            clones(of);
            of.workload.rw = Some("randread".into());
        });
        assert_eq!(look(&OverlappingJobs, &random.record()), Outcome::NotApplicable);
    }
}
