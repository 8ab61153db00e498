//! Finds drives that can do more than their slot.

use iodyno_model::{Evidence, Host, Link, LinkState, Severity, format_mb_per_s};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "link-limited-by-slot",
    severity: Severity::Warn,
    summary: "drives that can do more than their slot, or an uplink above it",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for drive in host.drives.iter().filter(|drive| drive.virtual_disk.is_none()) {
        let path: Vec<&Link> = drive.links.iter().filter_map(|name| host.link(name)).collect();
        let Some(own) = path.last() else { continue };
        let name = &drive.name;
        let generation =
            tally.known_or_note(name, "the drive's link generation", &own.device.max_generation);
        let width = tally.known_or_note(name, "the drive's link width", &own.device.max_width);
        let (Some(generation), Some(width)) = (generation, width) else { continue };
        let drive_able = LinkState { generation: *generation, width: *width };
        let ables: Option<Vec<(&Link, LinkState)>> =
            path.iter().map(|link| Some((*link, link.able()?))).collect();
        let narrowest = ables.and_then(|all| {
            all.into_iter().min_by(|a, b| links::raw(a.1).total_cmp(&links::raw(b.1)))
        });
        let Some((link, able)) = narrowest else {
            tally.unknown(name, "capability of the ports above the drive");
            continue;
        };
        tally.checked();
        if links::raw(able) >= links::raw(drive_able) {
            continue;
        }
        let what = if link.name() == own.name() {
            format!("{name} can do {}, its slot {}.", drive_able.label(), able.label())
        } else {
            format!(
                "{name} can do {}, the uplink {} above it {}.",
                drive_able.label(),
                link.name(),
                able.label()
            )
        };
        let carries = |state: LinkState| {
            let rate = state.payload_bytes_per_s(link.max_payload_bytes());
            rate.map_or_else(
                || state.label(),
                |rate| format!("{}, {}", state.label(), format_mb_per_s(rate)),
            )
        };
        let mut evidence = vec![
            Evidence::new("drive", carries(drive_able)),
            Evidence::new("port", carries(able)),
            Evidence::new("address of the port", link.port.address.clone()),
        ];
        evidence.extend(link.slot.as_ref().map(|slot| Evidence::new("slot", slot.clone())));
        tally.found(finding(
            Severity::Warn,
            vec![name.clone(), link.name().to_owned()],
            what,
            evidence,
            "The drive will not reach its data sheet's bandwidth here.",
            "Move it to a faster slot, or expect the slot's bandwidth.",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, link};
    use iodyno_model::Fact;

    #[test]
    fn a_slot_or_uplink_below_the_drive_is_a_warning() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::Clear);
        let slot = Bench::new(1).link(0, |link| link.port.max_generation = known(3));
        assert!(check_rule(&RULE, &slot.record()).only(Severity::Warn).what.contains("its slot"));
        let uplink = Bench::new(1).host(|host| {
            let mut up = link("0000:00:01.0", "0000:01:00.0");
            up.port.max_width = known(2);
            host.links.push(up);
            host.drives[0].links.insert(0, "0000:01:00.0".into());
        });
        let outcome = check_rule(&RULE, &uplink.record());
        assert!(outcome.only(Severity::Warn).what.contains("uplink 0000:01:00.0"));
        let wide = Bench::new(1).link(0, |link| link.port.max_width = known(16));
        assert_eq!(check_rule(&RULE, &wide.record()), Outcome::Clear);
        let blind = Bench::new(1).link(0, |link| link.port.max_width = Fact::Absent);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
