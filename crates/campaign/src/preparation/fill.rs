//! Job sections for fills and discards.

use iodyno_job::syntax::{Entry, Place, Section};
use iodyno_target::Target;

use crate::error::CampaignError;

/// Block size of a fill (SNIA SSS PTS: workload independent preconditioning), bytes.
pub(super) const FILL_BYTES: u64 = 128 << 10;
/// Size of one discard request, bytes; a discard can be stopped between two.
pub(super) const DISCARD_BYTES: u64 = 256 << 20;
/// Name of its measurements.
pub(super) const FILL: &str = "fill";

/// Error for a target that cannot be prepared.
pub(super) fn refused(name: &str, what: &str) -> CampaignError {
    CampaignError::NotPrepared { name: name.into(), what: what.into() }
}

/// Bytes to write, in whole blocks; the last partial block of a device is extra.
pub(super) fn filled_bytes(size_bytes: u64, times: f64) -> u64 {
    (whole_bytes(size_bytes) as f64 * times) as u64 / FILL_BYTES * FILL_BYTES
}

/// Size of a device in whole blocks, bytes.
pub(super) const fn whole_bytes(size_bytes: u64) -> u64 {
    size_bytes / FILL_BYTES * FILL_BYTES
}

/// Section of a job on a device.
pub(super) fn section(
    name: &str,
    target: &Target,
    how: &[(&str, &str)],
    numbers: &[(&str, u64)],
) -> Section {
    let path = target.path().display().to_string();
    let filename = path.replace('\\', "\\\\").replace(':', "\\:");
    let words = how.iter().map(|(option, value)| ((*option).to_owned(), (*value).to_owned()));
    let numbers = numbers.iter().map(|(option, value)| ((*option).to_owned(), value.to_string()));
    let own = [("filename".to_owned(), filename), ("direct".to_owned(), "1".to_owned())];
    let entry = |(name, value)| Entry { name, value: Some(value), place: place() };
    Section {
        name: name.to_owned(),
        place: place(),
        entries: own.into_iter().chain(words).chain(numbers).map(entry).collect(),
        inherited: 0,
    }
}

pub(super) fn place() -> Place {
    Place { source: "prepare".into(), line: None }
}
