//! Finds cloud volumes that demanded more than their contract gives.

use std::iter::repeat;

use iodyno_model::{Evidence, Fact, Host, Severity, VolumeLimit, format_duration_ns};

use super::{Checks, Rule, Tally, finding};
use crate::rule_context::RuleContext;

/// Maximum number of times that are listed.
const MOST_TIMES: usize = 8;

pub(super) static RULE: Rule = Rule {
    id: "volume-limit",
    severity: Severity::Info,
    summary: "a cloud volume at its own or the instance's contract limit, by its own counters",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in host.drives.iter().filter(|drive| drive.volume_limits != Fact::Absent) {
        let name = &drive.name;
        let Some(before) = tally.known_or_note(name, "log page D0h", &drive.volume_limits) else {
            continue;
        };
        let later = context.record().snapshots.iter().skip(1).rev();
        let mut later = later.filter_map(|host| host.drive(name)?.volume_limits.get());
        let Some(after) = later.next() else { continue };
        tally.checked();
        let exceeded = after.exceeded_since(before);
        let Some((most, _)) = exceeded.first() else { continue };
        let evidence = exceeded.iter().map(|(limit, us)| {
            let time = format_duration_ns(*us as f64 * 1e3);
            Evidence::new(format!("time above {}", limit.name()), time)
        });
        let measured = context.record().measurements.iter();
        let when = measured.flat_map(|of| of.conditions.above_limits.iter().zip(repeat(&of.name)));
        let when = when.filter(|(above, _)| above.drive == *name).take(MOST_TIMES);
        let when = when.map(|(above, step)| {
            Evidence::new(format!("{step} above {}", above.limit.name()), above.to_string())
        });
        tally.found(finding(
            Severity::Info,
            vec![name.clone()],
            format!("{name} reached {}.", most.name()),
            evidence.chain(when).collect(),
            "Beyond its contract a volume delays I/O: such rates are the contract's.",
            match most {
                VolumeLimit::VolumeIops | VolumeLimit::VolumeThroughput => {
                    "If that is too little, give the volume more (gp3 and io2 take IOPS and \
                     throughput as numbers), or use several."
                }
                VolumeLimit::InstanceIops | VolumeLimit::InstanceThroughput => {
                    "A larger volume changes nothing: the instance type sets this limit for all of \
                     its volumes."
                }
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::{AboveLimit, VolumeLimits};

    #[test]
    fn time_above_a_limit_names_whose_it_is() {
        let limits = |volume_iops_us, instance_throughput_us| {
            known(VolumeLimits {
                volume_iops_us: Some(volume_iops_us),
                volume_throughput_us: Some(7),
                instance_throughput_us,
                ..VolumeLimits::default()
            })
        };
        let bench =
            Bench::new(1).drive(0, |drive| drive.volume_limits = limits(1000, 50)).measured();
        let after = |iops: u64, throughput: u64| {
            let after = bench.clone();
            after.after(|host| host.drives[0].volume_limits = limits(iops, throughput)).record()
        };
        assert_eq!(check_rule(&RULE, &after(1000, 50)), Outcome::Clear);
        let outcome = check_rule(&RULE, &after(9_001_000, 1050));
        let found = outcome.only(Severity::Info);
        assert_eq!(found.what, "nvme0 reached the volume's IOPS limit.");
        assert_eq!(found.evidence[0].value, "9 s");
        assert_eq!(found.evidence[1].what, "time above the instance's throughput limit");
        let mut timed = after(9_001_000, 1050);
        timed.measurements[0].conditions.above_limits = vec![AboveLimit {
            drive: "nvme0".into(),
            limit: VolumeLimit::VolumeIops,
            from_ns: 12_000_000_000,
            to_ns: 21_000_000_000,
            above_us: 9_000_000,
        }];
        let outcome = check_rule(&RULE, &timed);
        let when = outcome.only(Severity::Info).evidence.last().unwrap();
        assert!(when.what.ends_with(" above the volume's IOPS limit"), "{when:?}");
        assert_eq!(when.value, "12 s to 21 s");
        // Counters that restarted, as after a stop, show nothing.
        assert_eq!(check_rule(&RULE, &after(10, 10)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &bench.record()), Outcome::NotApplicable);
        let none = Bench::new(1).measured().after(|_| {}).record();
        assert_eq!(check_rule(&RULE, &none), Outcome::NotApplicable);
        let refused = Bench::new(1).drive(0, |drive| drive.volume_limits = Fact::NeedsRoot);
        assert_eq!(
            check_rule(&RULE, &refused.measured().after(|_| {}).record()),
            Outcome::CannotTell
        );
    }
}
