//! Rounds: the same points measured again and again until a drive is steady.
//! Scaling: the same point on more and more drives at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Metric;

/// What the SNIA PTS wants to be reported and no program can read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PtsStatement {
    /// Who ran the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// Who audited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auditor: Option<String>,
    /// Form factor of the drives, `U.2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form_factor: Option<String>,
    /// Their media, `TLC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
}

impl PtsStatement {
    /// The names of all that can be stated.
    pub const NAMES: [&str; 4] = ["operator", "auditor", "form_factor", "media"];

    /// Nothing is stated.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// States `what`, one of [`Self::NAMES`]; whether it is one.
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

    /// Everything that can be stated, with what is stated of it.
    pub fn entries(&self) -> [(&'static str, Option<&str>); 4] {
        let Self { operator, auditor, form_factor, media } = self;
        let [a, b, c, d] = [operator, auditor, form_factor, media].map(Option::as_deref);
        [("operator", a), ("auditor", b), ("form factor", c), ("media", d)]
    }
}

/// When a plan in rounds is over (SNIA PTS 2.0.2, 2.1.24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rounds {
    /// Rounds at most.
    pub most: u32,
    /// Rounds of the measurement window, the last ones.
    pub window: u32,
    /// Greatest less smallest value of the window, in percent of their average, at most.
    pub excursion_percent: f64,
    /// Rise or fall of the line through them, in percent of their average, at most.
    pub slope_percent: f64,
    /// They are over, too, once so many times the tested range was written;
    /// `None`: only when it is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_times: Option<f64>,
    /// What has to be steady, all of it.
    pub track: Vec<Tracked>,
}

/// A figure that has to be steady.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tracked {
    /// Of the point of this name.
    pub point: String,
    /// Which one, over all directions.
    pub metric: Metric,
}

impl Default for Rounds {
    /// As the specification has it.
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

/// When drives are added no more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// A drive more has to bring at least so much of what the first one brought
    /// alone, in percent.
    pub least_gain_percent: f64,
}

impl Default for Scaling {
    fn default() -> Self {
        Self { least_gain_percent: 25.0 }
    }
}

impl Rounds {
    /// Whether a figure of the point of this name has to be steady.
    pub fn tracks(&self, point: &str) -> bool {
        self.track.iter().any(|one| one.point == point)
    }
}
