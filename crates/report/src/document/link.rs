//! PCIe links.

use iodyno_model as model;
use iodyno_model::{Aspm, Fact, LinkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A PCIe link between a port (towards the CPU) and a device (towards the drive): the model, and what
/// follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// PCI address of its device end, by which drives and cards name it.
    pub name: String,
    /// The link.
    #[serde(flatten)]
    pub link: model::Link,
    /// What both ends are able to.
    pub able: Option<LinkState>,
    /// Bytes of data per second that it carries towards memory as it is trained now.
    pub payload_bytes_per_s: Option<f64>,
    /// Whether it may rest in L0s (Active State Power Management).
    #[serde(default)]
    pub aspm_l0s: Option<bool>,
    /// Whether it may rest in L1.
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
    /// The link; of a document of an earlier version, too.
    pub(super) fn read(self) -> model::Link {
        let mut link = self.link;
        if let (Fact::Absent, Some(l0s)) = (&link.aspm, self.aspm_l0s) {
            link.aspm = self.aspm_l1.map(|l1| Aspm { l0s, l1 });
        }
        link
    }
}
