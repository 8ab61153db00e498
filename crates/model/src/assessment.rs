//! Assessment of a stored run. Pure: it can be repeated at any time, also for runs of older
//! versions or other machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ClaimFigure, Estimate, Finding, RuleReport, format_ratio};

/// Validity of a measurement.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Validity {
    /// Measured what it was meant to measure.
    Valid,
    /// Valid, with the stated reservations.
    Qualified,
    /// Did not measure what it was meant to measure.
    Invalid,
}

/// Verdict on a metric, a drive or a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// Nothing to compare with, or not measurable.
    Unjudged,
    /// Doubtful.
    Warn,
    /// Not as it should be.
    Fail,
}

/// Metric that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Bandwidth, bytes per second; higher is better.
    Bandwidth,
    /// I/Os per second; higher is better.
    Iops,
    /// Mean latency, ns; less is better.
    LatencyMean,
}

/// Why a figure is not compared with its claim: too few I/Os outstanding, a rate-limited job, or a
/// faster result of the same workload at another depth, which is judged instead.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BelowSaturation {
    /// Mean number of outstanding I/Os; null: not known.
    pub outstanding: Option<f64>,
    /// Outstanding I/Os needed for the claimed rate by Little's law; null: not known.
    pub needed: Option<f64>,
    /// True if enough I/Os were outstanding.
    pub enough: bool,
    /// Best rate of the same workload at another depth, in the metric's unit.
    pub surpassed_by: Option<f64>,
}

/// Verdict on one metric of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricJudgement {
    /// Metric that is judged.
    pub metric: Metric,
    /// Measured value, in the metric's unit.
    pub estimate: Estimate,
    /// Data sheet claim.
    pub claim: Option<ClaimFigure>,
    /// Why the value is not compared with the claim.
    #[serde(default)]
    pub below_saturation: Option<BelowSaturation>,
    /// Lowest known upper bound, in the metric's unit, and what sets it.
    pub ceiling: Option<(f64, String)>,
    /// Median of the identical drives, this one included, in the metric's unit, and their number.
    pub peers: Option<(f64, u32)>,
    /// The same metric in the baseline run.
    pub baseline: Option<Estimate>,
    /// Verdict.
    pub verdict: Verdict,
    /// Basis of the verdict.
    pub reason: Basis,
}

/// Yardstick that a metric is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Yardstick {
    /// Data sheet claim.
    Claim,
    /// Median of identical drives.
    Peers,
    /// Same measurement in the baseline run.
    Baseline,
    /// Sum of what each target reaches alone.
    Alone,
}

/// Basis of a verdict; `Display` prints the sentence: `104 % of the claim`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Basis {
    /// Yardstick, and the ratio of the measured value to it.
    pub share: Option<(Yardstick, f64)>,
    /// Text appended to the sentence; without a yardstick, the reason for having none.
    pub more: String,
}

impl Basis {
    /// Basis that is a ratio to a yardstick.
    pub const fn share(of: Yardstick, ratio: f64) -> Self {
        Self { share: Some((of, ratio)), more: String::new() }
    }

    /// Appends text to the sentence.
    pub fn with(mut self, more: impl AsRef<str>) -> Self {
        self.more.push_str(more.as_ref());
        self
    }

    /// Returns the sentence, with the yardstick's value in brackets.
    pub fn sentence(&self, figure: Option<&str>) -> String {
        let Some((of, ratio)) = self.share else { return self.more.clone() };
        let of = match of {
            Yardstick::Claim => "the claim",
            Yardstick::Peers => "the peers' median",
            Yardstick::Baseline => "the baseline",
            Yardstick::Alone => "the sum of each alone",
        };
        let figure = figure.map(|figure| format!(" ({figure})")).unwrap_or_default();
        format!("{}{figure}{}", format_ratio(ratio, of), self.more)
    }
}

impl From<&str> for Basis {
    fn from(more: &str) -> Self {
        Self { share: None, more: more.into() }
    }
}

impl std::fmt::Display for Basis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence(None))
    }
}

/// Reservation about a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule that raised it.
    pub rule: String,
    /// Validity that this reason alone leads to: qualified or invalid.
    pub validity: Validity,
    /// Explanation, one sentence.
    #[serde(rename = "what", alias = "why")]
    pub why: String,
}

/// Judgement of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedMeasurement {
    /// Index into the run's measurements.
    pub measurement: usize,
    /// Validity of the measurement.
    pub validity: Validity,
    /// Reservations, worst first.
    pub reasons: Vec<Reason>,
    /// Judged metrics.
    pub metrics: Vec<MetricJudgement>,
}

impl JudgedMeasurement {
    /// Returns the reasons that decide the validity: for an invalid measurement, not those that
    /// would only qualify it.
    pub fn decisive(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| reason.validity == self.validity)
    }
}

/// Assessment of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// Version of the rules that made it.
    pub ruleset: String,
    /// Judged measurements, in the run's order.
    pub measurements: Vec<JudgedMeasurement>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Outcome of each rule, in list order; findings are in `findings` too.
    pub rules: Vec<RuleReport>,
    /// Verdict on each drive or target, by name.
    pub subjects: Vec<(String, Verdict)>,
    /// Overall verdict.
    pub verdict: Verdict,
}

/// What was found in a run before it became a document, which does not hold all that it was found
/// by: later snapshots, series, latencies' bins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierJudgement {
    /// Version of the rules that made it.
    pub ruleset: String,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Ids of the rules that found nothing.
    pub clear: Vec<String>,
    /// Reservations about each measurement, in the run's order.
    pub reasons: Vec<Vec<Reason>>,
}

impl Assessment {
    /// Returns the judgement of a measurement by its index in the run.
    pub fn of(&self, measurement: usize) -> Option<&JudgedMeasurement> {
        let in_order = self.measurements.get(measurement);
        let is_it = |judged: &&JudgedMeasurement| judged.measurement == measurement;
        in_order.filter(is_it).or_else(|| self.measurements.iter().find(is_it))
    }
}

impl Verdict {
    /// Printed form: `PASS`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Unjudged => "UNJUDGED",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        }
    }
}

impl Validity {
    /// Printed form: `VALID`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Qualified => "QUALIFIED",
            Self::Invalid => "INVALID",
        }
    }
}
