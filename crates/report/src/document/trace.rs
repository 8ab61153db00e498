//! Summary of a trace, and similarity of a model to it.

use iodyno_model::{ModelLikeness, TraceSummary};
use schemars::JsonSchema;
use serde::Serialize;

/// Output of `show` for a trace, and of `record --summary`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceDocument {
    /// `iodyno.trace-summary/1`.
    pub schema: String,
    /// Summary.
    pub trace: TraceSummary,
}

impl TraceDocument {
    /// Name and version of the schema.
    pub const SCHEMA: &str = "iodyno.trace-summary/1";

    /// Wraps a summary.
    pub fn new(trace: TraceSummary) -> Self {
        Self { schema: Self::SCHEMA.into(), trace }
    }
}

/// Output of `model`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelDocument {
    /// `iodyno.trace-model/1`.
    pub schema: String,
    /// Similarity of the model to the trace.
    pub likeness: ModelLikeness,
    /// Features that differ too much.
    pub misses: Vec<String>,
    /// Events dropped by the kernel while the trace was recorded: I/Os are missing.
    pub lost: u64,
    /// Unreadable blocks or lines of the trace: I/Os are missing.
    pub damaged: u64,
    /// True if the recording was cut off.
    pub is_cut: bool,
}

impl ModelDocument {
    /// Combines the comparison with the gaps of its trace.
    pub fn new(likeness: ModelLikeness, trace: &TraceSummary) -> Self {
        let misses = crate::text::model_differences(&likeness);
        let TraceSummary { lost, damaged, is_cut, .. } = *trace;
        Self { schema: "iodyno.trace-model/1".into(), likeness, misses, lost, damaged, is_cut }
    }
}
