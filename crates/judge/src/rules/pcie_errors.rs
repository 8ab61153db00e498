//! Finds PCIe errors counted during the run.

use std::collections::BTreeMap;

use iodyno_model::{Drive, Evidence, Fact, Finding, Host, Link, LinkState, PcieError, Severity};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;

/// Permitted bit error ratio of a link (PCI Express Base Specification 5.0, chapter 8: 10^-12).
const BIT_ERRORS: f64 = 1e-12;
/// Counts per disturbance: receiver error, bad packet and replay, at either end.
const OF_ONE: f64 = 6.0;

pub(super) static RULE: Rule = Rule {
    id: "pcie-errors",
    severity: Severity::Fail,
    summary: "PCIe errors counted during the run, by either end of a link",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let record = context.record();
    let Some(last) = record.host_after().filter(|_| record.snapshots.len() > 1) else { return };
    let seconds = last.taken_ns.saturating_sub(host.taken_ns) as f64 / 1e9;
    for link in links::real(host) {
        let Some(after) = last.link(link.name()) else { continue };
        // If firmware hides the counters, some drives have their own.
        let counted = grown(link, after).or_else(|| Some((by_drive(host, last, link)?, 0)));
        let Some((corrected, lost)) = counted else {
            tally.unknown(link.name(), "its PCIe error counters (AER)");
            continue;
        };
        tally.checked();
        if corrected.max(lost) == 0 {
            continue;
        }
        let allowed = link.current.get().and_then(|state| allowed(*state, seconds));
        let severity = match allowed {
            _ if lost > 0 => Severity::Fail,
            Some(allowed) if corrected as f64 <= allowed => Severity::Info,
            Some(_) => Severity::Warn,
            None => Severity::Info,
        };
        let mut found = errors(host, link, (corrected, lost), allowed, severity);
        found.evidence.extend(kinds(link, after));
        tally.found(found);
    }
    for drive in &host.drives {
        let count = |drive: &Drive| Some(drive.ocp_health.get()?.pcie_retrainings);
        // Few drives count them, so their absence is not reported.
        let Some(before) = count(drive) else { continue };
        let Some(after) = last.drive(&drive.name).and_then(count) else { continue };
        tally.checked();
        if after > before {
            tally.found(retrained(&drive.name, after - before));
        }
    }
}

fn retrained(name: &str, times: u64) -> Finding {
    finding(
        Severity::Info,
        vec![name.to_owned()],
        format!("{name} retrained its link {times} times during the run."),
        vec![Evidence::new("retrained, by the drive's count (OCP)", times.to_string())],
        "A link carries nothing while it retrains, after errors it cannot correct or to save power.",
        "See whether its state is still what it was (iodyno list), and what the kernel says: sudo dmesg | grep -i pci",
    )
}

fn errors(
    host: &Host,
    link: &Link,
    (corrected, lost): (u64, u64),
    allowed: Option<f64>,
    severity: Severity,
) -> Finding {
    let mut evidence = vec![
        Evidence::new("corrected", corrected.to_string()),
        Evidence::new("not corrected", lost.to_string()),
        Evidence::new("ends", format!("{} and {}", link.port.address, link.device.address)),
    ];
    evidence.extend(allowed.map(|allowed| {
        Evidence::new(
            "corrected at most on a link within the specification",
            format!("{allowed:.0}"),
        )
    }));
    evidence.extend(link.slot.as_ref().map(|slot| Evidence::new("slot", slot.clone())));
    let why = match severity {
        Severity::Fail => "Uncorrected errors lose data: the kernel may reset the drive.",
        _ => "Corrected data is sent again: it costs time, and shows a weak signal.",
    };
    let title = links::title(host, link);
    let what = match lost {
        0 => format!("{title} corrected {corrected} errors during the run."),
        _ => format!("{title} had {lost} errors during the run that were not corrected."),
    };
    let next = match severity {
        Severity::Info => "Nothing, unless it grows: this is within the specification.".into(),
        _ => format!(
            "See what they are: sudo dmesg | grep -i aer; then reseat the drive, and look at connector, \
             cable and riser: sudo lspci -vv -s {}",
            link.name()
        ),
    };
    finding(severity, links::subjects(host, link), what, evidence, why, next)
}

/// Kinds of errors that grew, at either end.
fn kinds(before: &Link, after: &Link) -> Option<Evidence> {
    let mut grown: BTreeMap<&str, u64> = BTreeMap::new();
    for (before, after) in [(&before.port, &after.port), (&before.device, &after.device)] {
        for error in &after.errors {
            let same = |one: &&PcieError| one.kind == error.kind && one.severity == error.severity;
            let earlier = before.errors.iter().find(same).map_or(0, |one| one.count);
            let sum = grown.entry(&error.kind).or_default();
            *sum = sum.saturating_add(error.count.saturating_sub(earlier));
        }
    }
    grown.retain(|_, count| *count > 0);
    let words: Vec<String> = grown.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    (!words.is_empty()).then(|| Evidence::new("kinds", words.join(", ")))
}

/// Growth of both ends' counters: corrected, and not corrected. An end without counters is ignored;
/// one end suffices.
fn grown(before: &Link, after: &Link) -> Option<(u64, u64)> {
    let growth =
        |before: &Fact<u64>, after: &Fact<u64>| Some(after.get()?.saturating_sub(*before.get()?));
    let both = |port: Option<u64>, device: Option<u64>| match (port, device) {
        (None, None) => None,
        (port, device) => Some(port.unwrap_or(0).saturating_add(device.unwrap_or(0))),
    };
    let corrected = both(
        growth(&before.port.correctable_errors, &after.port.correctable_errors),
        growth(&before.device.correctable_errors, &after.device.correctable_errors),
    );
    let lost = both(
        growth(&before.port.uncorrectable_errors, &after.port.uncorrectable_errors),
        growth(&before.device.uncorrectable_errors, &after.device.uncorrectable_errors),
    );
    both(corrected, lost).map(|_| (corrected.unwrap_or(0), lost.unwrap_or(0)))
}

/// Growth of the drive's own count of corrected errors on its link (OCP).
fn by_drive(before: &Host, after: &Host, link: &Link) -> Option<u64> {
    let drive = before.drive_of(link)?;
    let count = |drive: &Drive| Some(drive.ocp_health.get()?.pcie_correctable_errors);
    Some(count(after.drive(&drive.name)?)?.saturating_sub(count(drive)?))
}

/// Maximum corrected errors of a link within the specification: the expected number for all bits in
/// both directions plus three standard deviations. Generation 6 uses forward error correction and
/// has other limits.
fn allowed(state: LinkState, seconds: f64) -> Option<f64> {
    let transfers_per_s = match state.generation {
        1 => 2.5e9,
        2 => 5e9,
        generation @ 3..=5 => 8e9 * f64::from(1 << (generation - 3)),
        _ => return None,
    };
    let events = 2.0 * transfers_per_s * f64::from(state.width) * seconds * BIT_ERRORS;
    Some(OF_ONE * (events + 3.0 * events.sqrt() + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};

    fn after(seconds: i64, change: impl Fn(&mut Link)) -> Outcome {
        let bench = Bench::new(2).measured().after(|host| {
            host.taken_ns = seconds * 1_000_000_000;
            change(&mut host.links[1]);
        });
        check_rule(&RULE, &bench.record())
    }

    #[test]
    fn errors_of_the_run_are_weighed() {
        assert_eq!(after(60, |_| ()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::NotApplicable);
        // 128 Gbit/s both ways for a minute: 7.7 bit errors on average.
        let few = after(60, |link| link.device.correctable_errors = known(40));
        few.only(Severity::Info);
        let many = after(60, |link| link.port.correctable_errors = known(400));
        assert_eq!(many.only(Severity::Warn).subjects, ["nvme1", "0000:11:00.0"]);
        let short = after(1, |link| link.device.correctable_errors = known(40));
        short.only(Severity::Warn);
        let lost = after(60, |link| link.port.uncorrectable_errors = known(1));
        assert!(lost.only(Severity::Fail).what.contains("not corrected"));
    }

    #[test]
    fn old_errors_and_links_without_counters_are_no_errors_of_the_run() {
        let old = Bench::new(1).link(0, |link| link.port.uncorrectable_errors = known(7));
        assert_eq!(check_rule(&RULE, &old.after(|_| ()).record()), Outcome::Clear);
        let none = |link: &mut Link| {
            for end in [&mut link.port, &mut link.device] {
                end.correctable_errors = Fact::Absent;
                end.uncorrectable_errors = Fact::Absent;
            }
        };
        let blind = Bench::new(1).link(0, none).after(|_| ());
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
        let log = |pcie_correctable_errors| {
            known(iodyno_model::OcpHealth { pcie_correctable_errors, ..Default::default() })
        };
        let reported = Bench::new(1).link(0, none).drive(0, |drive| drive.ocp_health = log(1));
        let reported = reported.after(|host| {
            host.taken_ns = 1_000_000_000;
            host.drives[0].ocp_health = log(401);
        });
        check_rule(&RULE, &reported.record()).only(Severity::Warn);
        let one_end = Bench::new(1).link(0, |link| link.port.correctable_errors = Fact::Absent);
        assert_eq!(check_rule(&RULE, &one_end.after(|_| ()).record()), Outcome::Clear);
    }

    #[test]
    fn error_kinds_and_retrainings_are_reported() {
        let error = |kind: &str, count: u64| iodyno_model::PcieError {
            severity: iodyno_model::PcieSeverity::Correctable,
            kind: kind.into(),
            count,
        };
        let bench = Bench::new(1).link(0, |link| link.device.errors = vec![error("RxErr", 7)]);
        let outcome = check_rule(
            &RULE,
            &bench
                .after(|host| {
                    let device = &mut host.links[0].device;
                    device.correctable_errors = known(400);
                    device.errors = vec![error("RxErr", 400), error("BadTLP", 7)];
                })
                .record(),
        );
        let evidence = &outcome.only(Severity::Warn).evidence;
        assert_eq!(evidence.last().unwrap().value, "7 BadTLP, 393 RxErr");
        let trained = |count: u64| {
            known(iodyno_model::OcpHealth { pcie_retrainings: count, ..Default::default() })
        };
        let bench = Bench::new(1).drive(0, |drive| drive.ocp_health = trained(3));
        let anew = bench.after(|host| host.drives[0].ocp_health = trained(5));
        check_rule(&RULE, &anew.record()).only(Severity::Info);
    }
}
