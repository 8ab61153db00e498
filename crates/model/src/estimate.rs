//! A value with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Interval around a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Confidence interval of the stated level (0.95 = 95 %).
    Confidence {
        /// Lower end, in the value's unit.
        low: f64,
        /// Upper end, in the value's unit.
        high: f64,
        /// Confidence level, 0..1.
        level: f64,
    },
    /// The value was printed rounded or truncated; the original lay within these bounds.
    Rounding {
        /// Lower end, in the value's unit.
        low: f64,
        /// Upper end, in the value's unit.
        high: f64,
    },
    /// No interval is known.
    Unknown,
}

/// A value with its interval, in SI base units (per second, bytes per second, ns).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "EstimateJson", from = "EstimateJson")]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Interval around the value.
    pub spread: Spread,
}

/// JSON form: readers find the bounds without knowing the kinds of interval.
#[derive(Serialize, Deserialize, JsonSchema)]
struct EstimateJson {
    /// The value.
    value: f64,
    /// Lower end of the interval; null: no interval known.
    low: Option<f64>,
    /// Upper end of the interval; null: no interval known.
    high: Option<f64>,
    /// Kind of interval; null: no interval known.
    interval: Option<Interval>,
    /// Confidence level of the interval, 0..1.
    level: Option<f64>,
    /// Form stored by earlier versions.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    spread: Option<Spread>,
}

/// Kind of interval.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Interval {
    /// Confidence interval.
    Confidence,
    /// The value was printed rounded; the original lay within these bounds.
    Rounding,
}

impl From<Estimate> for EstimateJson {
    /// Leaves out intervals with infinite or NaN bounds.
    fn from(of: Estimate) -> Self {
        let (interval, level) = match of.spread {
            Spread::Confidence { level, .. } => (Some(Interval::Confidence), Some(level)),
            Spread::Rounding { .. } => (Some(Interval::Rounding), None),
            Spread::Unknown => (None, None),
        };
        let finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite();
        let bounds = of.bounds().filter(finite);
        Self {
            value: of.value,
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
            interval: interval.filter(|_| bounds.is_some()),
            level: level.filter(|_| bounds.is_some()),
            spread: None,
        }
    }
}

impl From<EstimateJson> for Estimate {
    fn from(of: EstimateJson) -> Self {
        let spread = match (of.interval, of.low, of.high, of.level) {
            (Some(Interval::Rounding), Some(low), Some(high), _) => Spread::Rounding { low, high },
            (Some(Interval::Confidence), Some(low), Some(high), Some(level)) => {
                Spread::Confidence { low, high, level }
            }
            _ => of.spread.unwrap_or(Spread::Unknown),
        };
        Self { value: of.value, spread }
    }
}

impl JsonSchema for Estimate {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Estimate".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = EstimateJson::json_schema(generator);
        schema.insert(
            "description".into(),
            "A value with its interval, in SI base units (per second, bytes per second, ns)."
                .into(),
        );
        schema
    }
}

impl Estimate {
    /// Returns the estimate, unless its value is infinite or NaN.
    pub fn finite(self) -> Option<Self> {
        self.value.is_finite().then_some(self)
    }

    /// Makes a value without an interval.
    pub const fn bare(value: f64) -> Self {
        Self { value, spread: Spread::Unknown }
    }

    /// Makes a value with a confidence interval.
    pub const fn confident(value: f64, low: f64, high: f64, level: f64) -> Self {
        Self { value, spread: Spread::Confidence { low, high, level } }
    }

    /// Bounds of the interval, if known.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self.spread {
            Spread::Confidence { low, high, .. } | Spread::Rounding { low, high } => {
                Some((low, high))
            }
            Spread::Unknown => None,
        }
    }

    /// Lower bound, or the value itself without an interval.
    pub fn low(&self) -> f64 {
        self.bounds().map_or(self.value, |(low, _)| low)
    }

    /// Upper bound, or the value itself without an interval.
    pub fn high(&self) -> f64 {
        self.bounds().map_or(self.value, |(_, high)| high)
    }

    /// Half the width of the confidence interval over the value. `None` for rounding bounds: they
    /// do not tell how much the next measurement will differ.
    pub fn relative_half_width(&self) -> Option<f64> {
        let Spread::Confidence { low, high, .. } = self.spread else { return None };
        (self.value != 0.0).then(|| (high - low) / 2.0 / self.value.abs())
    }

    /// True if the interval is too wide to be shown: half of it exceeds the value.
    pub fn is_too_wide(&self) -> bool {
        self.relative_half_width().is_some_and(|width| width.is_nan() || width > 1.0)
    }

    /// Bounds of the interval, unless they are not known or too wide to be shown.
    pub fn known_bounds(&self) -> Option<(f64, f64)> {
        self.bounds()
            .filter(|(low, high)| low.is_finite() && high.is_finite() && !self.is_too_wide())
    }

    /// Adds two estimates. Their intervals add up, which is too wide for independent errors; if one
    /// has no interval, the sum has none.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let value = self.value + other.value;
        let level = |of: Self| match of.spread {
            Spread::Confidence { level, .. } => Some(level),
            Spread::Rounding { .. } | Spread::Unknown => None,
        };
        match (self.bounds(), other.bounds(), level(self).or_else(|| level(other))) {
            (Some(a), Some(b), Some(level)) => Self::confident(value, a.0 + b.0, a.1 + b.1, level),
            (Some(a), Some(b), None) => {
                Self { value, spread: Spread::Rounding { low: a.0 + b.0, high: a.1 + b.1 } }
            }
            _ => Self::bare(value),
        }
    }

    /// Converts to another unit: value and bounds times `factor` (positive).
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let spread = match self.spread {
            Spread::Confidence { low, high, level } => {
                Spread::Confidence { low: low * factor, high: high * factor, level }
            }
            Spread::Rounding { low, high } => {
                Spread::Rounding { low: low * factor, high: high * factor }
            }
            Spread::Unknown => Spread::Unknown,
        };
        Self { value: self.value * factor, spread }
    }
}
