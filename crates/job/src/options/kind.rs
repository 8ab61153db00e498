//! Kinds of values that options take.

use crate::value::TimeUnit;

/// The kind of value that an option takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// 0 or 1.
    Bool,
    /// 0, 1, or no value, which is 1.
    Flag,
    /// An integer.
    Number,
    /// 0 to 100.
    Percent,
    /// Bytes, or a number with a unit of size.
    Size,
    /// Bytes, or a percentage such as `20%`.
    SizeOrPercent,
    /// A range of sizes: `4k-64k`.
    Range,
    /// A time, in this unit if it has none.
    Time(TimeUnit),
    /// One of these words, some with a suffix after a colon.
    Words(Vec<&'static str>),
    /// A list of numbers: `0-3,8`.
    List,
    /// Decimal numbers separated by colons.
    Floats,
    /// Names separated by colons.
    Names,
    /// Text.
    Text,
    /// Text, or no value.
    OptionalText,
    /// One value each for reads, writes and trims: `4k,8k,16k`.
    Directions(Box<Kind>),
}

impl Kind {
    /// True for sizes, ranges and percentages of sizes, also by direction.
    pub(super) fn is_of_sizes(&self) -> bool {
        match self {
            Self::Size | Self::SizeOrPercent | Self::Range => true,
            Self::Directions(kind) => kind.is_of_sizes(),
            _ => false,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bool => "0 or 1",
            Self::Flag => "0, 1 or nothing",
            Self::Number => "number",
            Self::Percent => "percent",
            Self::Size => "size",
            Self::SizeOrPercent => "size or percent",
            Self::Range => "range",
            Self::Time(unit) => return write!(f, "time, {}", unit.sign()),
            Self::Words(words) => return f.write_str(&words.join(", ")),
            Self::List => "list of numbers",
            Self::Floats => "numbers with colons between them",
            Self::Names => "names with colons between them",
            Self::Text => "text",
            Self::OptionalText => "text or nothing",
            Self::Directions(kind) => return write!(f, "{kind}; for each direction"),
        })
    }
}
