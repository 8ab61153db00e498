//! Metrics that can be drawn, and their quantities.

use std::str::FromStr;

use iodyno_model::{DirectionResult, Estimate, ParseError};

/// Quantity of an axis. Values are in base units: per second, bytes, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Latency, ns.
    Latency,
    /// Time since the start, ns.
    Time,
    /// Block size, bytes.
    Size,
    /// Amount of data, bytes.
    Data,
    /// Share, 0..1.
    Share,
    /// Nines of a percentile: -log10(1 - p), so that p99 is 2.
    Nines,
    /// Ratio.
    Ratio,
    /// Plain number.
    Count,
}

/// Metric of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Mean,
    /// Percentile of the latencies, in percent.
    Percentile(f64),
    /// Maximum latency.
    Max,
}

impl Metric {
    /// Name on an axis.
    pub fn name(self) -> String {
        match self {
            Self::Iops => "IOPS".into(),
            Self::Bandwidth => "Bandwidth".into(),
            Self::Mean => "Mean latency".into(),
            Self::Percentile(percent) => format!("p{percent} latency"),
            Self::Max => "Maximum latency".into(),
        }
    }

    /// Quantity of its axis.
    pub const fn quantity(self) -> Quantity {
        match self {
            Self::Iops => Quantity::Iops,
            Self::Bandwidth => Quantity::Bandwidth,
            Self::Mean | Self::Percentile(_) | Self::Max => Quantity::Latency,
        }
    }

    /// Value of the metric, if known.
    pub fn of(self, result: &DirectionResult) -> Option<Estimate> {
        let known = match self {
            Self::Iops => result.iops,
            Self::Bandwidth => result.bandwidth,
            Self::Mean => result.mean_latency().map(|(_, value)| value),
            Self::Percentile(percent) => result.known_percentile(percent).map(|(_, value)| value),
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

    /// Parses `iops`, `bw`, `lat`, `max`, or a percentile such as `p99.9`.
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
