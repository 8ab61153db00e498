//! Traits that defective or slow drives have in common.

use std::collections::BTreeMap;

use iodyno_stats::{fisher_exact, holm};

use super::drive::{DriveKind, FleetClass, FleetDrive};

/// Largest corrected probability at which a common trait is reported.
const MOST_CHANCE: f64 = 0.01;
/// Minimum number of affected drives with the trait.
const FEWEST_DRIVES: u64 = 3;
/// Lengths of the serial number prefixes that may identify a batch: vendors count in the last
/// characters.
const BATCH_PREFIXES: [usize; 3] = [6, 8, 10];

/// Trait shared by affected drives and rare among the others.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTrait {
    /// Model and capacity of the drives.
    pub of: DriveKind,
    /// The problem: `slow` for their class, or the rule that they fail.
    pub reason: String,
    /// Kind of trait: `firmware`, `slot`, `chassis`, `kernel`, `host`, `serials`.
    pub what: &'static str,
    /// Value of the trait.
    pub value: String,
    /// Affected drives with the trait, and all affected drives.
    pub wrong: (u64, u64),
    /// Other drives with the trait, and all others.
    pub others: (u64, u64),
    /// Probability of this by chance (Fisher's exact test, Holm's correction for all traits
    /// tested).
    pub chance: f64,
}

/// Finds traits that set outliers and FAILs apart from other drives of the same model and capacity,
/// across firmware revisions.
pub(super) fn common_traits(classes: &[FleetClass]) -> Vec<CommonTrait> {
    let mut models: BTreeMap<DriveKind, Vec<(&DriveKind, &FleetDrive)>> = BTreeMap::new();
    for class in classes {
        let Some(kind) = class.kind.as_ref().filter(|kind| kind.model.is_some()) else { continue };
        let of = DriveKind { firmware: None, ..kind.clone() };
        models.entry(of).or_default().extend(class.drives.iter().map(|drive| (kind, drive)));
    }
    let mut found = Vec::new();
    for (of, drives) in models {
        let all = drives.len() as u64;
        // Different problems have different traits in common.
        let mut reasons: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for (at, (_, drive)) in drives.iter().enumerate() {
            for reason in drive.problems() {
                reasons.entry(reason).or_insert_with(|| vec![false; drives.len()])[at] = true;
            }
        }
        for (reason, is_wrong) in reasons {
            let wrong = is_wrong.iter().filter(|is| **is).count() as u64;
            if wrong < FEWEST_DRIVES || wrong == all {
                continue;
            }
            // Indices of the affected drives with each trait, and the number of others with it.
            let mut values: BTreeMap<(&'static str, String), (Vec<usize>, u64)> = BTreeMap::new();
            for (at, ((kind, drive), is_wrong)) in drives.iter().zip(is_wrong).enumerate() {
                for value in traits(kind, drive) {
                    let (affected, others) = values.entry(value).or_default();
                    if is_wrong { affected.push(at) } else { *others += 1 }
                }
            }
            found.extend(values.into_iter().map(|((what, value), (affected, others))| {
                let count = affected.len() as u64;
                let common = CommonTrait {
                    of: of.clone(),
                    reason: reason.to_owned(),
                    what,
                    value,
                    wrong: (count, wrong),
                    others: (others, all - wrong),
                    chance: fisher_exact(count, wrong, count + others, all),
                };
                (common, affected)
            }));
        }
    }
    let corrected = holm(&found.iter().map(|(of, _)| of.chance).collect::<Vec<_>>());
    for ((of, _), chance) in found.iter_mut().zip(corrected) {
        of.chance = chance;
    }
    found.retain(|(of, _)| of.chance <= MOST_CHANCE && of.wrong.0 >= FEWEST_DRIVES);
    found.sort_by(|(a, _), (b, _)| {
        let longer = b.value.len().cmp(&a.value.len());
        a.chance.total_cmp(&b.chance).then_with(|| b.wrong.0.cmp(&a.wrong.0)).then(longer)
    });
    let mut kept: Vec<(CommonTrait, Vec<usize>)> = Vec::new();
    for (of, affected) in found {
        let is_redundant = kept.iter().any(|(surer, all)| {
            let is_of_it = surer.of == of.of && surer.reason == of.reason;
            // Redundant: a host of a kernel that slows all its hosts; of serial prefixes with the
            // same drives all but the longest.
            let is_less =
                affected.len() < all.len() || (surer.what, of.what) == ("serials", "serials");
            let more = affected.iter().filter(|one| all.binary_search(one).is_err()).count() as u64;
            is_of_it && is_less && more < FEWEST_DRIVES
        });
        if !is_redundant {
            kept.push((of, affected));
        }
    }
    kept.into_iter().map(|(of, _)| of).collect()
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
        all.extend(BATCH_PREFIXES.into_iter().filter_map(batch));
    }
    all
}
