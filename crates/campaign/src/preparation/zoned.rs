//! Zoned devices: resets their zones, then fills them sequentially, one write at a time.

use iodyno_job::syntax::Section;
use iodyno_model::PurgeMethod;
use iodyno_target::{Target, TargetError, Zones};

use super::fill::{FILL, FILL_BYTES, refused, section};
use crate::error::CampaignError;
use crate::plan::Preparation;
use crate::targets::{ClearedTarget, Targets};

/// Refuses preparations that zones do not support.
pub(super) fn check(how: &Preparation, name: &str) -> Result<(), CampaignError> {
    if how.fill.is_some_and(|times| times > 1.0) {
        return Err(refused(name, "it is zoned; a zone fills only once: use --fill 1x"));
    }
    if how.condition.is_some() {
        return Err(refused(name, "it is zoned: random writes cannot condition it"));
    }
    if how.purge == Some(PurgeMethod::Discard) && how.fill.is_none() {
        let what = "it is zoned: reset it with --fill 1x or sudo blkzone reset";
        return Err(refused(name, what));
    }
    Ok(())
}

/// Job that fills the first zones of a device to their capacity, `times` of all, after a reset. An
/// interrupted fill starts over.
pub(super) fn fill(target: &Target, size_bytes: u64, times: f64) -> Result<Section, CampaignError> {
    let Zones { zone_bytes, capacity_bytes, count } = Zones::of(&target.clear_for_reading()?)?;
    let zones = ((count as f64 * times) as u64).clamp(1, count.max(1));
    // The largest block that fills a zone to its end.
    let block_bytes = FILL_BYTES.min(1 << capacity_bytes.trailing_zeros().min(63));
    let how = [
        ("rw", "write"),
        ("ioengine", "auto"),
        ("iodepth", "1"),
        ("refill_buffers", "1"),
        ("zonemode", "strided"),
    ];
    let numbers = [
        ("bs", block_bytes),
        ("offset", 0),
        ("size", size_bytes),
        ("io_size", zones.saturating_mul(capacity_bytes)),
        ("zonesize", capacity_bytes),
        ("zonerange", zone_bytes),
    ];
    Ok(section(FILL, target, &how, &numbers))
}

/// Resets all zones of zoned targets that will be filled.
pub(super) fn reset(targets: &Targets) -> Result<(), TargetError> {
    targets.all().iter().try_for_each(|held| match held {
        ClearedTarget::Write(target, clearance) if target.is_zoned() => clearance.reset_zones(),
        _ => Ok(()),
    })
}
