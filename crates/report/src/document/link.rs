//! Public form of PCIe links.

use iodyno_model as model;
use iodyno_model::{Aspm, Fact, LinkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PCIe link between a port (towards the CPU) and a device (towards the drive), with derived
/// values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// PCI address of its device end; drives and cards refer to it by this.
    pub name: String,
    /// Link.
    #[serde(flatten)]
    pub link: model::Link,
    /// Fastest state that both ends support.
    pub able: Option<LinkState>,
    /// Payload bandwidth towards memory in its current state, bytes per second.
    pub payload_bytes_per_s: Option<f64>,
    /// Whether it may enter L0s (Active State Power Management).
    #[serde(default)]
    pub aspm_l0s: Option<bool>,
    /// Whether it may enter L1.
    pub aspm_l1: Fact<bool>,
}

impl From<&model::Link> for Link {
    fn from(link: &model::Link) -> Self {
        Self {
            name: link.name().into(),
            able: link.able(),
            payload_bytes_per_s: link.payload_bytes_per_s(),
            aspm_l0s: link.aspm.get().map(|aspm| aspm.l0s),
            aspm_l1: link.aspm.as_ref().map(|aspm| aspm.l1),
            link: link.clone(),
        }
    }
}

impl Link {
    /// Converts back to the model; also reads documents of earlier versions.
    pub(super) fn read(self) -> model::Link {
        let mut link = self.link;
        if let (Fact::Absent, Some(l0s)) = (&link.aspm, self.aspm_l0s) {
            link.aspm = self.aspm_l1.map(|l1| Aspm { l0s, l1 });
        }
        link
    }
}
