//! Purpose of a step; its name is chosen by the user, or a label.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Experiment, Measurement, RunKind};

/// Purpose of a step.
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
    /// Measured for its own sake.
    #[default]
    Measure,
    /// Sequential fill of what is measured next.
    Fill,
    /// Fill of the rest of a device, after the last whole block of a fill.
    FillRest,
    /// Discard (trim) of a device.
    Discard,
    /// Preconditioning of a drive, in rounds.
    Condition,
    /// The workload that an explain run examines, also when repeated.
    Asked,
    /// The examined workload with one condition changed.
    Experiment(Experiment),
}

impl Purpose {
    /// True if measured for its own sake.
    pub fn is_measure(&self) -> bool {
        *self == Self::Measure
    }

    /// True if it writes what is measured next.
    pub const fn is_fill(self) -> bool {
        matches!(self, Self::Fill | Self::FillRest)
    }

    /// True if it brings a drive into the state in which something else is measured.
    pub const fn is_preparation(self) -> bool {
        self.is_fill() || matches!(self, Self::Discard | Self::Condition)
    }

    /// Purpose of a measurement stored by an earlier version, derived from its name and the kind of
    /// its run.
    pub fn from_earlier_version(kind: RunKind, of: &Measurement) -> Self {
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
