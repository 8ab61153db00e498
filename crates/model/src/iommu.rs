//! How a PCI function's memory accesses are translated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// The IOMMU group of a PCI function and the kind of its domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iommu {
    /// Number of the group.
    pub group: u32,
    /// `DMA` (translated), `DMA-FQ` (translated, invalidated lazily),
    /// `identity` (not translated), … (kernel ABI, sysfs-kernel-iommu_groups).
    pub domain: Fact<String>,
    /// Whether each unmapping waits for the IOMMU's caches to forget it, which
    /// costs every I/O; absent where the kernel (before 5.15) does not say.
    pub strict: Fact<bool>,
}
