//! Power saving, as a suspect.

use iodyno_model::{Drive, Fact, Host, Measurement, RunRecord, format_count};

use super::bottlenecks::ocp_grown;
use crate::measured::pauses;
use crate::outstanding::allowed;

/// Power saving, with a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PowerSaving {
    /// The drive is in a reduced power state.
    Reduced(String),
    /// Link or drive may rest between I/Os.
    Resting(String),
}

/// Returns the power saving of link or drive if it matters for the measurement: at depth 1, or with
/// pauses. `Ok(None)`: none. `Err`: what is missing to tell.
pub(crate) fn power_saving<'a>(
    record: &RunRecord,
    host: &Host,
    drives: impl IntoIterator<Item = &'a Drive>,
    of: &Measurement,
) -> Result<Option<PowerSaving>, String> {
    let drives = drives.into_iter();
    for drive in drives.filter(|drive| drive.virtual_disk.is_none() && !drive.links.is_empty()) {
        if let Some(state) = reduced(drive) {
            return Ok(Some(PowerSaving::Reduced(state)));
        }
        let (at_depth_1, paced) = (allowed(of) == Some(1), pauses(of));
        let changes = ocp_grown(record, of, &drive.name, |log| log.power_state_changes);
        if let Some(changes) = changes.filter(|changes| *changes > 0 && (at_depth_1 || paced)) {
            let times = format_count(changes as f64);
            let why = format!("{} changed power state {times} times (OCP)", drive.name);
            return Ok(Some(PowerSaving::Resting(why)));
        }
        let resting = match (at_depth_1, paced) {
            // The drive counts its changes, and there were none.
            (_, true) if changes.is_some() => resting_link(host, drive)?,
            (_, true) => resting_drive(drive)?.or(resting_link(host, drive)?),
            (true, false) => resting_link(host, drive)?,
            _ => None,
        };
        if resting.is_some() {
            return Ok(resting.map(PowerSaving::Resting));
        }
    }
    Ok(None)
}

/// Describes an operational power state below the best one, which affects all figures of the drive.
fn reduced(drive: &Drive) -> Option<String> {
    let state = *drive.power_state.get()?;
    let states = &drive.identify.get()?.power_states;
    let found = states.get(usize::from(state)).filter(|found| state > 0 && found.operational)?;
    let power = found.max_power_mw.map(|mw| format!(" (at most {:.1} W)", mw as f64 / 1e3));
    Some(format!("{} is in power state {state}{}", drive.name, power.unwrap_or_default()))
}

fn resting_link(host: &Host, drive: &Drive) -> Result<Option<String>, String> {
    for link in drive.links.iter().filter_map(|name| host.link(name)) {
        let Some(aspm) = link.aspm.get() else {
            let why = link.aspm.why_unknown().unwrap_or_default();
            return Err(format!("power saving of link {} (ASPM): {why}", link.name()));
        };
        let Some(states) = aspm.label() else { continue };
        return Ok(Some(format!("ASPM lets link {} rest in {states}", link.name())));
    }
    Ok(None)
}

fn resting_drive(drive: &Drive) -> Result<Option<String>, String> {
    match drive.autonomous_power_states.get() {
        Some(allowed) => {
            Ok(allowed.then(|| format!("APST lets {} leave its power state by itself", drive.name)))
        }
        // A drive without APST stays in its state.
        None if drive.autonomous_power_states == Fact::Absent => Ok(None),
        None => Err(format!("autonomous power states of {} are not known", drive.name)),
    }
}
