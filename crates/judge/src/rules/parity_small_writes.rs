//! Qualifies writes smaller than a stripe on arrays with parity.

use iodyno_model::{Bytes, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::ceiling::small_writes;
use crate::limiter::Case;
use crate::measured::writes;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "parity-small-writes",
    summary: "random writes below a stripe on RAID 4, 5 or 6, which cost four or six I/Os each",
    affected_by,
    what: "each write cost the array several I/Os",
    why: "To keep its parity right the array reads the old block and the old parity and writes both \
          anew, so the members are busy long before the figure looks like it.",
    next: "For many small writes take RAID 10 or RAID 1; else make writes as large as a full stripe \
           and aligned to it (a smaller chunk makes a smaller stripe: iodyno layouts holds chunks \
           against each other on empty drives).",
});

fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let record = context.record();
    if !writes(of) {
        return Ok(None);
    }
    context.known_host()?;
    // Binary search by address: `of` is an element of the slice.
    let index =
        record.measurements.binary_search_by_key(&std::ptr::from_ref(of), std::ptr::from_ref);
    let Some(case) = index.ok().and_then(|index| Case::of(record, index)) else { return Ok(None) };
    Ok(small_writes(&case).map(|cost| {
        let layer = case.layer.as_deref().unwrap_or_default();
        let full = cost.stripe_bytes.map_or_else(String::new, |bytes| {
            format!("; a full stripe is {}", Bytes(bytes).binary())
        });
        format!("{} I/Os of the members for each write on {layer}{full}", cost.ios)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, reserves, stack};
    use iodyno_model::{Direction, MdArray, RunRecord, Severity};

    /// Random writes of this size, bytes, on an array of three drives.
    fn writes_of(level: &str, block_bytes: u64) -> RunRecord {
        let array =
            MdArray { level: level.into(), chunk_bytes: Some(64 << 10), ..MdArray::default() };
        let bench = Bench::new(3).measured().host(|host| stack(host, array));
        let mut record = bench.record();
        let mut of = record.measurements[1].clone();
        of.targets = vec!["md0".into()];
        of.workload.rw = Some("randwrite".into());
        of.workload.bs = Some(block_bytes);
        of.total[0].direction = Direction::Write;
        record.measurements = vec![of];
        record
    }

    #[test]
    fn writes_within_a_stripe_say_what_they_cost() {
        let small = writes_of("raid5", 4096);
        check_rule(&RULE, &small).only(Severity::Info);
        assert_eq!(
            reserves(&RULE, &small, 0).unwrap().why,
            "4 I/Os of the members for each write on raid5; a full stripe is 128 KiB"
        );
        let two = reserves(&RULE, &writes_of("raid6", 4096), 0).unwrap().why;
        assert!(two.starts_with("6 I/Os"), "{two}");
        assert_eq!(check_rule(&RULE, &writes_of("raid5", 128 << 10)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &writes_of("raid0", 4096)), Outcome::Clear);
        let mut reads = small.clone();
        reads.measurements[0].workload.rw = Some("randread".into());
        reads.measurements[0].total[0].direction = Direction::Read;
        assert_eq!(check_rule(&RULE, &reads), Outcome::Clear);
        let mut blind = small;
        blind.snapshots.clear();
        assert_eq!(check_rule(&RULE, &blind), Outcome::CannotTell);
    }
}
