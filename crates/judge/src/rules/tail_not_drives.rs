//! Qualifies slow I/Os that the drive itself did not count as slow.

use iodyno_model::{Direction, Measurement, format_count};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::pauses;
use crate::rule_context::RuleContext;

/// Fewer slow I/Os than these may be chance.
const LEAST: u64 = 10;
/// The drive counted less than this share of the host's count.
const SHARE: f64 = 0.1;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "tail-not-drives",
    summary: "slow I/Os that the drive's latency monitor did not count as slow",
    affected_by,
    what: "its slow I/Os are not the drive's",
    why: "The drive counts how long it took itself; the rest was spent before it got the command, or \
          after it had answered: in the queue, on the link, until a CPU had time.",
    next: "Look at the host: CPU load and governor, interrupts, power states, layers and \
           schedulers; with less depth less waits in front of the drive.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let [target] = of.targets.as_slice() else { return Ok(None) };
    // Paced latencies count from when I/Os were due, which the drive does not know.
    if pauses(of) {
        return Ok(None);
    }
    let place = context.place(of, target);
    // A layer splits or merges I/Os, so the counts would not match.
    let Some(drive) = place.drive.filter(|_| place.whole) else { return Ok(None) };
    let monitor = |index: Option<usize>| {
        context.record().snapshots.get(index?)?.drive(&drive.name)?.latency_monitor.get()
    };
    let (Some(before), Some(after)) = (monitor(of.before), monitor(of.after)) else {
        return match drive.latency_monitor {
            // Few drives have one, so its absence is not reported.
            iodyno_model::Fact::Absent => Ok(None),
            _ => Err(format!("the latency monitor of {} around it", drive.name)),
        };
    };
    if !after.enabled || before.thresholds_ms != after.thresholds_ms {
        return Ok(None);
    }
    let threshold_ns = u64::from(after.thresholds_ms[0]) * 1_000_000;
    for (column, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
        let Some(result) = of.result(direction) else { continue };
        if result.latency.count() == 0 {
            return Err("its latencies are known by percentiles only".into());
        }
        let slow = result.latency.bins().filter(|bin| bin.low_ns > threshold_ns);
        let slow = slow.fold(0, |sum: u64, bin| sum.saturating_add(bin.count));
        let mut counted = 0;
        for (earlier, later) in before.counts.iter().zip(&after.counts) {
            let Some(grown) = later[column].checked_sub(earlier[column]) else {
                return Err(format!("the latency monitor of {} began anew meanwhile", drive.name));
            };
            counted += u64::from(grown);
        }
        if slow >= LEAST && (counted as f64) < SHARE * slow as f64 {
            return Ok(Some(format!(
                "{} {}s took more than {} ms, and the drive counted {}",
                format_count(slow as f64),
                direction.name(),
                after.thresholds_ms[0],
                format_count(counted as f64)
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, known, reserves};
    use iodyno_model::{Fact, LatencyMonitor, RunRecord, Severity};

    /// `slow` reads of 20 ms, of which the drive counted `counted` above 5 ms.
    fn run(slow: u64, counted: u32) -> RunRecord {
        let monitor = |count: u32| {
            let mut counts = [[7; 3]; 4];
            counts[1][0] += count;
            known(LatencyMonitor { enabled: true, thresholds_ms: [5, 10, 50, 100], counts })
        };
        let bench = Bench::new(1).measured().drive(0, |drive| drive.latency_monitor = monitor(0));
        let bench = bench.after(|host| host.drives[0].latency_monitor = monitor(counted));
        let bench = each(bench, |of| {
            (0..1000).for_each(|_| of.total[0].latency.record(80_000));
            (0..slow).for_each(|_| of.total[0].latency.record(20_000_000));
        });
        bench.record()
    }

    #[test]
    fn a_tail_that_the_drive_did_not_see_is_the_hosts() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
        for (slow, counted) in [(0, 0), (3, 0), (100, 100), (100, 20)] {
            assert_eq!(check_rule(&RULE, &run(slow, counted)), Outcome::Clear, "{slow} {counted}");
        }
        let hosts = run(100, 2);
        check_rule(&RULE, &hosts).only(Severity::Info);
        let why = reserves(&RULE, &hosts, 0).unwrap().why;
        assert_eq!(why, "100 reads took more than 5 ms, and the drive counted 2");
        let mut paced = hosts;
        for of in &mut paced.measurements {
            of.workload.options.insert("rate_iops".into(), "5000".into());
        }
        assert_eq!(check_rule(&RULE, &paced), Outcome::Clear);
        let mut anew = run(100, 0);
        if let Fact::Read(monitor) = &mut anew.snapshots[1].drives[0].latency_monitor {
            monitor.counts = [[0; 3]; 4];
        }
        assert_eq!(check_rule(&RULE, &anew), Outcome::CannotTell);
    }
}
