//! Qualifies depths that the I/O engine cannot keep.

use iodyno_model::{EngineKind, Measurement};

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "depth-ignored",
    summary: "iodepth above 1 with a synchronous engine",
    affected_by,
    what: "its iodepth had no effect",
    why: "The engine waits for each I/O before it submits the next, so each job was at depth 1 \
          whatever iodepth says.",
    next: "Take ioengine=io_uring or libaio with direct=1; or as many jobs (numjobs) as there are to \
           be I/Os outstanding.",
});

pub(super) fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let workload = &of.workload;
    let Some(depth) = workload.iodepth else { return Err("its iodepth is not known".into()) };
    if depth < 2 || of.workload.waits_for_each() == Some(false) {
        return Ok(None);
    }
    match (workload.ioengine.as_deref(), workload.direct) {
        (None, _) => Err("its I/O engine is not known".into()),
        (Some(engine), _) if EngineKind::of(engine).is_some_and(EngineKind::is_synchronous) => {
            Ok(Some(format!("iodepth={depth}, but {engine} is synchronous")))
        }
        // Buffered I/O: the kernel copies to and from the page cache within io_submit.
        (Some("libaio"), Some(false)) => {
            Ok(Some(format!("iodepth={depth}, and libaio without direct=1 waits for each I/O")))
        }
        (Some(_), _) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn engines_that_wait_have_no_depth() {
        let with = |engine: Option<&str>, depth: Option<u32>, direct: bool| {
            let bench = each(Bench::new(1).measured(), |of| {
                of.workload.ioengine = engine.map(str::to_owned);
                of.workload.iodepth = depth;
                of.workload.direct = Some(direct);
            });
            bench.record()
        };
        for (engine, depth, direct) in
            [("psync", 1, true), ("io_uring", 32, false), ("libaio", 32, true)]
        {
            assert_eq!(check_rule(&RULE, &with(Some(engine), Some(depth), direct)), Outcome::Clear);
        }
        for (engine, direct) in [("psync", true), ("mmap", false), ("libaio", false)] {
            let record = with(Some(engine), Some(32), direct);
            check_rule(&RULE, &record).only(Severity::Info);
            assert!(reserves(&RULE, &record, 0).unwrap().why.contains(engine));
        }
        let offloaded = each(Bench::new(1).measured(), |of| {
            (of.workload.ioengine, of.workload.iodepth) = (Some("psync".into()), Some(32));
            of.workload.options.insert("io_submit_mode".into(), "offload".into());
        });
        assert_eq!(check_rule(&RULE, &offloaded.record()), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with(None, Some(32), true)), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &with(Some("psync"), None, true)), Outcome::CannotTell);
        assert_eq!(check_rule(&RULE, &with(None, Some(1), true)), Outcome::Clear);
    }
}
