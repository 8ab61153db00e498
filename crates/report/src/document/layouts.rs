//! Public document of storage layouts, compared with a single drive and with all drives at once.

use iodyno_judge::layouts::LayoutWorkload;
use schemars::JsonSchema;
use serde::Serialize;

/// Layouts that were built and measured: `iodyno.layouts/1`. SI base units; unknown values are
/// null, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayoutsDocument {
    /// `iodyno.layouts/1`.
    pub schema: String,
    /// Workloads, in the order in which they were measured.
    pub workloads: Vec<LayoutWorkload>,
}

/// Builds the document of the measured workloads.
pub fn layouts_document(workloads: &[LayoutWorkload]) -> LayoutsDocument {
    LayoutsDocument { schema: "iodyno.layouts/1".into(), workloads: workloads.to_vec() }
}
