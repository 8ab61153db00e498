//! What drives took of a load within a bound, as `sweep headroom` measured it before and the store
//! keeps it.

use iodyno_campaign::Study;
use iodyno_judge::{device_of, drive_under};
use iodyno_model::{EarlierHeadroom, Headroom, Measurement, RunRecord};
use iodyno_report::text::headroom_line;

use crate::context::Context;

/// A line for each of [`stored`].
pub(crate) fn lines(context: &Context, record: &RunRecord) -> Vec<String> {
    stored(context, record).iter().map(headroom_line).collect()
}

/// Of each drive of `record` of which the store has one, the newest before it.
pub(crate) fn stored(context: &Context, record: &RunRecord) -> Vec<EarlierHeadroom> {
    let mut open: Vec<(String, String)> = Vec::new();
    for of in &record.measurements {
        let Some((key, device)) = key(record, of) else { continue };
        if !open.iter().any(|(known, _)| *known == key) {
            open.push((key, device.to_owned()));
        }
    }
    let mut all = Vec::new();
    // What was measured elsewhere can be shown where there is no store.
    let Ok(store) = context.store_to_read() else { return all };
    for run in store.runs().unwrap_or_default() {
        if open.is_empty() {
            break;
        }
        let is_before = run.started_ns < record.run.started_ns && run.origin == record.run.origin;
        let study = Study::of(&run).filter(|study| is_before && study.headroom.is_some());
        let Some((study, earlier)) = study.zip(store.load(&run.id).ok()) else { continue };
        for found in study.outlook(&earlier).map_or(Vec::new(), |outlook| outlook.headroom) {
            let measured = found.cells.iter().find_map(|cell| cell.measurement);
            let of = measured.and_then(|index| earlier.measurements.get(index));
            let Some((key, _)) = of.and_then(|of| key(&earlier, of)) else { continue };
            if let Some(at) = open.iter().position(|(known, _)| *known == key) {
                let target = open.remove(at).1;
                let (id, run_started_ns) = (run.id.clone(), run.started_ns);
                let of = Headroom { target, ..found };
                all.push(EarlierHeadroom { run: id, run_started_ns, of });
            }
        }
    }
    all
}

/// What the drive under the one target of a measurement is known by again, its serial number, else
/// the machine's name and its own; and what it is called.
fn key<'m>(record: &RunRecord, of: &'m Measurement) -> Option<(String, &'m str)> {
    let [target] = of.targets.as_slice() else { return None };
    let device = device_of(of, target);
    let serial = drive_under(record, of).and_then(|drive| drive.serial.value());
    let key = serial.or_else(|| Some(format!("{}/{device}", record.host()?.hostname.value()?)))?;
    Some((key, device))
}
