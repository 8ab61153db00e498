//! What came of undoing what a run left behind.

use std::fmt;

use crate::error::CampaignError;

/// Something that a run left behind.
#[derive(Debug)]
pub struct Undone {
    /// What: a scratch file's path, a setting's, a part of a layout.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of undoing something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A file was there, and is no more.
    Removed,
    /// A part of a layout stood, and does no more.
    TakenDown,
    /// A drive holds nothing any more.
    Emptied,
    /// A setting has this value again.
    Restored(String),
    /// Nothing was there to be undone: a thing on a drive that is gone is gone.
    Gone,
    /// It is somebody else's by now, and is left alone; a sentence says why.
    LeftAlone(String),
    /// Nothing proves that iodyno made it: it is left alone, and stays in the journal.
    Unproven {
        /// The command that undoes it, for who knows better.
        by_hand: String,
    },
    /// Of a run of which nobody knows whether it still goes on.
    MayBeRunning {
        /// The command that undoes it, for who knows that it ended.
        by_hand: String,
    },
    /// Of a run on another host that shares the store. It stays in the journal.
    Elsewhere {
        /// That host's name.
        host: String,
        /// The command that takes it for this host's, for who knows better.
        by_hand: String,
    },
    /// What its entry says cannot be read: why. It stays in the journal.
    Unreadable(String),
    /// It is ours and cannot be undone: why. It stays in the journal.
    Failed(String),
}

impl Outcome {
    /// Whether nothing is left to be done.
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
            Self::Gone => f.write_str("is gone already"),
            Self::LeftAlone(why) => write!(f, "left alone: {why}"),
            Self::Unproven { by_hand } => {
                write!(f, "left alone: nothing proves that iodyno made it; if it did: {by_hand}")
            }
            Self::MayBeRunning { by_hand } => {
                write!(
                    f,
                    "left alone: whether it still goes on cannot be known; if it ended: {by_hand}"
                )
            }
            Self::Elsewhere { host, by_hand } => {
                write!(
                    f,
                    "left alone: it is undone on {host}, where it was made; if that is this host, or gone for \
                     good: {by_hand}"
                )
            }
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}
