//! What an application needs beside what was measured of it, and the settings that follow.

use iodyno_judge::fit::{fitted, is_valid, setting_text};
use iodyno_model::{Assessment, Bound, Estimate, FigureOf, Kept, RunRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of an application's profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitDocument {
    /// The profile.
    pub profile: String,
    /// The directory or device that was measured.
    pub place: String,
    /// Its quantities, the deciding ones first.
    pub quantities: Vec<FitQuantity>,
    /// Settings of the application that follow.
    pub settings: Vec<FitSetting>,
    /// What a reader has to know of the figures.
    pub notes: Vec<String>,
}

/// A quantity as it was measured, and what it was held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitQuantity {
    /// What it is to the application.
    pub name: String,
    /// Which figure of which job it is.
    pub of: FigureOf,
    /// Over all rounds, I/Os per second, bytes per second or ns; null: not known well enough.
    pub estimate: Option<Estimate>,
    /// The bounds.
    pub bounds: Vec<FitBound>,
}

/// A bound, with its source, and whether it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitBound {
    /// The bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// By the whole interval of the quantity.
    pub kept: Kept,
}

/// A setting, which nobody applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FitSetting {
    /// Its lines; null: a figure that it is made of is not known.
    pub text: Option<String>,
    /// Where they belong.
    pub apply: String,
    /// Why these, or which figure is not known.
    pub why: String,
}

impl FitDocument {
    /// What came of the profile of a run; `None`: the run is of none.
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
            let (text, why) = match setting_text(&profile, setting, record, is_valid) {
                Ok(of) => (Some(of.text), of.why),
                Err(missing) => (None, missing.to_string()),
            };
            FitSetting { text, apply: setting.apply.clone(), why }
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
