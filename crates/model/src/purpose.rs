//! What a step is for. Its name is the user's, or a label.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Experiment, Measurement, RunKind};

/// What a step is for.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// It is measured for its own sake.
    #[default]
    Measure,
    /// It fills what is measured then, in sequence.
    Fill,
    /// It fills what is left of a device behind the last whole block of a fill.
    FillRest,
    /// It discards what a device holds.
    Discard,
    /// It conditions a drive, in rounds.
    Condition,
    /// It is what a run explains, for the first time or once more.
    Asked,
    /// It is what a run explains with one thing changed.
    Experiment(Experiment),
}

impl Purpose {
    /// It is measured for its own sake.
    pub fn is_measure(&self) -> bool {
        *self == Self::Measure
    }

    /// It writes what is measured then.
    pub const fn is_fill(self) -> bool {
        matches!(self, Self::Fill | Self::FillRest)
    }

    /// Of a measurement of an earlier version, in a run of this kind: its name said so.
    pub fn of_earlier(kind: RunKind, of: &Measurement) -> Self {
        let first = match of.name.rsplit_once('-') {
            Some((first, nth)) if nth.parse::<u32>().is_ok() => first,
            _ => &of.name,
        };
        match (kind, of.name.as_str()) {
            (RunKind::Explain, _) if first == "asked" => Self::Asked,
            (RunKind::Explain, _) => Experiment::all()
                .find(|one| one.name() == first)
                .map_or(Self::Measure, Self::Experiment),
            (RunKind::Prepare, _) if of.round.is_some() => Self::Condition,
            _ if of.round.is_some() => Self::Measure,
            (RunKind::Prepare | RunKind::Sweep, "fill") => Self::Fill,
            (RunKind::Prepare | RunKind::Sweep, "fill-rest") => Self::FillRest,
            (RunKind::Prepare | RunKind::Sweep, "discard" | "discard-rest") => Self::Discard,
            _ => Self::Measure,
        }
    }
}
