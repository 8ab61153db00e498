//! How a machine's storage hangs together.

use iodyno_model::{Host, Node, rfc3339, topology};
use schemars::JsonSchema;
use serde::Serialize;

/// A machine's storage as a tree: `iodyno.tree/1`. Names are those of
/// `iodyno.list/1`, which says more of drives, links and block devices.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TreeDocument {
    /// `iodyno.tree/1`.
    pub schema: String,
    /// When it was read, RFC 3339.
    pub taken: String,
    /// The machine.
    pub tree: Node,
}

/// The public document of a machine's topology.
pub fn tree_document(host: &Host) -> TreeDocument {
    TreeDocument {
        schema: "iodyno.tree/1".into(),
        taken: rfc3339(host.taken_ns),
        tree: topology(host),
    }
}
