//! How drives are prepared before a study.

use iodyno_model::PurgeMethod;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How drives are to be prepared: `[preparation]` of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// How they are emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<PurgeMethod>,
    /// How often their capacity is written; 2 = twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// By which workload they are conditioned then, until they are steady:
    /// options of jobs, `rw=randwrite bs=4k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How long a round of that takes.
    #[serde(default = "half_an_hour")]
    pub round: String,
    /// Whether it has to be asked for.
    #[serde(default, skip_serializing_if = "When::is_always")]
    pub when: When,
}

/// When drives are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Whenever the plan is carried out.
    #[default]
    Always,
    /// Where a purge is asked for (`--purge`); else the plan takes drives as they are.
    Asked,
}

impl When {
    const fn is_always(&self) -> bool {
        matches!(self, Self::Always)
    }
}

/// As SNIA's PTS has it for conditioning.
fn half_an_hour() -> String {
    "30m".into()
}

impl Default for Preparation {
    fn default() -> Self {
        Self { purge: None, fill: None, condition: None, round: half_an_hour(), when: When::Always }
    }
}

impl Preparation {
    /// It asks for nothing.
    pub const fn is_empty(&self) -> bool {
        self.purge.is_none() && self.fill.is_none() && self.condition.is_none()
    }

    /// What is done of `written`, as a plan has it. A `purge` that was asked for
    /// (`Some(None)`: none) goes before the plan's.
    pub fn asked(written: Option<Self>, purge: Option<Option<PurgeMethod>>) -> Option<Self> {
        let Some(purge) = purge else { return written.filter(|how| how.when.is_always()) };
        let how = Self { purge, when: When::Always, ..written.unwrap_or_default() };
        (!how.is_empty()).then_some(how)
    }
}
