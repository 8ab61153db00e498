//! Finds links with smaller packets than both ends can handle.

use iodyno_model::{Evidence, Host, Link, Severity, format_mb_per_s};

use super::{Checks, Rule, Tally, finding};
use crate::links;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "payload-size",
    severity: Severity::Info,
    summary: "links whose maximum payload size is set below what both ends can do",
    checks: Checks::Host(check),
};

fn check(_: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    // A BIOS sets all links alike: one finding per pair of sizes.
    let mut found: Vec<((u32, u32), Vec<&Link>)> = Vec::new();
    for link in links::real(host) {
        let ends = [&link.port.max_payload_bytes, &link.device.max_payload_bytes];
        let [Some(port), Some(device)] = ends.map(|end| end.value()) else {
            tally.unknown(link.name(), "the payload size in force");
            continue;
        };
        let Some(able) = link.able_payload_bytes() else {
            tally.unknown(link.name(), "the payload size that both ends can do");
            continue;
        };
        tally.checked();
        let sizes = (port.min(device), able);
        if sizes.0 >= sizes.1 {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == sizes) {
            Some((_, links)) => links.push(link),
            None => found.push((sizes, vec![link])),
        }
    }
    for ((in_force, able), all) in found {
        let mut subjects: Vec<String> = Vec::new();
        for subject in all.iter().flat_map(|link| links::subjects(host, link)) {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        let what = match all.as_slice() {
            [only] => links::title(host, only),
            several => format!("{} links", several.len()),
        };
        let verb = if all.len() == 1 { "sends" } else { "send" };
        let mut evidence = vec![
            Evidence::new("in force", format!("{in_force} bytes")),
            Evidence::new("able", format!("{able} bytes")),
        ];
        evidence.extend(carries(all[0], in_force, able));
        tally.found(finding(
            Severity::Info,
            subjects,
            format!("{what} {verb} {in_force} bytes of data in a packet, though both ends can do {able}."),
            evidence,
            "Every packet has some 24 bytes of overhead: smaller packets waste more of the link.",
            "Look for the maximum payload size in the BIOS, or let the kernel set it: pci=pcie_bus_perf on its \
             command line. It has to hold for all that is below one root port.",
        ));
    }
}

/// Rates of a link with either payload size.
fn carries(link: &Link, in_force: u32, able: u32) -> Option<Evidence> {
    let state = link.current.get()?;
    let now = format_mb_per_s(state.payload_bytes_per_s(in_force)?);
    let then = format_mb_per_s(state.payload_bytes_per_s(able)?);
    Some(Evidence::new(format!("carries at {}", state.label()), format!("{now}, and would {then}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known};
    use iodyno_model::Fact;

    fn able(count: usize, port: u32, device: u32) -> Bench {
        (0..count).fold(Bench::new(count), |bench, n| {
            bench.link(n, |link| {
                link.port.able_payload_bytes = known(port);
                link.device.able_payload_bytes = known(device);
            })
        })
    }

    #[test]
    fn small_payloads_are_reported_once() {
        assert_eq!(check_rule(&RULE, &able(2, 256, 512).record()), Outcome::Clear);
        let all = check_rule(&RULE, &able(2, 512, 512).record());
        let found = all.only(Severity::Info);
        assert!(found.what.starts_with("2 links send 256 bytes"), "{found:?}");
        assert_eq!(found.evidence[2].value, "7094 MB/s, and would 7411 MB/s");
        let mixed = able(2, 512, 512).link(0, |link| link.device.max_payload_bytes = known(128));
        let Outcome::Findings(two) = check_rule(&RULE, &mixed.record()) else { panic!() };
        assert_eq!(two.len(), 2);
        let blind = able(1, 512, 512).link(0, |link| link.port.max_payload_bytes = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
        let unable = Bench::new(1).link(0, |link| link.device.able_payload_bytes = Fact::NeedsRoot);
        assert_eq!(check_rule(&RULE, &unable.record()), Outcome::CannotTell);
    }
}
