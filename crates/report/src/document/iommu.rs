//! How a PCI function's memory accesses are translated.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The IOMMU group of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Iommu {
    /// Number of the group.
    pub group: u32,
    /// `DMA` (translated), `DMA-FQ` (invalidated lazily), `identity` (not translated), …
    pub domain: Option<String>,
    /// Whether each unmapping waits for the IOMMU's caches; null: the kernel does not say.
    pub strict: Option<bool>,
}

impl From<&model::Iommu> for Iommu {
    fn from(iommu: &model::Iommu) -> Self {
        Self { group: iommu.group, domain: iommu.domain.value(), strict: iommu.strict.value() }
    }
}
