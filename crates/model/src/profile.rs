//! Application profiles: I/O pattern, decisive quantities with published bounds, and the settings
//! derived from the results.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure_of::{open_brace, placeholders};
use crate::{FigureKind, FigureOf, Scaled, Severity, format_mb_per_s};

/// Format version read by this iodyno.
pub const PROFILE_FORMAT: &str = "iodyno.profile/1";

/// Profile of an application, as in its TOML file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Format version.
    #[schemars(extend("const" = PROFILE_FORMAT))]
    pub format: String,
    /// Name of the profile.
    pub name: String,
    /// One-line description.
    pub about: String,
    /// Kind of target.
    pub on: ProfileTarget,
    /// How often its jobs are measured, one after the other; the spread between rounds gives the
    /// interval.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// Fio job file of its I/O, without `filename` and `directory`. Braces, as in `rate_iops={peak
    /// read iops * 0.9}`, hold results of earlier jobs.
    pub jobs: String,
    /// Quantities to show, the decisive ones first.
    #[serde(rename = "quantity")]
    pub quantities: Vec<ProfileQuantity>,
    /// Application settings derived from the results.
    #[serde(default, rename = "setting", skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ProfileSetting>,
    /// Notes on the figures, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Kind of target of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTarget {
    /// Files in a directory, created like those of the application.
    Directory,
    /// A whole device; one of the jobs writes, so its data are lost.
    Device,
}

/// A quantity and its bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileQuantity {
    /// Short description of its role in the application.
    pub name: String,
    /// Figure of a job that it is.
    pub of: FigureOf,
    /// Bounds for the figure.
    #[serde(default, rename = "bound", skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
}

/// A published bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Limit value.
    pub limit: Limit,
    /// Severity of missing it.
    pub severity: Severity,
    /// Load it is for: `heavy load`; empty: to run at all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub level: String,
    /// Source of the bound.
    pub source: String,
    /// Month in which the source was read: `2026-08`.
    pub date: String,
}

/// Limit value with direction and unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// At most this many milliseconds.
    AtMostMs(f64),
    /// At least this many I/Os per second.
    AtLeastIops(f64),
    /// At least this many MB/s (10^6 bytes).
    AtLeastMbPerS(f64),
    /// At least this many MiB/s (2^20 bytes).
    AtLeastMibPerS(f64),
}

/// Setting of the application, as lines of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileSetting {
    /// The lines. Placeholders: `{wal sync p99}` is a figure (bytes per second, I/Os per second or
    /// us, rounded down to whole numbers); `{read read iops * 0.9}`, `{wal sync p99 / 2}` and
    /// `{105e9 / write write bandwidth}` are derived values, `{flush write iops / 4 >= 100}`
    /// no less than the application takes; `{target}`, `{quoted target}` (as YAML, JSON and TOML
    /// read it), `{device}` (259:0), `{disk}`, `{media}` (`ssd` or `hdd`), `{model}` and
    /// `{firmware}` name the measured device; `{smallest}`, `{sums}` and `{exceed}` are results of
    /// the fields below.
    pub text: String,
    /// File to put them in, or how to apply them.
    pub apply: String,
    /// Reason for these settings.
    pub why: String,
    /// First of several candidates that is nearly as good as the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<Smallest>,
    /// Sums of quotients of figures, such as the shares of its limits that a drive reaches at once:
    /// `{sums}` are their values, `{exceed}` is `true` if each exceeds 1 with its whole interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<Vec<(FigureOf, FigureOf)>>,
}

/// Result of comparing a measured figure with a bound.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The whole interval meets the bound.
    Yes,
    /// Not known.
    Unknown,
    /// The bound is inside the interval.
    Borderline,
    /// The whole interval misses the bound.
    No,
}

/// First of several jobs whose figure reaches a share of the largest one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smallest {
    /// Share, 0..1.
    pub share: f64,
    /// Candidates: text to insert, and the figure.
    pub of: Vec<(String, FigureOf)>,
}

const fn default_rounds() -> u32 {
    5
}

impl Limit {
    /// Limit in ns, I/Os per second or bytes per second.
    pub fn value(self) -> f64 {
        match self {
            Self::AtMostMs(ms) => ms * 1e6,
            Self::AtLeastIops(iops) => iops,
            Self::AtLeastMbPerS(mb) => mb * 1e6,
            Self::AtLeastMibPerS(mib) => mib * f64::from(1 << 20),
        }
    }

    /// True if higher values are worse.
    pub const fn is_upper(self) -> bool {
        matches!(self, Self::AtMostMs(_))
    }

    /// True if the limit suits this kind of figure.
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
            Self::AtLeastMibPerS(mib) => {
                write!(f, "at least {} ({mib} MiB/s)", format_mb_per_s(self.value()))
            }
        }
    }
}

/// Error in a profile.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileError {
    /// Invalid TOML, with line and column.
    Toml(toml::de::Error),
    /// Unknown format version.
    Format(String),
    /// Number of rounds out of range.
    Rounds(u32),
    /// Bound in a unit that the figure does not have.
    Unit(FigureOf, Limit),
    /// Bound that is not a number above 0.
    Bound(Limit),
    /// Share not above 0 and at most 1.
    Share(f64),
    /// Figures that are not of one kind, or of which the largest is not the best.
    Smallest(FigureOf),
    /// Placeholder that is neither a figure nor a known name.
    Placeholder(String),
    /// Placeholder without its closing brace: the line.
    OpenBrace(String),
    /// Placeholder for a key that its setting does not have.
    NoKey(&'static str),
    /// Text that is empty: of the profile or of a quantity, and its key.
    Empty(String, &'static str),
    /// Name of two quantities.
    Twice(String),
    /// Date of a bound of this quantity that is no month.
    Date(String, String),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml(error) => error.fmt(f),
            Self::Format(format) => {
                write!(f, "format `{format}` is unknown; this iodyno reads {PROFILE_FORMAT}")
            }
            Self::Rounds(rounds) => {
                let (fewest, most) = (ROUNDS.start(), ROUNDS.end());
                write!(f, "rounds = {rounds}: expected {fewest} to {most}")
            }
            Self::Unit(of, limit) => write!(f, "`{of}` cannot be {limit}"),
            Self::Bound(limit) => write!(f, "{limit}: expected a number above 0"),
            Self::Share(share) => {
                write!(f, "share = {share}: expected a number above 0 and at most 1")
            }
            Self::Smallest(of) => write!(
                f,
                "smallest: `{of}`: expected figures of one kind, all iops or all bandwidth"
            ),
            Self::OpenBrace(line) => write!(f, "`{line}`: `{{` without `}}`"),
            Self::NoKey(key) => write!(f, "{{{key}}}: its setting has no `{key}`"),
            Self::Empty(place, key) => write!(f, "{place}`{key}` is empty"),
            Self::Twice(name) => write!(f, "quantity `{name}`: expected each name once"),
            Self::Date(name, date) => {
                write!(f, "quantity `{name}`: date = `{date}`: expected a month, as in 2026-08")
            }
            Self::Placeholder(name) => write!(
                f,
                "{{{name}}}: expected a figure as in `wal sync p99`, with a factor as in \
                 `wal sync p99 * 1.5`, or one of {}",
                NAMES.join(", ")
            ),
        }
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Parses a profile.
    ///
    /// # Errors
    /// First error of the profile.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let profile = Self::of_run(text)?;
        if profile.name.is_empty() {
            return Err(ProfileError::Empty(String::new(), "name"));
        }
        let mut names = BTreeSet::new();
        for (n, ProfileQuantity { name, bounds, .. }) in (1..).zip(&profile.quantities) {
            if name.is_empty() {
                return Err(ProfileError::Empty(format!("quantity {n}: "), "name"));
            }
            if !names.insert(name) {
                return Err(ProfileError::Twice(name.clone()));
            }
            for Bound { source, date, .. } in bounds {
                if source.is_empty() {
                    return Err(ProfileError::Empty(format!("quantity `{name}`: "), "source"));
                }
                if !is_month(date) {
                    return Err(ProfileError::Date(name.clone(), date.clone()));
                }
            }
        }
        Ok(profile)
    }

    /// The profile of a run, whose names and dates an earlier iodyno may have taken.
    pub(crate) fn of_run(text: &str) -> Result<Self, ProfileError> {
        let profile: Self = toml::from_str(text).map_err(ProfileError::Toml)?;
        if profile.format != PROFILE_FORMAT {
            return Err(ProfileError::Format(profile.format));
        }
        if !ROUNDS.contains(&profile.rounds) {
            return Err(ProfileError::Rounds(profile.rounds));
        }
        for quantity in &profile.quantities {
            let misfit = quantity.bounds.iter().find(|one| !one.limit.is_of(quantity.of.figure));
            if let Some(bound) = misfit {
                return Err(ProfileError::Unit(quantity.of.clone(), bound.limit));
            }
            let is_number = |limit: &Limit| limit.value() > 0.0 && limit.value().is_finite();
            let mut limits = quantity.bounds.iter().map(|one| one.limit);
            if let Some(limit) = limits.find(|limit| !is_number(limit)) {
                return Err(ProfileError::Bound(limit));
            }
        }
        let smallest = profile.settings.iter().filter_map(|one| one.smallest.as_ref());
        let mut shares = smallest.map(|one| one.share);
        if let Some(share) = shares.find(|share| !(f64::MIN_POSITIVE..=1.0).contains(share)) {
            return Err(ProfileError::Share(share));
        }
        for setting in &profile.settings {
            setting.check()?;
        }
        if let Some(line) = profile.texts().find_map(open_brace) {
            return Err(ProfileError::OpenBrace(line.to_owned()));
        }
        match profile.unknown_placeholder() {
            Some(name) => Err(ProfileError::Placeholder(name.to_owned())),
            None => Ok(profile),
        }
    }

    /// Returns the first placeholder that is not a figure (in jobs), or neither a figure nor a name
    /// (in settings).
    fn unknown_placeholder(&self) -> Option<&str> {
        let is_figure = |name: &str| name.parse::<Scaled>().is_ok();
        let in_texts = self.settings.iter().flat_map(|one| one.texts());
        let mut in_texts = in_texts.flat_map(placeholders);
        let fill_in_jobs = placeholders(&self.jobs).find(|name| !is_figure(name));
        fill_in_jobs.or_else(|| in_texts.find(|name| !NAMES.contains(name) && !is_figure(name)))
    }

    /// All texts with placeholders.
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.jobs.as_str()).chain(self.settings.iter().flat_map(|one| one.texts()))
    }

    /// Returns all figures that it refers to, in its jobs and settings too.
    pub fn figures(&self) -> impl Iterator<Item = FigureOf> + '_ {
        let shown = self.quantities.iter().map(|one| one.of.clone());
        let named = self.texts().flat_map(placeholders);
        let named = named.filter_map(|word| Some(word.parse::<Scaled>().ok()?.of));
        let set = self.settings.iter().flat_map(|setting| {
            let tried = setting.smallest.iter().flat_map(|one| &one.of).map(|(_, of)| of.clone());
            let summed = setting.sums.iter().flatten();
            tried.chain(summed.flat_map(|(of, over)| [of.clone(), over.clone()]))
        });
        shown.chain(named).chain(set)
    }

    /// Returns the directory or the device of a run, from the run's targets.
    pub fn place(&self, targets: &[String]) -> String {
        let first = targets.first().map_or("-", String::as_str);
        match self.on {
            ProfileTarget::Device => first.to_owned(),
            ProfileTarget::Directory => {
                let directory = match first.rsplit_once('/') {
                    None => ".",
                    Some(("", _)) => "/",
                    Some((directory, _)) => directory,
                };
                directory.to_owned()
            }
        }
    }
}

impl ProfileSetting {
    /// Its texts with placeholders.
    fn texts(&self) -> [&str; 2] {
        [&self.text, &self.why]
    }

    /// Checks the keys that its placeholders are results of.
    fn check(&self) -> Result<(), ProfileError> {
        let has = |key: &str| self.texts().into_iter().flat_map(placeholders).any(|one| one == key);
        let sums = self.sums.is_empty();
        let missing = [("smallest", self.smallest.is_none()), ("sums", sums), ("exceed", sums)];
        if let Some((key, _)) = missing.into_iter().find(|(key, lacks)| *lacks && has(key)) {
            return Err(ProfileError::NoKey(key));
        }
        let mut kinds = self.smallest.iter().flat_map(|one| &one.of).map(|(_, of)| of);
        let first = kinds.clone().next().map(|of| of.figure);
        let is_rate = |of: &FigureOf| matches!(of.figure, FigureKind::Iops | FigureKind::Bandwidth);
        match kinds.find(|of| !is_rate(of) || Some(of.figure) != first) {
            Some(of) => Err(ProfileError::Smallest(of.clone())),
            None => Ok(()),
        }
    }
}

/// True for a year and a month, as in 2026-08.
fn is_month(date: &str) -> bool {
    let is_year = |year: &str| year.len() == 4 && year.bytes().all(|digit| digit.is_ascii_digit());
    let is_month = |month: &str| (1..=12).any(|n| month == format!("{n:02}"));
    date.split_once('-').is_some_and(|(year, month)| is_year(year) && is_month(month))
}

/// Placeholders in settings, besides figures.
const NAMES: [&str; 10] = [
    "target",
    "quoted target",
    "device",
    "disk",
    "media",
    "model",
    "firmware",
    "smallest",
    "sums",
    "exceed",
];

/// Minimum and maximum: fewer rounds give no interval, more do not improve it.
const ROUNDS: RangeInclusive<u32> = 3..=50;

#[cfg(test)]
mod tests;
