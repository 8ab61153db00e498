//! A fact about the host, which may be unknown, and says where it came from.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A fact that was read, was stated by the user, or is unknown for a reason.
///
/// In JSON it is the plain value, or null where it is absent; `{"stated": value}` and
/// `{"unknown": why}` are the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

/// A fact in JSON, where it is not the plain value.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tagged<T> {
    Stated(T),
    Unknown(Unknown),
    // As facts were stored before.
    Read(T),
    NeedsRoot,
    Absent,
    NotAsked,
    Unreadable(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Unknown {
    NeedsRoot,
    NotAsked,
    Unreadable(String),
}

impl<T: Serialize> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let unknown = match self {
            Self::Read(value) => return value.serialize(to),
            Self::Stated(value) => return Tagged::Stated(value).serialize(to),
            Self::Absent => return to.serialize_none(),
            Self::NeedsRoot => Unknown::NeedsRoot,
            Self::NotAsked => Unknown::NotAsked,
            Self::Unreadable(what) => Unknown::Unreadable(what.clone()),
        };
        Tagged::<T>::Unknown(unknown).serialize(to)
    }
}

/// By way of a value: else `T` would be compiled for each format and for each way through its types.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // An option may be missing altogether.
        let json = Option::<Value>::deserialize(from)?;
        let read = |value| T::deserialize(value).map_err(D::Error::custom);
        Ok(match json.map_or(Tagged::Absent, tagged) {
            Tagged::Read(value) => Self::Read(read(value)?),
            Tagged::Stated(value) => Self::Stated(read(value)?),
            Tagged::Absent => Self::Absent,
            Tagged::NeedsRoot | Tagged::Unknown(Unknown::NeedsRoot) => Self::NeedsRoot,
            Tagged::NotAsked | Tagged::Unknown(Unknown::NotAsked) => Self::NotAsked,
            Tagged::Unreadable(what) | Tagged::Unknown(Unknown::Unreadable(what)) => {
                Self::Unreadable(what)
            }
        })
    }
}

fn tagged(json: Value) -> Tagged<Value> {
    Tagged::deserialize(&json).unwrap_or(Tagged::Read(json))
}

/// As documents have it: the value or null, and the member [`Fact::IN_SCHEMA`], which says that the
/// object's `unknown` may have a reason.
impl<T: JsonSchema> JsonSchema for Fact<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Option::<T>::json_schema(generator);
        schema.insert(Fact::<()>::IN_SCHEMA.into(), true.into());
        schema
    }
}

impl Fact<()> {
    /// Marks facts in a schema.
    pub const IN_SCHEMA: &'static str = "fact";
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

    /// There is no such thing.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
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
