//! What differs in the conditions of a row's sides.

use std::collections::BTreeMap;

use iodyno_model::{BlockDevice, Drive, Fact, Host, Measurement, RunRecord, Use, WrittenState};

use super::pairing::Group;
use super::point::manner;
use super::sample::Sample;
use crate::place::{own_link, place};

/// A condition that is not the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// What it is: `kernel`, `firmware`, an option by fio's name.
    pub what: String,
    /// What it is on each side, in the order of the sides; several values where
    /// its repetitions differ, none where it is not known or not set.
    pub values: Vec<Vec<String>>,
    /// Where it differs: indices of rows.
    pub rows: Vec<usize>,
}

/// What is known of another side, and not of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKnown {
    /// The side, an index.
    pub side: usize,
    /// What is not known of it in any row.
    pub what: Vec<String>,
}

/// Conditions that are known of two sides at least and differ, and those that
/// are known of some sides alone. Rows in which the same differs are one entry.
pub(super) fn differing(rows: &[Group<'_>], sides: usize) -> (Vec<Differing>, Vec<NotKnown>) {
    let mut found: Vec<Differing> = Vec::new();
    let mut not_known: Vec<NotKnown> =
        (0..sides).map(|side| NotKnown { side, what: Vec::new() }).collect();
    for (index, row) in rows.iter().enumerate() {
        for (what, values) in by_condition(row, sides) {
            let here: Vec<bool> =
                (0..sides).map(|side| row.of_side(side).next().is_some()).collect();
            let mut known = values.iter().filter(|values| !values.is_empty());
            let Some(first) = known.next() else { continue };
            let differs = known.any(|values| values != first);
            for (side, values) in values.iter().enumerate() {
                if values.is_empty() && here[side] && !not_known[side].what.contains(&what) {
                    not_known[side].what.push(what.clone());
                }
            }
            if !differs {
                continue;
            }
            match found.iter_mut().find(|known| known.what == what && known.values == values) {
                Some(same) => same.rows.push(index),
                None => found.push(Differing { what, values, rows: vec![index] }),
            }
        }
    }
    not_known.retain(|side| !side.what.is_empty());
    (found, not_known)
}

/// Each condition's values by side, in the order of [`conditions`].
fn by_condition(row: &Group<'_>, sides: usize) -> Vec<(String, Vec<Vec<String>>)> {
    let mut all: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for sample in &row.samples {
        for (what, value) in conditions(sample) {
            let at = all.iter().position(|(known, _)| *known == what).unwrap_or(all.len());
            if at == all.len() {
                all.push((what, vec![Vec::new(); sides]));
            }
            let values = &mut all[at].1[sample.side];
            values.extend(value.filter(|value| !values.contains(value)));
        }
    }
    for (_, values) in &mut all {
        values.iter_mut().for_each(|values| values.sort());
    }
    all
}

type Conditions = Vec<(String, Option<String>)>;

/// What is known of the conditions of a repetition.
fn conditions(sample: &Sample<'_>) -> Conditions {
    let of = sample.first();
    let host = of.before.and_then(|at| sample.record.snapshots.get(at));
    let host = host.or_else(|| sample.record.host());
    let mut all = of_measurement(of);
    all.extend(host.map_or_else(Vec::new, of_host));
    all.extend(host.map_or_else(Vec::new, |host| of_device(sample.record, host, of)));
    all
}

fn of_measurement(of: &Measurement) -> Conditions {
    let mut manner: BTreeMap<String, String> = manner(of);
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let yes = |is: Option<bool>| is.map(|is| if is { "yes" } else { "no" }.to_owned());
    let conditions = &of.conditions;
    let mut all = vec![
        ("job".to_owned(), named(&of.name)),
        ("target".to_owned(), named(&of.targets.join(" "))),
        ("generator".to_owned(), named(&of.source)),
        ("ioengine".to_owned(), manner.remove("ioengine")),
        ("direct".to_owned(), manner.remove("direct")),
        ("iodepth".to_owned(), number(of.workload.iodepth)),
        ("numjobs".to_owned(), number(of.workload.numjobs)),
        ("registered buffers".to_owned(), yes(conditions.registered_buffers)),
        ("kernel threads ran the I/O".to_owned(), yes(conditions.punted)),
        ("blocks written".to_owned(), written(of)),
        ("device under it".to_owned(), conditions.device.clone()),
    ];
    all.extend(
        conditions
            .target_remarks
            .iter()
            .map(|_| ("remarks".to_owned(), named(&conditions.target_remarks.join("; "))))
            .take(1),
    );
    all.extend(manner.into_iter().map(|(name, value)| (name, Some(value))));
    all
}

fn written(of: &Measurement) -> Option<String> {
    let mut states: Vec<&str> = of
        .conditions
        .written
        .iter()
        .filter_map(|share| match share.state {
            WrittenState::Written => Some("all"),
            WrittenState::Partly => Some("some"),
            WrittenState::Unwritten => Some("none"),
            WrittenState::Unknown => None,
        })
        .collect();
    states.sort_unstable();
    states.dedup();
    (!states.is_empty()).then(|| states.join(" and "))
}

fn of_host(host: &Host) -> Conditions {
    let text = |what: &str, fact: &Fact<String>| (what.to_owned(), fact.value());
    let drivers = host.drivers.iter().map(|driver| match driver.version.get() {
        Some(version) => format!("{} {version}", driver.name),
        None => driver.name.clone(),
    });
    let drivers = drivers.collect::<Vec<_>>().join(", ");
    vec![
        text("host", &host.hostname),
        text("system", &host.system.product),
        text("BIOS", &host.system.bios_version),
        text("CPU", &host.cpus.model),
        ("CPUs".to_owned(), host.cpus.online.get().map(|cpus| cpus.len().to_string())),
        text("CPU governor", &host.cpus.governor),
        ("memory".to_owned(), host.memory.get().map(|bytes| bytes.binary())),
        text("kernel", &host.kernel.release),
        text("kernel command line", &host.kernel.command_line),
        text("distribution", &host.kernel.distribution),
        ("storage drivers".to_owned(), Some(drivers).filter(|text| !text.is_empty())),
    ]
}

/// Of the drives and block devices under its targets.
fn of_device(record: &RunRecord, host: &Host, of: &Measurement) -> Conditions {
    let places: Vec<_> = of.targets.iter().map(|target| place(Some(host), of, target)).collect();
    let drives: Vec<&Drive> = places.iter().filter_map(|place| place.drive).collect();
    let bottoms = places.iter().filter_map(|place| host.block(place.bottom.as_deref()?));
    let blocks: Vec<&BlockDevice> = bottoms.collect();
    let of_drives =
        |value: &dyn Fn(&Drive) -> Option<String>| joined(drives.iter().map(|d| value(d)));
    let of_blocks = |value: &dyn Fn(&BlockDevice) -> Option<String>| {
        joined(blocks.iter().map(|block| value(block)))
    };
    // As it was under load: an idle link may save power.
    let loaded = of.under_load.and_then(|at| record.snapshots.get(at)).unwrap_or(host);
    let queue = |block: &BlockDevice| block.queue.nr_requests.get().map(u32::to_string);
    vec![
        ("model".to_owned(), of_drives(&|drive| drive.model.value())),
        ("serial".to_owned(), of_drives(&|drive| drive.serial.value())),
        ("firmware".to_owned(), of_drives(&|drive| drive.firmware.value())),
        ("link".to_owned(), of_drives(&|drive| Some(own_link(loaded, drive)?.label()))),
        ("NUMA node".to_owned(), of_drives(&|drive| drive.numa_node.get().map(u32::to_string))),
        ("scheduler".to_owned(), of_blocks(&|block| block.queue.scheduler.value())),
        ("nr_requests".to_owned(), of_blocks(&queue)),
        ("write cache".to_owned(), of_blocks(&|block| block.queue.write_cache.value())),
        (
            "logical block".to_owned(),
            of_blocks(&|block| block.queue.logical_block_bytes.get().map(u32::to_string)),
        ),
        ("file system".to_owned(), file_system(host, of)),
    ]
}

/// The values that are known, each once.
fn joined(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut values: Vec<String> = values.flatten().collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Type and options of the file system that a path is on.
fn file_system(host: &Host, of: &Measurement) -> Option<String> {
    let device = of.conditions.device.as_deref()?;
    let block = host.block(device.strip_prefix("/dev/").unwrap_or(device))?;
    block.used_by.iter().find_map(|used| match used {
        Use::Mounted(mount) => Some(format!("{} ({})", mount.file_system, mount.options)),
        _ => None,
    })
}
