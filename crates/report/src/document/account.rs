//! What a job did besides moving data.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::Latency;

/// What a job, or all clones of one, did besides moving data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStats {
    /// With the bins of fsync's latencies (`sync_bins`), by which an application's bounds are judged.
    #[serde(flatten)]
    pub account: model::JobStats,
    /// fsync and fdatasync; null: there were none.
    pub sync: Option<Latency>,
}

impl From<&model::JobStats> for JobStats {
    fn from(account: &model::JobStats) -> Self {
        let sync = Latency::new(&account.sync, None);
        Self { sync, account: account.clone() }
    }
}
