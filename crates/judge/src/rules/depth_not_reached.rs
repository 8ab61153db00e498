//! Finds depths that were not reached.

use iodyno_model::{Measurement, Severity};

use super::qualifies::AffectedBy;
use super::{Checks, Reservation, Rule, Tally, depth_capped, depth_ignored, qualify};
use crate::limiter;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "depth-not-reached",
    severity: Severity::Info,
    summary: "fewer outstanding I/Os than requested, or a rate still growing with depth",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let affected_by = |of: &Measurement| {
        let why = short(context, of)?;
        Ok(why.map(|why| evidence(context, of, &why)))
    };
    let words = [
        "fewer I/Os in flight than requested or than the drive can use",
        "With fewer I/Os in flight the figure is that of a lighter load.",
        "Look at what bounds the queue: grep . /sys/block/*/queue/nr_requests; a saturated submitter or a layer that splits and waits also shows like this.",
    ];
    qualify(tally, context, affected_by, words);
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let why = short(context, of).ok()??;
    Some(Reservation::qualified(why))
}

/// Describes a depth that was not reached, unless another rule does: an engine without depth, or a
/// queue that is too short.
fn short(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let reported = [depth_ignored::affected_by, depth_capped::affected_by];
    if reported.iter().any(|affected_by| matches!(affected_by(context, of), Ok(Some(_)))) {
        return Ok(None);
    }
    limiter::depth_short(of)
}

/// The shortfall, and the length of the queues.
fn evidence(context: &RuleContext<'_>, of: &Measurement, why: &str) -> String {
    let mut text = why.to_owned();
    for target in &of.targets {
        let Some(bottom) = context.place(of, target).bottom else { continue };
        let Some(block) = context.host().and_then(|host| host.block(&bottom)) else { continue };
        if let (Some(requests), Some(queues)) =
            (block.queue.nr_requests.get(), block.queue.hardware_queues.get())
        {
            let queues = match queues {
                1 => "its hardware queue".to_owned(),
                more => format!("each of its {more} hardware queues"),
            };
            text.push_str(&format!("; {bottom} holds {requests} in {queues}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, assert_qualifies, check_rule, reserves};
    use iodyno_model::{Direction, JobStats};

    #[test]
    fn a_shallow_queue_qualifies() {
        let bench = assert_qualifies(
            &RULE,
            |of| of.conditions.depth_reached = Some(9.0),
            |of| of.conditions.depth_reached = None,
        );
        for (option, value) in [("rate_iops", "100"), ("flow", "8"), ("latency_target", "1ms")] {
            let paced = bench.clone().measurement(1, |of| {
                of.conditions.depth_reached = Some(9.0);
                of.workload.options.insert(option.into(), value.into());
            });
            assert_eq!(check_rule(&RULE, &paced.record()), Outcome::Clear, "{option}");
        }
        let growing = bench.measurement(1, |of| {
            of.conditions.depths_tried = vec![(4096, 1e5), (8192, 1.1e5)];
        });
        let outcome = check_rule(&RULE, &growing.record());
        assert!(outcome.only(Severity::Info).evidence[0].value.contains("8192"));
    }

    #[test]
    fn what_no_queue_of_a_device_holds_is_no_shortfall() {
        let reserved = |change: &dyn Fn(&mut Measurement)| {
            let bench = Bench::new(1).measured().measurement(1, |of| {
                of.conditions.depth_reached = Some(9.0);
                change(of);
            });
            reserves(&RULE, &bench.record(), 1).is_some()
        };
        assert!(reserved(&|_| ()));
        assert!(reserved(&|of| of.workload.direct = Some(false)), "reads of the cache wait for it");
        assert!(!reserved(&|of| {
            of.workload.direct = Some(false);
            of.workload.rw = Some("randwrite".into());
        }));
        let trims = |of: &mut Measurement, device: Option<&str>| {
            of.total[0].direction = Direction::Trim;
            of.conditions.device = device.map(str::to_owned);
        };
        assert!(reserved(&|of| trims(of, None)));
        assert!(!reserved(&|of| trims(of, Some("nvme0n1"))));
        assert!(!reserved(&|of| of.workload.ioengine = Some("filecreate".into())));
        assert!(!reserved(&|of| {
            (of.conditions.depth_asked, of.conditions.depth_reached) = (Some(1), Some(0.2));
        }));
        // Half of the time all that was asked for is outstanding, half of it a sync.
        let syncs = |seconds: u64| {
            move |of: &mut Measurement| {
                (of.conditions.depth_asked, of.conditions.depth_reached) = (Some(2), Some(1.0));
                let mut account = JobStats { counted_ns: 10_000_000_000, ..JobStats::default() };
                (0..seconds).for_each(|_| account.sync.record(1_000_000_000));
                of.account = Some(account);
            }
        };
        assert!(reserved(&syncs(0)) && reserved(&syncs(1)) && !reserved(&syncs(9)));
    }

    #[test]
    fn findings_of_another_rule_are_not_repeated() {
        let shallow = |engine: &str| {
            let bench = Bench::new(1).measured().measurement(1, |of| {
                of.conditions.depth_reached = Some(1.0);
                of.workload.ioengine = Some(engine.into());
            });
            reserves(&RULE, &bench.record(), 1)
        };
        assert!(shallow("io_uring").is_some());
        assert_eq!(shallow("psync"), None);
    }
}
