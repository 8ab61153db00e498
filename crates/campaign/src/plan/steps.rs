//! Steps measured on whole targets: on each alone, or on all at once.

use iodyno_job::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step: one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, also in its measurements.
    pub name: String,
    /// Measure each target alone.
    pub each: bool,
    /// Measure all targets at once.
    pub together: bool,
    /// Job on each target.
    pub job: Job,
    /// Search for the number of outstanding I/Os.
    pub outstanding: Option<Search>,
}

/// Numbers of the steps made on each of `targets` alone, and of those made on all at once. A single
/// target is all of them where no step is made on each.
pub(crate) fn divided(steps: &[Step], targets: usize) -> [Vec<usize>; 2] {
    let pick = |of: fn(&Step) -> bool| (0..steps.len()).filter(|n| of(&steps[*n])).collect();
    let (each, together): (Vec<usize>, Vec<usize>) =
        (pick(|step| step.each), pick(|step| step.together));
    match targets {
        0 | 1 if each.is_empty() => [together, Vec::new()],
        0 | 1 => [each, Vec::new()],
        _ => [each, together],
    }
}

/// `outstanding` of a step: search for the smallest sufficient number of outstanding I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// First number to try.
    pub from: u32,
    /// Largest number to try.
    pub to: u32,
    /// Stop doubling once the rate grows by less than this, percent.
    #[serde(rename = "until_growth_below_percent")]
    pub growth_percent: f64,
}

/// Targets of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// Each target alone.
    Each,
    /// All targets at once.
    Together,
}
