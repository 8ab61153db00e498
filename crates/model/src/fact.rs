//! A fact about the host, which may be unknown, and says where it came from.

use serde::{Deserialize, Serialize};

/// A fact that was read, was stated by the user, or is unknown for a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    /// Read from the machine, live or captured.
    Read(T),
    /// Stated by the user, for instance about an imported result.
    Stated(T),
    /// Exists, but only root may read it.
    NeedsRoot,
    /// The machine, driver or kernel does not offer it.
    #[default]
    Absent,
    /// It was not asked for: asking would have disturbed a measurement.
    NotAsked,
    /// Reading it failed or gave something that makes no sense; says what.
    Unreadable(String),
}

const NEEDS_ROOT: &str = "needs root";
const ABSENT: &str = "not offered by this machine";
const NOT_ASKED: &str = "not asked for, so as not to disturb a measurement";
const UNREADABLE: &str = "unreadable: ";

impl<T> Fact<T> {
    /// The unknown fact of which [`Self::why_unknown`] says `why`; other words
    /// are taken for what made it unreadable.
    pub fn unknown(why: &str) -> Self {
        match why {
            NEEDS_ROOT => Self::NeedsRoot,
            ABSENT => Self::Absent,
            NOT_ASKED => Self::NotAsked,
            other => Self::Unreadable(other.strip_prefix(UNREADABLE).unwrap_or(other).into()),
        }
    }

    /// The value, where it is known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Read(value) | Self::Stated(value) => Some(value),
            Self::NeedsRoot | Self::Absent | Self::NotAsked | Self::Unreadable(_) => None,
        }
    }

    /// A copy of the value, where it is known.
    pub fn value(&self) -> Option<T>
    where
        T: Clone,
    {
        self.get().cloned()
    }

    /// Why it is unknown, in words; `None` where it is known.
    pub fn why_unknown(&self) -> Option<String> {
        match self {
            Self::Read(_) | Self::Stated(_) => None,
            Self::NeedsRoot => Some(NEEDS_ROOT.into()),
            Self::Absent => Some(ABSENT.into()),
            Self::NotAsked => Some(NOT_ASKED.into()),
            Self::Unreadable(what) => Some(format!("{UNREADABLE}{what}")),
        }
    }

    /// The same fact with its value transformed.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Self::Read(value) => Fact::Read(f(value)),
            Self::Stated(value) => Fact::Stated(f(value)),
            Self::NeedsRoot => Fact::NeedsRoot,
            Self::Absent => Fact::Absent,
            Self::NotAsked => Fact::NotAsked,
            Self::Unreadable(what) => Fact::Unreadable(what),
        }
    }

    /// What follows from the value, itself a fact that may be unknown.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Read(value) | Self::Stated(value) => f(value),
            Self::NeedsRoot => Fact::NeedsRoot,
            Self::Absent => Fact::Absent,
            Self::NotAsked => Fact::NotAsked,
            Self::Unreadable(what) => Fact::Unreadable(what),
        }
    }

    /// The same fact, borrowed.
    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Self::Read(value) => Fact::Read(value),
            Self::Stated(value) => Fact::Stated(value),
            Self::NeedsRoot => Fact::NeedsRoot,
            Self::Absent => Fact::Absent,
            Self::NotAsked => Fact::NotAsked,
            Self::Unreadable(what) => Fact::Unreadable(what.clone()),
        }
    }
}
