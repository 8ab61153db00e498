//! Qualifies links and drives that rest between I/Os.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::limiter::{PowerSaving, power_saving};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "power-saving",
    summary: "power states of link or drive that matter: at depth 1, or with pauses",
    affected_by,
    what: "power saving may have slowed it",
    why: "A link takes up to tens of microseconds to leave L1, a drive milliseconds to leave a state \
          without I/O; with many I/Os outstanding neither ever rests.",
    next: "Compare: echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy; \
           sudo nvme set-feature /dev/CONTROLLER --feature-id=2 --value=0 for its best power state; and \
           nvme_core.default_ps_max_latency_us=0 on the kernel's command line, so that it stays \
           there. Where the machine is to save power, leave all as it is.",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let host = context.known_host()?;
    let drives = of.targets.iter().filter_map(|target| context.place(of, target).drive);
    Ok(power_saving(context.record(), host, drives, of)?.map(|found| match found {
        PowerSaving::Reduced(why) | PowerSaving::Resting(why) => why,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, reserves};
    use iodyno_model::{Aspm, Fact, OcpHealth, Severity};

    fn aspm(l1: bool) -> Bench {
        let aspm = Aspm { l0s: false, l1 };
        Bench::new(1).measured().link(0, |link| link.aspm = known(aspm))
    }

    #[test]
    fn a_resting_link_counts_at_depth_1() {
        assert_eq!(check_rule(&RULE, &aspm(false).record()), Outcome::Clear);
        let resting = aspm(true).record();
        check_rule(&RULE, &resting).only(Severity::Info);
        assert_eq!(reserves(&RULE, &resting, 1), None);
        let why = reserves(&RULE, &resting, 2).unwrap().why;
        assert_eq!(why, "ASPM lets link 0000:10:00.0 rest in L1");
        let blind = Bench::new(1).measured().link(0, |link| link.aspm = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::ClearBut(1));
    }

    #[test]
    fn a_resting_drive_counts_where_there_are_pauses() {
        let paced = aspm(false)
            .drive(0, |drive| drive.autonomous_power_states = known(true))
            .measurement(1, |of| {
                of.workload.options.insert("rate_iops".into(), "100".into());
            });
        check_rule(&RULE, &paced.record()).only(Severity::Info);
        assert!(reserves(&RULE, &paced.record(), 1).unwrap().why.contains("APST"));
        assert_eq!(reserves(&RULE, &paced.record(), 2), None);
        // A drive that counts its changes shows if it stayed in its state.
        let counted = |changes: u64| {
            let log = |power_state_changes| {
                known(OcpHealth { power_state_changes, ..OcpHealth::default() })
            };
            let bench = paced.clone().drive(0, |drive| drive.ocp_health = log(5));
            bench.after(|host| host.drives[0].ocp_health = log(5 + changes)).record()
        };
        assert_eq!(check_rule(&RULE, &counted(0)), Outcome::Clear);
        let why = reserves(&RULE, &counted(12), 1).unwrap().why;
        assert_eq!(why, "nvme0 changed power state 12 times (OCP)");
    }
}
