//! The rules: one file each, one line in [`rules`], one page in docs/rules/.

use iodyno_model::{RuleReport, Severity, Validity};

use crate::facts::Facts;

mod above_claim;
mod advice;
mod all_at_once;
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
mod worn_out;
mod write_cache_differs;
mod writeback_throttled;
mod zoned;

pub(crate) use indirection_unit::WriteRates;
pub(crate) use tally::{Affected, Tally, finding, qualify, severity_of};

/// Why, and what to do, where I/O failed for want of room: no fault of the drive.
const DISK_FULL: (&str, &str) = (
    "The disk is full: what the job was to write did not fit.",
    "Free some space or make the job smaller (size, filesize); fill_device=1 fills it on purpose",
);

/// A named check of evidence.
pub trait Rule: Sync {
    /// Its name, kebab-case; also of its page, docs/rules/`id`.md.
    fn id(&self) -> &'static str;

    /// The gravest finding that it can make.
    fn severity(&self) -> Severity;

    /// What it looks for, in a few words.
    fn summary(&self) -> &'static str;

    /// Looks, and says what it found, that all is well, or what is missing.
    fn check(&self, facts: &Facts<'_>) -> RuleReport;

    /// Its reservation about a measurement (an index into the run's), if any.
    fn reservation(&self, _facts: &Facts<'_>, _measurement: usize) -> Option<Reservation> {
        None
    }
}

/// Why a measurement does not quite say what it seems to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Qualified or invalid.
    pub validity: Validity,
    /// Why, in a sentence.
    pub why: String,
}

impl Reservation {
    /// It holds with this reservation.
    pub(crate) fn qualified(why: impl Into<String>) -> Self {
        Self { validity: Validity::Qualified, why: why.into() }
    }

    /// It does not hold.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self { validity: Validity::Invalid, why: why.into() }
    }
}

/// All rules, in the order in which findings of one severity are shown.
pub fn rules() -> impl ExactSizeIterator<Item = &'static dyn Rule> {
    RULES.iter().map(|(rule, _)| *rule)
}

/// The page of a rule, as Markdown; `None` where there is no rule of this name.
pub fn page(id: &str) -> Option<&'static str> {
    RULES.iter().find(|(rule, _)| rule.id() == id).map(|(_, page)| *page)
}

/// A rule with its page, docs/rules/`id`.md.
macro_rules! listed {
    ($rule:expr, $id:literal) => {
        (
            &$rule as &dyn Rule,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules/", $id, ".md")),
        )
    };
}

static RULES: &[(&dyn Rule, &str)] = &[
    listed!(drive_missing::DriveMissing, "drive-missing"),
    listed!(drive_dead::DriveDead, "drive-dead"),
    listed!(measurement_failed::MeasurementFailed, "measurement-failed"),
    listed!(health_critical::HealthCritical, "health-critical"),
    listed!(io_errors::IoErrors, "io-errors"),
    listed!(verify_mismatch::VerifyMismatch, "verify-mismatch"),
    listed!(media_errors_rising::MediaErrorsRising, "media-errors-rising"),
    listed!(media_errors::MediaErrors, "media-errors"),
    listed!(worn_out::WornOut, "worn-out"),
    listed!(array_degraded::ArrayDegraded, "array-degraded"),
    listed!(temperature::TemperatureHigh, "temperature"),
    listed!(thermal_throttling::ThermalThrottling, "thermal-throttling"),
    listed!(pcie_errors::PcieErrors, "pcie-errors"),
    listed!(link_degraded::LinkDegraded, "link-degraded"),
    listed!(link_unlike_peers::LinkUnlikePeers, "link-unlike-peers"),
    listed!(link_target_speed::LinkTargetSpeed, "link-target-speed"),
    listed!(link_limited_by_slot::LinkLimitedBySlot, "link-limited-by-slot"),
    listed!(link_oversubscribed::LinkOversubscribed, "link-oversubscribed"),
    listed!(payload_size::PayloadSize, "payload-size"),
    listed!(iommu_strict::IommuStrict, "iommu-strict"),
    listed!(all_at_once::AllAtOnce, "all-at-once"),
    listed!(shared_limit::SharedLimit, "shared-limit"),
    listed!(layer_below_members::LayerBelowMembers, "layer-below-members"),
    listed!(better_bay::BetterBay, "better-bay"),
    listed!(firmware_differs::FirmwareDiffers, "firmware-differs"),
    listed!(write_cache_differs::WriteCacheDiffers, "write-cache-differs"),
    listed!(lba_format::LbaFormatSlower, "lba-format"),
    listed!(zoned::Zoned, "zoned"),
    listed!(virtual_disk::VirtualDisk, "virtual-disk"),
    listed!(blocks_not_written::BlocksNotWritten, "blocks-not-written"),
    listed!(cgroup_limit::CgroupLimit, "cgroup-limit"),
    listed!(below_claim::BelowClaim, "below-claim"),
    listed!(above_claim::AboveClaim, "above-claim"),
    listed!(unlike_peers::UnlikePeers, "unlike-peers"),
    listed!(unlike_baseline::UnlikeBaseline, "unlike-baseline"),
    listed!(submitter_saturated::SubmitterSaturated, "submitter-saturated"),
    listed!(depth_not_reached::DepthNotReached, "depth-not-reached"),
    listed!(other_io::RULE, "other-io"),
    listed!(counters_differ::CountersDiffer, "counters-differ"),
    listed!(not_steady::NotSteady, "not-steady"),
    listed!(slow_fluctuations::SlowFluctuations, "slow-fluctuations"),
    listed!(steady_state_not_reached::SteadyStateNotReached, "steady-state-not-reached"),
    listed!(rate_cliff::RULE, "rate-cliff"),
    listed!(process_stopped::RULE, "process-stopped"),
    listed!(tail_not_drives::RULE, "tail-not-drives"),
    listed!(steadystate_slope::RULE, "steadystate-slope"),
    listed!(interval_too_wide::IntervalTooWide, "interval-too-wide"),
    listed!(overlapping_jobs::OverlappingJobs, "overlapping-jobs"),
    listed!(page_cache::RULE, "page-cache"),
    listed!(latency_too_low::LatencyTooLow, "latency-too-low"),
    listed!(depth_ignored::RULE, "depth-ignored"),
    listed!(depth_capped::RULE, "depth-capped"),
    listed!(blocks_split::RULE, "blocks-split"),
    listed!(io_scheduler::RULE, "io-scheduler"),
    listed!(writeback_throttled::RULE, "writeback-throttled"),
    listed!(numa_remote::RULE, "numa-remote"),
    listed!(one_path_used::RULE, "one-path-used"),
    listed!(interrupts_on_one_cpu::RULE, "interrupts-on-one-cpu"),
    listed!(few_queues::FewQueues, "few-queues"),
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
    use super::*;

    #[test]
    fn every_rule_has_its_page_and_every_page_its_rule() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules");
        let mut pages: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "README.md")
            .collect();
        pages.sort();
        let index = std::fs::read_to_string(format!("{directory}/README.md")).unwrap();
        let mut expected: Vec<String> = rules().map(|r| format!("{}.md", r.id())).collect();
        expected.sort();
        assert_eq!(pages, expected);
        for rule in rules() {
            let text = page(rule.id()).unwrap();
            assert!(text.starts_with(&format!("# {}\n", rule.id())), "{}", rule.id());
            let severity = format!("{:?}", rule.severity()).to_uppercase();
            let row = format!("| [{0}]({0}.md) | {severity} | {1} |", rule.id(), rule.summary());
            assert!(index.contains(&row), "the index has the line {row}");
            assert!(text.contains(&severity), "{}: its page names {severity}", rule.id());
            for part in ["What it looks at", "When it fires", "Why", "What to do", "Sources"] {
                assert!(text.contains(&format!("## {part}\n")), "{}: {part}", rule.id());
            }
            assert!(rule.id().chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            assert!(!rule.summary().is_empty() && !rule.summary().ends_with('.'), "{}", rule.id());
        }
    }
}
