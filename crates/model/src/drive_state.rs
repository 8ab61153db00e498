//! State that preparations left drives in, for later runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Method of emptying a drive, so that it next performs as if never written (SNIA SSS PTS: purge).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeMethod {
    /// Discard (trim) every block.
    Discard,
    /// Format NVM without a secure erase.
    Format,
    /// Format NVM with a user data erase.
    FormatUserErase,
    /// Format NVM with a cryptographic erase.
    FormatCrypto,
    /// Sanitize by block erase.
    SanitizeBlock,
    /// Sanitize by cryptographic erase.
    SanitizeCrypto,
}

impl PurgeMethod {
    /// Name on the command line: `format-crypto`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::Format => "format",
            Self::FormatUserErase => "format-user-erase",
            Self::FormatCrypto => "format-crypto",
            Self::SanitizeBlock => "sanitize-block",
            Self::SanitizeCrypto => "sanitize-crypto",
        }
    }
}

/// Progress of a preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreparationState {
    /// In progress, or its process was killed.
    Begun,
    /// Completed.
    Done,
    /// Interrupted by the user.
    Interrupted,
    /// Failed in part.
    Failed,
}

impl PreparationState {
    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Sequential fill of a drive, from its first block on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FillState {
    /// Bytes written; may be several times the capacity.
    pub written_bytes: u64,
    /// Duration, ns.
    pub duration_ns: u64,
}

/// Preconditioning of a drive (SNIA SSS PTS: workload dependent preconditioning).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionState {
    /// Job options, as typed: `rw=randwrite bs=4k`.
    pub workload: String,
    /// Number of measured rounds.
    pub rounds: u32,
    /// Round in which the drive reached steady state; null: not reached.
    pub steady_in: Option<u32>,
}

/// State in which a preparation left a namespace. Valid as long as the drive's own count of written
/// bytes does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveState {
    /// Serial number of the drive.
    pub serial: String,
    /// Namespace id.
    pub nsid: u32,
    /// Run that prepared the drive; null: removed since.
    #[serde(rename = "run", alias = "run_id")]
    pub run_id: Option<String>,
    /// Time of the preparation, ns since 1970 UTC.
    #[serde(rename = "at", alias = "at_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub at_ns: i64,
    /// Progress of the preparation.
    pub state: PreparationState,
    /// Purge that was begun or completed.
    pub purge: Option<PurgeMethod>,
    /// Fill; null: nothing written yet.
    pub fill: Option<FillState>,
    /// Preconditioning after the fill.
    #[serde(default)]
    pub condition: Option<ConditionState>,
    /// Size of the namespace, bytes.
    pub capacity_bytes: Option<u64>,
    /// Total bytes written by hosts, from the drive's own counter.
    pub host_written_bytes: Option<u128>,
}
