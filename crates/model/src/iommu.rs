//! IOMMU translation of a PCI function's memory accesses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// IOMMU group of a PCI function and its domain type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iommu {
    /// Group number.
    pub group: u32,
    /// Domain type: `DMA` (translated), `DMA-FQ` (translated, lazy invalidation), `identity` (not
    /// translated), … (kernel ABI, sysfs-kernel-iommu_groups).
    pub domain: Fact<String>,
    /// True if each unmap waits for the IOMMU's caches to be invalidated, which slows every I/O;
    /// absent: not reported (kernels before 5.15).
    pub strict: Fact<bool>,
}
