//! Qualifies written data that a drive or a layer can compress.

use iodyno_model::Measurement;

use super::Rule;
use super::qualifies::{AffectedBy, QualifyingRule};
use crate::measured::compressing_options;
use crate::rule_context::RuleContext;

pub(super) static RULE: Rule = Rule::qualifies_jobs(QualifyingRule {
    id: "compressible-data",
    summary: "writes of zeros, patterns, or compressible or duplicate data",
    affected_by,
    what: "the written data is compressible",
    why: "Some drives compress, some take zeros as a trim, and file systems and arrays \
          deduplicate: less is written than is counted, and what is read back later is no data \
          either. No drive says whether it does.",
    next: "Write random data (fio's default; refill_buffers=1 makes every buffer new), as SNIA's \
           specification asks for.",
});

fn affected_by(_: &RuleContext<'_>, of: &Measurement) -> AffectedBy {
    compressing_options(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Outcome, check_rule, each, reserves};
    use iodyno_model::Severity;

    #[test]
    fn only_what_is_written_counts() {
        let with = |rw: &str, source: &str, options: &[(&str, &str)]| {
            let bench = each(Bench::new(1).measured(), |of| {
                of.workload.rw = Some(rw.into());
                of.source = source.into();
                of.workload.direct = None;
                let owned = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
                of.workload.options = options.iter().map(owned).collect();
            });
            bench.record()
        };
        let zeros = [("zero_buffers", "")];
        assert_eq!(check_rule(&RULE, &with("randread", "native 1", &zeros)), Outcome::Clear);
        assert_eq!(check_rule(&RULE, &with("write", "native 1", &[])), Outcome::Clear);
        let off = [("buffer_compress_percentage", "0")];
        assert_eq!(check_rule(&RULE, &with("write", "fio 3.36", &off)), Outcome::Clear);
        for options in [zeros, [("dedupe_percentage", "50")]] {
            let record = with("randrw", "fio 3.36", &options);
            check_rule(&RULE, &record).only(Severity::Info);
            assert!(reserves(&RULE, &record, 0).unwrap().why.starts_with(options[0].0));
        }
        assert_eq!(check_rule(&RULE, &with("write", "fio 3.36", &[])), Outcome::CannotTell);
    }
}
