//! Rounds: the same points measured repeatedly until a drive is in steady state. Scaling: the same
//! point on more and more drives at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Metric;

/// Facts that an SNIA PTS report requires and no program can read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PtsStatement {
    /// Person who ran the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Person who audited the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auditor: Option<String>,
    /// Form factor of the drives, `U.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_factor: Option<String>,
    /// Media of the drives, `TLC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
}

impl PtsStatement {
    /// Names of all facts that can be stated.
    pub const NAMES: [&str; 4] = ["operator", "auditor", "form_factor", "media"];

    /// True if nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sets `what`, one of [`Self::NAMES`]; false for any other name.
    pub fn state(&mut self, what: &str, text: &str) -> bool {
        let field = match what {
            "operator" => &mut self.operator,
            "auditor" => &mut self.auditor,
            "form_factor" => &mut self.form_factor,
            "media" => &mut self.media,
            _ => return false,
        };
        *field = Some(text.into());
        true
    }

    /// Returns all names with their stated values.
    pub fn entries(&self) -> [(&'static str, Option<&str>); 4] {
        let Self { operator, auditor, form_factor, media } = self;
        let [a, b, c, d] = [operator, auditor, form_factor, media].map(Option::as_deref);
        [("operator", a), ("auditor", b), ("form factor", c), ("media", d)]
    }
}

/// End condition of a plan in rounds (SNIA PTS 2.0.2, 2.1.24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rounds {
    /// Maximum number of rounds.
    pub most: u32,
    /// Rounds in the measurement window, the last ones.
    pub window: u32,
    /// Maximum data excursion in the window: largest minus smallest value, in percent of their
    /// average.
    pub excursion_percent: f64,
    /// Maximum slope excursion: rise or fall of the regression line, in percent of their average.
    pub slope_percent: f64,
    /// Also ends once the tested range was written this many times; null: only in steady state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_times: Option<f64>,
    /// Figures that must all be steady.
    pub track: Vec<Tracked>,
}

/// Figure that must be steady.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// Name of the point.
    pub point: String,
    /// Metric, over all directions.
    pub metric: Metric,
}

impl Default for Rounds {
    /// Defaults of the specification.
    fn default() -> Self {
        Self {
            most: 25,
            window: 5,
            excursion_percent: 20.0,
            slope_percent: 10.0,
            written_times: None,
            track: Vec::new(),
        }
    }
}

/// End condition of adding drives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Minimum gain of one more drive, in percent of the first drive's rate alone.
    pub least_gain_percent: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self { least_gain_percent: 25.0 }
    }
}

impl Rounds {
    /// True if a figure of this point must be steady.
    pub fn tracks(&self, point: &str) -> bool {
        self.track.iter().any(|one| one.point == point)
    }
}
