//! Scaling: where the aggregate of more and more drives stopped growing.

use std::fmt::Write as _;

use iodyno_judge::Growth;
use iodyno_model::{Measurement, RunRecord, Scaling};

use super::Style;
use super::ink::Ink;
use super::words::clean;

/// A sentence for each point that was measured on several drives.
pub fn scaling_text(record: &RunRecord, asked: &Scaling, style: &Style) -> String {
    let mut names: Vec<&str> = Vec::new();
    for Measurement { name, .. } in &record.measurements {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = String::new();
    for name in names {
        let own = record.measurements.iter().filter(|of| of.name == name);
        if let Some(sentence) = Growth::of(asked, own).sentence(&clean(name)) {
            let _ = writeln!(text, "\n{}", Ink::Bold.paint(&sentence, style.color));
        }
    }
    text
}
