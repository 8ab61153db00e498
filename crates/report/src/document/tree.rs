//! Public document of a machine's storage topology.

use iodyno_model::{Host, Node, rfc3339, topology};
use schemars::JsonSchema;
use serde::Serialize;

/// Storage of a machine as a tree: `iodyno.tree/1`. Names are those of `iodyno.list/1`, which has
/// the details of drives, links and block devices.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TreeDocument {
    /// `iodyno.tree/1`.
    pub schema: String,
    /// Time of reading, RFC 3339.
    pub taken: String,
    /// Machine.
    pub tree: Node,
}

/// Builds the document of a machine's topology.
pub fn tree_document(host: &Host) -> TreeDocument {
    TreeDocument {
        schema: "iodyno.tree/1".into(),
        taken: rfc3339(host.taken_ns),
        tree: topology(host),
    }
}
