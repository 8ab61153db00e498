//! Finds md arrays that are degraded or syncing.

use iodyno_model::{Evidence, Host, MdArray, Measurement, Severity};

use super::qualifies::AffectedBy;
use super::{Checks, Reservation, Rule, Tally, finding};
use crate::place::{array, arrays_under};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "array-degraded",
    severity: Severity::Warn,
    summary: "md arrays with missing members, or with a resync, rebuild or check running",
    checks: Checks::HostAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for block in &host.blocks {
        let name = &block.name;
        let Some(now) = array(block) else { continue };
        tally.checked();
        // It may have begun or ended during the run.
        let snapshots = context.record().snapshots.iter();
        let mut seen = snapshots.filter_map(|host| array(host.block(name)?));
        let missing = seen.clone().filter_map(|array| array.degraded).max().unwrap_or(0);
        let busy = seen.find_map(syncing);
        let mut evidence = vec![Evidence::new("level", now.level.clone())];
        let mut what = Vec::new();
        if missing > 0 {
            let s = if missing == 1 { "" } else { "s" };
            what.push(format!("lacks {missing} member{s}"));
            let members = now.members.iter().map(|member| member.device.clone());
            evidence.push(Evidence::new("members", members.collect::<Vec<_>>().join(", ")));
        }
        if let Some(action) = busy {
            what.push(format!("was busy with a {action}"));
            evidence.push(Evidence::new("sync_action", action));
        }
        if what.is_empty() {
            continue;
        }
        let (severity, why) = match missing {
            0 => (Severity::Info, "This background work takes bandwidth of the members."),
            _ => (
                Severity::Warn,
                "The next member that fails may take the data with it, and reads of what is missing are worked out \
                 from all others.",
            ),
        };
        let next = match missing {
            0 => format!(
                "Wait for it, and repeat: sudo mdadm --wait /dev/{name}; how far it is: cat /proc/mdstat"
            ),
            _ => format!(
                "See which member is missing, and why: sudo mdadm --detail /dev/{name}; then add a replacement: \
                 sudo mdadm /dev/{name} --add DEVICE"
            ),
        };
        let what = format!("The array {name} {}.", what.join(" and "));
        tally.found(finding(severity, vec![name.clone()], what, evidence, why, next));
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    let why = degraded_or_syncing(context, of).ok()??;
    Some(Reservation::qualified(why))
}

/// Describes an array below a measurement that was degraded or syncing, before or after it.
pub(super) fn degraded_or_syncing(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let snapshot = |index: Option<usize>| context.record().snapshots.get(index?);
    let around: [Option<&Host>; 2] = [snapshot(of.before).or(context.host()), snapshot(of.after)];
    for host in around.into_iter().flatten() {
        for (name, array) in arrays_under(host, of) {
            if let Some(missing) = array.degraded.filter(|missing| *missing > 0) {
                return Ok(Some(format!("{name} is degraded ({missing} missing)")));
            }
            if let Some(action) = syncing(array) {
                return Ok(Some(format!("{name} was busy with a {action}")));
            }
        }
    }
    Ok(None)
}

/// Action in progress: `resync`, `recover`, `check`, ….
fn syncing(array: &MdArray) -> Option<&str> {
    let action = array.sync_action.get()?.as_str();
    (!matches!(action, "idle" | "frozen")).then_some(action)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, on_stack, reserves};
    use iodyno_model::RunRecord;

    fn with(degraded: Option<u32>, action: &str) -> RunRecord {
        let sync_action = known(action.to_owned());
        let array = MdArray { level: "raid5".into(), degraded, sync_action, ..MdArray::default() };
        on_stack(Bench::new(3).measured(), array, |_| ())
    }

    #[test]
    fn missing_members_and_rebuilds_are_reported() {
        let rule = &RULE;
        assert_eq!(check_rule(rule, &Bench::new(1).measured().record()), Outcome::NotApplicable);
        assert_eq!(check_rule(rule, &with(Some(0), "idle")), Outcome::Clear);
        assert_eq!(reserves(rule, &with(None, "idle"), 0), None);
        let outcome = check_rule(rule, &with(Some(1), "recover"));
        let found = outcome.only(Severity::Warn);
        assert_eq!(found.what, "The array md0 lacks 1 member and was busy with a recover.");
        let busy = with(Some(0), "check");
        assert!(
            check_rule(rule, &busy).only(Severity::Info).next.contains("mdadm --wait /dev/md0")
        );
        assert_eq!(reserves(rule, &busy, 0).unwrap().why, "md0 was busy with a check");
        let mut blind = busy;
        blind.snapshots.clear();
        assert_eq!(check_rule(rule, &blind), Outcome::CannotTell);
    }
}
