//! What the drives with something wrong have in common.

use std::collections::BTreeMap;

use iodyno_stats::{fisher_exact, holm};

use super::{DriveKind, FleetClass, FleetDrive};

/// What is said to be in common is by chance no more often than this, of all that was looked at.
const CHANCE: f64 = 0.01;
/// Drives that have it in common, at least.
const FEWEST: u64 = 3;
/// Characters of a serial number that stand for a batch, at least and at most: vendors count in the last ones.
const BATCH: [usize; 3] = [6, 8, 10];

/// Something that drives with something wrong have in common, and that most others have not.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Model and capacity of the drives.
    pub of: DriveKind,
    /// What is wrong with them: `slow` for their class, or the rule that they fail.
    pub reason: String,
    /// What it is: `firmware`, `slot`, `chassis`, `kernel`, `host`, `serials`.
    pub what: &'static str,
    /// Which one.
    pub value: String,
    /// Drives with something wrong that have it, and all of those.
    pub wrong: (u64, u64),
    /// Other drives that have it, and all of those.
    pub others: (u64, u64),
    /// By chance as much or more, corrected for all that was looked at.
    pub chance: f64,
}

/// Of drives of one model and capacity, whatever their firmware, those that are outliers or FAIL beside the others.
pub(super) fn in_common(classes: &[FleetClass]) -> Vec<Common> {
    let mut models: BTreeMap<DriveKind, Vec<(&DriveKind, &FleetDrive)>> = BTreeMap::new();
    for class in classes {
        let Some(kind) = class.kind.as_ref().filter(|kind| kind.model.is_some()) else { continue };
        let of = DriveKind { firmware: None, ..kind.clone() };
        models.entry(of).or_default().extend(class.drives.iter().map(|drive| (kind, drive)));
    }
    let mut found = Vec::new();
    for (of, drives) in models {
        let all = drives.len() as u64;
        // What is wrong for different reasons has different things in common.
        let mut reasons: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (at, (_, drive)) in drives.iter().enumerate() {
            for reason in drive.wrong_by() {
                reasons.entry(reason).or_insert_with(|| vec![false; drives.len()])[at] = true;
            }
        }
        for (reason, is_wrong) in reasons {
            let wrong = is_wrong.iter().filter(|is| **is).count() as u64;
            if wrong < FEWEST || wrong == all {
                continue;
            }
            let mut values: BTreeMap<(&'static str, String), (u64, u64)> = BTreeMap::new();
            for ((kind, drive), is_wrong) in drives.iter().zip(is_wrong) {
                for value in traits(kind, drive) {
                    let (those, others) = values.entry(value).or_default();
                    if is_wrong { *those += 1 } else { *others += 1 }
                }
            }
            found.extend(values.into_iter().map(|((what, value), (those, others))| Common {
                of: of.clone(),
                reason: reason.to_owned(),
                what,
                value,
                wrong: (those, wrong),
                others: (others, all - wrong),
                chance: fisher_exact(those, wrong, those + others, all),
            }));
        }
    }
    let corrected = holm(&found.iter().map(|of| of.chance).collect::<Vec<_>>());
    for (of, chance) in found.iter_mut().zip(corrected) {
        of.chance = chance;
    }
    found.retain(|of| of.chance <= CHANCE && of.wrong.0 >= FEWEST);
    // Of prefixes of serials that hold the same drives the longest is told.
    let told: Vec<Common> = found.clone();
    found.retain(|of| {
        !(of.what == "serials"
            && told.iter().any(|other| {
                (&other.reason, other.what, other.wrong, other.others)
                    == (&of.reason, of.what, of.wrong, of.others)
                    && other.value.len() > of.value.len()
            }))
    });
    found.sort_by(|a, b| a.chance.total_cmp(&b.chance).then_with(|| b.wrong.0.cmp(&a.wrong.0)));
    found
}

fn traits(kind: &DriveKind, drive: &FleetDrive) -> Vec<(&'static str, String)> {
    let of = &drive.traits;
    let known = [
        ("firmware", &kind.firmware),
        ("slot", &of.slot),
        ("chassis", &of.chassis),
        ("kernel", &of.kernel),
    ];
    let mut all: Vec<_> =
        known.into_iter().filter_map(|(what, value)| Some((what, value.clone()?))).collect();
    all.push(("host", drive.host.clone()));
    if let Some(serial) = &drive.serial {
        let batch = |length| Some(("serials", format!("{}…", serial.get(..length)?)));
        all.extend(BATCH.into_iter().filter_map(batch));
    }
    all
}
