//! The rules: one file each, one line in [`rules`], one page in docs/rules/.

use iodyno_model::{RuleReport, Severity, Validity};

use crate::facts::Facts;

mod above_claim;
mod all_at_once;
mod below_claim;
mod blocks_not_written;
mod depth_not_reached;
mod drive_dead;
mod drive_missing;
mod firmware_differs;
mod health_critical;
mod interval_too_wide;
mod io_errors;
mod lba_format;
mod link_degraded;
mod link_limited_by_slot;
mod link_oversubscribed;
mod link_target_speed;
mod link_unlike_peers;
mod measurement_failed;
mod media_errors;
mod media_errors_rising;
mod not_steady;
mod other_io;
mod overlapping_jobs;
mod punted;
mod steady_state_not_reached;
mod submitter_saturated;
mod tally;
mod target_qualified;
mod temperature;
mod thermal_throttling;
mod unlike_baseline;
mod unlike_peers;
mod verify_mismatch;
mod virtual_disk;
mod worn_out;

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
pub fn rules() -> &'static [&'static dyn Rule] {
    &[
        &drive_missing::DriveMissing,
        &drive_dead::DriveDead,
        &measurement_failed::MeasurementFailed,
        &health_critical::HealthCritical,
        &io_errors::IoErrors,
        &verify_mismatch::VerifyMismatch,
        &media_errors_rising::MediaErrorsRising,
        &media_errors::MediaErrors,
        &worn_out::WornOut,
        &temperature::TemperatureHigh,
        &thermal_throttling::ThermalThrottling,
        &link_degraded::LinkDegraded,
        &link_unlike_peers::LinkUnlikePeers,
        &link_target_speed::LinkTargetSpeed,
        &link_limited_by_slot::LinkLimitedBySlot,
        &link_oversubscribed::LinkOversubscribed,
        &all_at_once::AllAtOnce,
        &firmware_differs::FirmwareDiffers,
        &lba_format::LbaFormatSlower,
        &virtual_disk::VirtualDisk,
        &blocks_not_written::BlocksNotWritten,
        &below_claim::BelowClaim,
        &above_claim::AboveClaim,
        &unlike_peers::UnlikePeers,
        &unlike_baseline::UnlikeBaseline,
        &submitter_saturated::SubmitterSaturated,
        &depth_not_reached::DepthNotReached,
        &other_io::OtherIo,
        &not_steady::NotSteady,
        &steady_state_not_reached::SteadyStateNotReached,
        &interval_too_wide::IntervalTooWide,
        &overlapping_jobs::OverlappingJobs,
        &punted::Punted,
        &target_qualified::TargetQualified,
    ]
}

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
        let mut expected: Vec<String> = rules().iter().map(|r| format!("{}.md", r.id())).collect();
        expected.sort();
        assert_eq!(pages, expected);
        for rule in rules() {
            let text = std::fs::read_to_string(format!("{directory}/{}.md", rule.id())).unwrap();
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
