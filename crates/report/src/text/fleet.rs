//! The table of many hosts' drives.

use iodyno_model::Verdict;

use super::Style;
use super::figure::{estimated, percent, stated};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{Hanging, clean};
use crate::fleet::{DriveKind, Fleet, FleetClass, FleetDrive, Outlier};

/// Drives of many hosts: how many of each verdict, then a table for each class
/// (model, firmware, capacity), outliers first. Lines are at most
/// `style.width` long.
pub fn fleet_text(fleet: &Fleet, style: &Style) -> String {
    if fleet.is_empty() {
        return "No drives and no targets in these runs.\n".into();
    }
    let mut items: Vec<String> = [Verdict::Fail, Verdict::Warn, Verdict::Unjudged, Verdict::Pass]
        .into_iter()
        .filter(|verdict| fleet.count(*verdict) > 0)
        .map(|verdict| format!("{} {}", fleet.count(verdict), verdict.label()))
        .collect();
    if fleet.older_runs > 0 {
        let runs = counted(fleet.older_runs, "older run");
        items.push(format!("{runs} of the same hosts left out"));
    }
    let drives = fleet.classes.iter().all(|class| class.kind.is_some());
    let what = if drives { "drive" } else { "drive or target" };
    let what = match (fleet.len(), drives) {
        (1, _) | (_, true) => counted(fleet.len(), what),
        (n, false) => format!("{n} drives and targets"),
    };
    items.insert(0, format!("{what} on {}", counted(fleet.hosts(), "host")));
    let mut out = line(style, Ink::Bold, &items);
    for class in &fleet.classes {
        out.push('\n');
        out.push_str(&line(style, Ink::Bold, &[heading(class)]));
        out.push_str(&table(class, style));
    }
    out
}

fn line(style: &Style, ink: Ink, items: &[String]) -> String {
    let hanging = Hanging {
        lead: String::new(),
        lead_width: 0,
        indent: 0,
        width: style.width,
        separator: " · ",
        ink,
        color: style.color,
    };
    hanging.lines(items)
}

/// `SAMSUNG MZQL23T8HCLS-00A07, GDC5602Q, 3.84 TB: 8 drives`.
fn heading(class: &FleetClass) -> String {
    let Some(DriveKind { model, firmware, capacity }) = &class.kind else {
        return format!("Other targets: {}", class.drives.len());
    };
    let words = [
        model.as_deref().map_or_else(|| "unknown model".into(), clean),
        firmware.as_deref().map_or_else(|| "unknown firmware".into(), clean),
        capacity.map_or_else(|| "unknown capacity".into(), |bytes| bytes.decimal()),
    ];
    format!("{}: {}", words.join(", "), counted(class.drives.len(), "drive"))
}

fn table(class: &FleetClass, style: &Style) -> String {
    let column = |heading, priority| GridColumn { heading, priority, right: false };
    let name = if class.kind.is_some() { "DRIVE" } else { "TARGET" };
    let columns = [
        column("HOST", 0),
        column(name, 0),
        column("SERIAL", 3),
        column("VERDICT", 0),
        column("UNLIKE ITS CLASS", 1),
        column("FINDING", 4),
    ];
    let has = |any: fn(&FleetDrive) -> bool| class.drives.iter().any(any);
    let shown = [
        true,
        true,
        has(|drive| drive.serial.is_some()),
        true,
        has(|drive| !drive.outliers.is_empty()),
        has(|drive| drive.finding.is_some()),
    ];
    let keep = |at: &usize| shown[*at];
    let columns: Vec<GridColumn> = (0..columns.len()).filter(keep).map(|at| columns[at]).collect();
    let rows: Vec<Vec<GridCell>> = class
        .drives
        .iter()
        .map(|drive| {
            let cells = cells(drive);
            (0..cells.len()).filter(keep).map(|at| cells[at].clone()).collect()
        })
        .collect();
    grid(&columns, &rows, style, style.wide).text
}

fn cells(drive: &FleetDrive) -> [GridCell; 6] {
    let plain = |text: String| GridCell {
        text: if text.is_empty() { "-".into() } else { text },
        ink: Ink::Plain,
    };
    let worst = drive.outliers.iter().map(|outlier| outlier.unlike.verdict).max();
    let unlike = drive.outliers.first().map(|first| {
        let more = drive.outliers.len() - 1;
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("{}{more}", outlier(first))
    });
    [
        plain(clean(&drive.host)),
        plain(clean(&drive.name)),
        plain(drive.serial.as_deref().map(clean).unwrap_or_default()),
        GridCell { text: drive.verdict.label().into(), ink: Ink::of_verdict(drive.verdict) },
        GridCell {
            ink: worst.map_or(Ink::Plain, Ink::of_verdict),
            ..plain(unlike.unwrap_or_default())
        },
        plain(drive.finding.as_deref().map(clean).unwrap_or_default()),
    ]
}

/// `rand-read 398k ± 1k IOPS, 41 % of the median of 8 (982k IOPS)`.
fn outlier(outlier: &Outlier) -> String {
    let Outlier { measurement, metric, estimate, unlike, of } = outlier;
    format!(
        "{} {}, {} of the median of {of} ({})",
        clean(measurement),
        estimated(*metric, estimate),
        percent(unlike.ratio),
        stated(*metric, unlike.median),
    )
}
