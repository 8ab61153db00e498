//! What options take.

use crate::value::TimeUnit;

/// What an option takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// 0 or 1.
    Bool,
    /// Nothing (which is 1), 0 or 1.
    Flag,
    /// A whole number.
    Number,
    /// 0 to 100.
    Percent,
    /// Bytes, or numbers with the units of bytes.
    Size,
    /// Bytes, or `20%`.
    Share,
    /// From one size to another: `4k-64k`.
    Range,
    /// A time; without a unit it is in this one.
    Time(TimeUnit),
    /// One of these, some with more behind a colon.
    Words(Vec<&'static str>),
    /// Numbers: `0-3,8`.
    List,
    /// Numbers with a point, colons between them.
    Floats,
    /// Names, colons between them.
    Names,
    /// Text.
    Text,
    /// Text, or nothing.
    OptionalText,
    /// One for reads, writes and trims each: `4k,8k,16k`.
    Directions(Box<Kind>),
}

impl Kind {
    /// Sizes, ranges and shares, for all directions or each.
    pub(super) fn is_of_sizes(&self) -> bool {
        match self {
            Self::Size | Self::Share | Self::Range => true,
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
            Self::Share => "size or percent",
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
