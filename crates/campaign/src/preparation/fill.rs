//! How fills and discards are asked for: blocks, names and sections.

use iodyno_job::syntax::{Entry, Place, Section};
use iodyno_target::Target;

use crate::error::CampaignError;

/// A fill is written in blocks of this size (SNIA SSS PTS: workload
/// independent preconditioning), bytes.
pub(super) const FILL_BYTES: u64 = 128 << 10;
/// A discard is asked for in pieces of this size, bytes: so often it can be stopped.
pub(super) const DISCARD_BYTES: u64 = 256 << 20;
/// The name of its measurements.
pub(super) const FILL: &str = "fill";

/// A target that cannot be prepared.
pub(super) fn refused(name: &str, what: &str) -> CampaignError {
    CampaignError::NotPrepared { name: name.into(), what: what.into() }
}

/// So many bytes are written, in whole blocks; the rest of a device that ends
/// within one comes on top.
pub(super) fn filled_bytes(size_bytes: u64, times: f64) -> u64 {
    (whole_bytes(size_bytes) as f64 * times) as u64 / FILL_BYTES * FILL_BYTES
}

/// The whole blocks of a device.
pub(super) const fn whole_bytes(size_bytes: u64) -> u64 {
    size_bytes / FILL_BYTES * FILL_BYTES
}

/// A job on a device.
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
    }
}

pub(super) fn place() -> Place {
    Place { source: "prepare".into(), line: None }
}
