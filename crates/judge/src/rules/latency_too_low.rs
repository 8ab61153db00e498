//! Finds latencies below those of any device.

use iodyno_model::{Direction, Measurement, format_duration_ns};

use super::{Affected, Checks, Reservation, Rule, Tally, page_cache};
use crate::measured::is_fio;
use crate::place::stacked_devices;
use crate::rule_context::RuleContext;

/// Minimum latency of any NVMe drive, ns: doorbell, command fetch, data and completion are four
/// transfers over PCIe at some 0.4 us each, plus the drive's own time. An Optane P5800X, the
/// fastest, states 5 us.
const LEAST_NS: f64 = 3000.0;

const SAYS: &str = "latency below that of any device";
const WHY: &str = "No drive answers a command within 3 us: what answered is memory (the page cache, a \
                   file system in memory, a null device), or what was taken is not the latency of an I/O.";
const NEXT: &str = "Look at the target, at direct=1, and at what the report calls latency.";

pub(super) static RULE: Rule = Rule {
    id: "latency-too-low",
    severity: iodyno_model::Severity::Info,
    summary: "latencies below those of any device",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut affected = Affected::default();
    for (_, of) in context.finished() {
        let Some(_) = of.total.iter().find_map(|result| result.mean_latency()) else {
            tally.unknown(of.title(), "its latency is not known");
            continue;
        };
        tally.checked();
        if let Some(ns) = too_low(context, of) {
            affected.add(of.title(), format_duration_ns(ns), context.subjects(of));
        }
    }
    affected.report(tally, SAYS, WHY, NEXT);
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let ns = too_low(context, of).filter(|_| of.failure().is_none())?;
    let mean = format_duration_ns(ns);
    Some(Reservation::invalid(format!("mean latency {mean}: below any device's")))
}

/// Returns the mean latency if it is too low, ns; `None` if page-cache or target-qualified already
/// report it.
fn too_low(context: &RuleContext<'_>, of: &Measurement) -> Option<f64> {
    let reported = matches!(page_cache::affected_by(context, of), Ok(Some(_)))
        || !of.conditions.target_remarks.is_empty()
        || context
            .host()
            .is_some_and(|host| stacked_devices(host, of).iter().any(|one| one.memory().is_some()));
    // For I/Os submitted together, the time until completion is only a part.
    let sync = !is_fio(of) || of.workload.iodepth.is_none_or(|depth| depth <= 1);
    let means = of.total.iter().filter(|result| result.direction != Direction::Trim);
    let means = means.filter_map(|result| {
        let (kind, mean) = result.mean_latency()?;
        (sync || kind == iodyno_model::LatencyKind::Total).then_some(mean.value)
    });
    means.reduce(f64::min).filter(|ns| !reported && (1.0..LEAST_NS).contains(ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::{BlockKind, Estimate, Severity};

    #[test]
    fn impossible_latencies_are_invalid() {
        let with = |ns: f64| {
            Bench::new(1).measured().measurement(2, |of| {
                of.total[0].latency_mean = Some(Estimate::bare(ns));
                of.source = "fio 3.36".into();
            })
        };
        assert_eq!(check_rule(&RULE, &with(4900.0).record()), Outcome::Clear);
        let memory = with(900.0);
        check_rule(&RULE, &memory.record()).only(Severity::Info);
        let found = reserves(&RULE, &memory.record(), 2).unwrap();
        assert_eq!(found.validity, iodyno_model::Validity::Invalid);
        assert_eq!(found.why, "mean latency 900 ns: below any device's");
        assert_eq!(reserves(&RULE, &memory.record(), 0), None);
        let cached = memory.clone().measurement(2, |of| of.workload.direct = Some(false));
        assert_eq!(check_rule(&RULE, &cached.record()), Outcome::Clear, "page-cache tells");
        let zram = memory.host(|host| host.blocks[0].kind = BlockKind::Zram);
        assert_eq!(check_rule(&RULE, &zram.record()), Outcome::Clear, "target-qualified tells");
        let blind = each(Bench::new(1).measured(), |of| of.total[0].latency_mean = None);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
