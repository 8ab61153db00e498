//! Disk statistics from fio's reports, and totals of job groups.

use iodyno_model as model;
use iodyno_model::DiskUse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measurement::Results;

/// Activity of a block device while all jobs of a report ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// Disk statistics; sectors are also 0 if the report has none (before fio 3.36).
    #[serde(flatten)]
    pub did: DiskUse,
    /// Share of the time with I/O in flight, 0..1.
    pub busy: Option<f64>,
}

/// Total of several jobs that ran at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupTotal {
    /// Indices into `measurements`, from 0.
    pub members: Vec<usize>,
    /// From the first start to the last end, ns; null: not known.
    pub duration_ns: Option<u64>,
    /// Results by direction.
    #[serde(flatten)]
    pub results: Results,
}

impl From<&DiskUse> for Disk {
    fn from(did: &DiskUse) -> Self {
        Self { did: did.clone(), busy: Some(did.util_percent() / 100.0) }
    }
}

impl Disk {
    /// Converts back to the model. Earlier documents have only the share.
    pub(super) fn read(&self) -> DiskUse {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut did = self.did.clone();
        if did.elapsed_ns == 0 {
            did.busy_ns = (self.busy.unwrap_or(0.0) * SECOND_NS as f64) as u64;
            did.elapsed_ns = SECOND_NS;
        }
        did
    }
}

impl From<&model::GroupTotal> for GroupTotal {
    fn from(of: &model::GroupTotal) -> Self {
        Self {
            members: of.members.clone(),
            duration_ns: of.duration_ns,
            results: Results::of(&of.total),
        }
    }
}
