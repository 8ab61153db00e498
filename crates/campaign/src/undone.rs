//! Outcomes of undoing what a run left behind.

use std::fmt;

use crate::error::CampaignError;

/// Something that a run left behind.
#[derive(Debug)]
pub struct Undone {
    /// Name of it: path of a scratch file or a setting, part of a layout.
    pub what: String,
    /// Outcome of undoing it.
    pub outcome: Outcome,
}

/// Outcome of undoing something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A file was removed.
    Removed,
    /// A part of a layout was taken down.
    TakenDown,
    /// A drive was emptied.
    Emptied,
    /// A setting was restored to this value.
    Restored(String),
    /// Nothing left to undo, also because its drive is gone.
    Gone,
    /// Left alone: changed by somebody else since; with the reason.
    LeftAlone(String),
    /// Left alone for lack of proof that iodyno made it; stays in the journal.
    Unproven {
        /// Command that undoes it, for users who know better.
        by_hand: String,
    },
    /// Its run may still be running.
    MayBeRunning {
        /// Command that undoes it, for users who know that the run ended.
        by_hand: String,
    },
    /// Made by a run on another host that shares the store; stays in the journal.
    Elsewhere {
        /// Name of that host.
        host: String,
        /// Command that treats it as made on this host, for users who know better.
        by_hand: String,
    },
    /// Its journal entry cannot be read, with the reason; stays in the journal.
    Unreadable(String),
    /// Ours, but undoing it failed, with the reason; stays in the journal.
    Failed(String),
}

impl Outcome {
    /// True if nothing is left to do.
    pub const fn is_settled(&self) -> bool {
        !matches!(
            self,
            Self::Unproven { .. }
                | Self::MayBeRunning { .. }
                | Self::Elsewhere { .. }
                | Self::Unreadable(_)
                | Self::Failed(_)
        )
    }

    pub(crate) fn of(result: Result<Self, CampaignError>) -> Self {
        result.unwrap_or_else(|error| Self::Failed(error.to_string()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed => f.write_str("removed"),
            Self::TakenDown => f.write_str("taken down"),
            Self::Emptied => f.write_str("emptied"),
            Self::Restored(value) => write!(f, "{value} again"),
            Self::Gone => f.write_str("already gone"),
            Self::LeftAlone(why) => write!(f, "left alone: {why}"),
            Self::Unproven { by_hand } => {
                write!(f, "left alone: not proven to be iodyno's; if it is: {by_hand}")
            }
            Self::MayBeRunning { by_hand } => {
                write!(
                    f,
                    "left alone: whether it is running cannot be known; if it ended: {by_hand}"
                )
            }
            Self::Elsewhere { host, by_hand } => {
                write!(
                    f,
                    "left alone: made on {host}, undo it there; if that is this host, or gone for good: {by_hand}"
                )
            }
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}
