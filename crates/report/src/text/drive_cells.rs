//! Cells of the drive table, for drives and other block devices.

use std::iter::once;
use std::path::Path;

use iodyno_model::{
    Assessment, BlockDevice, Drive, Fact, Host, LinkState, Namespace, RunRecord, Verdict, distinct,
};

use super::columns::Column;
use super::drives::short_name;
use super::grid::GridCell;
use super::ink::Ink;
use super::words::clean;
use crate::layers;

/// Ink reserved for values that only root may read.
pub(super) const NEEDS_ROOT: Ink = Ink::Dim;

/// Mount points, arrays and volumes named before the rest is counted.
const USES_SHOWN: usize = 2;

/// Fact as a cell: its text, `root only`, or `-`.
fn fact<T>(fact: &Fact<T>, text: impl Fn(&T) -> String) -> GridCell {
    match fact {
        Fact::Read(value) | Fact::Stated(value) => GridCell::plain(clean(&text(value))),
        Fact::NeedsRoot => GridCell::new("root only", NEEDS_ROOT),
        Fact::Absent | Fact::NotAsked | Fact::Unreadable(_) => GridCell::plain("-"),
    }
}

pub(super) fn drive_cell(
    column: Column,
    host: &Host,
    drive: &Drive,
    run: Option<(&RunRecord, &Assessment)>,
) -> GridCell {
    match column {
        Column::Name => GridCell::plain(clean(&drive.name)),
        Column::Model => fact(&drive.model, Clone::clone),
        Column::Serial => fact(&drive.serial, Clone::clone),
        Column::Capacity => fact(&drive.capacity, |bytes| bytes.decimal()),
        Column::Lba => lba(drive),
        Column::Usage => usage(drive),
        Column::Firmware => fact(&drive.firmware, Clone::clone),
        Column::State => {
            let live = drive.state.get().is_none_or(|state| state == "live");
            let cell = fact(&drive.state, Clone::clone);
            GridCell { ink: if live { cell.ink } else { Ink::Bad }, ..cell }
        }
        Column::Address => fact(&drive.address, Clone::clone),
        Column::Link => link(host, drive, LinkWords::Cell),
        Column::Numa => fact(&drive.numa_node, u32::to_string),
        Column::Temperature => {
            let hot = drive
                .temperature
                .get()
                .is_some_and(|t| t.warning_c.is_some_and(|warning| t.composite_c >= warning));
            let cell = fact(&drive.temperature, |t| format!("{:.0} °C", t.composite_c));
            GridCell { ink: if hot { Ink::Doubt } else { cell.ink }, ..cell }
        }
        Column::Wear => {
            let worn = drive.health.get().is_some_and(|health| health.used_percent >= 90);
            let cell = fact(&drive.health, |health| format!("{} %", health.used_percent));
            GridCell { ink: if worn { Ink::Doubt } else { cell.ink }, ..cell }
        }
        Column::Use => {
            let blocks = drive.namespaces.iter().filter_map(|one| host.block(&one.name));
            with_device_type(blocks, uses(layers::uses(host, drive)))
        }
        Column::Verdict => {
            let names = drive.namespaces.iter().map(|namespace| namespace.name.as_str());
            verdict(host, run, &names.chain([drive.name.as_str()]).collect::<Vec<_>>())
        }
    }
}

pub(super) fn block_cell(
    column: Column,
    host: &Host,
    block: &BlockDevice,
    run: Option<(&RunRecord, &Assessment)>,
) -> GridCell {
    match column {
        Column::Name => GridCell::plain(clean(&block.name)),
        Column::Model => match block.model.get().filter(|model| !model.is_empty()) {
            Some(model) => GridCell::plain(clean(model)),
            None => GridCell::plain(clean(&layers::kind(&block.kind))),
        },
        Column::Capacity => fact(&block.size, |bytes| bytes.decimal()),
        Column::Lba => fact(&block.queue.logical_block_bytes, u32::to_string),
        Column::Use => with_device_type(once(block), uses(Some(layers::uses_of(host, &[block])))),
        Column::Verdict => verdict(host, run, &[block.name.as_str()]),
        Column::Serial
        | Column::Usage
        | Column::Firmware
        | Column::State
        | Column::Address
        | Column::Link
        | Column::Numa
        | Column::Temperature
        | Column::Wear => GridCell::plain("-"),
    }
}

fn verdict(host: &Host, run: Option<(&RunRecord, &Assessment)>, names: &[&str]) -> GridCell {
    let worst = run.and_then(|(record, assessment)| worst(host, record, assessment, names));
    worst.map_or_else(|| GridCell::plain("-"), GridCell::verdict)
}

/// Worst verdict on a device with one of `names`, or on a file or directory on it alone.
pub(super) fn worst(
    host: &Host,
    record: &RunRecord,
    assessment: &Assessment,
    names: &[&str],
) -> Option<Verdict> {
    let lies_on = |device: &str| {
        let bottom = host.bottom_of(device);
        names.contains(&device) || (bottom.len() == 1 && names.contains(&bottom[0].name.as_str()))
    };
    let concerns = |subject: &String| {
        names.contains(&short_name(subject))
            || record.measurements.iter().any(|measurement| {
                measurement.targets.iter().any(|target| Path::new(target).starts_with(subject))
                    && measurement.conditions.device.as_deref().is_some_and(lies_on)
            })
    };
    let subjects = assessment.subjects.iter().filter(|(name, _)| concerns(name));
    subjects.map(|(_, verdict)| *verdict).max()
}

/// Prefixes the use cell with the device type if it is not a plain disk.
fn with_device_type<'h>(
    blocks: impl Iterator<Item = &'h BlockDevice> + Clone,
    cell: GridCell,
) -> GridCell {
    let zoned = blocks.clone().any(|block| block.zones().is_some()).then_some("zoned");
    let memory = blocks.clone().any(|block| block.memory().is_some()).then_some("memory");
    match zoned.or(memory) {
        Some(what) => GridCell { text: format!("{what}, {}", cell.text), ..cell },
        None => cell,
    }
}

/// Users of a device: mount points first, then the layers between; `unused`, or `-` if unknown.
fn uses(uses: Option<Vec<String>>) -> GridCell {
    let Some(uses) = uses else { return GridCell::plain("-") };
    if uses.is_empty() {
        return GridCell::plain("unused");
    }
    let mut text = uses.iter().take(USES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if uses.len() > USES_SHOWN {
        text.push_str(&format!(" +{}", uses.len() - USES_SHOWN));
    }
    GridCell::plain(clean(&text))
}

/// LBA format in use, and the best one offered if different: `512 (best 4096)`.
fn lba(drive: &Drive) -> GridCell {
    let format = |namespace: &Namespace| -> Option<String> {
        if let Some(identify) = namespace.identify.get() {
            let write = |format: &iodyno_model::LbaFormat| match format.metadata_bytes {
                0 => format.data_bytes.to_string(),
                metadata => format!("{}+{metadata}", format.data_bytes),
            };
            let (used, best) = (identify.format()?, identify.best_format()?);
            return Some(if used == best {
                write(used)
            } else {
                format!("{} (best {})", write(used), write(best))
            });
        }
        namespace.logical_block_bytes.get().map(u32::to_string)
    };
    let texts = distinct(drive.namespaces.iter().filter_map(format));
    GridCell::plain(if texts.is_empty() { "-".into() } else { texts.join(", ") })
}

/// Utilisation over all namespaces as reported (NUSE over NSZE).
fn usage(drive: &Drive) -> GridCell {
    let (mut used, mut size) = (0.0, 0.0);
    for namespace in &drive.namespaces {
        let Some(identify) = namespace.identify.get() else {
            return fact(&namespace.identify, |_| String::new());
        };
        let block = identify.format().map_or(0.0, |format| f64::from(format.data_bytes));
        used += identify.used_blocks as f64 * block;
        size += identify.size_blocks as f64 * block;
    }
    GridCell::plain(if size > 0.0 { super::figure::percent(used / size) } else { "-".into() })
}

/// Where a link is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkWords {
    /// In a cell, where `!` marks a link below what both ends support.
    Cell,
    /// In a narrow cell: the mark without the supported link.
    ShortCell,
    /// In a sentence, without marks.
    Clause,
}

/// The drive's current link, the supported one if better, and whether an uplink is degraded.
pub(super) fn link(host: &Host, drive: &Drive, words: LinkWords) -> GridCell {
    let mark = if words == LinkWords::Clause { "" } else { " !" };
    if drive.virtual_disk.is_some() {
        return GridCell::plain("virtual disk");
    }
    let links: Vec<_> = drive.links.iter().filter_map(|name| host.link(name)).collect();
    let Some((own, uplinks)) = links.split_last() else { return GridCell::plain("-") };
    let cell = fact(&own.current, |state| state.label());
    let Some(current) = own.current.get() else { return cell };
    let mut text = cell.text;
    let mut ink = Ink::Plain;
    let below = |current: &LinkState, able: LinkState| {
        current.generation < able.generation || current.width < able.width
    };
    match own.able() {
        Some(able) if below(current, able) => {
            if words == LinkWords::ShortCell {
                return GridCell::new(text + mark, Ink::Bad);
            }
            text.push_str(&format!(" of {}{mark}", able.label()));
            ink = Ink::Bad;
        }
        _ => {
            let end = (own.device.max_generation.get(), own.device.max_width.get());
            if let (Some(generation), Some(width)) = end {
                let drive_able = LinkState { generation: *generation, width: *width };
                if below(current, drive_able) {
                    text.push_str(&format!(" (drive {})", drive_able.label()));
                    ink = Ink::Doubt;
                }
            }
        }
    }
    let degraded = |link: &&iodyno_model::Link| match (link.current.get(), link.able()) {
        (Some(current), Some(able)) => below(current, able),
        _ => false,
    };
    if uplinks.iter().any(degraded) {
        text.push_str(&format!(", uplink{mark}"));
        ink = Ink::Bad;
    }
    GridCell::new(text, ink)
}
