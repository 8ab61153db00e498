//! What a job did besides moving data.

use iodyno_model as model;
use iodyno_model::{ErrorCount, LatencyRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::Latency;

/// What a job, or all clones of one, did besides moving data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// From its start to its end, ramp included, ns.
    pub elapsed_ns: u64,
    /// Errno of what ended it early; 0: nothing did.
    pub error: i32,
    /// I/Os that failed, by errno.
    pub errors: Vec<ErrorCount>,
    /// Blocks that were verified.
    pub verified: u64,
    /// Of those, blocks that were not what was written.
    pub mismatches: u64,
    /// Context switches of its threads.
    pub context_switches: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
    /// fsync and fdatasync; null: there were none.
    pub sync: Option<Latency>,
    /// The depth that `latency_target` found.
    pub latency_target_depth: Option<u32>,
    /// I/Os that were submitted while 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, and more
    /// were outstanding; those of a report are from its shares.
    #[serde(default)]
    pub depth_levels: [u64; 7],
    /// I/Os by latency, as a report states them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_classes: Vec<LatencyRange>,
    /// Whether `steadystate` was attained.
    pub steadystate_attained: Option<bool>,
}

impl From<&model::Account> for Account {
    fn from(account: &model::Account) -> Self {
        Self {
            elapsed_ns: account.elapsed_ns,
            error: account.error,
            errors: account.errors.clone(),
            verified: account.verified,
            mismatches: account.mismatches,
            context_switches: account.switches,
            major_faults: account.major_faults,
            minor_faults: account.minor_faults,
            sync: Latency::new(&account.sync, None),
            latency_target_depth: account.latency_target_depth,
            depth_levels: account.depth_levels,
            latency_classes: account.latency_ranges.clone(),
            steadystate_attained: account.steadystate_attained,
        }
    }
}
