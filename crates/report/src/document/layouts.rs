//! Layouts held against one drive and against all at once.

use iodyno_judge::layouts::LayoutWorkload;
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

/// The document of what was measured.
pub fn layouts_document(workloads: &[LayoutWorkload]) -> LayoutsDocument {
    LayoutsDocument { schema: "iodyno.layouts/1".into(), workloads: workloads.to_vec() }
}
