//! How a machine's storage hangs together.

use iodyno_model as model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::{finite, rfc3339};
use super::link::LinkState;

/// A machine's storage as a tree: `iodyno.tree/1`. Names are those of
/// `iodyno.list/1`, which says more of drives, links and block devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeDocument {
    /// `iodyno.tree/1`.
    pub schema: String,
    /// When it was read, RFC 3339.
    pub taken: String,
    /// The machine.
    pub tree: Node,
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// PCI address, controller, block device, kind of file system.
    pub name: String,
    /// Of a port the link that begins there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link: Option<LinkLoad>,
    /// What is known of it, a few words each.
    pub facts: Vec<String>,
    /// What is not as it could be, a few words each.
    pub concerns: Vec<String>,
    /// What hangs on it or stands on it.
    pub children: Vec<Node>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The machine.
    Host,
    /// A PCI domain and root bus.
    RootComplex,
    /// A PCI bus whose way from the root is not known.
    Bus,
    /// A root port or a switch's downstream port.
    Port,
    /// A PCIe switch, by its upstream port.
    Switch,
    /// A VMD controller, with the domain of its own.
    Vmd,
    /// A RAID card or host bus adapter.
    Card,
    /// An NVMe controller.
    Drive,
    /// An NVMe function without a controller.
    Function,
    /// Drives behind a network, by its kind.
    Fabric,
    /// One path to a namespace that has several.
    Path,
    /// A whole block device.
    Disk,
    /// A partition.
    Partition,
    /// An md array.
    Array,
    /// A device-mapper device.
    Mapped,
    /// The part that a device has in a layer on several, which stands elsewhere.
    Member,
    /// A file system, or swap space.
    FileSystem,
}

/// A link and the drives that share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkLoad {
    /// PCI address of its device end, by which it is named.
    pub name: String,
    /// What it was trained to.
    pub in_use: Option<LinkState>,
    /// What both ends are able to.
    pub able: Option<LinkState>,
    /// Bytes of data per second that it carries towards memory as it is now.
    pub payload_bytes_per_s: Option<f64>,
    /// Drives whose way leads over it.
    pub drives: usize,
    /// Where several share it, what they could ask of it together, by the
    /// narrowest of each drive's own links behind it.
    pub wanted_bytes_per_s: Option<f64>,
    /// How many times what it carries that is.
    pub oversubscription: Option<f64>,
}

/// The public document of a machine's topology.
pub fn tree_document(host: &model::Host) -> TreeDocument {
    TreeDocument {
        schema: "iodyno.tree/1".into(),
        taken: rfc3339(host.taken_ns),
        tree: Node::from(&model::topology(host)),
    }
}

impl From<&model::Node> for Node {
    fn from(node: &model::Node) -> Self {
        Self {
            kind: NodeKind::from(node.kind),
            name: node.name.clone(),
            link: node.link.as_ref().map(LinkLoad::from),
            facts: node.facts.clone(),
            concerns: node.concerns.clone(),
            children: node.children.iter().map(Self::from).collect(),
        }
    }
}

impl From<&model::LinkLoad> for LinkLoad {
    fn from(link: &model::LinkLoad) -> Self {
        Self {
            name: link.name.clone(),
            in_use: link.in_use.map(LinkState::from),
            able: link.able.map(LinkState::from),
            payload_bytes_per_s: link.payload_bytes_per_s.and_then(finite),
            drives: link.drives,
            wanted_bytes_per_s: link.wanted_bytes_per_s.and_then(finite),
            oversubscription: link.oversubscription().and_then(finite),
        }
    }
}

impl From<model::NodeKind> for NodeKind {
    fn from(kind: model::NodeKind) -> Self {
        use model::NodeKind as Of;
        match kind {
            Of::Host => Self::Host,
            Of::RootComplex => Self::RootComplex,
            Of::Bus => Self::Bus,
            Of::Port => Self::Port,
            Of::Switch => Self::Switch,
            Of::Vmd => Self::Vmd,
            Of::Card => Self::Card,
            Of::Drive => Self::Drive,
            Of::Function => Self::Function,
            Of::Fabric => Self::Fabric,
            Of::Path => Self::Path,
            Of::Disk => Self::Disk,
            Of::Partition => Self::Partition,
            Of::Array => Self::Array,
            Of::Mapped => Self::Mapped,
            Of::Member => Self::Member,
            Of::FileSystem => Self::FileSystem,
        }
    }
}
