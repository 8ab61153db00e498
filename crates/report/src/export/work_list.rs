//! Work list for data centre technicians: which drive, where it is, what to do.

use std::collections::BTreeMap;

use iodyno_model::Verdict;
use thiserror::Error;

use crate::fleet::{Fleet, FleetDrive};
use crate::text::fleet::why;

/// Locations of hosts, by host name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places(BTreeMap<String, String>);

/// Error in reading locations.
#[derive(Debug, Error)]
pub enum PlacesError {
    /// Damaged, or not CSV at all.
    #[error("not CSV: {0}")]
    Csv(#[from] csv::Error),
    /// A required column is missing.
    #[error("expected the columns host and rack")]
    Columns,
}

impl Places {
    /// Parses CSV with the columns `host` and `rack`; `rack` may be any description of the
    /// location.
    ///
    /// # Errors
    /// The text is not CSV, or lacks one of these columns.
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

/// Lists drives that FAIL or are slower than their peers, as CSV: rack, host, slot, drive, serial,
/// model, verdict, rule, why, what to do. Sorted by rack, host and slot, the order of a walk
/// through the aisle.
///
/// # Errors
/// Only those of the CSV writer, which cannot occur in memory.
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
        writer.write_record(row.map(|cell| no_formula(&cell)))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn what_to_do(drive: &FleetDrive) -> (String, String) {
    match (&drive.rule, &drive.next, drive.verdict) {
        // A failed rule says what to do; an unexplained slowness has to be investigated.
        (Some(rule), Some(next), Verdict::Fail) => (rule.clone(), next.clone()),
        _ => (
            "unlike-peers".into(),
            "Swap it with a healthy drive of its class and measure again: if the slowness moves with it, replace it."
                .into(),
        ),
    }
}

/// Strings from devices are data: a spreadsheet would take a cell that starts like this for a
/// formula.
fn no_formula(cell: &str) -> String {
    let cell: String = cell.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell }
}
