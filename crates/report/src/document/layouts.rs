//! Public document of storage layouts, compared with a single drive and with all drives at once.

use iodyno_judge::layouts::LayoutWorkload;
use iodyno_model::RunState;
use schemars::JsonSchema;
use serde::Serialize;

/// Layouts that were built and measured: `iodyno.layouts/1`. SI base units; unknown values are
/// null, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutsDocument {
    /// `iodyno.layouts/1`.
    pub schema: String,
    /// `done` if each layout was built and measured to its end.
    pub state: RunState,
    /// Workloads, in the order in which they were measured.
    pub workloads: Vec<LayoutWorkload>,
}

/// Builds the document of the measured workloads.
pub fn layouts_document(state: RunState, workloads: &[LayoutWorkload]) -> LayoutsDocument {
    LayoutsDocument { schema: "iodyno.layouts/1".into(), state, workloads: workloads.to_vec() }
}
