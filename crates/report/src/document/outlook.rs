//! What the measurements of a sweep say beyond themselves. Nothing of it was measured.

use iodyno_model as model;
use iodyno_model::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What follows from the measurements of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlook {
    /// Points that were NOT measured: their measured neighbours bound them.
    pub predictions: Vec<Prediction>,
    /// Measured points that their neighbours bound as well: so many tried it out.
    pub checked: u32,
    /// So many of those were what the bounds said.
    pub held: u32,
    /// For each curve of rates over outstanding I/Os: where it stops to rise.
    pub knees: Vec<Knee>,
}

/// A point that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The point's name.
    pub name: String,
    /// File or device.
    pub target: String,
    /// I/Os per second over all directions, with the interval that its neighbours leave.
    pub iops: Option<Estimate>,
}

/// Where a curve of rates over outstanding I/Os stops to rise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// What its points have in common; empty where there is one curve.
    pub curve: String,
    /// File or device.
    pub target: String,
    /// The least outstanding I/O whose rate is within 5 % of the most.
    pub knee: Peak,
    /// The most of all points that were measured.
    pub most: Peak,
    /// The knee is the greatest that was measured: more may give more.
    pub is_last: bool,
    /// The bound of the 99 % percentile that was asked for, ns; null: none was.
    pub p99_bound_ns: Option<u64>,
    /// The most under that bound; null: none was asked for, or no measured point keeps it.
    pub best_under_bound: Option<PeakUnder>,
}

/// A measured point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// What sets it apart from the others: `iodepth=16 numjobs=4`.
    pub at: String,
    /// Outstanding I/Os.
    pub outstanding: u32,
    /// I/Os per second over all directions.
    pub iops: Option<f64>,
}

/// A measured point that keeps a bound of latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakUnder {
    /// The point.
    #[serde(flatten)]
    pub peak: Peak,
    /// Its 99 % percentile, ns.
    pub p99_ns: u64,
}

impl From<&model::Outlook> for Outlook {
    fn from(of: &model::Outlook) -> Self {
        let prediction = |one: &model::Prediction| Prediction {
            name: one.name.clone(),
            target: one.target.clone(),
            iops: one.iops.finite(),
        };
        Self {
            predictions: of.predictions.iter().map(prediction).collect(),
            checked: of.checked,
            held: of.held,
            knees: of.knees.iter().map(Knee::from).collect(),
        }
    }
}

impl From<&model::Knee> for Knee {
    fn from(of: &model::Knee) -> Self {
        let under = of.under.as_ref();
        let best = under.and_then(|under| under.best.as_ref());
        Self {
            curve: of.curve.clone(),
            target: of.target.clone(),
            knee: Peak::from(&of.knee),
            most: Peak::from(&of.most),
            is_last: of.is_last,
            p99_bound_ns: under.map(|under| under.bound_ns),
            best_under_bound: best
                .map(|(peak, p99_ns)| PeakUnder { peak: Peak::from(peak), p99_ns: *p99_ns }),
        }
    }
}

impl From<&model::Peak> for Peak {
    fn from(of: &model::Peak) -> Self {
        Self { at: of.at.clone(), outstanding: of.outstanding, iops: Some(of.iops) }
    }
}
