//! Layers between a target and the drives, one condition for each way in which two hosts may
//! differ.

use iodyno_model::{BlockDevice, BlockKind, Bytes, Host, MdArray};

/// Values of each condition.
type Parts = Vec<(&'static str, Vec<String>)>;

/// Kinds and settings of the layers from `device` downwards, without the drives, which have
/// conditions of their own. Empty if the host does not know the device.
pub(super) fn parts(host: &Host, device: &str) -> Vec<(&'static str, String)> {
    let mut levels = host.levels_under(device);
    let Some(top) = levels.first().and_then(|level| level.first().copied()) else {
        return Vec::new();
    };
    let bottom = levels.pop().filter(|level| level.iter().any(|of| is_layer(of)));
    levels.extend(bottom);
    let mut all = of_file_system(top);
    let mut kinds: Vec<String> =
        top.mount().map(|mount| mount.file_system.clone()).into_iter().collect();
    for level in &levels {
        let mut here: Vec<String> = level.iter().map(|block| kind(block)).collect();
        here.sort();
        here.dedup();
        kinds.push(here.join(" and "));
        for block in level {
            of_layer(block, &mut all);
        }
    }
    let layers = if kinds.is_empty() { "none".into() } else { kinds.join(" on ") };
    let known = all.into_iter().filter(|(_, values)| !values.is_empty());
    let known = known.map(|(what, values)| (what, values.join(", ")));
    std::iter::once(("layers", layers)).chain(known).collect()
}

/// Returns true unless data are stored on the device itself.
fn is_layer(block: &BlockDevice) -> bool {
    matches!(
        block.kind,
        BlockKind::Partition
            | BlockKind::Md(_)
            | BlockKind::DeviceMapper(_)
            | BlockKind::Loop { .. }
    )
}

fn kind(block: &BlockDevice) -> String {
    match &block.kind {
        BlockKind::Md(array) => format!("md {}", array.level),
        BlockKind::DeviceMapper(mapped) => {
            let owner = mapped.owner.as_deref().unwrap_or("dm");
            let table = mapped.table.get().map(Vec::as_slice).unwrap_or_default();
            let mut targets: Vec<&str> =
                table.iter().map(|segment| segment.target.as_str()).collect();
            targets.dedup();
            [owner, &targets.join(" and ")].join(" ").trim_end().to_owned()
        }
        BlockKind::Loop { .. } => "loop device".into(),
        BlockKind::Partition => "partition".into(),
        _ => "disk".into(),
    }
}

fn of_file_system(top: &BlockDevice) -> Parts {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| Bytes(bytes).binary()).into_iter().collect();
    let made = top.file_system.as_ref();
    let options = top.mount().map(|mount| mount.options.clone());
    vec![
        ("mount options", options.into_iter().filter(|options| !options.is_empty()).collect()),
        (
            "file system block",
            bytes(made.and_then(|of| of.block_bytes.get().copied()).map(u64::from)),
        ),
        ("stripe unit", bytes(made.and_then(|of| of.stripe_unit_bytes.get().copied()))),
        ("stripe width", bytes(made.and_then(|of| of.stripe_width_bytes.get().copied()))),
    ]
}

/// Adds the known settings of a layer.
fn of_layer(block: &BlockDevice, all: &mut Parts) {
    let mut add = |what: &'static str, value: Option<String>| {
        let Some(value) = value else { return };
        match all.iter_mut().find(|(known, _)| *known == what) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => all.push((what, vec![value])),
        }
    };
    match &block.kind {
        BlockKind::Md(array) => {
            add("chunk", array.chunk_bytes.map(|bytes| Bytes(bytes).binary()));
            add("members", array.raid_disks.get().map(u32::to_string));
            add("array layout", array.layout_name());
            add("write-intent bitmap", array.bitmap.value());
            add("array state", state(array));
        }
        BlockKind::DeviceMapper(mapped) => {
            let stripes = mapped.stripes();
            add("chunk", stripes.map(|(_, chunk)| Bytes(chunk).binary()));
            add("members", stripes.map(|(count, _)| count.to_string()));
        }
        BlockKind::Partition => {
            add("partition start", block.start.get().map(|start| start.binary()));
        }
        _ => {}
    }
}

/// Returns `2 members missing, recover`, or `whole`, for levels with redundancy.
fn state(array: &MdArray) -> Option<String> {
    let missing = match array.degraded? {
        0 => None,
        1 => Some("1 member missing".into()),
        more => Some(format!("{more} members missing")),
    };
    let action = array.sync_action.value().filter(|action| action != "idle");
    let words: Vec<String> = missing.into_iter().chain(action).collect();
    Some(if words.is_empty() { "whole".into() } else { words.join(", ") })
}
