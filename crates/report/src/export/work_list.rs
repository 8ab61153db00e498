//! The list for the people in the aisle: which drive, where it is, what to do.

use std::collections::BTreeMap;

use iodyno_model::Verdict;
use thiserror::Error;

use crate::fleet::{Fleet, FleetDrive};
use crate::text::fleet::why;

/// Where hosts stand, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, String>);

/// Why a text says not where hosts stand.
#[derive(Debug, Error)]
pub enum PlacesError {
    /// It is damaged, or something else.
    #[error("it is not CSV: {0}")]
    Csv(#[from] csv::Error),
    /// It has others.
    #[error("the columns host and rack were expected")]
    Columns,
}

impl Places {
    /// From CSV with the columns `host` and `rack`, or whatever else says where it stands.
    ///
    /// # Errors
    /// It is no CSV, or has not these columns.
    pub fn parse(text: &str) -> Result<Self, PlacesError> {
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let heads = reader.headers()?.clone();
        let column = |name: &str| heads.iter().position(|head| head.eq_ignore_ascii_case(name));
        let (Some(host), Some(rack)) = (column("host"), column("rack")) else {
            return Err(PlacesError::Columns);
        };
        let mut places = BTreeMap::new();
        for row in reader.records() {
            let row = row?;
            if let (Some(host), Some(rack)) = (row.get(host), row.get(rack)) {
                places.insert(host.to_owned(), rack.to_owned());
            }
        }
        Ok(Self(places))
    }
}

/// Drives that FAIL or are slower than their equals, as CSV: rack, host, slot, drive, serial, model, verdict,
/// rule, why, what to do. Ordered as people walk: by rack, host and slot.
///
/// # Errors
/// Cannot happen in memory; the CSV writer's own.
pub fn work_list(fleet: &Fleet, places: &Places) -> Result<String, csv::Error> {
    let mut rows: Vec<[String; 10]> = Vec::new();
    for class in &fleet.classes {
        let model = class.kind.as_ref().and_then(|kind| kind.model.clone()).unwrap_or_default();
        for drive in class.drives.iter().filter(|drive| drive.is_wrong()) {
            let rack = places.0.get(&drive.host).cloned().unwrap_or_default();
            let slot = drive.traits.slot.clone().unwrap_or_default();
            let (rule, next) = what_to_do(drive);
            rows.push([
                rack,
                drive.host.clone(),
                slot,
                drive.name.clone(),
                drive.serial.clone().unwrap_or_default(),
                model.clone(),
                drive.verdict.label().into(),
                rule,
                why(drive).unwrap_or_default(),
                next,
            ]);
        }
    }
    rows.sort();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "rack", "host", "slot", "drive", "serial", "model", "verdict", "rule", "why", "todo",
    ])?;
    for row in rows {
        writer.write_record(row.map(|cell| as_text(&cell)))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn what_to_do(drive: &FleetDrive) -> (String, String) {
    match (&drive.rule, &drive.next, drive.verdict) {
        // What it fails is what is to be done; a slowness that nothing explains is looked into.
        (Some(rule), Some(next), Verdict::Fail) => (rule.clone(), next.clone()),
        _ => (
            "unlike-peers".into(),
            "Swap it with a healthy drive of its class and measure again: if the slowness moves with it, replace it."
                .into(),
        ),
    }
}

/// Strings of devices are data: spreadsheets take what begins so for a formula.
fn as_text(cell: &str) -> String {
    let cell: String = cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell }
}
