//! Exports a fleet as gauges.

use super::{Family, Labels, VERDICTS, rendered};
use crate::fleet::{DriveKind, Fleet, FleetDrive};

/// Returns the number of drives by class and verdict, and the affected drives by name.
pub fn fleet_openmetrics(fleet: &Fleet) -> String {
    let mut drives = Family::new("iodyno_fleet_drives", "", "Drives of a class by verdict.");
    let mut outliers = Family::new(
        "iodyno_fleet_outliers",
        "",
        "Drives slower than their class, at most 1 % of them wrongly.",
    );
    let mut wrong = Family::new(
        "iodyno_fleet_drive_wrong",
        "",
        "1 for a drive that fails or is slower than its class.",
    );
    for class in &fleet.classes {
        let of = class_labels(class.kind.as_ref());
        for verdict in VERDICTS {
            let mut labels = of.clone();
            labels.push(("verdict", verdict.label().to_owned()));
            let count = class.drives.iter().filter(|drive| drive.verdict == verdict).count();
            drives.push(labels, count as f64);
        }
        let slow = class.drives.iter().filter(|drive| !drive.outliers.is_empty()).count();
        outliers.push(of, slow as f64);
        for drive in class.drives.iter().filter(|drive| drive.is_wrong()) {
            wrong.push(drive_labels(drive), 1.0);
        }
    }
    let mut hosts = Family::new("iodyno_fleet_hosts", "", "Hosts whose runs were read.");
    hosts.push(Labels::new(), fleet.hosts() as f64);
    let mut spread = Family::new(
        "iodyno_fleet_start_spread_seconds",
        "seconds",
        "Spread of the starts of runs meant to start together.",
    );
    if let Some(ns) = fleet.start_spread_ns {
        spread.push(Labels::new(), ns as f64 / super::NS_PER_S);
    }
    rendered(&[hosts, drives, outliers, wrong, spread])
}

fn class_labels(kind: Option<&DriveKind>) -> Labels {
    let of = |text: Option<&String>| text.cloned().unwrap_or_default();
    vec![
        ("model", of(kind.and_then(|kind| kind.model.as_ref()))),
        ("firmware", of(kind.and_then(|kind| kind.firmware.as_ref()))),
        (
            "capacity_bytes",
            kind.and_then(|kind| Some(kind.capacity?.0.to_string())).unwrap_or_default(),
        ),
    ]
}

fn drive_labels(drive: &FleetDrive) -> Labels {
    let slow = if drive.outliers.is_empty() { "no" } else { "yes" };
    vec![
        ("host", drive.host.clone()),
        ("drive", drive.name.clone()),
        ("serial", drive.serial.clone().unwrap_or_default()),
        ("slot", drive.traits.slot.clone().unwrap_or_default()),
        ("verdict", drive.verdict.label().to_owned()),
        ("slow", slow.into()),
    ]
}
