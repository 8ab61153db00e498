//! Earlier results of `sweep headroom` in the store: the load that drives took within a latency
//! bound.

use iodyno_campaign::Study;
use iodyno_judge::{device_of, drive_under};
use iodyno_model::{EarlierHeadroom, Headroom, Measurement, RunRecord, RunState};
use iodyno_report::text::headroom_line;

use crate::context::Context;

/// One line for each of [`stored`].
pub(crate) fn lines(context: &Context, record: &RunRecord) -> Vec<String> {
    stored(context, record).iter().map(headroom_line).collect()
}

/// The newest earlier headroom of each drive of `record`, of reads and of flushes. A run that was
/// stopped has measured the light loads only.
pub(crate) fn stored(context: &Context, record: &RunRecord) -> Vec<EarlierHeadroom> {
    let mut open: Vec<(String, bool, String)> = Vec::new();
    for of in &record.measurements {
        let Some((key, device)) = key(record, of) else { continue };
        if !open.iter().any(|(known, ..)| *known == key) {
            open.extend([false, true].map(|sync| (key.clone(), sync, device.to_owned())));
        }
    }
    let mut all = Vec::new();
    // A run measured elsewhere can be shown without a store.
    let Ok(store) = context.store_to_read() else { return all };
    for run in store.runs().unwrap_or_default() {
        if open.is_empty() {
            break;
        }
        let is_before = run.started_ns < record.run.started_ns && run.origin == record.run.origin;
        let counts = is_before && run.state == RunState::Done;
        let study = Study::of(&run).filter(|study| counts && study.headroom.is_some());
        let Some((study, earlier)) = study.zip(store.load(&run.id).ok()) else { continue };
        for found in study.outlook(&earlier).map_or(Vec::new(), |outlook| outlook.headroom) {
            let measured = found.cells.iter().find_map(|cell| cell.measurement);
            let of = measured.and_then(|index| earlier.measurements.get(index));
            let Some((key, _)) = of.and_then(|of| key(&earlier, of)) else { continue };
            let is_it =
                |(known, sync, _): &(String, bool, String)| *known == key && *sync == found.sync;
            if let Some(at) = open.iter().position(is_it) {
                let target = open.remove(at).2;
                let (id, run_started_ns) = (run.id.clone(), run.started_ns);
                let of = Headroom { target, ..found };
                all.push(EarlierHeadroom { run: id, run_started_ns, of });
            }
        }
    }
    all
}

/// Key and name of the drive under the only target of a measurement. The key is the serial number,
/// else the host name with the device's name.
fn key<'m>(record: &RunRecord, of: &'m Measurement) -> Option<(String, &'m str)> {
    let [target] = of.targets.as_slice() else { return None };
    let device = device_of(of, target);
    let serial = drive_under(record, of).and_then(|drive| drive.serial.value());
    let key = serial.or_else(|| Some(format!("{}/{device}", record.host()?.hostname.value()?)))?;
    Some((key, device))
}
