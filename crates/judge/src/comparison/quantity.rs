//! Quantities that are compared.

use iodyno_model::{DirectionResult, Estimate, Histogram, LatencyKind, Spread};
use iodyno_stats::quantile_interval;
use schemars::JsonSchema;
use serde::Serialize;

/// Quantity that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub enum Quantity {
    /// Bytes per second; more is better.
    Bandwidth,
    /// I/Os per second; more is better.
    Iops,
    /// Mean latency, ns; less is better.
    Latency,
    /// Latency percentile (in percent), ns; less is better.
    Percentile(f64),
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.name()
    }
}

impl Quantity {
    /// All quantities.
    pub const ALL: [Self; 7] = [
        Self::Bandwidth,
        Self::Iops,
        Self::Latency,
        Self::Percentile(50.0),
        Self::Percentile(99.0),
        Self::Percentile(99.9),
        Self::Percentile(99.99),
    ];

    /// Returns the name used by limits and documents: `bw`, `p99.9`.
    pub fn name(self) -> String {
        match self {
            Self::Bandwidth => "bw".into(),
            Self::Iops => "iops".into(),
            Self::Latency => "lat".into(),
            Self::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// Returns true if more is better.
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Bandwidth | Self::Iops)
    }

    /// Returns true if it is a latency, of which there are several kinds.
    pub const fn is_latency(self) -> bool {
        !self.more_is_better()
    }

    /// Returns its value in `result`; latencies are of `kind`. A percentile from bins is accurate
    /// to its bin, and only known if enough I/Os were slower.
    pub(super) fn of(self, result: &DirectionResult, kind: LatencyKind) -> Option<Estimate> {
        let found = match self {
            Self::Bandwidth => result.bandwidth,
            Self::Iops => result.iops,
            Self::Latency => result.mean_of(kind),
            Self::Percentile(percent) => match result.bins(kind) {
                Some(bins) => from_bins(bins, percent),
                None => result.percentile_of(kind, percent),
            },
        };
        found.filter(|estimate| estimate.value.is_finite())
    }
}

fn from_bins(bins: &Histogram, percent: f64) -> Option<Estimate> {
    let share = percent / 100.0;
    let value =
        quantile_interval::is_shown(bins.count(), share).then(|| bins.quantile_ns(share))??;
    let (low, high) = Histogram::bounds(Histogram::index(value));
    let spread = Spread::Rounding { low: low as f64, high: high as f64 };
    Some(Estimate { value: value as f64, spread })
}
