//! The rules: one file each, one line in [`rules`], one page in docs/rules/.

use iodyno_model::{
    Cause, Caveat, EndReason, Failure, Host, Measurement, RuleOutcome, RuleReport, Severity,
    Validity,
};

use crate::rule_context::RuleContext;
use qualifies::QualifyingRule;

mod above_claim;
mod advice;
mod all_at_once;
mod application_bound;
mod area_reread;
mod array_degraded;
mod behind_raid_card;
mod behind_vmd;
mod below_claim;
mod better_bay;
mod blocks_not_written;
mod blocks_split;
mod cgroup_limit;
mod compressible_data;
mod counters_differ;
mod depth_capped;
mod depth_ignored;
mod depth_not_reached;
mod drive_dead;
mod drive_missing;
mod few_queues;
mod fio_defects;
mod firmware_differs;
mod health_critical;
mod indirection_unit;
mod interrupts_on_one_cpu;
mod interval_too_wide;
mod io_errors;
mod io_scheduler;
mod iommu_strict;
mod latency_too_low;
mod layer_below_members;
mod lba_format;
mod link_degraded;
mod link_limited_by_slot;
mod link_oversubscribed;
mod link_target_speed;
mod link_unlike_peers;
mod measurement_failed;
mod media_errors;
mod media_errors_rising;
mod misaligned_layers;
mod not_steady;
mod numa_remote;
mod one_path_used;
mod other_io;
mod overlapping_jobs;
mod page_cache;
mod parity_small_writes;
mod payload_size;
mod pcie_errors;
mod power_saving;
mod process_stopped;
mod punted;
mod qualifies;
mod rate_cliff;
mod rate_not_reached;
mod sata_limits;
mod shared_limit;
mod slow_fluctuations;
mod steady_state_not_reached;
mod steadystate_slope;
mod stripe_cache;
mod submitter_saturated;
mod tail_not_drives;
mod tally;
mod target_qualified;
mod temperature;
mod thermal_throttling;
mod unaligned_io;
mod unlike_baseline;
mod unlike_peers;
mod verify_mismatch;
mod virtual_disk;
mod volume_limit;
mod worn_out;
mod write_cache_differs;
mod writeback_throttled;
mod zoned;

pub(crate) use tally::{Affected, Tally, finding, qualify, severity_of};

/// Reason and advice for I/O that failed for lack of space, which is no fault of the drive.
const DISK_FULL: (&str, &str) = (
    "The disk is full: the job's data did not fit.",
    "Free some space, or reduce size or filesize; fill_device=1 fills it on purpose",
);

/// Returns true if it, or I/Os of it, failed for lack of space.
fn disk_is_full(of: &Measurement) -> bool {
    const ENOSPC: i32 = 28;
    let is_full = |failure: &Failure| failure.cause == Cause::Errno(ENOSPC);
    let first = of
        .conditions
        .shortfalls
        .iter()
        .any(|one| matches!(one, Caveat::IosFailed { first, .. } if is_full(first)));
    let errors = || of.account.iter().flat_map(|account| &account.errors);
    first
        || matches!(&of.end, EndReason::Failed(failure) if is_full(failure))
        || errors().any(|error| error.errno == ENOSPC)
}

/// A named check of the evidence, described by data.
pub struct Rule {
    /// Name, kebab-case; also of its page, docs/rules/`id`.md.
    pub id: &'static str,
    /// Worst severity of its findings.
    pub severity: Severity,
    /// Short description of what it looks for.
    pub summary: &'static str,
    checks: Checks,
}

type Check = fn(&RuleContext<'_>, &mut Tally);
type CheckHost = fn(&RuleContext<'_>, &Host, &mut Tally);
type Reserve = fn(&RuleContext<'_>, usize) -> Option<Reservation>;

/// Scope of a rule.
enum Checks {
    /// The run.
    Run(Check),
    /// The run, and each measurement for a reservation.
    RunAndEach(Check, Reserve),
    /// The run's host, and the run.
    Host(CheckHost),
    /// The run's host, and each measurement for a reservation.
    HostAndEach(CheckHost, Reserve),
    /// Each measurement.
    Each(QualifyingRule),
    /// Each measurement; the advice is to change the jobs.
    EachOfJobs(QualifyingRule),
}

impl Rule {
    /// Defines a rule that is a single check of a measurement.
    const fn qualifies(of: QualifyingRule) -> Self {
        Self { id: of.id, severity: Severity::Info, summary: of.summary, checks: Checks::Each(of) }
    }

    /// Defines one that advises to change the jobs.
    const fn qualifies_jobs(of: QualifyingRule) -> Self {
        Self { checks: Checks::EachOfJobs(of), ..Self::qualifies(of) }
    }

    /// Checks the run, and reports findings, all clear, or what is missing.
    pub fn check(&'static self, context: &RuleContext<'_>) -> RuleReport {
        let mut tally = Tally::new(self);
        match &self.checks {
            Checks::Run(check) | Checks::RunAndEach(check, _) => check(context, &mut tally),
            Checks::Each(of) => of.check(context, &mut tally, of.next),
            Checks::EachOfJobs(of) => of.check(context, &mut tally, context.for_jobs(of.next)),
            Checks::Host(check) | Checks::HostAndEach(check, _) => match context.known_host() {
                Ok(host) => check(context, host, &mut tally),
                Err(missing) => {
                    return RuleReport {
                        rule: self.id.to_owned(),
                        outcome: RuleOutcome::CannotTell(missing),
                        cannot_tell: Vec::new(),
                    };
                }
            },
        }
        tally.report()
    }

    /// Returns its reservation about a measurement (an index into the run's), if any.
    pub fn reservation(
        &self,
        context: &RuleContext<'_>,
        measurement: usize,
    ) -> Option<Reservation> {
        match &self.checks {
            Checks::RunAndEach(_, reserve) | Checks::HostAndEach(_, reserve) => {
                reserve(context, measurement)
            }
            Checks::Each(of) | Checks::EachOfJobs(of) => of.reservation(context, measurement),
            Checks::Run(_) | Checks::Host(_) => None,
        }
    }
}

/// Limitation of what a measurement shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Qualified or invalid.
    pub validity: Validity,
    /// Reason, a sentence.
    pub why: String,
}

impl Reservation {
    /// The measurement is valid with this reservation.
    pub(crate) fn qualified(why: impl Into<String>) -> Self {
        Self { validity: Validity::Qualified, why: why.into() }
    }

    /// The measurement is invalid.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self { validity: Validity::Invalid, why: why.into() }
    }
}

/// Returns all rules, in the order in which findings of one severity are shown.
pub fn rules() -> impl ExactSizeIterator<Item = &'static Rule> {
    RULES.iter().map(|(rule, _)| *rule)
}

/// Returns the page of a rule, as Markdown; `None` if there is no such rule.
pub fn page(id: &str) -> Option<&'static str> {
    RULES.iter().find(|(rule, _)| rule.id == id).map(|(_, page)| *page)
}

/// A rule with its page, docs/rules/`id`.md.
macro_rules! listed {
    ($rule:expr, $id:literal) => {
        (&$rule, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/", $id, ".md")))
    };
}

pub(crate) use application_bound::is_decided;

static RULES: &[(&Rule, &str)] = &[
    listed!(drive_missing::RULE, "drive-missing"),
    listed!(drive_dead::RULE, "drive-dead"),
    listed!(measurement_failed::RULE, "measurement-failed"),
    listed!(health_critical::RULE, "health-critical"),
    listed!(io_errors::RULE, "io-errors"),
    listed!(verify_mismatch::RULE, "verify-mismatch"),
    listed!(media_errors_rising::RULE, "media-errors-rising"),
    listed!(media_errors::RULE, "media-errors"),
    listed!(worn_out::RULE, "worn-out"),
    listed!(array_degraded::RULE, "array-degraded"),
    listed!(temperature::RULE, "temperature"),
    listed!(thermal_throttling::RULE, "thermal-throttling"),
    listed!(pcie_errors::RULE, "pcie-errors"),
    listed!(link_degraded::RULE, "link-degraded"),
    listed!(link_unlike_peers::RULE, "link-unlike-peers"),
    listed!(link_target_speed::RULE, "link-target-speed"),
    listed!(link_limited_by_slot::RULE, "link-limited-by-slot"),
    listed!(link_oversubscribed::RULE, "link-oversubscribed"),
    listed!(payload_size::RULE, "payload-size"),
    listed!(iommu_strict::RULE, "iommu-strict"),
    listed!(all_at_once::RULE, "all-at-once"),
    listed!(shared_limit::RULE, "shared-limit"),
    listed!(layer_below_members::RULE, "layer-below-members"),
    listed!(better_bay::RULE, "better-bay"),
    listed!(firmware_differs::RULE, "firmware-differs"),
    listed!(write_cache_differs::RULE, "write-cache-differs"),
    listed!(lba_format::RULE, "lba-format"),
    listed!(zoned::RULE, "zoned"),
    listed!(virtual_disk::RULE, "virtual-disk"),
    listed!(volume_limit::RULE, "volume-limit"),
    listed!(blocks_not_written::RULE, "blocks-not-written"),
    listed!(cgroup_limit::RULE, "cgroup-limit"),
    listed!(application_bound::RULE, "application-bound"),
    listed!(below_claim::RULE, "below-claim"),
    listed!(above_claim::RULE, "above-claim"),
    listed!(unlike_peers::RULE, "unlike-peers"),
    listed!(unlike_baseline::RULE, "unlike-baseline"),
    listed!(submitter_saturated::RULE, "submitter-saturated"),
    listed!(depth_not_reached::RULE, "depth-not-reached"),
    listed!(rate_not_reached::RULE, "rate-not-reached"),
    listed!(other_io::RULE, "other-io"),
    listed!(counters_differ::RULE, "counters-differ"),
    listed!(not_steady::RULE, "not-steady"),
    listed!(slow_fluctuations::RULE, "slow-fluctuations"),
    listed!(steady_state_not_reached::RULE, "steady-state-not-reached"),
    listed!(rate_cliff::RULE, "rate-cliff"),
    listed!(process_stopped::RULE, "process-stopped"),
    listed!(tail_not_drives::RULE, "tail-not-drives"),
    listed!(steadystate_slope::RULE, "steadystate-slope"),
    listed!(interval_too_wide::RULE, "interval-too-wide"),
    listed!(overlapping_jobs::RULE, "overlapping-jobs"),
    listed!(page_cache::RULE, "page-cache"),
    listed!(latency_too_low::RULE, "latency-too-low"),
    listed!(depth_ignored::RULE, "depth-ignored"),
    listed!(depth_capped::RULE, "depth-capped"),
    listed!(blocks_split::RULE, "blocks-split"),
    listed!(io_scheduler::RULE, "io-scheduler"),
    listed!(writeback_throttled::RULE, "writeback-throttled"),
    listed!(numa_remote::RULE, "numa-remote"),
    listed!(one_path_used::RULE, "one-path-used"),
    listed!(interrupts_on_one_cpu::RULE, "interrupts-on-one-cpu"),
    listed!(few_queues::RULE, "few-queues"),
    listed!(power_saving::RULE, "power-saving"),
    listed!(unaligned_io::RULE, "unaligned-io"),
    listed!(indirection_unit::RULE, "indirection-unit"),
    listed!(misaligned_layers::RULE, "misaligned-layers"),
    listed!(parity_small_writes::RULE, "parity-small-writes"),
    listed!(stripe_cache::RULE, "stripe-cache"),
    listed!(area_reread::RULE, "area-reread"),
    listed!(compressible_data::RULE, "compressible-data"),
    listed!(punted::RULE, "punted"),
    listed!(target_qualified::RULE, "target-qualified"),
    listed!(behind_raid_card::RULE, "behind-raid-card"),
    listed!(sata_limits::RULE, "sata-limits"),
    listed!(behind_vmd::RULE, "behind-vmd"),
    listed!(fio_defects::RULE, "fio-defects"),
];

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::RULESET;

    /// A stored verdict names its ruleset and is not computed again. If a change to this crate may
    /// alter the verdict on a stored run, or its wording, [`RULESET`] is above the last release's.
    /// Always update the sum here.
    #[test]
    fn other_rules_are_another_ruleset() {
        const JUDGED_BY: (&str, u64) = ("8", 0xeaba_d89b_4217_b68c);
        let mut sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
        sources.sort();
        let texts = sources.iter().map(|path| std::fs::read_to_string(path).unwrap());
        // Tests and comments do not count. FNV-1a.
        let judging = texts.flat_map(|text| {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let lines = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            lines.flat_map(|line| line.as_bytes().to_vec()).collect::<Vec<u8>>()
        });
        let sum = judging.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!((RULESET, format!("{sum:#x}")), (JUDGED_BY.0, format!("{:#x}", JUDGED_BY.1)));
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let judging = entries.filter(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap();
            !name.ends_with("tests") && name != "testing"
        });
        judging.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn every_rule_has_its_page_and_every_page_its_rule() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/rules");
        let mut pages: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md")
            .collect();
        pages.sort();
        let mut expected: Vec<String> = rules().map(|r| format!("{}.md", r.id)).collect();
        expected.sort();
        assert_eq!(pages, expected);
        for rule in rules() {
            let text = page(rule.id).unwrap();
            assert!(text.starts_with(&format!("# {}\n", rule.id)), "{}", rule.id);
            let severity = format!("{:?}", rule.severity).to_uppercase();
            assert!(text.contains(&severity), "{}: its page names {severity}", rule.id);
            for part in ["What it looks at", "When it fires", "Why", "What to do", "Sources"] {
                assert!(text.contains(&format!("## {part}\n")), "{}: {part}", rule.id);
            }
            assert!(rule.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            assert!(!rule.summary.is_empty() && !rule.summary.ends_with('.'), "{}", rule.id);
        }
    }
}
