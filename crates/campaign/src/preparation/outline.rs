//! Announces what a preparation is about to do.

use iodyno_judge::{ClaimBook, claim_of};
use iodyno_model::{Bytes, Host, format_duration_ns, format_mb_per_s};
use iodyno_store::Store;
use iodyno_target::{Target, estimate_purge};

use super::Preparing;
use super::fill::filled_bytes;
use crate::announce;
use crate::error::CampaignError;
use crate::targets::key_of;

impl Preparing {
    /// Sentences on what will be destroyed and written: how much, how long, and which share of the
    /// rated endurance.
    ///
    /// # Errors
    /// A drive does not support this purge, or its reach is unknown.
    pub fn outline(
        &self,
        targets: &[Target],
        host: &Host,
        claims: &ClaimBook,
        store: &Store,
    ) -> Result<Vec<String>, CampaignError> {
        let mut sentences = Vec::new();
        let mut longest_ns = Some(0.0_f64);
        for target in targets {
            let name = target.name();
            if let Some(method) = self.how.purge.filter(|_| self.filled.is_nothing()) {
                let outlook = estimate_purge(host, target, method)?;
                let beside = match outlook.reaches.get(1..) {
                    Some([]) | None => String::new(),
                    Some(others) => format!(" and, with it, {}", others.join(", ")),
                };
                let time = outlook.estimated_s.map_or(String::new(), |seconds| {
                    format!(
                        "; the drive estimates {}",
                        format_duration_ns(f64::from(seconds) * 1e9)
                    )
                });
                sentences.push(format!(
                    "Destroys all data of {name}{beside} ({}){time}.",
                    method.name()
                ));
            }
            if target.is_zoned() && self.how.fill.is_some() {
                sentences.push(format!("Resets all zones of {name}: destroys all its data."));
            }
            let (Some(times), Some(size_bytes)) = (self.how.fill, target.size_bytes()) else {
                continue;
            };
            let whole_bytes = filled_bytes(size_bytes, times);
            let done_bytes = match target.is_zoned() {
                true => 0,
                false => self.filled.done_bytes(name, size_bytes, whole_bytes),
            };
            let bytes = whole_bytes - done_bytes;
            let drive = host.namespace(name).map(|(drive, _)| drive);
            let share =
                drive.map_or(String::new(), |drive| announce::endurance(bytes, drive, claims));
            let rate = known_rate(name, host, claims, store)?;
            let took_ns = rate.as_ref().map(|(per_s, _)| bytes as f64 / per_s * 1e9);
            longest_ns = longest_ns.zip(took_ns).map(|(longest, took)| longest.max(took));
            let time = match rate.zip(took_ns) {
                Some(((per_s, whose), ns)) => {
                    let rate = format_mb_per_s(per_s);
                    format!(" That takes about {} at {rate}, {whose}.", format_duration_ns(ns))
                }
                None => " Duration unknown.".into(),
            };
            let bytes = Bytes(bytes).decimal();
            let what = match done_bytes {
                0 => format!("{times}x its size"),
                _ => format!("the rest of {times}x its size"),
            };
            sentences.push(format!("Writes {bytes} to {name}, {what}{share}.{time}"));
        }
        if self.how.fill.is_some() && targets.len() > 1 {
            let time = longest_ns
                .map_or(String::new(), |ns| format!(": about {} in all", format_duration_ns(ns)));
            sentences.push(format!("All {} are filled at the same time{time}.", targets.len()));
        }
        if let Some(conditioning) = &self.condition {
            let most = format_duration_ns(conditioning.most_ns as f64);
            sentences.push(format!(
                "Then runs {} until each is steady, in rounds of {}: at most {most}.",
                conditioning.workload, self.how.round
            ));
        }
        Ok(sentences)
    }
}

/// Fill rate of a namespace, bytes per second, with its origin: its last fill, else its data sheet,
/// after the cache is full if stated.
fn known_rate(
    name: &str,
    host: &Host,
    claims: &ClaimBook,
    store: &Store,
) -> Result<Option<(f64, &'static str)>, CampaignError> {
    let Some((serial, nsid)) = key_of(name, host) else { return Ok(None) };
    let last = store.newest_drive_state(&serial, nsid)?.and_then(|state| state.fill);
    if let Some(fill) = last.filter(|fill| fill.duration_ns > 0 && fill.written_bytes > 0) {
        let per_s = fill.written_bytes as f64 * 1e9 / fill.duration_ns as f64;
        return Ok(Some((per_s, "the rate of its last fill")));
    }
    let claim = host.namespace(name).and_then(|(drive, _)| claim_of(claims, drive));
    let stated = claim.and_then(|claim| claim.after_cache_write_mbs.or(claim.seq_write_mbs));
    Ok(stated.filter(|rate| *rate > 0.0).map(|rate| (rate * 1e6, "its data sheet's rate")))
}
