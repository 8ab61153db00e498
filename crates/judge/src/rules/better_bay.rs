//! Finds a fast drive in a slow bay, while a slower one has a fast bay.

use iodyno_model::{Drive, Evidence, Host, LinkState, Severity, format_mb_per_s};

use super::{Checks, Rule, Tally, finding};
use crate::claims::claim_of;
use crate::rule_context::RuleContext;

/// Minimum relative gain of a swap that is worth the work.
const GAIN: f64 = 0.1;

pub(super) static RULE: Rule = Rule {
    id: "better-bay",
    severity: Severity::Info,
    summary: "a fast drive in a slow or shared bay, while a slower drive has a fast one",
    checks: Checks::Host(check),
};

fn check(context: &RuleContext<'_>, host: &Host, tally: &mut Tally) {
    let drives: Vec<&Drive> = host
        .drives
        .iter()
        .filter(|drive| drive.virtual_disk.is_none() && !drive.links.is_empty())
        .collect();
    if drives.len() < 2 {
        return;
    }
    let able: Vec<Option<f64>> = drives.iter().map(|drive| able(context, host, drive)).collect();
    let mut bays = Vec::new();
    for (n, drive) in drives.iter().enumerate() {
        let (Some(able), Some(bay)) = (able[n], bay(host, drive, &drives, &able)) else {
            tally.unknown(&drive.name, "capability of the drive or the links above it");
            continue;
        };
        bays.push(Bay { drive, able, bay });
    }
    if bays.len() > 1 {
        tally.checked();
    }
    if let Some((fast, slow, gain)) = best_swap(&bays) {
        tally.found(swap(fast, slow, gain));
    }
}

fn swap(fast: &Bay<'_>, slow: &Bay<'_>, gain: f64) -> iodyno_model::Finding {
    let (a, b) = (&fast.drive.name, &slow.drive.name);
    let words = |bay: &Bay<'_>| {
        format!("able to {}, its bay to {}", format_mb_per_s(bay.able), format_mb_per_s(bay.bay))
    };
    finding(
        Severity::Info,
        vec![a.clone(), b.clone()],
        format!("{a} is faster than its bay, {b} slower than its own: swap them."),
        vec![
            Evidence::new(a.clone(), words(fast)),
            Evidence::new(b.clone(), words(slow)),
            Evidence::new("together, swapped", format!("{} more", format_mb_per_s(gain))),
        ],
        "The bandwidth is available, but in the wrong bay.",
        format!(
            "Swap {a} and {b}, where both bays take both drives (form factor, cooling), with the machine off or \
             both unused: nothing on a drive depends on its bay."
        ),
    )
}

/// A drive and its bay, bytes per second.
struct Bay<'h> {
    drive: &'h Drive,
    /// Rate of the drive in any bay.
    able: f64,
    /// Rate of the bay with any drive.
    bay: f64,
}

/// Rate of a drive over a link of its own capability, or less if its data sheet says so.
fn able(context: &RuleContext<'_>, host: &Host, drive: &Drive) -> Option<f64> {
    let link = host.own_link(drive)?;
    let state = LinkState {
        generation: link.device.max_generation.value()?,
        width: link.device.max_width.value()?,
    };
    let payload = state.payload_bytes_per_s(link.max_payload_bytes())?;
    let claimed = claim_of(context.question.claims, drive).and_then(|claim| claim.seq_read_mbs);
    Some(claimed.map_or(payload, |mbs| payload.min(mbs * 1e6)))
}

/// Rate of the ports above a drive: of a shared one an equal part, or what the others cannot use if
/// that is more.
fn bay(host: &Host, drive: &Drive, drives: &[&Drive], able: &[Option<f64>]) -> Option<f64> {
    let own = drive.links.last()?;
    let mut carries = f64::INFINITY;
    for name in &drive.links {
        let link = host.link(name)?;
        // The drive's own end of its link moves with it.
        let state = match name == own {
            true => LinkState {
                generation: link.port.max_generation.value()?,
                width: link.port.max_width.value()?,
            },
            false => link.able()?,
        };
        let payload = state.payload_bytes_per_s(link.max_payload_bytes())?;
        let below: Vec<f64> = drives
            .iter()
            .zip(able)
            .filter(|(other, _)| other.links.contains(name))
            .map(|(other, able)| if other.name == drive.name { Some(0.0) } else { *able })
            .collect::<Option<_>>()?;
        let left = payload - below.iter().sum::<f64>();
        carries = carries.min(left.max(payload / below.len() as f64));
    }
    Some(carries)
}

/// Returns the pair whose swap gains most, the drive that gains first, and the gain.
fn best_swap<'b, 'h>(bays: &'b [Bay<'h>]) -> Option<(&'b Bay<'h>, &'b Bay<'h>, f64)> {
    let pairs = bays.iter().flat_map(|a| bays.iter().map(move |b| (a, b)));
    pairs
        .filter(|(fast, slow)| fast.able > slow.able && fast.bay < slow.bay)
        .filter_map(|(fast, slow)| {
            let now = fast.able.min(fast.bay) + slow.able.min(slow.bay);
            let swapped = fast.able.min(slow.bay) + slow.able.min(fast.bay);
            (swapped - now > GAIN * now).then_some((fast, slow, swapped - now))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, link};
    use iodyno_model::Fact;

    /// nvme0 and nvme1 share an uplink of this width; nvme2 is a Gen3 drive in a bay of its own.
    fn shared(width: u8) -> Bench {
        let bench = Bench::new(3).link(2, |link| link.device.max_generation = known(3));
        bench.host(|host| {
            let mut up = link("0000:00:01.0", "0000:01:00.0");
            up.port.max_width = known(width);
            up.device.max_width = known(width);
            host.links.push(up);
            for drive in &mut host.drives[..2] {
                drive.links.insert(0, "0000:01:00.0".into());
            }
        })
    }

    #[test]
    fn a_swap_that_gains_is_advised() {
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
        assert_eq!(check_rule(&RULE, &Bench::new(3).record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &shared(8).record()), Outcome::Clear);
        // An x4 uplink: 3547 MB/s each, enough for the Gen3 drive.
        let outcome = check_rule(&RULE, &shared(4).record());
        let found = outcome.only(Severity::Info);
        assert!(found.subjects.contains(&"nvme2".to_owned()), "{found:?}");
        assert!(found.evidence[2].value.starts_with("3253 MB/s"), "{found:?}");
        // An x2 slot with an x4 drive.
        let slots = Bench::new(2)
            .link(0, |link| link.port.max_width = known(2))
            .link(1, |link| link.device.max_width = known(2));
        check_rule(&RULE, &slots.record()).only(Severity::Info);
        let blind = Bench::new(2).link(0, |link| link.port.max_width = Fact::Absent);
        assert_eq!(check_rule(&RULE, &blind.record()), Outcome::CannotTell);
    }
}
