//! Table of the drives of many hosts.

use iodyno_model::{Verdict, rfc3339};

use super::Style;
use super::figure::{estimated, percent, stated};
use super::grid::{GridCell, GridColumn, grid};
use super::host::counted;
use super::ink::Ink;
use super::words::{clean, cut, display_width, first_line};
use crate::fleet::{Against, CommonTrait, DriveKind, Fleet, FleetClass, FleetDrive, Outlier};

/// Common traits listed at most.
const MOST_COMMON: usize = 5;

/// Smallest change of a class that is mentioned.
const NOTHING: f64 = 0.02;

/// Minimum width of the reason column.
const LEAST_WHY: usize = 24;

/// Drives of many hosts: the worst verdict and the counts, then a table per class (model, firmware,
/// capacity), outliers first. Lines are at most `style.width` long.
pub fn fleet_text(fleet: &Fleet, style: &Style) -> String {
    if fleet.is_empty() {
        return "No drives and no targets in these runs.\n".into();
    }
    let verdicts = [Verdict::Fail, Verdict::Warn, Verdict::Unjudged, Verdict::Pass];
    let worst = verdicts.into_iter().find(|verdict| fleet.count(*verdict) > 0);
    let label = worst.map_or(("", Ink::Plain), |it| (it.label(), Ink::of_verdict(it)));
    let mut out = first_line(label, &[counts(fleet).join(", ")], style);
    for common in fleet.common.iter().take(MOST_COMMON) {
        out.push_str(&first_line(("", Ink::Plain), &[in_common(common)], style));
    }
    for class in &fleet.classes {
        out.push('\n');
        out.push_str(&first_line(("", Ink::Plain), &[heading(class)], style));
        out.push_str(&table(class, style));
    }
    out
}

/// `in common: 11 of 12 slow have firmware X, 12 of 24000 others (by chance: below 1e-9)`.
fn in_common(of: &CommonTrait) -> String {
    let CommonTrait { reason, what, value, wrong, others, chance, .. } = of;
    let chance = if *chance < 1e-9 { "below 1e-9".into() } else { format!("{chance:.0e}") };
    format!(
        "in common: {} of {} {} have {what} {}, {} of {} others (p = {chance})",
        wrong.0,
        wrong.1,
        clean(reason),
        clean(value),
        others.0,
        others.1,
    )
}

/// `16 drives on 4 hosts`, the number of each verdict, and runs left out.
pub(crate) fn counts(fleet: &Fleet) -> Vec<String> {
    let mut items: Vec<String> = [Verdict::Fail, Verdict::Warn, Verdict::Unjudged, Verdict::Pass]
        .into_iter()
        .filter(|verdict| fleet.count(*verdict) > 0)
        .map(|verdict| format!("{} {}", fleet.count(verdict), verdict.label()))
        .collect();
    let (unlike, slower) = fleet.outliers();
    if unlike > 0 {
        items.push(format!("{unlike} unlike the class"));
    }
    if slower > 0 {
        items.push(format!("{slower} slower than before"));
    }
    if let Some(ns) = fleet.start_spread_ns {
        items.push(format!("started within {:.3} s", ns as f64 / 1e9));
    }
    if fleet.older_runs > 0 {
        let runs = counted(fleet.older_runs, "older run");
        items.push(format!("{runs} of the same hosts"));
    }
    let drives = fleet.classes.iter().all(|class| class.kind.is_some());
    let what = if drives { "drive" } else { "drive or target" };
    let what = match (fleet.len(), drives) {
        (1, _) | (_, true) => counted(fleet.len(), what),
        (n, false) => format!("{n} drives and targets"),
    };
    items.insert(0, format!("{what} on {}", counted(fleet.hosts(), "host")));
    items
}

/// `SAMSUNG MZQL23T8HCLS-00A07, GDC5602Q, 3.84 TB: 8 drives`.
pub(crate) fn heading(class: &FleetClass) -> String {
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
    let (columns, mut rows) = cells(class);
    if has_reasons(class) && !style.wide {
        let room = room(&rows, style.width);
        for why in rows.iter_mut().filter_map(|row| row.last_mut()) {
            why.text = cut(&why.text, room);
        }
    }
    grid(&columns, &rows, style, style.wide).text
}

/// A row per drive; reasons, if any, are the last column.
pub(crate) fn cells(class: &FleetClass) -> (Vec<GridColumn<'static>>, Vec<Vec<GridCell>>) {
    let column = |heading, priority| GridColumn::new(heading, priority, false);
    let name = if class.kind.is_some() { "DRIVE" } else { "TARGET" };
    let mut columns = vec![column("HOST", 0), column(name, 0), column("VERDICT", 0)];
    let serials = class.drives.iter().any(|drive| drive.serial.is_some());
    if serials {
        columns.insert(2, column("SERIAL", 1));
    }
    let reasons = has_reasons(class);
    if reasons {
        columns.push(column("WHY", 0));
    }
    let row = |drive: &FleetDrive| {
        let verdict = GridCell::verdict(drive.verdict);
        let cell = |text: &str| GridCell::or_dash(clean(text));
        let mut cells = vec![cell(&drive.host), cell(&drive.name), verdict];
        if serials {
            cells.insert(2, cell(drive.serial.as_deref().unwrap_or_default()));
        }
        cells
    };
    let mut rows: Vec<Vec<GridCell>> = class.drives.iter().map(row).collect();
    if reasons {
        for (drive, cells) in class.drives.iter().zip(&mut rows) {
            let worst = drive.outliers.iter().map(|outlier| outlier.unlike.verdict).max();
            let ink = worst.map_or(Ink::Plain, Ink::of_verdict);
            cells.push(GridCell { ink, ..GridCell::or_dash(why(drive).unwrap_or_default()) });
        }
    }
    (columns, rows)
}

/// Terminal columns left for the last column of `rows`.
fn room(rows: &[Vec<GridCell>], width: usize) -> usize {
    let columns = rows.first().map_or(0, Vec::len).saturating_sub(1);
    let widest = |at: usize| rows.iter().map(|row| display_width(&row[at].text) + 2).max();
    let taken: usize = (0..columns).filter_map(widest).sum();
    width.saturating_sub(taken).max(LEAST_WHY)
}

/// True if the last column shows reasons.
fn has_reasons(class: &FleetClass) -> bool {
    class.drives.iter().any(|drive| why(drive).is_some())
}

/// The worst outlier, else the worst finding.
pub(crate) fn why(drive: &FleetDrive) -> Option<String> {
    let Some(first) = drive.outliers.first() else {
        return drive.finding.as_deref().map(clean);
    };
    let more = drive.outliers.len() - 1;
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some(format!("{}{more}", outlier(first)))
}

/// `rand-read 60 % of the median of 8: 587k ± 1k IOPS, not 981k IOPS`, `rand-read 60 % of what it
/// was in 3 runs since 2026-05-01: …`, with the change of its class.
fn outlier(outlier: &Outlier) -> String {
    let Outlier { measurement, metric, estimate, unlike, against } = outlier;
    let (share, of, usual) = match against {
        Against::Class { drives } => {
            (unlike.ratio, format!("the median of {drives}"), unlike.median)
        }
        Against::Itself { value, runs, since_ns } => {
            let since = rfc3339(*since_ns);
            let since = since.split('T').next().unwrap_or_default();
            let class = match (unlike.median - 1.0).abs() > NOTHING {
                true => format!(", its class {}", percent(unlike.median)),
                false => String::new(),
            };
            let of = format!("what it was in {} since {since}{class}", counted(*runs, "run"));
            (estimate.value / value, of, *value)
        }
    };
    format!(
        "{} {} of {of}: {}, not {}",
        clean(measurement),
        percent(share),
        estimated(*metric, estimate),
        stated(*metric, usual),
    )
}
