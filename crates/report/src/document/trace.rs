//! What a trace holds, and how like a model is to it.

use iodyno_model::{ModelLikeness, TraceSummary};
use schemars::JsonSchema;
use serde::Serialize;

/// What `show` prints of a trace and `record --summary` writes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TraceDocument {
    /// `iodyno.trace-summary/1`.
    pub schema: String,
    /// What it holds.
    pub trace: TraceSummary,
}

impl TraceDocument {
    /// Its name and version.
    pub const SCHEMA: &str = "iodyno.trace-summary/1";

    /// Of a summary.
    pub fn new(trace: TraceSummary) -> Self {
        Self { schema: Self::SCHEMA.into(), trace }
    }
}

/// What `model` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelDocument {
    /// `iodyno.trace-model/1`.
    pub schema: String,
    /// How like the model is to the trace.
    pub likeness: ModelLikeness,
    /// Features that differ by too much.
    pub misses: Vec<String>,
    /// Events that the kernel dropped while the trace was recorded: I/Os are missing.
    pub lost: u64,
    /// Blocks or lines of the trace that could not be read: I/Os are missing.
    pub damaged: u64,
    /// The recording was cut off.
    pub is_cut: bool,
}

impl ModelDocument {
    /// Of what was compared, and what its trace lacks.
    pub fn new(likeness: ModelLikeness, trace: &TraceSummary) -> Self {
        let misses = crate::text::model_misses(&likeness);
        let TraceSummary { lost, damaged, is_cut, .. } = *trace;
        Self { schema: "iodyno.trace-model/1".into(), likeness, misses, lost, damaged, is_cut }
    }
}
