//! NVMe subsystems, and the paths to their namespaces.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Controllers that lead to the same namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subsystem {
    /// `nvme-subsys0`.
    pub name: String,
    /// NVMe qualified name.
    pub nqn: Option<String>,
    /// How multipath chooses among paths: `numa`, `round-robin`, `queue-depth`.
    pub io_policy: Option<String>,
    /// Its controllers.
    pub controllers: Vec<String>,
}

/// One path to a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespacePath {
    /// Hidden block device, `nvme0c1n1`.
    pub name: String,
    /// Asymmetric access state, `optimized`; null also where the drive has none.
    pub ana_state: Option<String>,
}

impl From<&model::Subsystem> for Subsystem {
    fn from(of: &model::Subsystem) -> Self {
        Self {
            name: of.name.clone(),
            nqn: of.nqn.value(),
            io_policy: of.io_policy.value(),
            controllers: of.controllers.clone(),
        }
    }
}

impl From<&model::NamespacePath> for NamespacePath {
    fn from(of: &model::NamespacePath) -> Self {
        Self { name: of.name.clone(), ana_state: of.ana_state.value() }
    }
}
