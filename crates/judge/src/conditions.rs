//! Parses the conditions of a claim, as far as its text states them.

use std::sync::OnceLock;

use regex_lite::Regex;

/// Conditions in the first clause of `seq_cond`, `rand_cond` or `lat_cond`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClaimConditions {
    /// Block size, bytes.
    pub(crate) block_bytes: Option<u64>,
    /// Outstanding I/Os of all threads.
    pub(crate) outstanding: Option<u64>,
}

/// Parses `4K QD32 x 4 threads (QD128); QD1 15k/50k IOPS`: 4 KiB, 128.
pub(crate) fn parse_conditions(conditions: &str) -> ClaimConditions {
    static BLOCK: OnceLock<Regex> = OnceLock::new();
    static DEPTH: OnceLock<Regex> = OnceLock::new();
    let block = BLOCK.get_or_init(|| {
        Regex::new(r"\b(\d{1,4}) ?(K|M)(?:i?B)?\b").expect("a constant that the tests compile")
    });
    let depth = DEPTH.get_or_init(|| {
        Regex::new(r"\bQD ?(\d{1,5})(?: ?x ?(\d{1,4}) (?:threads|workers|jobs))?")
            .expect("a constant that the tests compile")
    });
    // Later clauses state other figures, with other conditions.
    let first = conditions.split(';').next().unwrap_or_default();
    let number =
        |text: Option<regex_lite::Match<'_>>| text.and_then(|m| m.as_str().parse::<u64>().ok());
    let block_bytes = block.captures(first).and_then(|found| {
        let shift = if found.get(2).is_some_and(|unit| unit.as_str() == "M") { 20 } else { 10 };
        number(found.get(1)).map(|count| count << shift)
    });
    let outstanding = depth
        .captures(first)
        .and_then(|found| Some(number(found.get(1))? * number(found.get(2)).unwrap_or(1)));
    ClaimConditions { block_bytes, outstanding }
}

/// Returns true if these are the conditions of a random read latency at depth 1. False without
/// conditions: they may be any.
pub(crate) fn is_random_at_depth_1(conditions: &str) -> bool {
    let first = conditions.split(';').next().unwrap_or_default();
    let says_so = first.contains("QD1") || first.contains("random");
    says_so
        && !first.contains("sequential")
        && parse_conditions(first).outstanding.is_none_or(|qd| qd == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_as_they_are_printed() {
        let is = |text, block_bytes, outstanding| {
            assert_eq!(
                parse_conditions(text),
                ClaimConditions { block_bytes, outstanding },
                "{text}"
            );
        };
        is("4K QD32 x 4 threads (QD128); QD1 15k/50k IOPS", Some(4096), Some(128));
        is("4K QD256", Some(4096), Some(256));
        is("128K QD256 1 job (Solidigm, rev 004)", Some(131_072), Some(256));
        is("64K", Some(65_536), None);
        is("1 MiB", Some(1 << 20), None);
        is("", None, None);
        is("4K, full span", Some(4096), None);
    }

    #[test]
    fn only_random_latencies_at_depth_1_are_comparable() {
        for yes in [
            "4K QD1 typical",
            "random, typical; sequential 10 us read / 13 us write",
            "QD1 typical (<10 us); 99.999% 60 us read / 100 us write",
        ] {
            assert!(is_random_at_depth_1(yes), "{yes}");
        }
        for no in ["", "sequential, typical", "random, QD16"] {
            assert!(!is_random_at_depth_1(no), "{no}");
        }
    }
}
