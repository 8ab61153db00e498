//! Steps that are measured on whole targets: on each alone, or on all at once.

use iodyno_job::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step: one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name, which its measurements have.
    pub name: String,
    /// On each target alone.
    pub each: bool,
    /// On all targets at once.
    pub together: bool,
    /// What is to be done on each target.
    pub job: Job,
    /// How many I/Os are outstanding is searched for.
    pub outstanding: Option<Search>,
}

/// A search for the number of outstanding I/Os that suffices: `outstanding` of a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Starts with this many.
    pub from: u32,
    /// Never tries more.
    pub to: u32,
    /// Doubled until the rate grows by less than this.
    #[serde(rename = "until_growth_below_percent")]
    pub growth_percent: f64,
}

/// On which targets a step is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// On each target alone.
    Each,
    /// On all targets at once.
    Together,
}
