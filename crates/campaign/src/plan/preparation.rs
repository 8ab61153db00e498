//! Preparation of drives before a study.

use iodyno_model::PurgeMethod;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[preparation]` of a plan: how drives are prepared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// Method by which the drives are emptied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<PurgeMethod>,
    /// Multiples of the capacity to write; 2 = twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<f64>,
    /// Workload that conditions the drives until they are steady, as job options: `rw=randwrite
    /// bs=4k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Duration of a conditioning round.
    #[serde(default = "half_an_hour")]
    pub round: String,
    /// When to prepare: always, or only on request.
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
    /// If a purge is requested (`--purge`); otherwise the plan takes drives as they are.
    Asked,
}

impl When {
    const fn is_always(&self) -> bool {
        matches!(self, Self::Always)
    }
}

/// Default round, as in SNIA's PTS.
fn half_an_hour() -> String {
    "30m".into()
}

impl Default for Preparation {
    fn default() -> Self {
        Self { purge: None, fill: None, condition: None, round: half_an_hour(), when: When::Always }
    }
}

impl Preparation {
    /// True if it asks for nothing.
    pub const fn is_empty(&self) -> bool {
        self.purge.is_none() && self.fill.is_none() && self.condition.is_none()
    }

    /// Preparation to carry out, given the plan's (`written`). A requested `purge` (`Some(None)`:
    /// none) overrides the plan's.
    pub fn asked(written: Option<Self>, purge: Option<Option<PurgeMethod>>) -> Option<Self> {
        let Some(purge) = purge else { return written.filter(|how| how.when.is_always()) };
        let how = Self { purge, when: When::Always, ..written.unwrap_or_default() };
        (!how.is_empty()).then_some(how)
    }
}
