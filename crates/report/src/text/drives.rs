//! The table of drives, or of the block devices that stand in for them.

use std::iter::once;

use iodyno_model::{
    Assessment, BlockDevice, BlockKind, Drive, Fact, Host, LinkState, Namespace, RunRecord, Verdict,
};

use super::Style;
use super::columns::{self, Column, ColumnError};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean, listed};
use crate::layers;

/// Said in place of drives where nothing could be looked at.
pub(crate) const NO_SYSFS: &str =
    "/sys is not mounted here, so which drives this machine has is not known.";

/// Columns in which something may be wrong.
const ALARMS: [Column; 4] = [Column::State, Column::Link, Column::Temperature, Column::Wear];

/// Mount points, arrays and volumes that the table names before it counts the rest.
const USES_SHOWN: usize = 2;

/// The table of the host's drives, and of other block devices that the run had
/// as targets. `run` gives the verdicts; without it there are none. Where there
/// is no NVMe drive, the targets stand in the table, and without a run the
/// machine's disks. Columns go by priority until it fits `style.width`; name,
/// serial and verdict stay. `style.wide` and `style.columns` show what they say,
/// however wide.
///
/// # Errors
///
/// A name in `style.columns` that is no column.
pub fn drives_table(
    host: &Host,
    run: Option<(&RunRecord, &Assessment)>,
    style: &Style,
) -> Result<String, ColumnError> {
    let chosen = match &style.columns {
        Some(names) => Some(columns::parse(names)?).filter(|columns| !columns.is_empty()),
        None => None,
    };
    let Drives { headings, rows } = drives(host, run, chosen.as_deref());
    let mut out = String::new();
    // A list says so in its first line.
    if run.is_some() && (host.no_sysfs || host.drives.is_empty()) {
        let what = if rows.is_empty() { "." } else { "; the storage that stands in for one:" };
        let none = format!("No NVMe drive on this machine{what}");
        out.push_str(&paragraph(if host.no_sysfs { NO_SYSFS } else { &none }, style));
    }
    if rows.is_empty() {
        return Ok(out);
    }
    let fitted = grid(&headings, &rows, style, style.wide || chosen.is_some());
    out.push_str(&fitted.text);
    if !fitted.dropped.is_empty() {
        let more = fitted.dropped.join(", ").to_lowercase();
        out.push_str(&paragraph(&format!("--wide also shows {more}."), style));
    }
    let says = |words: &str| rows.iter().flatten().any(|cell| cell.text.ends_with(words));
    if !fitted.dropped.contains(&Column::Link.heading()) && says(" !") {
        out.push_str(&paragraph("!: the link is below what both of its ends are able to.", style));
    }
    if says("root only") {
        out.push_str(&paragraph("root only: run it with sudo to see it.", style));
    }
    Ok(out)
}

/// `4 NVMe drives: nvme2 link Gen3 x2 of Gen4 x4, nvme3 at 71 °C`: what stands out in the table.
pub(super) fn clause(host: &Host) -> String {
    if host.no_sysfs {
        return NO_SYSFS.into();
    }
    let told = |column: Column, text: &str| match column {
        Column::Link => format!("link {}", text.trim_end_matches(" !")),
        Column::Temperature => format!("at {text}"),
        Column::Wear => format!("{text} worn"),
        _ => text.to_owned(),
    };
    let of_drive = |drive: &Drive| {
        let alarms: Vec<String> = ALARMS
            .into_iter()
            .map(|column| (column, drive_cell(column, host, drive, None)))
            .filter(|(_, cell)| matches!(cell.ink, Ink::Bad | Ink::Doubt))
            .map(|(column, cell)| told(column, &cell.text))
            .collect();
        (!alarms.is_empty()).then(|| format!("{} {}", clean(&drive.name), alarms.join(", ")))
    };
    let alarms: Vec<String> = host.drives.iter().filter_map(of_drive).collect();
    match host.drives.len() {
        0 if other_blocks(host, None).is_empty() => "No NVMe drive on this machine".into(),
        0 => "No NVMe drive on this machine; the storage that stands in for one:".into(),
        drives if alarms.is_empty() => counted(drives, "NVMe drive"),
        drives => format!("{}: {}", counted(drives, "NVMe drive"), listed(&alarms)),
    }
}

/// The table of drives before it is fitted to a width.
pub(crate) struct Drives {
    /// Its columns: those that say something, unless they were chosen.
    pub(crate) headings: Vec<GridColumn<'static>>,
    /// A row for each drive, then for each block device that stands beside them.
    pub(crate) rows: Vec<Vec<GridCell>>,
}

/// The table that [`drives_table`] fits.
pub(crate) fn drives(
    host: &Host,
    run: Option<(&RunRecord, &Assessment)>,
    chosen: Option<&[Column]>,
) -> Drives {
    let shown: Vec<Column> = match chosen {
        Some(columns) => columns.to_vec(),
        None => Column::ALL
            .into_iter()
            .filter(|column| run.is_some() || *column != Column::Verdict)
            .collect(),
    };
    let blocks = other_blocks(host, run.map(|(record, _)| record));
    let row = |cell: &dyn Fn(Column) -> GridCell| shown.iter().map(|c| cell(*c)).collect();
    let drives = host.drives.iter().map(|drive| row(&|c| drive_cell(c, host, drive, run)));
    let others = blocks.iter().map(|block| row(&|c| block_cell(c, host, block, run)));
    let rows: Vec<Vec<GridCell>> = drives.chain(others).collect();
    // A column that says nothing of anything is left out, unless somebody asked for it.
    let says = |at: usize| chosen.is_some() || rows.iter().any(|row| row[at].text != "-");
    let kept: Vec<usize> = (0..shown.len()).filter(|at| says(*at)).collect();
    let headings = kept
        .iter()
        .map(|at| GridColumn {
            heading: shown[*at].heading(),
            priority: priority(shown[*at], rows.iter().map(|row| &row[*at])),
            right: shown[*at].is_number(),
        })
        .collect();
    let rows = rows.iter().map(|row| kept.iter().map(|at| row[*at].clone()).collect()).collect();
    Drives { headings, rows }
}

fn paragraph(text: &str, style: &Style) -> String {
    let hanging = Hanging { separator: " ", ink: Ink::Dim, ..Hanging::of(style) };
    hanging.lines(&[text.to_string()])
}

/// The column's priority; one in which something is wrong goes last.
fn priority<'a>(column: Column, mut cells: impl Iterator<Item = &'a GridCell>) -> u8 {
    let alarmed = cells.any(|cell| matches!(cell.ink, Ink::Bad | Ink::Doubt));
    if alarmed { column.priority().min(1) } else { column.priority() }
}

/// The targets that are block devices and no namespace of a drive, in the
/// run's order; without a run and without a drive, the machine's disks.
fn other_blocks<'a>(host: &'a Host, record: Option<&RunRecord>) -> Vec<&'a BlockDevice> {
    let Some(record) = record else {
        let disk = |block: &&BlockDevice| {
            block.stands_on.is_empty()
                && matches!(block.kind, BlockKind::Virtual | BlockKind::Scsi | BlockKind::Nvme)
        };
        let disks = host.blocks.iter().filter(disk);
        return if host.drives.is_empty() { disks.collect() } else { Vec::new() };
    };
    let under_files = record.measurements.iter().filter_map(|m| m.conditions.device.as_deref());
    let mut blocks: Vec<&BlockDevice> = Vec::new();
    for name in record.run.targets.iter().map(|target| short_name(target)).chain(under_files) {
        if let Some(block) = host.block(name)
            && host.namespace(name).is_none()
            && !blocks.iter().any(|known| known.name == name)
        {
            blocks.push(block);
        }
    }
    blocks
}

/// A block device's name without `/dev/`.
pub(crate) fn short_name(target: &str) -> &str {
    target.strip_prefix("/dev/").unwrap_or(target)
}

/// A fact as a cell: its text, `root only`, or `-`.
fn fact<T>(fact: &Fact<T>, text: impl Fn(&T) -> String) -> GridCell {
    match fact {
        Fact::Read(value) | Fact::Stated(value) => GridCell::plain(clean(&text(value))),
        Fact::NeedsRoot => GridCell { text: "root only".into(), ink: Ink::Dim },
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
        Column::Link => link(host, drive),
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
            named(blocks, uses(layers::uses(host, drive)))
        }
        Column::Verdict => {
            let names = drive.namespaces.iter().map(|namespace| namespace.name.as_str());
            verdict(host, run, &names.chain([drive.name.as_str()]).collect::<Vec<_>>())
        }
    }
}

fn block_cell(
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
        Column::Use => named(once(block), uses(Some(layers::uses_of(host, &[block])))),
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
    worst.map_or_else(
        || GridCell::plain("-"),
        |verdict| GridCell { text: verdict.label().into(), ink: Ink::of_verdict(verdict) },
    )
}

/// The worst verdict on a device that goes by one of `names`, or on a file that
/// lies on it alone.
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
                measurement.targets.contains(subject)
                    && measurement.conditions.device.as_deref().is_some_and(lies_on)
            })
    };
    let subjects = assessment.subjects.iter().filter(|(name, _)| concerns(name));
    subjects.map(|(_, verdict)| *verdict).max()
}

/// What uses it: mount points first, then what lies between; `free`, or `-`
/// where it is not known.
/// The cell of what devices are used for, behind what they are where that is no plain disk.
fn named<'h>(blocks: impl Iterator<Item = &'h BlockDevice> + Clone, cell: GridCell) -> GridCell {
    let zoned = blocks.clone().any(|block| block.zones().is_some()).then_some("zoned");
    let memory = blocks.clone().any(|block| block.memory().is_some()).then_some("memory");
    match zoned.or(memory) {
        Some(what) => GridCell { text: format!("{what}, {}", cell.text), ..cell },
        None => cell,
    }
}

fn uses(uses: Option<Vec<String>>) -> GridCell {
    let Some(uses) = uses else { return GridCell::plain("-") };
    if uses.is_empty() {
        return GridCell::plain("free");
    }
    let mut text = uses.iter().take(USES_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if uses.len() > USES_SHOWN {
        text.push_str(&format!(" +{}", uses.len() - USES_SHOWN));
    }
    GridCell::plain(clean(&text))
}

/// The LBA format in use, and the best offered where it is another: `512 (best 4096)`.
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
    let mut texts: Vec<String> = Vec::new();
    for text in drive.namespaces.iter().filter_map(format) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    GridCell::plain(if texts.is_empty() { "-".into() } else { texts.join(", ") })
}

/// Utilisation of all namespaces as they report it (NUSE over NSZE).
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

/// The drive's own link in use; what it could be where it is more; and whether
/// a link above it is degraded.
fn link(host: &Host, drive: &Drive) -> GridCell {
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
            text.push_str(&format!(" of {} !", able.label()));
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
        text.push_str(", uplink !");
        ink = Ink::Bad;
    }
    GridCell { text, ink }
}
