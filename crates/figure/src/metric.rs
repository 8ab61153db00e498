//! What is drawn of a measurement, and in which units.

use std::str::FromStr;

use iodyno_model::{DirectionResult, Estimate, ParseError};

/// What an axis counts. Values are in base units: per second, bytes, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// A latency, ns.
    Latency,
    /// Time since the start, ns.
    Time,
    /// The size of a block, bytes.
    Size,
    /// An amount of data, bytes.
    Data,
    /// A share, 0..1.
    Share,
    /// Nines of a percentile: -log10(1 - p), so that 99 % is 2.
    Nines,
    /// How many times something.
    Ratio,
    /// A plain number.
    Count,
}

/// What is drawn of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Mean,
    /// A percentile of the latencies, in percent.
    Percentile(f64),
    /// The longest latency.
    Max,
}

impl Metric {
    /// As an axis names it.
    pub fn name(self) -> String {
        match self {
            Self::Iops => "IOPS".into(),
            Self::Bandwidth => "Bandwidth".into(),
            Self::Mean => "Mean latency".into(),
            Self::Percentile(percent) => format!("p{percent} latency"),
            Self::Max => "Maximum latency".into(),
        }
    }

    /// What its axis counts.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::Iops => Quantity::Iops,
            Self::Bandwidth => Quantity::Bandwidth,
            Self::Mean | Self::Percentile(_) | Self::Max => Quantity::Latency,
        }
    }

    /// Its value, where it is known.
    pub fn of(self, result: &DirectionResult) -> Option<Estimate> {
        let known = match self {
            Self::Iops => result.iops,
            Self::Bandwidth => result.bandwidth,
            Self::Mean => result.mean_latency().map(|(_, value)| value),
            Self::Percentile(percent) => result.percentile(percent).map(|(_, value)| value),
            Self::Max => {
                let (kind, _) = result.mean_latency()?;
                result.max_of(kind)
            }
        };
        known.filter(|estimate| estimate.value.is_finite())
    }
}

impl FromStr for Metric {
    type Err = ParseError;

    /// `iops`, `bw`, `lat`, `max`, or a percentile such as `p99.9`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let percent = |digits: &str| digits.parse().ok().filter(|p| (0.0..=100.0).contains(p));
        match text {
            "iops" => Ok(Self::Iops),
            "bw" => Ok(Self::Bandwidth),
            "lat" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => text.strip_prefix('p').and_then(percent).map(Self::Percentile).ok_or_else(|| {
                ParseError::new(text, "iops, bw, lat, max or a percentile such as p99.9")
            }),
        }
    }
}
