//! Qualifies I/O handed to kernel worker threads.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies(QualifyingRule {
    id: "punted",
    summary: "I/O that the kernel handed to worker threads",
    affected_by,
    what: "the kernel handed the I/O to worker threads",
    why: "Such targets cannot take I/O without waiting (NOWAIT); each I/O costs a thread switch, so latencies are higher and rates lower.",
    next: "Measure the device below directly (sudo iodyno check DEVICE), or compare with \
           ioengine=libaio.",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    let words = "kernel threads ran the I/O: the target has no NOWAIT support";
    match of.conditions.punted {
        Some(punted) => Ok(punted.then(|| words.to_owned())),
        None => Err("whether kernel threads ran the I/O is not recorded".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_qualifies;

    #[test]
    fn punting_qualifies() {
        assert_qualifies(
            &RULE,
            |of| of.conditions.punted = Some(true),
            |of| of.conditions.punted = None,
        );
    }
}
