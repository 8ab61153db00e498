//! What a job did besides moving data.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::Latency;
use super::reported::LatencyClass;

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
    pub latency_classes: Vec<LatencyClass>,
    /// Whether `steadystate` was attained.
    pub steadystate_attained: Option<bool>,
}

/// I/Os that failed in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Errno.
    pub errno: i32,
    /// `read`, `write` or `trim`.
    pub direction: String,
    /// How many.
    pub count: u64,
    /// The first offsets, bytes.
    pub offsets: Vec<u64>,
}

impl From<&model::Account> for Account {
    fn from(account: &model::Account) -> Self {
        Self {
            elapsed_ns: account.elapsed_ns,
            error: account.error,
            errors: account.errors.iter().map(ErrorCount::from).collect(),
            verified: account.verified,
            mismatches: account.mismatches,
            context_switches: account.switches,
            major_faults: account.major_faults,
            minor_faults: account.minor_faults,
            sync: Latency::new(&account.sync, None),
            latency_target_depth: account.latency_target_depth,
            depth_levels: account.depth_levels,
            latency_classes: account.latency_ranges.iter().map(LatencyClass::from).collect(),
            steadystate_attained: account.steadystate_attained,
        }
    }
}

impl From<&model::ErrorCount> for ErrorCount {
    fn from(error: &model::ErrorCount) -> Self {
        Self {
            errno: error.errno,
            direction: error.direction.name().into(),
            count: error.count,
            offsets: error.offsets.clone(),
        }
    }
}
