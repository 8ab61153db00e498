//! Layouts held against one drive and against all at once.

use iodyno_judge::layouts as judged;
use iodyno_model::Metric;
use schemars::JsonSchema;
use serde::Serialize;

/// What was built and measured: `iodyno.layouts/1`. SI base units; what is
/// unknown is null, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutsDocument {
    /// `iodyno.layouts/1`.
    pub schema: String,
    /// By workload, in the order in which they were measured.
    pub workloads: Vec<LayoutWorkload>,
}

/// A workload on all layouts, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutWorkload {
    /// Name of its measurements.
    pub name: String,
    /// What its rates are.
    pub metric: Metric,
    /// By layout.
    pub results: Vec<LayoutResult>,
}

/// A workload on a layout, of one run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutResult {
    /// The layout, as it is typed.
    pub layout: String,
    /// Id of its run.
    pub run: String,
    /// Bytes per second or per second; null: it failed.
    pub rate: Option<f64>,
    /// Over the rate of one drive as it is.
    pub of_one: Option<f64>,
    /// What its layers should give, over the rate of one drive; null: what they
    /// do with the I/O is not known.
    pub expected: Option<f64>,
    /// Over the rate of all drives as they are at the same time.
    pub of_all: Option<f64>,
    /// Mean latency, ns.
    pub latency_ns: Option<f64>,
    /// More than on one drive, ns.
    pub added_ns: Option<f64>,
    /// CPU time of the submitting threads for each I/O, ns.
    pub cpu_ns: Option<f64>,
    /// Bytes that the drives were sent for each byte that was written, by the
    /// kernel's counters; null: nothing was written, or nobody counted.
    pub write_amplification: Option<f64>,
}

/// The document of what was measured.
pub fn layouts_document(workloads: &[judged::LayoutWorkload]) -> LayoutsDocument {
    let result = |of: &judged::LayoutResult| LayoutResult {
        layout: of.layout.clone(),
        run: of.run_id.clone(),
        rate: of.rate,
        of_one: of.of_one,
        expected: of.expected,
        of_all: of.of_all,
        latency_ns: of.latency_ns,
        added_ns: of.added_ns,
        cpu_ns: of.cpu_ns,
        write_amplification: of.write_amplification,
    };
    let workload = |of: &judged::LayoutWorkload| LayoutWorkload {
        name: of.name.clone(),
        metric: of.metric,
        results: of.results.iter().map(result).collect(),
    };
    LayoutsDocument {
        schema: "iodyno.layouts/1".into(),
        workloads: workloads.iter().map(workload).collect(),
    }
}
