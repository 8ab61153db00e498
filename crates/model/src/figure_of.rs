//! Named figures of jobs, and texts with placeholders for them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Direction, ParseError};

/// Reference to a figure of a job: `wal sync p99`, `read-4k read iops`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct FigureOf {
    /// Name of the job.
    pub job: String,
    /// I/O that the figure is about.
    pub io: IoOf,
    /// Kind of figure.
    pub figure: FigureKind,
}

/// I/O of a job that a figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoOf {
    /// I/O of one direction.
    Data(Direction),
    /// Flushes: fsync, fdatasync.
    Sync,
}

/// Kind of figure.
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

/// Figure with a factor: `wal sync p95 * 1.5`, `read read iops / 2`, `105e9 / write write
/// bandwidth`; with the least value that the application takes: `flush write iops / 4 >= 100`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    /// The figure.
    pub of: FigureOf,
    /// The factor.
    pub factor: f64,
    /// True if the factor is divided by the figure.
    pub is_inverse: bool,
    /// Least value that the application takes.
    pub least: Option<f64>,
}

impl Scaled {
    /// Scales the figure's value; the least value is not considered.
    pub fn apply(&self, value: f64) -> f64 {
        if self.is_inverse { self.factor / value } else { self.factor * value }
    }
}

impl FromStr for Scaled {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let plain = |of, factor| Self { of, factor, is_inverse: false, least: None };
        let number = |text: &str| {
            text.parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite())
        };
        if let Some((scaled, least)) = text.split_once(" >= ") {
            let wrong = || ParseError::new(text, "FIGURE >= NUMBER");
            let least = Some(number(least).ok_or_else(wrong)?);
            return Ok(Self { least, ..scaled.parse()? });
        }
        if let Some((of, factor)) = text.split_once(" * ") {
            let factor = number(factor).ok_or_else(|| ParseError::new(text, "FIGURE * NUMBER"))?;
            return Ok(plain(of.parse()?, factor));
        }
        let Some((left, right)) = text.split_once(" / ") else {
            return Ok(plain(text.parse()?, 1.0));
        };
        match (number(left), number(right)) {
            (Some(factor), _) => Ok(Self { is_inverse: true, ..plain(right.parse()?, factor) }),
            (_, Some(divisor)) => Ok(plain(left.parse()?, 1.0 / divisor)),
            _ => Err(ParseError::new(text, "FIGURE / NUMBER or NUMBER / FIGURE")),
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

/// Returns the names in braces in a text.
pub fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Returns the first line with a brace that is not closed before the next one.
pub(crate) fn open_brace(text: &str) -> Option<&str> {
    text.lines().find(|line| line.split('{').skip(1).any(|rest| !rest.contains('}')))
}

/// Replaces each name in braces by its `value`.
///
/// # Errors
/// The first name without a value.
pub fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, NotKnown> {
    placeholders(text).try_fold(text.to_owned(), |text, name| {
        let value = value(name).ok_or_else(|| NotKnown(name.to_owned()))?;
        Ok(text.replace(&format!("{{{name}}}"), &value))
    })
}

/// Unknown name in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKnown(pub String);

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not known", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_round_trip_through_text() {
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
    fn figures_are_scaled_and_fill_placeholders() {
        let of = |text: &str| text.parse::<Scaled>().map(|one| one.apply(200.0));
        for (text, value) in [
            ("a read iops", 200.0),
            ("a read p95 * 1.5", 300.0),
            ("a read iops / 2", 100.0),
            ("100 / a read bandwidth", 0.5),
        ] {
            assert!((of(text).unwrap() - value).abs() < 1e-9, "{text}");
        }
        let least = |text: &str| text.parse::<Scaled>().map(|one| (one.factor, one.least));
        assert_eq!(least("a read iops * 0.5 >= 100").unwrap(), (0.5, Some(100.0)));
        assert_eq!(least("a read iops >= 7").unwrap(), (1.0, Some(7.0)));
        assert!(least("a read iops >= x").is_err());
        for text in ["a read iops * x", "2 / 3", "a read iops / b read iops", "2 * a read iops"] {
            assert!(of(text).is_err(), "{text}");
        }
        for number in ["nan", "inf", "-1", "0"] {
            assert!(of(&format!("a read iops * {number}")).is_err(), "{number}");
            assert!(of(&format!("{number} / a read iops")).is_err(), "{number}");
        }
        let known = |name: &str| (name == "a b").then(|| "7".to_owned());
        assert_eq!(filled("x={a b}, {a b}", known).unwrap(), "x=7, 7");
        assert_eq!(filled("x={c}", known), Err(NotKnown("c".into())));
    }
}
