//! Finds arrays and volumes that are slower than their members should be together.

use iodyno_model::{Estimate, Evidence, Measurement, Metric, Severity, format_count};

use super::{Checks, Rule, Tally, array_degraded, finding, stripe_cache};
use crate::against_claim::found_limiters;
use crate::ceiling::{Bound, ceilings, gain, sheet_rate};
use crate::claims::claim_of;
use crate::figures;
use crate::figures::percent;
use crate::limiter::Case;
use crate::measured::{is_paced, metric, unwritten};
use crate::place::Place;
use crate::rule_context::RuleContext;
use crate::shape::Shape;

/// A layer is fine from this share of its expected rate on.
const FINE: f64 = 0.9;

pub(super) static RULE: Rule = Rule {
    id: "layer-below-members",
    severity: Severity::Warn,
    summary: "arrays and striped volumes slower than their level and members allow",
    checks: Checks::Run(check),
};

fn check(context: &RuleContext<'_>, tally: &mut Tally) {
    let record = context.record();
    let count = record.measurements.len();
    let cases: Vec<Case<'_>> = (0..count).filter_map(|index| Case::of(record, index)).collect();
    for case in cases.iter().filter(|case| is_meant(case)) {
        let of = case.of_run();
        match expected(context, case, &cases) {
            Err(missing) => tally.unknown(of.title(), missing),
            Ok(expected) => {
                tally.checked();
                if case.rate.high() < FINE * expected.rate.low() {
                    tally.found(short(context, case, &expected));
                }
            }
        }
    }
}

/// Returns true for a kernel layer over several devices, at full speed and with more than one I/O
/// at a time, since a single one only uses one member. A card's arrays are judged as the card.
fn is_meant(case: &Case<'_>) -> bool {
    let of = case.of_run();
    case.layer.is_some()
        && case.cards().is_empty()
        && of.targets.len() == 1
        && metric(of) != Metric::LatencyMean
        && !is_paced(of)
        && !unwritten(of)
}

/// Expected rate of a layer, and its source.
struct Expected {
    rate: Estimate,
    /// Rate of the slowest member, and its source.
    member: (f64, String),
    /// The members were measured in this run; else data sheets are used.
    measured: bool,
    /// Outstanding I/Os of the slowest member, if it was measured.
    outstanding: Option<u32>,
    /// Multiple of the slowest member.
    times: f64,
    /// Links that bound the rate below that.
    bound: Option<String>,
}

fn expected(
    context: &RuleContext<'_>,
    case: &Case<'_>,
    all: &[Case<'_>],
) -> Result<Expected, String> {
    let times = gain(case).ok_or("how its layers handle such I/O is not known")?.expected;
    let mut expected = measured(case, all)
        .or_else(|| claimed(context, case))
        .ok_or("its members were not measured alone, and some have no known data sheet")?;
    expected.rate = expected.rate.scaled(times);
    expected.times = times;
    let bounds = ceilings(case, all, context.question.claims);
    let links = bounds.iter().filter(|one| matches!(one.bound, Bound::Link | Bound::SharedLink));
    if let Some(link) = links.min_by(|a, b| a.low.total_cmp(&b.low))
        && link.low < expected.rate.low()
    {
        expected.rate = Estimate::bare(link.low);
        expected.bound = Some(link.what.clone());
    }
    Ok(expected)
}

/// The slowest of its members, if this run measured each alone.
fn measured(case: &Case<'_>, all: &[Case<'_>]) -> Option<Expected> {
    let shape = Shape::of(&case.of_run().workload);
    let alone = |other: &&Case<'_>| {
        let theirs = other.of_run();
        other.layer.is_none()
            && other.drive_count == 1
            && theirs.targets.len() == 1
            && other.metric == case.metric
            && Shape::of(&theirs.workload) == shape
    };
    let member = |name: &str| all.iter().filter(alone).find(|other| other.devices() == [name]);
    let members: Option<Vec<&Case<'_>>> = case.devices().into_iter().map(member).collect();
    let complete = members.filter(|members| members.len() == case.drive_count)?;
    let slowest = complete.into_iter().min_by(|a, b| a.rate.value.total_cmp(&b.rate.value))?;
    Some(Expected {
        rate: slowest.rate,
        member: (slowest.rate.value, format!("{} alone, the slowest member", slowest.place())),
        measured: true,
        outstanding: slowest.outstanding(),
        times: 1.0,
        bound: None,
    })
}

/// The slowest of its members by data sheet, if each has one.
fn claimed(context: &RuleContext<'_>, case: &Case<'_>) -> Option<Expected> {
    if case.drives.len() != case.drive_count || case.virtual_disk.is_some() {
        return None;
    }
    let sheets = case.drives.iter().map(|drive| {
        let sheet = claim_of(context.question.claims, drive)?;
        Some((sheet_rate(case, sheet)?, sheet))
    });
    let sheets: Vec<_> = sheets.collect::<Option<_>>()?;
    let (rate, sheet) = sheets.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Expected {
        rate: Estimate::bare(rate),
        member: (rate, format!("data sheet of {}", sheet.model)),
        measured: false,
        outstanding: None,
        times: 1.0,
        bound: None,
    })
}

fn short(context: &RuleContext<'_>, case: &Case<'_>, expected: &Expected) -> iodyno_model::Finding {
    let of = case.of_run();
    let layer = case.layer.as_deref().unwrap_or("layer");
    let share = percent(case.rate.value / expected.rate.value);
    let (member, source) = &expected.member;
    let mut evidence = vec![
        Evidence::new("measured", figures::estimate(case.metric, &case.rate)),
        Evidence::new("expected", figures::value(case.metric, expected.rate.value)),
        Evidence::new(source.clone(), figures::value(case.metric, *member)),
        Evidence::new(
            format!("{layer} of {}", case.drive_count),
            format!("x {}", format_count(expected.times)),
        ),
    ];
    evidence.extend(expected.bound.iter().map(|what| Evidence::new("bounded by", what.clone())));
    let other_causes = other_causes(context, case, expected);
    evidence.extend(other_causes.iter().map(|why| Evidence::new("beside", why.clone())));
    // A sheet's conditions are rarely those of an array in use.
    let severity = if expected.measured { Severity::Warn } else { Severity::Info };
    let next = match other_causes.is_empty() {
        true => format!(
            "Measure the members at once without the layer (iodyno check {} --busy where they are in use): \
             if they give more together, the layer is what limits; iodyno explain {} looks further.",
            members(case),
            case.place()
        ),
        false => "Remove the other causes, and repeat.".into(),
    };
    finding(
        severity,
        context.subjects(of),
        format!("{}: {share} of what a {layer} of these should reach.", of.title()),
        evidence,
        "The drives below are faster: the layer, its settings or a slow member is the limit.",
        next,
    )
}

/// Other possible causes.
fn other_causes(context: &RuleContext<'_>, case: &Case<'_>, expected: &Expected) -> Vec<String> {
    let of: &Measurement = case.of_run();
    // The layers themselves are what is judged.
    let place = Place { whole: true, ..Place::default() };
    let mut other_causes = found_limiters(&context.index, of, &place);
    let (asked, alone) = (case.outstanding(), expected.outstanding);
    if let (Some(asked), Some(alone)) = (asked, alone)
        && f64::from(asked) < f64::from(alone) * expected.times
    {
        other_causes.push(format!(
            "{asked} I/Os were outstanding, and {alone} on the member alone: too few for all members"
        ));
    }
    other_causes.extend(array_degraded::degraded_or_syncing(context, of).ok().flatten());
    other_causes.extend(stripe_cache::affected_by(context, of).ok().flatten());
    other_causes
}

/// Names of the devices below it, separated by blanks.
fn members(case: &Case<'_>) -> String {
    let names = crate::place::devices(case.host(), case.of_run());
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, scale, set_written, stack};
    use iodyno_model::{MdArray, RunRecord, WrittenState};

    /// Two drives measured alone, and an array on them whose `seq-read` and `rand-read` have
    /// `factor` times the rate of the two drives at once.
    fn array(level: &str, factor: f64) -> RunRecord {
        let bench = Bench::new(2).measured().host(|host| {
            stack(host, MdArray { level: level.into(), ..MdArray::default() });
        });
        let bench = [6, 7].into_iter().fold(bench, |bench, at| {
            bench.measurement(at, |of| {
                of.targets = vec!["md0".into()];
                of.parts.clear();
                of.conditions.written.truncate(1);
                of.conditions.written[0].target = "md0".into();
                scale(of, factor);
            })
        });
        bench.record()
    }

    #[test]
    fn a_layer_is_held_against_its_slowest_member() {
        let rule = &RULE;
        assert_eq!(check_rule(rule, &Bench::new(2).measured().record()), Outcome::NotApplicable);
        assert_eq!(check_rule(rule, &array("raid0", 1.0)), Outcome::Clear);
        assert_eq!(check_rule(rule, &array("raid5", 0.95)), Outcome::Clear);
        let Outcome::Findings(short) = check_rule(rule, &array("raid0", 0.5)) else { panic!() };
        assert_eq!(short.len(), 2);
        assert!(short.iter().all(|found| found.severity == Severity::Warn));
        assert_eq!(short[0].what, "seq-read md0: 50 % of what a raid0 of these should reach.");
        assert!(short[0].next.contains("iodyno check nvme0n1 nvme1n1"), "{}", short[0].next);
        // A stripe is as slow as its slowest member.
        let mut slow = array("raid0", 0.5);
        scale(&mut slow.measurements[3], 0.5);
        scale(&mut slow.measurements[4], 0.5);
        assert_eq!(check_rule(rule, &slow), Outcome::Clear);
        let mut empty = array("raid0", 0.5);
        empty.measurements.iter_mut().for_each(|of| set_written(of, WrittenState::Unwritten));
        assert_eq!(check_rule(rule, &empty), Outcome::NotApplicable);
        let set = |of: &mut Measurement, option: &str, value: &str| {
            of.workload.options.insert(option.into(), value.into());
        };
        let mut paced = array("raid0", 0.5);
        paced.measurements.iter_mut().for_each(|of| set(of, "rate_iops", "5000"));
        assert_eq!(check_rule(rule, &paced), Outcome::NotApplicable);
        // Members with another workload do not count: their data sheets are used.
        let mut other = array("raid0", 0.5);
        other.measurements[..6].iter_mut().for_each(|of| set(of, "fsync", "1"));
        let Outcome::Findings(found) = check_rule(rule, &other) else { panic!() };
        assert!(found.iter().all(|found| found.severity == Severity::Info), "{found:?}");
    }

    #[test]
    fn a_mirror_may_read_a_sequence_from_one_copy() {
        let Outcome::Findings(found) = check_rule(&RULE, &array("raid1", 0.5)) else { panic!() };
        let [random] = found.as_slice() else { panic!("{found:?}") };
        assert!(random.what.starts_with("rand-read"), "{random:?}");
    }

    #[test]
    fn sheets_stand_in_for_members_and_weigh_less() {
        let mut record = array("raid0", 0.5);
        record.measurements.drain(..6);
        let Outcome::Findings(found) = check_rule(&RULE, &record) else { panic!() };
        assert!(found.iter().all(|found| found.severity == Severity::Info), "{found:?}");
        for drive in &mut record.snapshots[0].drives {
            drive.model = crate::testing::known("X".into());
        }
        assert_eq!(check_rule(&RULE, &record), Outcome::CannotTell);
        // The expected rate of such a layer is not known.
        assert_eq!(check_rule(&RULE, &array("linear", 0.5)), Outcome::CannotTell);
    }

    #[test]
    fn other_causes_are_named() {
        let mut shallow = array("raid0", 0.5);
        shallow.measurements[7].conditions.depth_asked = Some(64);
        shallow.measurements.remove(6);
        let outcome = check_rule(&RULE, &shallow);
        let found = outcome.only(Severity::Warn);
        let other_causes =
            found.evidence.iter().any(|one| one.value.contains("too few for all members"));
        assert!(other_causes && found.next.contains("other causes"), "{found:?}");
    }

    #[test]
    fn a_shared_uplink_bounds_what_is_expected() {
        let mut record = array("raid0", 0.5);
        let host = &mut record.snapshots[0];
        let mut uplink = host.links[0].clone();
        uplink.device.address = "0000:01:00.0".into();
        host.links.push(uplink);
        for drive in &mut host.drives {
            drive.links.insert(0, "0000:01:00.0".into());
        }
        record.measurements.remove(7);
        // 6800 of 7094 MB/s.
        assert_eq!(check_rule(&RULE, &record), Outcome::Clear);
    }
}
