//! NVMe subsystems, and the paths that lead to their namespaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// An NVMe subsystem: the controllers that lead to the same namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subsystem {
    /// Name, `nvme-subsys0`.
    pub name: String,
    /// NVMe qualified name.
    pub nqn: Fact<String>,
    /// How multipath chooses among paths: `numa`, `round-robin`, `queue-depth`.
    pub io_policy: Fact<String>,
    /// Its controllers, in natural order.
    pub controllers: Vec<String>,
}

/// One path to a namespace, through one controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespacePath {
    /// Hidden block device, `nvme0c1n1`.
    pub name: String,
    /// Asymmetric access state: `optimized`, `non-optimized`, `inaccessible`, …
    pub ana_state: Fact<String>,
}
