//! Topology of the machine's storage as a tree: root complexes, ports, switches and drives, then
//! the layers on the drives up to file systems.

mod buses;
mod layers;
mod link_load;

pub use link_load::LinkLoad;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{BlockDevice, Host};

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// The machine.
    Host,
    /// A PCI domain and root bus.
    RootComplex,
    /// A PCI bus with an unknown path from the root.
    Bus,
    /// A root port or switch downstream port, with the link below it.
    Port,
    /// A PCIe switch, by its upstream port.
    Switch,
    /// A VMD controller, with its own PCI domain.
    Vmd,
    /// A RAID card or host bus adapter.
    Card,
    /// An NVMe controller.
    Drive,
    /// An NVMe function without a controller (no driver, or passed through).
    Function,
    /// Drives behind a network.
    Fabric,
    /// One of several paths to a namespace.
    Path,
    /// A whole block device.
    Disk,
    /// A partition.
    Partition,
    /// An md array.
    Array,
    /// A device-mapper device.
    Mapped,
    /// Membership of a device in a layer over several; the layer itself is another node.
    Member,
    /// A file system, or swap space.
    FileSystem,
}

/// A node of the topology tree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Node {
    /// Kind.
    pub kind: NodeKind,
    /// Name: PCI address, controller, block device, file system type.
    pub name: String,
    /// Link below a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkLoad>,
    /// Facts, a few words each.
    pub facts: Vec<String>,
    /// Concerns (what could be better), a few words each.
    pub concerns: Vec<String>,
    /// Nodes behind or above this one.
    pub children: Vec<Node>,
}

impl Node {
    /// Makes a node with only a name.
    fn new(kind: NodeKind, name: impl Into<String>) -> Self {
        let (facts, concerns, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, name: name.into(), link: None, facts, concerns, children }
    }

    /// Printed form, kind and name: `switch 0000:01:00.0`, `nvme0`.
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

/// Returns the tree of a machine. A layer over several devices is listed once, after the buses;
/// each of its devices has a member node.
pub fn topology(host: &Host) -> Node {
    let name = host.hostname.value().unwrap_or_else(|| "this machine".into());
    let mut root = Node::new(NodeKind::Host, name);
    root.children = buses::of(host);
    root.children.extend(layers::shared_layers(host));
    root
}

impl Host {
    /// Returns the layers from `block` down to the drives, without names of this machine, so that
    /// two machines can be compared: `xfs, 4 KiB blocks`, `md raid5 of 3, chunk 512 KiB`, `3 x
    /// SAMSUNG …`.
    pub fn stack_under(&self, block: &str) -> Vec<String> {
        layers::stack_under(self, block)
    }

    /// Returns `block`, the devices below it, those below these, and so on, uppermost level first;
    /// empty if the device is not known.
    pub fn levels_under(&self, block: &str) -> Vec<Vec<&BlockDevice>> {
        layers::levels_under(self, block)
    }
}
