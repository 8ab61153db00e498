//! Finds uplinks shared by several drives that carry less than these can send.

use iodyno_model::{Drive, Evidence, Host, Link, Measurement, Metric, Severity, format_mb_per_s};

use super::{Checks, Rule, Tally, finding};
use crate::claims::claim_of;
use crate::figures::percent;
use crate::limiter::figure;
use crate::links;
use crate::measured::figure_of;
use crate::measured::metric;
use crate::place::shared_drives;
use crate::rule_context::RuleContext;

/// Below this ratio it is not noticeable.
const RATIO: f64 = 1.05;

pub(super) static RULE: Rule = Rule {
    id: "link-oversubscribed",
    severity: Severity::Warn,
    summary: "uplinks slower than the links of the drives that share them",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    for link in shared(host) {
        match uplink(host, link) {
            Some(_) => tally.checked(),
            None => tally.unknown(link.name(), "the state of the link or of those below it"),
        }
    }
    for Uplink { link, drives, carried, sum } in oversubscribed(host) {
        let ratio = sum / carried;
        let names: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
        let state = link.current.get().map(|state| state.label()).unwrap_or_default();
        let mut evidence = vec![
            Evidence::new("ratio", format!("{ratio:.1} : 1")),
            Evidence::new("uplink", format!("{state}, {}", format_mb_per_s(carried))),
            Evidence::new(
                "links below",
                format!("{} of {} drives", format_mb_per_s(sum), drives.len()),
            ),
        ];
        let claims =
            drives.iter().map(|drive| claim_of(context.question.claims, drive)?.seq_read_mbs);
        if let Some(claimed) = claims.sum::<Option<f64>>() {
            evidence.push(Evidence::new("claims below", format_mb_per_s(claimed * 1e6)));
        }
        evidence.extend(measured(context, &names));
        tally.found(finding(
            Severity::Warn,
            links::subjects(host, link),
            format!(
                "{} of {} is oversubscribed {ratio:.1} : 1.",
                links::title(host, link),
                names.join(", ")
            ),
            evidence,
            "The drives reach their bandwidth one at a time, but not all at once.",
            link_advice(link),
        ));
    }
}

/// A link to several drives.
pub(super) struct Uplink<'h> {
    pub(super) link: &'h Link,
    pub(super) drives: Vec<&'h Drive>,
    /// Its rate, bytes per second.
    carried: f64,
    /// Sum of the drives' own links, bytes per second.
    sum: f64,
}

fn shared(host: &Host) -> impl Iterator<Item = &Link> {
    links::real(host).filter(|link| links::drives_below(host, link).count() > 1)
}

fn uplink<'h>(host: &'h Host, link: &'h Link) -> Option<Uplink<'h>> {
    let drives: Vec<&Drive> = links::drives_below(host, link).collect();
    let own = |drive: &&Drive| host.own_link(drive)?.payload_bytes_per_s();
    let sum = drives.iter().map(own).sum::<Option<f64>>()?;
    Some(Uplink { link, drives, carried: link.payload_bytes_per_s()?, sum })
}

/// Uplinks with a lower rate than the links below them; of several above the same drives, the
/// slowest.
pub(super) fn oversubscribed(host: &Host) -> Vec<Uplink<'_>> {
    let mut all: Vec<Uplink<'_>> = Vec::new();
    let found = shared(host).filter_map(|link| uplink(host, link));
    for one in found.filter(|one| one.sum / one.carried > RATIO) {
        match all.iter_mut().find(|known| known.drives == one.drives) {
            Some(known) if one.carried < known.carried => *known = one,
            Some(_) => {}
            None => all.push(one),
        }
    }
    all
}

/// Returns true if a reported uplink leads to all of these drives.
pub(super) fn has_reported_uplink(host: &Host, drives: &[Option<&Drive>]) -> bool {
    let leads_to = |uplink: &Uplink<'_>, drive: &Option<&Drive>| {
        drive.is_some_and(|drive| drive.links.iter().any(|name| name == uplink.link.name()))
    };
    oversubscribed(host).iter().any(|uplink| drives.iter().all(|one| leads_to(uplink, one)))
}

fn link_advice(link: &Link) -> String {
    format!(
        "Spread the drives over several uplinks, if bandwidth of all at once matters; the uplink: sudo lspci -vv -s {}",
        link.name()
    )
}

/// Rates of these drives at once compared with the sum of each alone, for each step.
fn measured(context: &RuleContext<'_>, names: &[&str]) -> Vec<Evidence> {
    let together = context.finished().map(|(_, of)| of).filter(|of| {
        of.targets.len() > 1
            && metric(of) != Metric::LatencyMean
            && shared_drives(&context.index, of).is_empty()
    });
    together.filter_map(|of| measured_at_once(context, names, of)).collect()
}

fn measured_at_once(
    context: &RuleContext<'_>,
    names: &[&str],
    together: &Measurement,
) -> Option<Evidence> {
    let is_below = |of: &Measurement, target: &str| {
        context.place(of, target).drive.is_some_and(|drive| names.contains(&drive.name.as_str()))
    };
    let metric = metric(together);
    let mut sums = (0.0, 0.0);
    let mut count = 0;
    for part in together.parts.iter().filter(|part| is_below(together, &part.target)) {
        let target = std::slice::from_ref(&part.target);
        let alone = context.index.finished_step(&together.name, target)?;
        sums.0 += figure_of(part.results.first()?, metric)?.value;
        sums.1 += figure_of(alone.total.first()?, metric)?.value;
        count += 1;
    }
    (count > 1 && sums.1 > 0.0).then(|| {
        let text = format!(
            "{} at once, {} the sum of each alone: {}",
            figure(metric, sums.0),
            figure(metric, sums.1),
            percent(sums.0 / sums.1)
        );
        Evidence::new(format!("measured ({})", together.name), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, link};
    use iodyno_model::{Fact, LinkState};

    fn shared(width: u8) -> Bench {
        Bench::new(3).measured().host(|host| {
            let mut up = link("0000:00:01.0", "0000:01:00.0");
            up.current = known(LinkState { generation: 4, width });
            host.links.push(up);
            for drive in &mut host.drives[..2] {
                drive.links.insert(0, "0000:01:00.0".into());
            }
        })
    }

    #[test]
    fn a_shared_uplink_is_named_with_its_ratio() {
        assert_eq!(check_rule(&RULE, &Bench::new(3).record()), Outcome::NotApplicable);
        assert_eq!(check_rule(&RULE, &shared(8).record()), Outcome::Clear);
        let outcome = check_rule(&RULE, &shared(4).record());
        let found = outcome.only(Severity::Warn);
        assert_eq!(found.subjects, ["nvme0", "nvme1", "0000:01:00.0"]);
        assert_eq!(found.evidence[0].value, "2.0 : 1");
        assert!(
            found
                .evidence
                .iter()
                .any(|e| e.what == "measured (seq-read)" && e.value.ends_with("100 %"))
        );
        // A second link above the same two adds nothing.
        let chain = shared(4).host(|host| {
            host.links.push(link("0000:00:01.1", "0000:02:00.0"));
            for drive in &mut host.drives[..2] {
                drive.links.insert(0, "0000:02:00.0".into());
            }
        });
        check_rule(&RULE, &chain.record()).only(Severity::Warn);
        let blind = shared(4).link(3, |link| link.current = Fact::Absent);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
