//! Job statistics besides transferred data.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::Latency;

/// Statistics of a job, or of all clones of one, besides transferred data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStats {
    /// Includes the bins of fsync latencies (`sync_bins`), used to judge an application's bounds.
    #[serde(flatten)]
    pub account: model::JobStats,
    /// Latency of fsync and fdatasync; null if there were none.
    pub sync: Option<Latency>,
}

impl From<&model::JobStats> for JobStats {
    fn from(account: &model::JobStats) -> Self {
        let sync = Latency::new(&account.sync, None);
        Self { sync, account: account.clone() }
    }
}
