//! What drives were put through.

use iodyno_model::{DriveState, Host};
use schemars::JsonSchema;
use serde::Serialize;

use crate::history::{Past, history};

/// What `list --history --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistoryDocument {
    /// `iodyno.history/1`.
    pub schema: String,
    /// One drive after the other, each in order of time.
    pub states: Vec<PastState>,
}

/// A state that a preparation left a namespace in; what is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PastState {
    /// The state.
    #[serde(flatten)]
    pub state: DriveState,
    /// The name that it has on this host.
    pub name: Option<String>,
    /// Bytes that were written in sequence.
    pub filled_bytes: Option<u64>,
    /// Bytes that hosts have written to the drive since, of its newest state.
    pub written_since_bytes: Option<u64>,
}

/// The document of `states` on `host`.
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
