//! Public document of an application's requirements, its measured figures and derived settings.

use iodyno_judge::fit::{fitted, is_valid, setting_text};
use iodyno_model::{Assessment, Bound, Estimate, FigureOf, Kept, RunRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of an application profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitDocument {
    /// Name of the profile.
    pub profile: String,
    /// Measured directory or device.
    pub place: String,
    /// Quantities, the decisive ones first.
    pub quantities: Vec<FitQuantity>,
    /// Derived settings of the application.
    pub settings: Vec<FitSetting>,
    /// Notes on the figures.
    pub notes: Vec<String>,
}

/// Measured quantity and its bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitQuantity {
    /// Meaning to the application.
    pub name: String,
    /// Job and figure that it is read from.
    pub of: FigureOf,
    /// Estimate over all rounds, I/Os per second, bytes per second or ns; null: not known well
    /// enough.
    pub estimate: Option<Estimate>,
    /// Bounds.
    pub bounds: Vec<FitBound>,
}

/// Bound with its source and result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitBound {
    /// Bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// Whether the whole interval of the quantity is within the bound.
    pub kept: Kept,
}

/// Recommended setting; iodyno does not apply it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FitSetting {
    /// Lines of the setting; null if a figure that it needs is unknown.
    pub text: Option<String>,
    /// Where to put them.
    pub apply: String,
    /// Reason for the values, or the figure that is unknown.
    pub why: String,
    /// Doubts about the values, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

impl FitDocument {
    /// Returns the result of the run's profile; `None` if the run has none.
    pub fn of(record: &RunRecord, assessment: &Assessment) -> Option<Self> {
        let profile = record.run.profile()?;
        let is_valid = is_valid(assessment);
        let quantities = fitted(&profile, record, is_valid).into_iter().map(|one| FitQuantity {
            name: one.quantity.name.clone(),
            of: one.quantity.of.clone(),
            estimate: one.estimate,
            bounds: one
                .bounds
                .into_iter()
                .map(|(bound, kept)| FitBound { bound: bound.clone(), kept })
                .collect(),
        });
        let settings = profile.settings.iter().map(|setting| {
            let (text, why, doubts) = match setting_text(&profile, setting, record, is_valid) {
                Ok(of) => (Some(of.text), of.why, of.doubts),
                Err(missing) => (None, missing.to_string(), Vec::new()),
            };
            let doubts = doubts.iter().map(ToString::to_string).collect();
            FitSetting { text, apply: setting.apply.clone(), why, doubts }
        });
        Some(Self {
            profile: profile.name.clone(),
            place: profile.place(&record.run.targets),
            quantities: quantities.collect(),
            settings: settings.collect(),
            notes: profile.notes.clone(),
        })
    }
}
