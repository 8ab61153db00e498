//! What a stored run is judged to mean. Pure: it can be made anew, also of an
//! older version's or another machine's run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ClaimFigure, Estimate, Finding, RuleReport, format_percent};

/// Whether a measurement says what it seems to say.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Validity {
    /// It does.
    Valid,
    /// It does, with the reservations that are stated.
    Qualified,
    /// It does not.
    Invalid,
}

/// Whether something is as it should be.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// There was nothing to judge it by, or it could not be measured.
    Unjudged,
    /// Doubtful.
    Warn,
    /// Not as it should be.
    Fail,
}

/// What is judged of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Bytes per second; more is better.
    Bandwidth,
    /// I/Os per second; more is better.
    Iops,
    /// Mean latency, ns; less is better.
    LatencyMean,
}

/// Too few I/Os were outstanding to hold a figure against its claim, or the job was paced, or the same
/// workload was faster at another depth, which is judged in its place.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BelowSaturation {
    /// I/Os outstanding on the average; `None`: not known.
    pub outstanding: Option<f64>,
    /// I/Os that the claim takes by Little's law; `None`: not known.
    pub needed: Option<f64>,
    /// Enough were outstanding.
    pub enough: bool,
    /// The best rate of the same workload at another depth, in the metric's unit.
    pub surpassed_by: Option<f64>,
}

/// One metric of one measurement, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricJudgement {
    /// What is judged.
    pub metric: Metric,
    /// What was measured, in the metric's unit.
    pub estimate: Estimate,
    /// What the data sheet states.
    pub claim: Option<ClaimFigure>,
    /// Why it is not held against that.
    #[serde(default)]
    pub below_saturation: Option<BelowSaturation>,
    /// The lowest upper bound that is known, in the metric's unit, and what sets it.
    pub ceiling: Option<(f64, String)>,
    /// Median of the equal drives, this one included, in the metric's unit, and
    /// how many they are.
    pub peers: Option<(f64, u32)>,
    /// The same metric in the baseline run.
    pub baseline: Option<Estimate>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the verdict stands on.
    pub reason: Basis,
}

/// What a metric is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Yardstick {
    /// The data sheet's claim.
    Claim,
    /// The median of equal drives.
    Peers,
    /// The same measurement in the baseline run.
    Baseline,
    /// The sum of what each target gives alone.
    Alone,
}

/// What a verdict stands on; `Display` makes its sentence: `104 % of the claim`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Basis {
    /// The yardstick, and the measured figure over its figure.
    pub share: Option<(Yardstick, f64)>,
    /// What else counts, to be read on behind that; without a yardstick, why there is none.
    pub more: String,
}

impl Basis {
    /// A share of a yardstick.
    pub const fn share(of: Yardstick, ratio: f64) -> Self {
        Self { share: Some((of, ratio)), more: String::new() }
    }

    /// The same, with more to be read behind it.
    pub fn with(mut self, more: impl AsRef<str>) -> Self {
        self.more.push_str(more.as_ref());
        self
    }

    /// Its sentence, with the yardstick's figure in brackets.
    pub fn sentence(&self, figure: Option<&str>) -> String {
        let Some((of, ratio)) = self.share else { return self.more.clone() };
        let of = match of {
            Yardstick::Claim => "the claim",
            Yardstick::Peers => "the peers' median",
            Yardstick::Baseline => "the baseline",
            Yardstick::Alone => "the sum of each alone",
        };
        let figure = figure.map(|figure| format!(" ({figure})")).unwrap_or_default();
        format!("{} of {of}{figure}{}", format_percent(ratio), self.more)
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

/// Why a measurement does not quite say what it seems to say.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule that says so.
    pub rule: String,
    /// What it makes of the measurement by itself: qualified or invalid.
    pub validity: Validity,
    /// Why, in a sentence.
    #[serde(rename = "what", alias = "why")]
    pub why: String,
}

/// A measurement, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedMeasurement {
    /// Index into the run's measurements.
    pub measurement: usize,
    /// Whether it says what it seems to say.
    pub validity: Validity,
    /// The reservations, the gravest first.
    pub reasons: Vec<Reason>,
    /// Its metrics.
    pub metrics: Vec<MetricJudgement>,
}

impl MetricJudgement {
    /// It was to be judged and could not be. A latency without a claim is shown
    /// rather than judged, since few sheets state one; of a series of depths the
    /// best stands for the others.
    pub fn is_open(&self) -> bool {
        let stands_for_it = self.below_saturation.is_some_and(|why| why.surpassed_by.is_some());
        self.verdict == Verdict::Unjudged && self.metric != Metric::LatencyMean && !stands_for_it
    }
}

impl JudgedMeasurement {
    /// The reservations that make it what it is: of an invalid measurement not
    /// those that would only qualify it.
    pub fn decisive(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| reason.validity == self.validity)
    }
}

/// Everything that a run is judged to mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// Version of the rules that made it.
    pub ruleset: String,
    /// Measurements, in the run's order.
    pub measurements: Vec<JudgedMeasurement>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// What came of each rule, in the list's order; findings are in `findings` too.
    pub rules: Vec<RuleReport>,
    /// The verdict on each drive or target, by name.
    pub subjects: Vec<(String, Verdict)>,
    /// The verdict on the whole.
    pub verdict: Verdict,
}

impl Assessment {
    /// What was said of a measurement of the run, by its index.
    pub fn of(&self, measurement: usize) -> Option<&JudgedMeasurement> {
        let in_order = self.measurements.get(measurement);
        let is_it = |judged: &&JudgedMeasurement| judged.measurement == measurement;
        in_order.filter(is_it).or_else(|| self.measurements.iter().find(is_it))
    }
}

impl Verdict {
    /// As it is printed: `PASS`.
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
    /// As it is printed: `VALID`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Qualified => "QUALIFIED",
            Self::Invalid => "INVALID",
        }
    }
}
