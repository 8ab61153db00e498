//! Public document of the states that drives were prepared to.

use iodyno_model::{DriveState, Host};
use schemars::JsonSchema;
use serde::Serialize;

use crate::history::{Past, history};

/// Output of `list --history --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistoryDocument {
    /// `iodyno.history/1`.
    pub schema: String,
    /// States by drive, each drive's in order of time.
    pub states: Vec<PastState>,
}

/// State in which a preparation left a namespace; unknown values are null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PastState {
    /// State.
    #[serde(flatten)]
    pub state: DriveState,
    /// Current name on this host.
    pub name: Option<String>,
    /// Bytes written sequentially.
    pub filled_bytes: Option<u64>,
    /// Bytes that hosts have written to the drive since; only of its newest state.
    pub written_since_bytes: Option<u64>,
}

/// Builds the document of `states` on `host`.
pub fn history_document(states: &[DriveState], host: &Host) -> HistoryDocument {
    let past = |past: Past<'_>| PastState {
        state: past.state.clone(),
        name: past.name.map(str::to_owned),
        filled_bytes: past.state.fill.map(|fill| fill.written_bytes),
        written_since_bytes: past.written_since_bytes,
    };
    HistoryDocument {
        schema: "iodyno.history/1".into(),
        states: history(states, host).into_iter().map(past).collect(),
    }
}
