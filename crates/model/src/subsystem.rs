//! NVMe subsystems, and the paths to their namespaces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// NVMe subsystem: controllers that share namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subsystem {
    /// Name, `nvme-subsys0`.
    pub name: String,
    /// NVMe qualified name (NQN).
    pub nqn: Fact<String>,
    /// Multipath I/O policy: `numa`, `round-robin`, `queue-depth`.
    pub io_policy: Fact<String>,
    /// Controllers, in natural order.
    pub controllers: Vec<String>,
}

/// Path to a namespace through one controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespacePath {
    /// Hidden block device of the path, `nvme0c1n1`.
    pub name: String,
    /// Asymmetric namespace access (ANA) state: `optimized`, `non-optimized`, `inaccessible`, …
    pub ana_state: Fact<String>,
}
