//! How the machine's storage hangs together, as a tree: root complexes, ports,
//! switches and drives, and on the drives the layers up to file systems.

mod buses;
mod layers;
mod link_load;

pub use link_load::LinkLoad;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{BlockDevice, Host};

/// What a node of the tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The machine.
    Host,
    /// A PCI domain and root bus.
    RootComplex,
    /// A PCI bus whose way from the root is not known.
    Bus,
    /// A root port or a switch's downstream port, with the link that begins there.
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
    /// Drives behind a network.
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

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its name: PCI address, controller, block device, kind of file system.
    pub name: String,
    /// Of a port the link that begins there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkLoad>,
    /// What is known of it, a few words each.
    pub facts: Vec<String>,
    /// What is not as it could be, a few words each.
    pub concerns: Vec<String>,
    /// What hangs on it or stands on it.
    pub children: Vec<Node>,
}

impl Node {
    /// A node of which nothing but its name is known.
    fn new(kind: NodeKind, name: impl Into<String>) -> Self {
        let (facts, concerns, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, name: name.into(), link: None, facts, concerns, children }
    }

    /// What it is and how it is called: `switch 0000:01:00.0`, `nvme0`.
    pub fn label(&self) -> String {
        let what = match self.kind {
            NodeKind::RootComplex => "root complex",
            NodeKind::Bus => "bus",
            NodeKind::Port => "port",
            NodeKind::Switch => "switch",
            NodeKind::Vmd => "VMD",
            NodeKind::Card => "card",
            NodeKind::Function => "NVMe function",
            NodeKind::Fabric => "over",
            NodeKind::Path => "path",
            NodeKind::Member => "in",
            _ => return self.name.clone(),
        };
        format!("{what} {}", self.name)
    }
}

/// The tree of a machine. What stands on several devices stands behind the
/// buses, once, and each of its devices says that it is part of it.
pub fn topology(host: &Host) -> Node {
    let name = host.hostname.value().unwrap_or_else(|| "this machine".into());
    let mut root = Node::new(NodeKind::Host, name);
    root.children = buses::of(host);
    root.children.extend(layers::on_several(host));
    root
}

impl Host {
    /// The layers from `block` down to the drives, in words that name no
    /// device of this machine, so that two machines can be compared: `xfs, 4
    /// KiB blocks`, `md raid5 of 3, chunk 512 KiB`, `3 x SAMSUNG …`.
    pub fn stack_under(&self, block: &str) -> Vec<String> {
        layers::stack_under(self, block)
    }

    /// `block`, what it stands on, what that stands on, and so on: devices
    /// side by side, the uppermost first; empty where it is not known.
    pub fn levels_under(&self, block: &str) -> Vec<Vec<&BlockDevice>> {
        layers::levels_under(self, block)
    }
}
