//! What drives were put through.

use iodyno_model as model;
use iodyno_model::rfc3339;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::{Past, history};

/// What `list --history --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryDocument {
    /// `iodyno.history/1`.
    pub schema: String,
    /// One drive after the other, each in order of time.
    pub states: Vec<PastState>,
}

/// A state that a preparation left a namespace in; what is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastState {
    /// Serial number of the drive.
    pub serial: String,
    /// Namespace id.
    pub nsid: u32,
    /// The name that it has on this host.
    pub name: Option<String>,
    /// When.
    pub at: String,
    /// `begun` (and killed), `done`, `interrupted` or `failed`.
    pub state: String,
    /// How it was emptied.
    pub purge: Option<String>,
    /// Bytes that were written in sequence.
    pub filled_bytes: Option<u64>,
    /// Size of the namespace, bytes.
    pub capacity_bytes: Option<u64>,
    /// What it was conditioned by.
    pub condition: Option<PastCondition>,
    /// Bytes that hosts have written to the drive since, of its newest state.
    pub written_since_bytes: Option<u64>,
    /// The run that did it; null: it was removed.
    pub run: Option<String>,
}

/// The workload that conditioned a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PastCondition {
    /// Options of the jobs.
    pub workload: String,
    /// Rounds that were measured.
    pub rounds: u32,
    /// The round in which it was steady; null: in none.
    pub steady_in: Option<u32>,
}

/// The document of `states` on `host`.
pub fn history_document(states: &[model::DriveState], host: &model::Host) -> HistoryDocument {
    let past = history(states, host);
    HistoryDocument {
        schema: "iodyno.history/1".into(),
        states: past.iter().map(PastState::from).collect(),
    }
}

impl From<&Past<'_>> for PastState {
    fn from(past: &Past<'_>) -> Self {
        let state = past.state;
        let condition = state.condition.as_ref().map(|of| PastCondition {
            workload: of.workload.clone(),
            rounds: of.rounds,
            steady_in: of.steady_in,
        });
        Self {
            serial: state.serial.clone(),
            nsid: state.nsid,
            name: past.name.map(str::to_owned),
            at: rfc3339(state.at_ns),
            state: state.state.name().into(),
            purge: state.purge.map(|method| method.name().into()),
            filled_bytes: state.fill.map(|fill| fill.written_bytes),
            capacity_bytes: state.capacity_bytes,
            condition,
            written_since_bytes: past.written_since_bytes,
            run: state.run_id.clone(),
        }
    }
}
