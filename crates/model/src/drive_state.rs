//! What a drive was put through, so that a later run knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a drive is emptied, so that its next writes run as if it had never been
/// written (SNIA SSS PTS: purge).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeMethod {
    /// Every block is discarded (trimmed).
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
    /// As it is typed: `format-crypto`.
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

/// How far a preparation got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreparationState {
    /// It is going on, or its process was killed.
    Begun,
    /// To its end.
    Done,
    /// The user stopped it.
    Interrupted,
    /// A part of it failed.
    Failed,
}

impl PreparationState {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// What the blocks of a drive were filled with, in sequence from the first on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FillState {
    /// Bytes that were written, which may be several times the capacity.
    pub written_bytes: u64,
    /// Time that it took, ns.
    pub duration_ns: u64,
}

/// What a drive was conditioned by (SNIA SSS PTS: workload dependent preconditioning).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionState {
    /// Options of the jobs, as they were typed: `rw=randwrite bs=4k`.
    pub workload: String,
    /// Rounds that were measured.
    pub rounds: u32,
    /// The round in which it came to its steady state; `None`: it did not.
    pub steady_in: Option<u32>,
}

/// The state that a preparation left a namespace in. It holds as long as the
/// drive's own count of written bytes stays what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveState {
    /// Serial number of the drive.
    pub serial: String,
    /// Namespace id.
    pub nsid: u32,
    /// The run that prepared it; `None`: it was removed since.
    #[serde(rename = "run", alias = "run_id")]
    pub run_id: Option<String>,
    /// When, ns since 1970 UTC.
    #[serde(rename = "at", alias = "at_ns", with = "crate::json::time")]
    #[schemars(with = "String")]
    pub at_ns: i64,
    /// How far it got.
    pub state: PreparationState,
    /// The purge that was begun or done.
    pub purge: Option<PurgeMethod>,
    /// What was written; `None`: nothing yet.
    pub fill: Option<FillState>,
    /// What it was conditioned by after that.
    #[serde(default)]
    pub condition: Option<ConditionState>,
    /// Size of the namespace, bytes.
    pub capacity_bytes: Option<u64>,
    /// Bytes that hosts wrote to the drive, by its own count.
    pub host_written_bytes: Option<u128>,
}
