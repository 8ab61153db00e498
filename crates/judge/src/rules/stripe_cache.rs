//! Qualifies writes on arrays with parity and the default stripe cache.

use iodyno_model::{Bytes, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::writes;
use crate::place::arrays_under;
use crate::rule_context::RuleContext;

/// Kernel default (NR_STRIPES in drivers/md/raid5.c), pages per member.
const DEFAULT_PAGES: u32 = 256;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "stripe-cache",
    summary: "writes on RAID 4, 5 or 6 whose stripe cache is no larger than the kernel's default",
    affected_by,
    what: "the array had the default stripe cache",
    why: "A write waits for a free stripe in memory; the cache grows by itself one stripe at a time, \
          and gives back what other memory needs.",
    next: "Compare with more: echo 8192 | sudo tee /sys/block/ARRAY/md/stripe_cache_size (so many \
           pages of memory for each member, 32 MiB with pages of 4 KiB), and with threads: \
           echo 4 | sudo tee /sys/block/ARRAY/md/group_thread_cnt. Neither outlives a reboot.",
});

pub(super) fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    if !writes(of) {
        return Ok(None);
    }
    let host = context.known_host()?;
    for (name, array) in arrays_under(host, of) {
        if !matches!(array.level.as_str(), "raid4" | "raid5" | "raid6") {
            continue;
        }
        let Some(pages) = array.stripe_cache_pages.value() else {
            return Err(format!("the stripe cache of {name} is not known"));
        };
        if pages > DEFAULT_PAGES {
            continue;
        }
        let page_bytes = u64::from(host.page_bytes.value().unwrap_or(4096));
        let each = Bytes(u64::from(pages) * page_bytes).binary();
        let threads = match array.stripe_threads.value() {
            Some(0) => "; one thread handles all stripes",
            _ => "",
        };
        return Ok(Some(format!(
            "stripe_cache_size of {name} is {pages}, {each} for each member{threads}"
        )));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, known, on_stack, reserves};
    use iodyno_model::{Direction, Fact, MdArray, RunRecord, Severity};

    fn writes_on(level: &str, pages: Fact<u32>) -> RunRecord {
        let array = MdArray {
            level: level.into(),
            stripe_cache_pages: pages,
            stripe_threads: known(0),
            ..MdArray::default()
        };
        on_stack(Bench::new(3).measured(), array, |of| {
            of.workload.rw = Some("write".into());
            of.total[0].direction = Direction::Write;
        })
    }

    #[test]
    fn the_default_is_reported_for_writes() {
        let small = writes_on("raid5", known(256));
        check_rule(&RULE, &small).only(Severity::Info);
        assert_eq!(
            reserves(&RULE, &small, 0).unwrap().why,
            "stripe_cache_size of md0 is 256, 1 MiB for each member; one thread handles all stripes"
        );
        assert_eq!(check_rule(&RULE, &writes_on("raid6", known(8192))), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &writes_on("raid0", Fact::Absent)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &writes_on("raid5", Fact::Absent)), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &Bench::new(1).measured().record()), Outcome::Clear);
    }
}
