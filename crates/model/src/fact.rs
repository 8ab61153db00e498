//! A fact about the host that may be unknown, with its source.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A fact that was read, was stated by the user, or is unknown for a reason.
///
/// JSON has the plain value, or null if absent; otherwise `{"stated": value}` or `{"unknown":
/// reason}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fact<T> {
    /// Read from the machine, live or captured.
    Read(T),
    /// Stated by the user, for example for an imported result.
    Stated(T),
    /// Exists, but only root may read it.
    NeedsRoot,
    /// Not offered by the machine, driver or kernel.
    #[default]
    Absent,
    /// Not read, since reading would have disturbed a measurement.
    NotAsked,
    /// Reading failed or gave nonsense; holds the reason.
    Unreadable(String),
}

/// JSON form of a fact other than the plain value.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tagged<T> {
    Stated(T),
    Unknown(Unknown),
    // Forms stored by earlier versions.
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

/// Goes through a [`Value`]: else `T` would be compiled for each format and each path through its
/// types.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Fields may be missing altogether.
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

/// Schema of the value or null, plus the member [`Fact::IN_SCHEMA`], which says that the object's
/// `unknown` may hold a reason.
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
const NOT_ASKED: &str = "not read, to avoid disturbing a measurement";
const UNREADABLE: &str = "unreadable: ";

impl<T> Fact<T> {
    /// Returns the unknown fact with the reason `why`, as [`Self::why_unknown`] words it; other
    /// texts are kept as the reason of [`Self::Unreadable`].
    pub fn unknown(why: &str) -> Self {
        match why {
            NEEDS_ROOT => Self::NeedsRoot,
            ABSENT => Self::Absent,
            NOT_ASKED => Self::NotAsked,
            other => Self::Unreadable(other.strip_prefix(UNREADABLE).unwrap_or(other).into()),
        }
    }

    /// Returns the value, if known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Read(value) | Self::Stated(value) => Some(value),
            Self::NeedsRoot | Self::Absent | Self::NotAsked | Self::Unreadable(_) => None,
        }
    }

    /// Returns a copy of the value, if known.
    pub fn value(&self) -> Option<T>
    where
        T: Clone,
    {
        self.get().cloned()
    }

    /// Reason why it is unknown, in words; `None`: known.
    pub fn why_unknown(&self) -> Option<String> {
        match self {
            Self::Read(_) | Self::Stated(_) => None,
            Self::NeedsRoot => Some(NEEDS_ROOT.into()),
            Self::Absent => Some(ABSENT.into()),
            Self::NotAsked => Some(NOT_ASKED.into()),
            Self::Unreadable(what) => Some(format!("{UNREADABLE}{what}")),
        }
    }

    /// True if the machine does not offer it.
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Applies `f` to the value, if known.
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

    /// Applies `f`, which may give an unknown fact, to the value, if known.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Read(value) | Self::Stated(value) => f(value),
            Self::NeedsRoot => Fact::NeedsRoot,
            Self::Absent => Fact::Absent,
            Self::NotAsked => Fact::NotAsked,
            Self::Unreadable(what) => Fact::Unreadable(what),
        }
    }

    /// Borrows the value.
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
