//! What an application asks of its storage: the I/O that it makes, the quantities that decide
//! whether it runs well, with the bounds that somebody published, and the settings that follow.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Direction, ParseError, Severity};

/// The version of the format that this iodyno reads.
pub const PROFILE_FORMAT: &str = "iodyno.profile/1";

/// An application's profile, as its TOML file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the format.
    #[schemars(extend("const" = PROFILE_FORMAT))]
    pub format: String,
    /// Its name.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// What it is measured on.
    pub on: ProfileTarget,
    /// How often its jobs are measured, one after the other: what differs between rounds is the
    /// interval.
    #[serde(default = "usual_rounds")]
    pub rounds: u32,
    /// Its I/O: a job file of fio without `filename` and `directory`.
    pub jobs: String,
    /// Quantities that are shown, the deciding ones first.
    #[serde(rename = "quantity")]
    pub quantities: Vec<ProfileQuantity>,
    /// Settings of the application that follow from them.
    #[serde(default, rename = "setting", skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ProfileSetting>,
    /// What a reader has to know of the figures, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a profile is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTarget {
    /// Files in a directory, as the application makes them.
    Directory,
    /// A whole device; one of its jobs writes, and what the device holds is lost.
    Device,
}

/// A quantity, and what it has to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileQuantity {
    /// What it is to the application, in a few words.
    pub name: String,
    /// Which figure of which job it is.
    pub of: FigureOf,
    /// What it is held against.
    #[serde(default, rename = "bound", skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// A bound that somebody published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The bound.
    pub limit: Limit,
    /// What missing it means.
    pub severity: Severity,
    /// What for: `heavy load`; empty: to run at all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// Who says so.
    pub source: String,
    /// When that was read: `2026-08`.
    pub date: String,
}

/// A bound's value, with its direction and unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Milliseconds or less.
    AtMostMs(f64),
    /// I/Os per second or more.
    AtLeastIops(f64),
    /// 10^6 bytes per second or more.
    AtLeastMbPerS(f64),
    /// 2^20 bytes per second or more.
    AtLeastMibPerS(f64),
}

/// Which figure of a job: `wal sync p99`, `read-4k read iops`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct FigureOf {
    /// Name of the job.
    pub job: String,
    /// Which of its I/O.
    pub io: IoOf,
    /// What of that.
    pub figure: FigureKind,
}

/// Which I/O of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOf {
    /// One direction.
    Data(Direction),
    /// Flushes: fsync, fdatasync.
    Sync,
}

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FigureKind {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency, ns.
    Mean,
    /// A percentile of the latency, ns: 99 is p99.
    Percentile(f64),
}

/// A line that sets something in the application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileSetting {
    /// The lines, in which `{wal sync p99}` stands for a figure (bytes per second, I/Os per second
    /// or us, whole numbers), `{target}`, `{device}` (259:0), `{model}` and `{firmware}` for what
    /// was measured, `{smallest}` for what `smallest` comes to.
    pub text: String,
    /// Which file they belong into, or how they are applied.
    pub apply: String,
    /// Why these.
    pub why: String,
    /// The first of several that is nearly as good as the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Smallest>,
}

/// The first of several jobs whose figure reaches a share of the largest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smallest {
    /// The share, 0..1.
    pub share: f64,
    /// What each stands for, with its figure.
    pub of: Vec<(String, FigureOf)>,
}

const fn usual_rounds() -> u32 {
    5
}

impl Limit {
    /// What has to be kept, in ns, I/Os per second or bytes per second.
    pub fn value(self) -> f64 {
        match self {
            Self::AtMostMs(ms) => ms * 1e6,
            Self::AtLeastIops(iops) => iops,
            Self::AtLeastMbPerS(mb) => mb * 1e6,
            Self::AtLeastMibPerS(mib) => mib * f64::from(1 << 20),
        }
    }

    /// More is worse.
    pub const fn is_upper(self) -> bool {
        matches!(self, Self::AtMostMs(_))
    }

    /// It is a bound of this kind of figure.
    pub const fn is_of(self, figure: FigureKind) -> bool {
        match self {
            Self::AtMostMs(_) => matches!(figure, FigureKind::Mean | FigureKind::Percentile(_)),
            Self::AtLeastIops(_) => matches!(figure, FigureKind::Iops),
            Self::AtLeastMbPerS(_) | Self::AtLeastMibPerS(_) => {
                matches!(figure, FigureKind::Bandwidth)
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMostMs(ms) => write!(f, "at most {ms} ms"),
            Self::AtLeastIops(iops) => write!(f, "at least {iops} IOPS"),
            Self::AtLeastMbPerS(mb) => write!(f, "at least {mb} MB/s"),
            Self::AtLeastMibPerS(mib) => write!(f, "at least {mib} MiB/s"),
        }
    }
}

impl FromStr for FigureOf {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong =
            || ParseError::new(text, "JOB (read|write|trim|sync) (iops|bandwidth|mean|p99)");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [job, io, figure] = words.as_slice() else { return Err(wrong()) };
        let io = match *io {
            "read" => IoOf::Data(Direction::Read),
            "write" => IoOf::Data(Direction::Write),
            "trim" => IoOf::Data(Direction::Trim),
            "sync" => IoOf::Sync,
            _ => return Err(wrong()),
        };
        let percent = |text: &str| {
            let percent = text.strip_prefix('p')?.parse::<f64>().ok()?;
            (percent > 0.0 && percent < 100.0).then_some(percent)
        };
        let figure = match *figure {
            "iops" => FigureKind::Iops,
            "bandwidth" if io != IoOf::Sync => FigureKind::Bandwidth,
            "mean" => FigureKind::Mean,
            other => FigureKind::Percentile(percent(other).ok_or_else(wrong)?),
        };
        Ok(Self { job: (*job).to_owned(), io, figure })
    }
}

impl TryFrom<String> for FigureOf {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<FigureOf> for String {
    fn from(of: FigureOf) -> Self {
        of.to_string()
    }
}

impl fmt::Display for FigureOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let io = match self.io {
            IoOf::Data(Direction::Write) => "write",
            IoOf::Data(Direction::Trim) => "trim",
            IoOf::Data(_) => "read",
            IoOf::Sync => "sync",
        };
        write!(f, "{} {io} ", self.job)?;
        match self.figure {
            FigureKind::Iops => f.write_str("iops"),
            FigureKind::Bandwidth => f.write_str("bandwidth"),
            FigureKind::Mean => f.write_str("mean"),
            FigureKind::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

/// What is wrong with a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileError {
    /// It is no such TOML; with line and column.
    Toml(toml::de::Error),
    /// Its format is another one.
    Format(String),
    /// So many rounds are too few or too many.
    Rounds(u32),
    /// A figure has a bound of another unit.
    Unit(FigureOf, Limit),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml(error) => error.fmt(f),
            Self::Format(format) => {
                write!(f, "format `{format}` is not known; this iodyno reads {PROFILE_FORMAT}")
            }
            Self::Rounds(rounds) => {
                let (fewest, most) = MOST_ROUNDS;
                write!(f, "rounds = {rounds}: {fewest} to {most} were expected")
            }
            Self::Unit(of, limit) => write!(f, "`{of}` cannot be {limit}"),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Reads a profile.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(ProfileError::Toml)?;
        if profile.format != PROFILE_FORMAT {
            return Err(ProfileError::Format(profile.format));
        }
        if !(MOST_ROUNDS.0..=MOST_ROUNDS.1).contains(&profile.rounds) {
            return Err(ProfileError::Rounds(profile.rounds));
        }
        for quantity in &profile.quantities {
            let misfit = quantity.bounds.iter().find(|one| !one.limit.is_of(quantity.of.figure));
            if let Some(bound) = misfit {
                return Err(ProfileError::Unit(quantity.of.clone(), bound.limit));
            }
        }
        Ok(profile)
    }

    /// The figures that it is about, in settings too.
    pub fn figures(&self) -> impl Iterator<Item = FigureOf> + '_ {
        let shown = self.quantities.iter().map(|one| one.of.clone());
        let set = self.settings.iter().flat_map(|setting| {
            let named = placeholders(&setting.text).filter_map(|word| word.parse().ok());
            let tried =
                setting.smallest.iter().flat_map(|one| one.of.iter().map(|of| of.1.clone()));
            named.chain(tried)
        });
        shown.chain(set)
    }
}

/// Fewer rounds give no interval, more no better one.
const MOST_ROUNDS: (u32, u32) = (3, 50);

/// What stands in braces in a setting.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_are_written() {
        for text in
            ["wal sync p99", "a read iops", "b write bandwidth", "c trim mean", "d read p99.9"]
        {
            assert_eq!(text.parse::<FigureOf>().unwrap().to_string(), text);
        }
        for text in
            ["wal sync", "wal sync bandwidth", "wal flush p99", "wal sync p0", "a b c d", ""]
        {
            assert!(text.parse::<FigureOf>().is_err(), "{text}");
        }
    }

    #[test]
    fn bounds_are_of_the_figures_kind() {
        assert!(Limit::AtMostMs(10.0).is_of(FigureKind::Percentile(99.0)));
        assert!(!Limit::AtMostMs(10.0).is_of(FigureKind::Iops));
        assert!((Limit::AtMostMs(10.0).value() - 1e7).abs() < f64::EPSILON);
    }
}
