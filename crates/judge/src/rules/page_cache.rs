//! Qualifies I/O through the page cache.

use iodyno_model::{Bytes, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::reach::reach_bytes;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "page-cache",
    summary: "I/O through the page cache, which serves reads and absorbs writes",
    affected_by,
    what: "I/O used the page cache",
    why: "Reads that it holds never reach the drive, and writes are done once they are in memory: \
          the figures are those of memory and drive together.",
    next: "Bypass it with direct=1; where the cache is what is to be measured, make the file larger \
           than the memory and end writes with end_fsync=1.",
});

pub(super) fn affected_by(context: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let through = match (of.workload.is_buffered(), of.workload.ioengine.as_deref()) {
        (Some(false), _) => return Ok(None),
        (Some(true), Some("mmap")) => "mapped memory is the page cache",
        (Some(true), _) => "direct=0",
        (None, _) => return Err("use of the page cache (direct) is not known".into()),
    };
    let memory = context.host().and_then(|host| host.memory.value());
    Ok(Some(match (reach_bytes(context.host(), of), memory) {
        (Some(bytes), Some(memory)) if bytes < memory.0 => format!(
            "{through}, and the {} in reach fit into {} of memory",
            Bytes(bytes).binary(),
            memory.binary()
        ),
        _ => format!("{through}: the page cache stands between the job and the drive"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn direct_io_is_clear_and_buffered_io_is_qualified() {
        let with = |direct: Option<bool>, engine: &str, size: Option<u64>| {
            let bench = each(Bench::new(1).measured(), |of| {
                of.workload.direct = direct;
                of.workload.ioengine = Some(engine.into());
                of.workload.size = size;
            });
            bench.record()
        };
        assert_eq!(check_rule(&RULE, &with(Some(true), "io_uring", None)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(Some(false), "io_uring_cmd", None)), Outcome::Clear);
        let small = with(Some(false), "psync", Some(1 << 30));
        check_rule(&RULE, &small).only(Severity::Info);
        let why = reserves(&RULE, &small, 0).unwrap().why;
        assert_eq!(why, "direct=0, and the 1 GiB in reach fit into 64 GiB of memory");
        let large = reserves(&RULE, &with(Some(false), "psync", Some(1 << 40)), 0).unwrap();
        assert!(!large.why.contains("fit"), "{large:?}");
        assert!(reserves(&RULE, &with(None, "mmap", None), 0).is_some());
        assert_eq!(check_rule(&RULE, &with(None, "psync", None)), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &Bench::new(1).record()), Outcome::NotApplicable);
    }
}
