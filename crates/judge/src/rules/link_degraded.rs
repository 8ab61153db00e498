//! Finds links trained below what both ends can do.

use iodyno_model::{
    Evidence, Finding, Host, Link, LinkState, RunRecord, Severity, format_mb_per_s,
};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;

/// This many equal bays with equally slow links are built like that rather than broken.
const BAYS: usize = 3;

pub(super) static RULE: Rule = Rule {
    id: "link-degraded",
    severity: Severity::Fail,
    summary: "links trained below both ends' capability, checked under load",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let record = context.record();
    let mut degraded = Vec::new();
    for link in links::real(host) {
        let Some((state, loaded)) = links::state(record, link) else {
            tally.known_or_note(link.name(), "link in use", &link.current);
            continue;
        };
        let Some(able) = link.able() else {
            tally.unknown(link.name(), "capability of both ends of the link");
            continue;
        };
        tally.checked();
        if links::is_less(state, able) && !set_by_firmware(link, state, able) {
            degraded.push((link, state, able, loaded));
        }
    }
    let (by_design, broken): (Vec<_>, Vec<_>) =
        degraded.iter().partition(|(link, state, able, _)| {
            equal_bays(record, host, link, *state, *able).len() >= BAYS
        });
    for (link, state, able, loaded) in broken {
        tally.found(one_broken(host, link, state, able, loaded));
    }
    let mut reported: Vec<String> = Vec::new();
    for (link, state, able, _) in by_design {
        let bays = equal_bays(record, host, link, state, able);
        if bays.iter().all(|bay| reported.contains(bay)) {
            continue;
        }
        tally.found(narrow_bays(&bays, state, able));
        reported.extend(bays);
    }
}

/// Returns true if it runs at its configured target speed, which has its own rule.
fn set_by_firmware(link: &Link, state: LinkState, able: LinkState) -> bool {
    state.width >= able.width
        && link
            .port
            .target_generation
            .get()
            .is_some_and(|target| *target < able.generation && state.generation >= *target)
}

/// Returns the drives of the model on this link, if all of them have links of equal capability
/// trained equally low; else none.
fn equal_bays(
    record: &RunRecord,
    host: &Host,
    link: &Link,
    state: LinkState,
    able: LinkState,
) -> Vec<String> {
    let Some(model) = host.drive_of(link).and_then(|drive| drive.model.get()) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for drive in host.drives.iter().filter(|drive| drive.model.get() == Some(model)) {
        let Some(theirs) = host.own_link(drive) else { continue };
        let equal = theirs.able() == Some(able)
            && links::state(record, theirs).is_some_and(|(current, _)| current == state);
        if !equal {
            return Vec::new();
        }
        names.push(drive.name.clone());
    }
    names
}

fn carries(link: &Link, state: LinkState) -> Option<String> {
    state.payload_bytes_per_s(link.max_payload_bytes()).map(format_mb_per_s)
}

fn one_broken(
    host: &Host,
    link: &Link,
    state: LinkState,
    able: LinkState,
    loaded: bool,
) -> Finding {
    let mut evidence = vec![
        Evidence::new(if loaded { "in use under load" } else { "in use" }, state.label()),
        Evidence::new("able", able.label()),
    ];
    if let (Some(now), Some(then)) = (carries(link, state), carries(link, able)) {
        evidence.push(Evidence::new("carries", format!("{now} instead of {then}")));
    }
    evidence.push(Evidence::new("port", link.port.address.clone()));
    evidence.extend(link.slot.as_ref().map(|slot| Evidence::new("slot", slot.clone())));
    let errors = |end: &iodyno_model::LinkEnd| {
        let counts = [end.correctable_errors.get(), end.uncorrectable_errors.get()];
        counts.into_iter().flatten().sum::<u64>()
    };
    let errors = errors(&link.port) + errors(&link.device);
    if errors > 0 {
        evidence.push(Evidence::new("PCIe errors", errors.to_string()));
    }
    finding(
        Severity::Fail,
        links::subjects(host, link),
        format!(
            "{} runs at {}, but both ends can do {}.",
            links::title(host, link),
            state.label(),
            able.label()
        ),
        evidence,
        "Nothing below the link can be faster than the link.",
        format!(
            "Reseat what is in the slot; look at its connector, cable, riser and backplane; then: \
             sudo lspci -vv -s {} | grep LnkSta",
            link.name()
        ),
    )
}

fn narrow_bays(bays: &[String], state: LinkState, able: LinkState) -> Finding {
    finding(
        Severity::Warn,
        bays.to_vec(),
        format!(
            "All {} equal bays run at {}, but drives and ports can do {}.",
            bays.len(),
            state.label(),
            able.label()
        ),
        vec![
            Evidence::new("in use", state.label()),
            Evidence::new("able", able.label()),
            Evidence::new("bays", bays.join(", ")),
        ],
        "So many equal links are probably wired or set like this; the drives are slower for it.",
        "Ask the machine's vendor if it is by design, and check the BIOS slot settings (bifurcation).",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::Fact;

    const LOW: LinkState = LinkState { generation: 3, width: 2 };

    #[test]
    fn a_link_below_both_ends_fails() {
        assert_eq!(check_rule(&RULE, &Bench::new(2).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(0).record()), Outcome::NotApplicable);
        let record = Bench::new(2).link(1, |link| link.current = known(LOW)).record();
        let outcome = check_rule(&RULE, &record);
        let found = outcome.only(Severity::Fail);
        assert_eq!(found.subjects, ["nvme1", "0000:11:00.0"]);
        assert!(found.what.contains("Gen3 x2") && found.what.contains("Gen4 x4"));
        let able = Bench::new(1).link(0, |link| {
            link.current = known(LOW);
            link.device.max_generation = known(3);
            link.port.max_width = known(2);
        });
        assert_eq!(check_rule(&RULE, &able.record()), Outcome::Clear);
    }

    #[test]
    fn unreadable_links_are_not_judged() {
        let state = Bench::new(1).link(0, |link| link.current = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &state), Outcome::CannotTell);
        let able = Bench::new(2).link(0, |link| link.port.max_width = Fact::Absent).record();
        assert_eq!(check_rule(&RULE, &able), Outcome::ClearBut(1));
        let cloud = Bench::new(1)
            .drive(0, |drive| drive.virtual_disk = Some("a cloud".into()))
            .link(0, |link| link.current = known(LOW));
        assert_eq!(check_rule(&RULE, &cloud.record()), Outcome::NotApplicable);
    }

    #[test]
    fn load_decides_where_it_was_looked_at() {
        let idle = Bench::new(1).link(0, |link| link.current = known(LOW)).measured();
        let mut record = idle.after(|host| {
            host.links[0].current = known(LinkState { generation: 4, width: 4 });
        });
        record = record.measurement(0, |of| of.under_load = Some(1));
        assert_eq!(check_rule(&RULE, &record.record()), Outcome::Clear);
        let loaded = Bench::new(1)
            .measured()
            .after(|host| host.links[0].current = known(LOW))
            .measurement(0, |of| of.under_load = Some(1));
        let outcome = check_rule(&RULE, &loaded.record());
        assert_eq!(outcome.only(Severity::Fail).evidence[0].what, "in use under load");
    }

    #[test]
    fn equal_bays_equally_narrow_are_a_question_to_the_vendor() {
        let narrow = |count: usize| {
            (0..count).fold(Bench::new(3), |bench, n| bench.link(n, |l| l.current = known(LOW)))
        };
        let all = check_rule(&RULE, &narrow(3).record());
        assert_eq!(all.only(Severity::Warn).subjects, ["nvme0", "nvme1", "nvme2"]);
        let Outcome::Findings(two) = check_rule(&RULE, &narrow(2).record()) else { panic!() };
        assert!(two.len() == 2 && two.iter().all(|found| found.severity == Severity::Fail));
        let pair = (0..2).fold(Bench::new(2), |bench, n| bench.link(n, |l| l.current = known(LOW)));
        let Outcome::Findings(pair) = check_rule(&RULE, &pair.record()) else { panic!() };
        assert!(
            pair.iter().all(|found| found.severity == Severity::Fail),
            "two may both be broken"
        );
    }

    #[test]
    fn a_target_set_below_is_another_rules() {
        let set = |width| {
            let record = Bench::new(1).link(0, |link| {
                link.port.target_generation = known(3);
                link.current = known(LinkState { generation: 3, width });
            });
            check_rule(&RULE, &record.record())
        };
        assert_eq!(set(4), Outcome::Clear);
        set(2).only(Severity::Fail);
    }
}
