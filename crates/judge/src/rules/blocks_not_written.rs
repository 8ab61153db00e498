//! Finds targets whose blocks were never written.

use iodyno_model::{Evidence, Severity, UnwrittenProof, WrittenEvidence, WrittenState};

use super::{Checks, Reservation, Rule, Tally, advice, finding};
use crate::figures::percent;
use crate::measured::unwritten;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule {
    id: "blocks-not-written",
    severity: Severity::Warn,
    summary: "reads of blocks that were never written, which measure no flash",
    checks: Checks::RunAndEach(check, reservation),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let mut reported: Vec<&str> = Vec::new();
    for (_, of) in context.finished() {
        for share in &of.conditions.written {
            let target = share.target.as_str();
            if reported.contains(&target) {
                continue;
            }
            reported.push(target);
            let (severity, what) = match share.state {
                WrittenState::Written => {
                    tally.checked();
                    continue;
                }
                WrittenState::Unknown => {
                    tally.unknown(
                        target,
                        format!("written state of its blocks: {}", share.evidence),
                    );
                    continue;
                }
                WrittenState::Partly => {
                    (Severity::Info, format!("{target} is only partly written."))
                }
                WrittenState::Unwritten => (
                    Severity::Warn,
                    format!("{target} is (nearly) empty; its read speeds are not valid."),
                ),
            };
            let mut subjects = vec![target.to_owned()];
            let place = context.place(of, target);
            subjects.extend(place.drive.filter(|_| place.whole).map(|drive| drive.name.clone()));
            let interval = share.share.bounds().map_or_else(String::new, |(low, high)| {
                format!(" ({} to {})", percent(low), percent(high))
            });
            // For a file, the file system knows, and nothing was sampled.
            let of_samples = match share.samples {
                0 => String::new(),
                samples => format!(" of {samples} samples"),
            };
            tally.found(finding(
                severity,
                subjects,
                what,
                vec![
                    Evidence::new(
                        "written",
                        format!("{}{interval}{of_samples}", percent(share.share.value)),
                    ),
                    Evidence::new("evidence", share.evidence.to_string()),
                ],
                why(target, &share.evidence, place.virtual_disk.is_some()),
                advice::fill(context.host(), of, target),
            ));
        }
    }
}

fn reservation(context: &RuleContext<'_>, measurement: usize) -> Option<Reservation> {
    let of = context.record().measurements.get(measurement)?;
    if unwritten(of) {
        let share = of.conditions.written.first().map_or(0.0, |share| share.share.value);
        return Some(Reservation::invalid(match of.targets.len() {
            1 => format!("{} of its blocks are written: too few to measure", percent(share)),
            _ => "no target holds enough data to measure".into(),
        }));
    }
    let in_state = |state| -> Vec<&str> {
        let shares = of.conditions.written.iter().filter(|share| share.state == state);
        shares.map(|share| share.target.as_str()).collect()
    };
    let (empty, partly) = (in_state(WrittenState::Unwritten), in_state(WrittenState::Partly));
    if !empty.is_empty() {
        return Some(Reservation::qualified(format!("{} was never written", empty.join(", "))));
    }
    (!partly.is_empty()).then(|| {
        let where_ = if of.conditions.ranges.is_empty() { "" } else { ", inside which it stayed" };
        Reservation::qualified(format!("only a part of {} is written{where_}", partly.join(", ")))
    })
}

/// Explains the high rates: a file's holes never reach a drive.
fn why(target: &str, evidence: &WrittenEvidence, is_virtual: bool) -> &'static str {
    if let WrittenEvidence::ThinVolume { .. }
    | WrittenEvidence::Sampled { proof: Some(UnwrittenProof::ThinVolume { .. }), .. } = evidence
    {
        return "A thin volume answers reads of blocks that it has not allocated with zeros, without the drive: such rates are not a drive's.";
    }
    match (target.starts_with('/') && !target.starts_with("/dev/"), is_virtual) {
        (true, _) => {
            "The file system answers reads of holes with zeros, without the drive: such rates are not a drive's."
        }
        (false, true) => {
            "A virtual disk answers reads of unwritten blocks without reading anything: such rates are not its own."
        }
        (false, false) => {
            "A drive answers reads of unwritten blocks without reading flash: such rates are not its own."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves, set_written};
    use iodyno_model::{RunRecord, Validity};

    fn with(state: WrittenState) -> RunRecord {
        let bench = Bench::new(1).measured();
        (0..3).fold(bench, |bench, n| bench.measurement(n, |of| set_written(of, state))).record()
    }

    #[test]
    fn unwritten_blocks_make_a_measurement_invalid() {
        let rule = &RULE;
        assert_eq!(check_rule(rule, &with(WrittenState::Written)), Outcome::Clear);
        assert_eq!(reserves(rule, &with(WrittenState::Written), 0), None);
        let outcome = check_rule(rule, &with(WrittenState::Unwritten));
        let next = &outcome.only(Severity::Warn).next;
        assert!(next.contains("sudo iodyno prepare nvme0n1 --fill 1x --dry-run"), "{next}");
        let invalid = reserves(rule, &with(WrittenState::Unwritten), 0).unwrap();
        assert_eq!(invalid.validity, Validity::Invalid);
        check_rule(rule, &with(WrittenState::Partly)).only(Severity::Info);
        let partly = reserves(rule, &with(WrittenState::Partly), 0).unwrap();
        assert_eq!(partly.validity, Validity::Qualified);
        assert_eq!(check_rule(rule, &with(WrittenState::Unknown)), Outcome::CannotTell);
        assert_eq!(reserves(rule, &with(WrittenState::Unknown), 0), None);
    }

    #[test]
    fn one_empty_drive_among_several_qualifies() {
        let bench = Bench::new(2).measured().measurement(6, |of| {
            of.conditions.written[1].state = WrittenState::Unwritten;
        });
        let reserved = reserves(&RULE, &bench.record(), 6).unwrap();
        assert_eq!(reserved.validity, Validity::Qualified);
        assert!(reserved.why.contains("nvme1n1"));
    }
}
