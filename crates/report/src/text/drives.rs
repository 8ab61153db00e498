//! Table of drives, or of other block devices if there are none.

use iodyno_model::{Assessment, BlockDevice, BlockKind, Drive, Host, RunRecord};

use super::Style;
use super::columns::{self, Column, ColumnError};
use super::drive_cells::{LinkWords, NEEDS_ROOT, block_cell, drive_cell, link};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean, listed};

/// Printed in place of drives if sysfs is not available.
pub(crate) const NO_SYSFS: &str = "/sys is not mounted: the drives of this machine are unknown.";

/// Columns that can show an alarm.
const ALARMS: [Column; 4] = [Column::State, Column::Link, Column::Temperature, Column::Wear];

/// Table of the host's drives and of other block devices among the run's targets. Verdicts come
/// from `run`, if given. Without an NVMe drive the table lists the targets, or without a run the
/// machine's disks. Columns are dropped by priority until it fits `style.width`; name, serial and
/// verdict stay. With `style.wide` or `style.columns` the width is not limited.
///
/// # Errors
///
/// An unknown column name in `style.columns`.
pub fn drives_table(
    host: &Host,
    run: Option<(&RunRecord, &Assessment)>,
    style: &Style,
) -> Result<String, ColumnError> {
    let chosen = match &style.columns {
        Some(names) => Some(columns::parse(names)?).filter(|columns| !columns.is_empty()),
        None => None,
    };
    let Drives { columns, headings, rows } = drives(host, run, chosen.as_deref());
    let mut out = String::new();
    // `list` prints this in its first line.
    if run.is_some() && (host.no_sysfs || host.drives.is_empty()) {
        let what = if rows.is_empty() { "." } else { "; other storage:" };
        let none = format!("No NVMe drive on this machine{what}");
        out.push_str(&paragraph(if host.no_sysfs { NO_SYSFS } else { &none }, style));
    }
    if rows.is_empty() {
        return Ok(out);
    }
    let fitted = grid(&headings, &rows, style, style.wide || chosen.is_some());
    out.push_str(&fitted.text);
    if !fitted.dropped.is_empty() {
        let more: Vec<&str> = fitted.dropped.iter().map(|at| columns[*at].heading()).collect();
        let more = more.join(", ").to_lowercase();
        out.push_str(&paragraph(&format!("--wide also shows {more}."), style));
    }
    let link = columns.iter().position(|column| *column == Column::Link);
    let link = link.filter(|at| !fitted.dropped.contains(at));
    if link.is_some_and(|at| rows.iter().any(|row| row[at].ink == Ink::Bad)) {
        out.push_str(&paragraph("!: the link is below what both ends support.", style));
    }
    if rows.iter().flatten().any(|cell| cell.ink == NEEDS_ROOT) {
        out.push_str(&paragraph("root only: run with sudo to see it.", style));
    }
    Ok(out)
}

/// `4 NVMe drives: nvme2 link Gen3 x2 of Gen4 x4, nvme3 at 71 °C`: the alarms of the table.
pub(super) fn clause(host: &Host) -> String {
    if host.no_sysfs {
        return NO_SYSFS.into();
    }
    let alarm_text = |column: Column, text: &str| match column {
        Column::Link => format!("link {text}"),
        Column::Temperature => format!("at {text}"),
        Column::Wear => format!("{text} worn"),
        _ => text.to_owned(),
    };
    let of_drive = |drive: &Drive| {
        let alarms: Vec<String> = ALARMS
            .into_iter()
            .map(|column| match column {
                Column::Link => (column, link(host, drive, LinkWords::Clause)),
                _ => (column, drive_cell(column, host, drive, None)),
            })
            .filter(|(_, cell)| matches!(cell.ink, Ink::Bad | Ink::Doubt))
            .map(|(column, cell)| alarm_text(column, &cell.text))
            .collect();
        (!alarms.is_empty()).then(|| format!("{} {}", clean(&drive.name), alarms.join(", ")))
    };
    let alarms: Vec<String> = host.drives.iter().filter_map(of_drive).collect();
    match host.drives.len() {
        0 if other_blocks(host, None).is_empty() => "No NVMe drive on this machine".into(),
        0 => "No NVMe drive on this machine; other storage:".into(),
        drives if alarms.is_empty() => counted(drives, "NVMe drive"),
        drives => format!("{}: {}", counted(drives, "NVMe drive"), listed(&alarms)),
    }
}

/// Drive table before it is fitted to a width.
pub(crate) struct Drives {
    /// Columns; without `chosen`, those with content.
    columns: Vec<Column>,
    /// Headings of the columns.
    pub(crate) headings: Vec<GridColumn<'static>>,
    /// A row per drive, then a row per other block device.
    pub(crate) rows: Vec<Vec<GridCell>>,
}

/// Builds the table that [`drives_table`] fits.
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
    // Empty columns are dropped unless chosen.
    let says = |at: usize| chosen.is_some() || rows.iter().any(|row| row[at].text != "-");
    let kept: Vec<usize> = (0..shown.len()).filter(|at| says(*at)).collect();
    let headings = kept
        .iter()
        .map(|at| {
            let priority = priority(shown[*at], rows.iter().map(|row| &row[*at]));
            GridColumn::new(shown[*at].heading(), priority, shown[*at].is_number())
        })
        .collect();
    let rows = rows.iter().map(|row| kept.iter().map(|at| row[*at].clone()).collect()).collect();
    let columns = kept.iter().map(|at| shown[*at]).collect();
    Drives { columns, headings, rows }
}

fn paragraph(text: &str, style: &Style) -> String {
    let hanging = Hanging { separator: " ", ink: Ink::Dim, ..Hanging::of(style) };
    hanging.lines(&[text.to_string()])
}

/// Priority of the column; one with an alarm is dropped last.
fn priority<'a>(column: Column, mut cells: impl Iterator<Item = &'a GridCell>) -> u8 {
    let alarmed = cells.any(|cell| matches!(cell.ink, Ink::Bad | Ink::Doubt));
    if alarmed { column.priority().min(1) } else { column.priority() }
}

/// Targets that are block devices but not namespaces of a drive, in the run's order; without a run
/// and without a drive, the machine's disks.
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

/// Name of a block device without `/dev/`.
pub(crate) fn short_name(target: &str) -> &str {
    target.strip_prefix("/dev/").unwrap_or(target)
}
