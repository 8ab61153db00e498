//! Differences between the conditions of a row's sides.

use std::collections::BTreeMap;

use iodyno_model::{
    BlockDevice, Bytes, Drive, Fact, Host, Link, Measurement, ReplayedIos, ReplayedTrace,
    RunRecord, WrittenState, format_duration_ns,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::pairing::Group;
use super::point::{Key, free_options};
use super::sample::Sample;
use super::stack;
use crate::place::{device_of, own_link, place};

/// A condition that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Differing {
    /// Name of the condition: `kernel`, `firmware`, or a fio option.
    pub what: String,
    /// Values by side: several if its repetitions differ, none if not known or not set.
    pub values: Vec<Vec<String>>,
    /// Rows in which it differs, as indices.
    pub rows: Vec<usize>,
}

/// Conditions known of other sides but not of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotKnown {
    /// Index of the side.
    pub side: usize,
    /// Conditions that are not known in any of its rows.
    pub what: Vec<String>,
}

/// Condition of one repetition.
struct Condition {
    what: String,
    value: Option<String>,
    unknown: Unknown,
}

/// Treatment of a side without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// Reported as not known.
    Reported,
    /// Ignored.
    Ignored,
    /// A difference: an option that is not set is not recorded.
    IsDifference,
}

/// Values of a row's condition, by side.
struct Values {
    what: String,
    unknown: Unknown,
    by_side: Vec<Vec<String>>,
    /// Sides that have this condition.
    asked: Vec<bool>,
}

/// Returns the conditions that differ, and those known of only some sides. Rows with the same
/// difference share one entry.
pub(super) fn differing(rows: &[Group<'_>], sides: usize) -> (Vec<Differing>, Vec<NotKnown>) {
    let mut found: Vec<Differing> = Vec::new();
    let mut places: BTreeMap<(String, Vec<Vec<String>>), usize> = BTreeMap::new();
    let mut not_known: Vec<NotKnown> =
        (0..sides).map(|side| NotKnown { side, what: Vec::new() }).collect();
    for (index, row) in rows.iter().enumerate() {
        let here: Vec<bool> = (0..sides).map(|side| row.of_side(side).next().is_some()).collect();
        for Values { what, unknown, by_side: values, asked } in by_condition(row, sides) {
            let known: Vec<&Vec<String>> = values.iter().filter(|of| !of.is_empty()).collect();
            let Some(first) = known.first() else { continue };
            let missing = (0..sides).filter(|side| here[*side] && values[*side].is_empty());
            let missing: Vec<usize> = missing.collect();
            if unknown == Unknown::Reported {
                for side in missing.iter().filter(|side| asked[**side]) {
                    let known = &mut not_known[*side].what;
                    if !known.contains(&what) {
                        known.push(what.clone());
                    }
                }
            }
            let unstated = unknown == Unknown::IsDifference && !missing.is_empty();
            if !unstated && known.iter().all(|values| values == first) {
                continue;
            }
            let at = *places.entry((what.clone(), values.clone())).or_insert(found.len());
            match found.get_mut(at) {
                Some(same) => same.rows.push(index),
                None => found.push(Differing { what, values, rows: vec![index] }),
            }
        }
    }
    not_known.retain(|side| !side.what.is_empty());
    (found, not_known)
}

/// Each condition's values by side, in the order of [`conditions`].
fn by_condition(row: &Group<'_>, sides: usize) -> Vec<Values> {
    let mut all: Vec<Values> = Vec::new();
    for sample in &row.samples {
        for Condition { what, value, unknown } in conditions(sample) {
            let at = all.iter().position(|known| known.what == what).unwrap_or(all.len());
            if at == all.len() {
                let (by_side, asked) = (vec![Vec::new(); sides], vec![false; sides]);
                all.push(Values { what, unknown, by_side, asked });
            }
            all[at].asked[sample.side] = true;
            let values = &mut all[at].by_side[sample.side];
            values.extend(value.filter(|value| !values.contains(value)));
        }
    }
    for values in all.iter_mut().flat_map(|of| &mut of.by_side) {
        values.sort();
    }
    all
}

/// Known conditions of a repetition.
fn conditions(sample: &Sample<'_>) -> Vec<Condition> {
    let of = sample.first();
    let host = of.before.and_then(|at| sample.record.snapshots.get(at));
    let mut all = of_workload(&sample.key);
    all.extend(of.replayed().into_iter().flat_map(|replayed| of_replay(&replayed.trace)));
    all.extend(of_measurement(of));
    match host.or_else(|| sample.record.host()) {
        Some(host) => {
            all.extend(of_host(host));
            all.extend(of_device(sample.record, host, of));
        }
        None => all.push(or_unknown("host", None)),
    }
    all
}

/// Conditions that define the row: they differ only between unlike workloads.
fn of_workload(key: &Key) -> Vec<Condition> {
    let mut all = vec![
        or_ignored("direction", Some(key.direction.name().to_owned())),
        or_ignored("rw", key.rw.clone()),
        or_ignored("bs", key.bs.map(|bs| Bytes(bs).binary())),
    ];
    all.extend(key.shape.iter().map(|(name, value)| or_different(name, Some(value.clone()))));
    all
}

/// What was replayed, and how.
fn of_replay(trace: &ReplayedTrace) -> Vec<Condition> {
    let ReplayedIos { reads, writes, discards, flushes, .. } = trace.ios;
    let ios = reads + writes + discards + flushes;
    let how = match (trace.closed, trace.speed_percent) {
        (true, _) => "closed loop".into(),
        (false, speed) => format!("at {speed} % of its speed"),
    };
    let place = if trace.packed.is_some() { "packed" } else { "as recorded" };
    let file = trace.file.rsplit('/').next().unwrap_or_default();
    vec![
        or_different("trace", Some(file.to_owned())),
        or_different("replayed I/Os", Some(ios.to_string())),
        or_different("replayed from", Some(format_duration_ns(trace.from_ns as f64))),
        or_different("replayed time", Some(format_duration_ns(trace.span_ns as f64))),
        or_different("replayed", Some(how)),
        or_different("addresses", Some(place.into())),
    ]
}

fn or_unknown(what: &str, value: Option<String>) -> Condition {
    Condition { what: what.to_owned(), value, unknown: Unknown::Reported }
}

fn or_ignored(what: &str, value: Option<String>) -> Condition {
    Condition { what: what.to_owned(), value, unknown: Unknown::Ignored }
}

fn or_different(what: &str, value: Option<String>) -> Condition {
    Condition { what: what.to_owned(), value, unknown: Unknown::IsDifference }
}

fn of_measurement(of: &Measurement) -> Vec<Condition> {
    let mut free_options: BTreeMap<String, String> = free_options(of);
    let named = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let yes = |is: Option<bool>| is.map(|is| if is { "yes" } else { "no" }.to_owned());
    let conditions = &of.conditions;
    let is_replay = of.replayed().is_some();
    let remarks = conditions.target_remarks.iter().map(ToString::to_string);
    let remarks: Vec<String> = remarks.collect();
    let mut all = vec![
        or_unknown("job", named(&of.name)),
        or_unknown("target", named(&of.targets.join(" "))),
        or_unknown("generator", named(&of.source)),
        or_unknown("ioengine", free_options.remove("ioengine").or(of.workload.ioengine.clone())),
        or_unknown("direct", free_options.remove("direct")),
        or_ignored("size", free_options.remove("size")),
        or_unknown("iodepth", number(of.workload.iodepth.filter(|_| !is_replay))),
        or_unknown("numjobs", number(of.workload.numjobs)),
        or_ignored("measured for", of.duration_ns.and_then(about)),
        or_ignored("registered buffers", yes(conditions.registered_buffers)),
        or_ignored("kernel threads ran the I/O", yes(conditions.punted)),
        or_ignored("blocks written", written(of)),
        or_ignored("device under it", conditions.device.clone()),
        or_different("remarks", named(&remarks.join("; "))),
    ];
    all.extend(free_options.into_iter().map(|(name, value)| or_different(&name, Some(value))));
    all
}

/// Rounds a time to one digit, so that 10.002 s and 9.998 s are equal: `about 10 s`.
fn about(ns: u64) -> Option<String> {
    let exponent = i32::try_from(ns.checked_ilog10()?).ok()?;
    let digit = 10_f64.powi(exponent);
    Some(format!("about {}", format_duration_ns((ns as f64 / digit).round() * digit)))
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

fn of_host(host: &Host) -> Vec<Condition> {
    let text = |what: &str, fact: &Fact<String>| or_unknown(what, fact.value());
    let drivers = host.drivers.iter().map(|driver| match driver.version.get() {
        Some(version) => format!("{} {version}", driver.name),
        None => driver.name.clone(),
    });
    let drivers = drivers.collect::<Vec<_>>().join(", ");
    // A parameter that one kernel lacks is not a difference.
    let parameters = host.kernel.parameters.iter();
    let parameters = parameters.map(|(name, value)| or_ignored(name, Some(value.clone())));
    let mut all = vec![
        text("host", &host.hostname),
        text("system", &host.system.product),
        text("BIOS", &host.system.bios_version),
        text("CPU", &host.cpus.model),
        or_unknown("CPUs", host.cpus.online.get().map(|cpus| cpus.len().to_string())),
        text("CPU governor", &host.cpus.governor),
        or_unknown("memory", host.memory.get().map(|bytes| bytes.binary())),
        text("kernel", &host.kernel.release),
        text("kernel command line", &host.kernel.command_line),
        text("distribution", &host.kernel.distribution),
        or_ignored("storage drivers", Some(drivers).filter(|text| !text.is_empty())),
    ];
    all.extend(parameters);
    all
}

/// Conditions of the drives and block devices below its targets.
fn of_device(record: &RunRecord, host: &Host, of: &Measurement) -> Vec<Condition> {
    let places: Vec<_> = of.targets.iter().map(|target| place(Some(host), of, target)).collect();
    let drives: Vec<&Drive> = places.iter().filter_map(|place| place.drive).collect();
    let blocks = places.iter().filter_map(|place| host.block(place.bottom.as_deref()?));
    let blocks: Vec<&BlockDevice> = blocks.collect();
    let of_drives = |what: &str, value: &dyn Fn(&Drive) -> Option<String>| {
        or_unknown(what, joined(drives.iter().map(|drive| value(drive))))
    };
    let of_blocks = |what: &str, value: &dyn Fn(&BlockDevice) -> Option<String>| {
        or_unknown(what, joined(blocks.iter().map(|block| value(block))))
    };
    // State under load: an idle link may save power.
    let loaded = of.under_load.and_then(|at| record.snapshots.get(at)).unwrap_or(host);
    let of_links = |what: &str, value: &dyn Fn(&Link) -> Option<String>| {
        let links = drives.iter().flat_map(|drive| &drive.links);
        let links = links.filter_map(|name| loaded.link(name));
        or_ignored(what, joined(links.map(value)))
    };
    let mut all = vec![
        of_drives("model", &|drive| drive.model.value()),
        of_drives("serial", &|drive| drive.serial.value()),
        of_drives("firmware", &|drive| drive.firmware.value()),
        of_drives("link", &|drive| Some(own_link(loaded, drive)?.label())),
        of_links("maximum payload", &|link| {
            let ends = [link.port.max_payload_bytes.get(), link.device.max_payload_bytes.get()];
            ends.into_iter().flatten().min().map(u32::to_string)
        }),
        of_links("ASPM", &|link| link.aspm.get().map(|aspm| aspm.label().unwrap_or("off").into())),
        of_drives("NUMA node", &|drive| drive.numa_node.get().map(u32::to_string)),
        or_ignored("IOMMU domain", joined(drives.iter().map(|drive| iommu_domain(drive)))),
        or_ignored(
            "power state",
            joined(
                drives
                    .iter()
                    .map(|drive| Some(loaded.drive(&drive.name)?.power_state.get()?.to_string())),
            ),
        ),
        of_blocks("scheduler", &|block| block.queue.scheduler.value()),
        of_blocks("nr_requests", &|block| block.queue.nr_requests.get().map(u32::to_string)),
        or_ignored(
            "wbt_lat_usec",
            joined(blocks.iter().map(|block| block.queue.wbt_lat_us.get().map(u64::to_string))),
        ),
        of_blocks("write cache", &|block| block.queue.write_cache.value()),
        of_blocks("logical block", &|block| {
            block.queue.logical_block_bytes.get().map(u32::to_string)
        }),
    ];
    all.extend(of_stack(host, of));
    all
}

/// Conditions of the layers between its targets and the drives.
fn of_stack(host: &Host, of: &Measurement) -> Vec<Condition> {
    let mut all: Vec<(&str, Vec<String>)> = Vec::new();
    for (what, value) in
        of.targets.iter().flat_map(|target| stack::parts(host, device_of(of, target)))
    {
        match all.iter_mut().find(|(known, _)| *known == what) {
            Some((_, values)) => values.push(value),
            None => all.push((what, vec![value])),
        }
    }
    all.into_iter()
        .map(|(what, values)| or_ignored(what, joined(values.into_iter().map(Some))))
        .collect()
}

/// Joins the known values without duplicates.
fn joined(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut values: Vec<String> = values.flatten().collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Returns e.g. `DMA`; `none` without translation.
fn iommu_domain(drive: &Drive) -> Option<String> {
    match &drive.iommu {
        Fact::Absent => Some("none".into()),
        iommu => iommu.get()?.domain.value(),
    }
}
